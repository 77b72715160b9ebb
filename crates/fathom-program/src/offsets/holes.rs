//! `rw=read:N`: a sequential order with holes.

use crate::job::{Engine, Job, Region};

/// What is left out between two transfers. Source: `get_next_seq_offset` of fio's `io_u.c`.
#[derive(Debug)]
pub(super) struct Holes {
    /// Bytes that are left out after each transfer; negative to go backwards.
    skip: i64,
    /// How much of the file is used, and how long it is; one of `null` has its share of `size`, or no end.
    used: u64,
    pub(super) file: u64,
}

impl Holes {
    pub(super) fn of(job: &Job, region: Region) -> Self {
        let end = region.offset + region.length;
        let of_size = |size: u64| (size / u64::from(job.file_count().max(1))).max(end);
        let file = match job.engine {
            Engine::Null => job.size.map_or(u64::MAX, of_size),
            _ => region.file,
        };
        Self { skip: job.order.skip, used: region.length, file }
    }

    /// Where the next transfer begins, after one that ended at this position of a region that begins at `start`; none ends the
    /// pass. A hole that reaches past the end of the file goes round. fio counts the place where that goes from the beginning
    /// of the file, and compares it with positions in the region: so a region that begins later ends the pass instead.
    pub(super) fn after(&self, position: u64, start: u64) -> Option<u64> {
        let end = self.used.min(self.file);
        let is_first_backwards = position == 0 && start > 0 && self.skip < 0;
        let mut at = if is_first_backwards { end.wrapping_sub(start) } else { position };
        if at != 0 {
            at = at.wrapping_add_signed(self.skip);
            if at >= self.file {
                at = if self.skip > 0 { start } else { end.wrapping_add_signed(self.skip) };
            }
        }
        let is_inside = position.saturating_add(start) < self.file && at < self.used;
        (is_inside && at.saturating_add(start) < self.file).then_some(at)
    }
}
