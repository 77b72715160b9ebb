//! Limits on how much may be dirty, and on how fast a device takes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom_sys::cgroup::{self, Version};
use fathom_sys::dirty;

use super::build::{Unbuilt, plain};
use super::group::Group;
use super::setting::{Change, Settings};

/// What makes a device slow.
#[derive(Debug)]
pub(super) enum Throttle {
    /// A setting of the root group of version 1: there, data are written in its name.
    Setting(Settings),
    /// A group that the survey is in: in the unified hierarchy data are written in their writer's name.
    Group(Group),
}

/// What a device may do at most.
#[derive(Debug, Clone, Copy)]
pub(super) enum Most {
    /// Bytes written in a second.
    Written(u64),
    /// Reads in a second.
    Reads(u64),
}

impl Most {
    /// The setting of version 1, that of the unified hierarchy, and the number.
    fn settings(self) -> (&'static str, &'static str, u64) {
        match self {
            Most::Written(rate) => ("blkio.throttle.write_bps_device", "wbps", rate),
            Most::Reads(rate) => ("blkio.throttle.read_iops_device", "riops", rate),
        }
    }
}

/// Lets the block device `name` do no more than that.
pub(super) fn of_device(name: &str, most: Most) -> Result<Throttle, Unbuilt> {
    let numbers = Path::new("/sys/block").join(name).join("dev");
    let numbers = fs::read_to_string(&numbers)
        .map_err(|error| Unbuilt::Failed(format!("read {}: {}", numbers.display(), plain(&error))))?;
    let numbers = numbers.trim();
    let (first, second, rate) = most.settings();
    match cgroup::hierarchy("blkio") {
        Some(hierarchy) if hierarchy.version == Version::One => {
            let file = hierarchy.mount.join(first);
            let change = |rate: u64| [Change::new(&file, format!("{numbers} {rate}"))];
            Settings::change(&format!("{second}-{name}"), &change(rate), &change(0)).map(Throttle::Setting)
        }
        _ => Group::of_device(&format!("{numbers} {second}={rate}")).map(Throttle::Group),
    }
}

/// Sets the background threshold and the limit of dirty data, in bytes, for the whole machine.
pub(super) fn of_dirty_data(background: u64, limit: u64) -> Result<Settings, Unbuilt> {
    let set = |name: &str, value: u64| Change::new(setting(name), value.to_string());
    // A limit in bytes and one as a share exclude each other: the one that is in force is put back.
    let undo = |bytes: &str, ratio: &str| match dirty::setting(bytes) {
        Some(0) | None => set(ratio, dirty::setting(ratio).unwrap_or_default()),
        Some(before) => set(bytes, before),
    };
    Settings::change(
        "dirty-limits",
        &[set("dirty_background_bytes", background), set("dirty_bytes", limit)],
        &[undo("dirty_bytes", "dirty_ratio"), undo("dirty_background_bytes", "dirty_background_ratio")],
    )
}

/// Sets the age from which dirty data are written, and how often the kernel looks for such, for the whole machine.
pub(super) fn of_flusher([expiry, wakeup]: [Duration; 2]) -> Result<Settings, Unbuilt> {
    const NAMES: [&str; 2] = ["dirty_expire_centisecs", "dirty_writeback_centisecs"];
    let centiseconds = |time: Duration| (time.as_millis() / 10).to_string();
    let change = |name: &str, value: String| Change::new(setting(name), value);
    let [first, second] = NAMES;
    let undo: Vec<Change> =
        NAMES.into_iter().filter_map(|name| Some(change(name, dirty::setting(name)?.to_string()))).collect();
    let changes = [change(first, centiseconds(expiry)), change(second, centiseconds(wakeup))];
    Settings::change("dirty-delays", &changes, &undo)
}

fn setting(name: &str) -> PathBuf {
    Path::new("/proc/sys/vm").join(name)
}
