//! Dirty data: the thresholds and delays by which the kernel writes them, and a way to have them written.

use std::fs;
use std::path::Path;
use std::time::Duration;

pub use rustix::fs::sync;

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
/// A share is one of the memory that may be dirty: what is free beyond the reserves, and what files occupy.
/// Source: `domain_dirty_limits` and `global_dirtyable_memory` of `mm/page-writeback.c`.
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

/// The age from which dirty data are to be written, and how often the kernel looks for such. `None` where it
/// never looks: `vm.dirty_writeback_centisecs` is zero.
pub fn flusher_delays() -> Option<[Duration; 2]> {
    let delay = |name: &str| setting(name).map(|centiseconds| Duration::from_millis(10 * centiseconds));
    let wakeup = delay("dirty_writeback_centisecs").filter(|wakeup| !wakeup.is_zero())?;
    Some([delay("dirty_expire_centisecs")?, wakeup])
}

/// How often the worker of xfs writes what its log holds back. Source: `xfs_log_worker`.
pub fn xfs_log_period() -> Option<Duration> {
    let centiseconds = facts::number("/proc/sys/fs/xfs/xfssyncd_centisecs")?;
    Some(Duration::from_millis(10 * centiseconds))
}

/// A setting under `vm.`, where there is one of that name.
pub fn setting(name: &str) -> Option<u64> {
    facts::number(Path::new(SETTINGS).join(name))
}

fn dirtyable_bytes() -> Option<u64> {
    let meminfo = facts::meminfo();
    let memory = |name: &str| facts::memory(&meminfo, name);
    let reserved = fs::read_to_string("/proc/zoneinfo").map_or(0, |zones| reserved_pages(&zones));
    let free = memory("MemFree")?.saturating_sub(reserved * facts::page_size());
    Some(free + memory("Active(file)")? + memory("Inactive(file)")?)
}

/// Pages that are kept free, by the text of `/proc/zoneinfo`: of each zone its high mark and what it protects
/// from requests that could be served elsewhere. Source: `calculate_totalreserve_pages` of `mm/page_alloc.c`.
fn reserved_pages(zones: &str) -> u64 {
    let of_zone = |zone: &str| {
        let field = |name: &str| zone.lines().find_map(|line| line.trim().strip_prefix(name));
        let number = |name: &str| field(name).and_then(|text| text.trim().parse::<u64>().ok());
        let protected = field("protection: (").and_then(|text| {
            text.trim_end_matches(')').split(", ").filter_map(|pages| pages.parse::<u64>().ok()).max()
        });
        let kept = number("high ").unwrap_or(0) + protected.unwrap_or(0);
        kept.min(number("managed ").unwrap_or(0))
    };
    zones.split("Node ").map(of_zone).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_keep_their_high_mark_and_what_they_protect() {
        let zone = |high: u64, managed: u64, protection: &str| {
            format!(
                "Node 0, zone  X\n  pages free     3\n        min      1\n        low      2\n        high     {high}\n        \
                 spanned  4095\n        managed  {managed}\n        protection: ({protection})\n  pagesets\n    cpu: 0\n              \
                 high:  13\n"
            )
        };
        let zones = [
            zone(30, 3840, "0, 2945, 24105"),
            zone(900, 800_000, "0, 0, 21160"),
            zone(7000, 5_000_000, "0, 0, 0"),
        ];
        assert_eq!(reserved_pages(&zones.concat()), 3840 + 900 + 21160 + 7000);
        assert_eq!(reserved_pages(""), 0);
    }

    #[test]
    fn the_background_is_below_the_limit() {
        for [background, limit] in [thresholds(), declared_thresholds()].into_iter().flatten() {
            assert!(background < limit, "{background} of {limit}");
        }
    }
}
