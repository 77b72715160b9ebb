//! How much may be dirty on the machine, and for how long.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom_sys::dirty;

use super::setting::{Change, Settings};

/// Sets the background threshold and the limit of dirty data, in bytes, for the whole machine.
///
/// # Errors
/// As [`Settings::change`].
pub fn limit_dirty_data(background: u64, limit: u64) -> Result<Settings, String> {
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

/// Sets the age at which dirty data are written, and how often the kernel looks for such data, for the whole machine.
///
/// # Errors
/// As [`Settings::change`].
pub fn set_flusher([expiry, wakeup]: [Duration; 2]) -> Result<Settings, String> {
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
