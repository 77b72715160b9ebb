//! Dirty data: the thresholds and delays by which the kernel writes them, and a way to have them written.

use std::fs;
use std::path::Path;

use crate::facts;

/// Settings of the virtual memory: `Documentation/admin-guide/sysctl/vm.rst`.
const SETTINGS: &str = "/proc/sys/vm";

/// The background threshold and the limit in bytes, as the kernel last computed them. Source:
/// `/proc/vmstat`, where they are in pages.
pub fn thresholds() -> Option<[u64; 2]> {
    let text = fs::read_to_string("/proc/vmstat").ok()?;
    let pages = |name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    let page = facts::page_size();
    Some([pages("nr_dirty_background_threshold ")? * page, pages("nr_dirty_threshold ")? * page])
}

/// The background threshold and the limit in bytes that the settings declare.
///
/// A share is one of the memory that may be dirty: what is free and what files occupy. Source:
/// `domain_dirty_limits` and `global_dirtyable_memory` of `mm/page-writeback.c`, without the reserves.
pub fn declared_thresholds() -> Option<[u64; 2]> {
    let dirtyable = dirtyable_bytes()?;
    let threshold = |bytes: &str, ratio: &str| match setting(bytes)? {
        0 => Some(dirtyable * setting(ratio)? / 100),
        bytes => Some(bytes),
    };
    let limit = threshold("dirty_bytes", "dirty_ratio")?;
    let background = threshold("dirty_background_bytes", "dirty_background_ratio")?;
    Some([if background >= limit { limit / 2 } else { background }, limit])
}

/// A setting under `vm.`, where there is one of that name.
pub fn setting(name: &str) -> Option<u64> {
    fs::read_to_string(Path::new(SETTINGS).join(name)).ok()?.trim().parse().ok()
}

/// Has everything written that is dirty, of all file systems. Source: `sync(2)`.
pub fn sync() {
    rustix::fs::sync();
}

fn dirtyable_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib = |name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.trim().parse().ok())
    };
    Some((kib("MemFree:")? + kib("Active(file):")? + kib("Inactive(file):")?) * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_background_is_below_the_limit() {
        for [background, limit] in [thresholds(), declared_thresholds()].into_iter().flatten() {
            assert!(background < limit, "{background} of {limit}");
        }
    }
}
