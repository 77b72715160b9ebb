//! The truth of a case: as made, as set, or by a rule of the kernel where that is certain.

use std::time::Duration;

use fathom_sys::facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::allocation;
use super::cases::{Case, Conditions};
use crate::finding::Value;

/// The right answer to one question in one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Truth {
    /// There is one right value.
    Known {
        /// The value, in the parameter's unit.
        value: Value,
        /// Why it is the right one.
        basis: Basis,
    },
    /// Any value from the one to the other is right.
    Within {
        /// The lowest and the highest, in the parameter's unit.
        interval: [f64; 2],
        /// Why these.
        basis: Basis,
    },
    /// The question makes no sense in this case.
    NotApplicable {
        /// Why it makes none.
        basis: Basis,
    },
    /// Nothing settles it beforehand: the witness is asked, and where that is silent there is no score.
    Unknown,
}

/// What makes a truth true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// `sysconf(_SC_PAGESIZE)`.
    Page,
    /// The block size that mkfs was given.
    Made,
    /// A limit that was set: of read-ahead, of memory, of dirty data.
    Set,
    /// A rule of the kernel: of `mm/readahead.c`, see [`first_read_pages`], or of `mm/vmscan.c`.
    Rule,
    /// What the witness of the same case saw: no rule is certain for this format or kernel.
    Witness,
    /// Files live in memory alone.
    Memory,
    /// The format's own structure, with the features that mkfs was given.
    Format,
}

/// Bytes of one read of the read-ahead experiments.
const READ: u64 = 4096;

/// The kernels whose `mm/readahead.c` follows the rule for a read of one page: `ondemand_readahead`
/// of 4.4 and 5.13 and `page_cache_sync_ra` of 6.18 agree there. Of later ones the witness tells.
const RULE_HOLDS: std::ops::RangeInclusive<(u32, u32)> = (4, 4)..=(6, 18);

/// The truth of `parameter` in `case` on a kernel of that `page` size in bytes and that name
/// (`Linux 6.18.1`).
pub fn truth_of(case: &Case, parameter: &str, page: u64, kernel: &str) -> Truth {
    let known = |bytes: u64, basis| Truth::Known { value: Value::Whole(bytes), basis };
    if let Some(interval) = within_settings(case, parameter) {
        return Truth::Within { interval, basis: Basis::Set };
    }
    if parameter == "page_cache_policy" && case.conditions.memory.is_some() {
        let word = if facts::keeps_generations() { "generations" } else { "two_lists" };
        return Truth::Known { value: Value::Word(word.to_owned()), basis: Basis::Rule };
    }
    if let Some(truth) = allocation::truth(case, parameter) {
        return truth;
    }
    let max_pages = case.read_ahead_kib.map(|kib| u64::from(kib) * 1024 / page);
    match (parameter, max_pages) {
        ("page_size", _) => known(page, Basis::Page),
        ("block_size", _) => match case.block_size {
            Some(block) => known(block, Basis::Made),
            None => known(page, Basis::Page),
        },
        ("readahead_window" | "readahead_first" | "readahead_random" | "readahead_ramp", None) => {
            Truth::NotApplicable { basis: Basis::Memory }
        }
        // It unpacks whole blocks, whatever the window that its device is set to.
        ("readahead_window", Some(_)) if case.fs_type == "squashfs" => Truth::Unknown,
        ("sync_latency" | "device_latency" | "writeback_delay", _) if case.fs_type == "tmpfs" => {
            Truth::NotApplicable { basis: Basis::Memory }
        }
        ("commit_interval", _) => match case.conditions.commit {
            Some(0) => Truth::NotApplicable { basis: Basis::Format },
            Some(seconds) => known(seconds * 1_000_000_000, Basis::Set),
            None => Truth::Unknown,
        },
        ("readahead_window", Some(pages)) => known(pages * page, Basis::Set),
        ("readahead_ramp", Some(0)) => Truth::NotApplicable { basis: Basis::Set },
        ("readahead_first" | "readahead_random", Some(_)) if !rule_holds(case, page, kernel) => {
            Truth::Unknown
        }
        ("readahead_first", Some(pages)) => match first_read_pages(READ.div_ceil(page), pages) {
            // A window no larger than the request meets its own marker, which kernels treat differently.
            first if pages > 0 && first <= READ.div_ceil(page) => Truth::Unknown,
            first => known(first * page, Basis::Rule),
        },
        ("readahead_random", Some(_)) => known(READ.div_ceil(page) * page, Basis::Rule),
        _ => Truth::Unknown,
    }
}

/// The values that the conditions of a case allow.
fn within_settings(case: &Case, parameter: &str) -> Option<[f64; 2]> {
    let Conditions { memory, dirty, read_rate, flusher, .. } = case.conditions;
    match parameter {
        // `blk_throtl` lets one of so few go in each slice of 100 ms, and looks at the clock every 4 to 10 ms.
        "device_latency" => {
            let turn = read_rate.map(|rate| 1e9 / rate as f64);
            turn.map(|turn| [0.8 * turn, 1.3 * turn])
        }
        // The process's own memory and the kernel's are charged to the same limit.
        "page_cache_capacity" => memory.map(|limit| [0.95 * limit as f64, limit as f64]),
        // `balance_dirty_pages`: nobody waits below the mean of the two.
        "dirty_throttle_point" => {
            let mean = dirty.map(|[background, limit]| (background + limit) as f64 / 2.0);
            mean.map(|mean| [0.85 * mean, 1.15 * mean])
        }
        // Data are written at the first look after they have expired: any time from the one to the other,
        // and the ages that are tried are a tenth apart.
        "writeback_delay" if case.fs_type != "tmpfs" => flusher.map(|[expiry, wakeup]| {
            let ns = |time: Duration| time.as_nanos() as f64;
            [0.95 * ns(expiry), 1.05 * ns(expiry + wakeup)]
        }),
        _ => None,
    }
}

/// Pages that a read of `request` pages at the start of a cold file brings in, where the read-ahead
/// limit is `max` pages.
///
/// Source: `get_init_ra_size` and `page_cache_sync_ra` of Linux `mm/readahead.c`. With n the request
/// rounded up to a power of two: n <= max/32 gives 4 n, n <= max/4 gives 2 n, else max. With a limit
/// of zero the request alone is read. It holds for files whose folios may be single pages.
pub fn first_read_pages(request: u64, max: u64) -> u64 {
    let size = request.next_power_of_two();
    match max {
        0 => request,
        _ if size <= max / 32 => size * 4,
        _ if size <= max / 4 => size * 2,
        _ => max,
    }
}

impl Truth {
    /// The truth, or where it is unknown, what the witness says.
    pub(super) fn judged_by(self, witness: Option<&Value>) -> Self {
        match (self, witness) {
            (Truth::Unknown, Some(value)) => Truth::Known { value: value.clone(), basis: Basis::Witness },
            (known, _) => known,
        }
    }

    /// Why this is the truth, where it is known.
    pub fn basis(&self) -> Option<Basis> {
        match self {
            Truth::Known { basis, .. } | Truth::Within { basis, .. } | Truth::NotApplicable { basis } => {
                Some(*basis)
            }
            Truth::Unknown => None,
        }
    }
}

/// Larger blocks force larger folios, and then a read brings in whole folios.
fn rule_holds(case: &Case, page: u64, kernel: &str) -> bool {
    case.block_size.is_none_or(|block| block <= page)
        && version(kernel).is_some_and(|version| RULE_HOLDS.contains(&version))
}

fn version(kernel: &str) -> Option<(u32, u32)> {
    let mut parts = kernel.strip_prefix("Linux ")?.split(['.', '-', '+']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::cases;

    #[test]
    fn the_first_window_follows_the_kernels_rule() {
        let limits = [0, 1, 4, 8, 16, 25, 32, 48, 64, 128, 256, 512];
        let pages = limits.map(|max| first_read_pages(1, max));
        assert_eq!(pages, [1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4]);
        assert_eq!(first_read_pages(3, 32), 8, "rounded up to four pages, doubled");
        assert_eq!(first_read_pages(16, 32), 32, "past a quarter it is the limit");
    }

    fn truth(name: &str, parameter: &str, kernel: &str) -> Truth {
        let case = cases().into_iter().find(|case| case.name == name).unwrap();
        truth_of(&case, parameter, 4096, kernel)
    }

    fn known(value: u64, basis: Basis) -> Truth {
        Truth::Known { value: Value::Whole(value), basis }
    }

    #[test]
    fn truth_is_what_was_made_and_set() {
        let kernel = "Linux 6.18.44-x";
        assert_eq!(truth("ext2-1k-ra128", "block_size", kernel), known(1024, Basis::Made));
        assert_eq!(truth("xfs-64k-ra1024", "readahead_window", kernel), known(1 << 20, Basis::Set));
        assert_eq!(truth("ext4-4k-ra128", "readahead_first", kernel), known(16384, Basis::Rule));
        assert_eq!(truth("ext4-4k-ra128", "readahead_random", kernel), known(4096, Basis::Rule));
        assert_eq!(truth("tmpfs", "block_size", kernel), known(4096, Basis::Page));
        let no_window = Truth::NotApplicable { basis: Basis::Memory };
        assert_eq!(truth("tmpfs", "readahead_first", kernel), no_window);
        assert_eq!(truth("ext4-4k-ra0", "readahead_window", kernel), known(0, Basis::Set));
        assert_eq!(truth("ext4-4k-ra0", "readahead_first", kernel), known(4096, Basis::Rule));
    }

    #[test]
    fn where_no_rule_is_certain_the_witness_judges() {
        for (name, kernel) in [("xfs-64k-ra1024", "Linux 6.18.1"), ("ext4-4k-ra128", "Linux 9.1.0")] {
            let open = truth(name, "readahead_first", kernel);
            assert_eq!(open, Truth::Unknown);
            assert_eq!(open.judged_by(Some(&Value::Whole(65536))), known(65536, Basis::Witness));
        }
        assert_eq!(Truth::Unknown.judged_by(None), Truth::Unknown);
        let rule = truth("ext4-4k-ra128", "readahead_first", "Linux 5.10.0");
        assert_eq!(rule.judged_by(Some(&Value::Whole(1))), known(16384, Basis::Rule));
    }

    #[test]
    fn a_window_is_a_whole_number_of_pages() {
        let case = cases().into_iter().find(|case| case.name == "xfs-4k-ra100").unwrap();
        assert_eq!(truth_of(&case, "readahead_window", 65536, "Linux 6.18.1"), known(65536, Basis::Set));
        assert_eq!(truth_of(&case, "readahead_window", 4096, "Linux 6.18.1"), known(102_400, Basis::Set));
        assert_eq!(truth_of(&case, "readahead_first", 65536, "Linux 6.18.1"), Truth::Unknown);
    }
}
