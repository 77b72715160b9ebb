//! Limits on what a device may do in a second.

use std::fs;
use std::path::Path;

use fathom_sys::cgroup::{self, Version};

use super::unbuilt::Unbuilt;
use fathom_run::fault::plain;
use fathom_run::intrusion::{Change, Group, Settings};

/// What makes a device slow.
#[derive(Debug)]
pub(super) enum Throttle {
    /// A setting of the root group of version 1: there, data are written in its name.
    Setting(Settings),
    /// A group that the survey is in: in the unified hierarchy data are written in their writer's name.
    Group(Group),
}

/// What may be limited: the setting of version 1, and that of the unified hierarchy. Bytes written in a second.
pub(super) const WRITTEN: [&str; 2] = ["blkio.throttle.write_bps_device", "wbps"];
/// Reads in a second.
pub(super) const READS: [&str; 2] = ["blkio.throttle.read_iops_device", "riops"];

/// Lets the block device `name` do no more than `rate` of something.
pub(super) fn of_device(name: &str, [first, second]: [&str; 2], rate: u64) -> Result<Throttle, Unbuilt> {
    let numbers = Path::new("/sys/block").join(name).join("dev");
    let numbers = fs::read_to_string(&numbers)
        .map_err(|error| Unbuilt::Failed(format!("read {}: {}", numbers.display(), plain(&error))))?;
    let numbers = numbers.trim();
    match cgroup::hierarchy("blkio") {
        Some(hierarchy) if hierarchy.version == Version::One => {
            let file = hierarchy.mount.join(first);
            let change = |rate: u64| [Change::new(&file, format!("{numbers} {rate}"))];
            Settings::change(&format!("{second}-{name}"), &change(rate), &change(0)).map(Throttle::Setting)
        }
        _ => Group::of_device(&format!("{numbers} {second}={rate}")).map(Throttle::Group),
    }
    .map_err(Unbuilt::Skipped)
}
