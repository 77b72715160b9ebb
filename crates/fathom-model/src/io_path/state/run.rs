//! What a file's readers and writers have just touched, and what waits for data that are not near the CPU.

use super::{File, Inner};
use crate::file_read::PAGE;
use crate::io_path::{Prices, Work};

/// Bytes that were moved one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    start: u64,
    end: u64,
}

impl Run {
    pub(super) fn follow(&mut self, from: u64, to: u64) {
        if from != self.end {
            self.start = from;
        }
        self.end = to;
    }

    /// Whether what is moved next from a byte on belongs to it.
    pub(super) fn ends_at(&self, from: u64) -> bool {
        self.end == from
    }

    /// Whether a range is among its last so many bytes.
    pub(super) fn has_just_moved(&self, from: u64, to: u64, window: u64) -> bool {
        self.start.max(self.end.saturating_sub(window)) <= from && to <= self.end
    }
}

impl Inner {
    /// What a read waits for because what it reads is not near, in ns.
    pub(super) fn read_far(
        &mut self,
        work: &Work,
        [from, to]: [u64; 2],
        jumped: bool,
        prices: &Prices,
    ) -> f64 {
        let File { runs: [read, written], size, .. } = &mut self.files[work.call.file.0 as usize];
        read.follow(from, to);
        match written.has_just_moved(from, to, prices.near_window()) {
            true => 0.0,
            false => prices.being_far(to - from, work.call.bytes, *size, jumped),
        }
    }

    /// What a write waits for because what it writes over is not near, in ns.
    pub(super) fn write_far(
        &mut self,
        work: &Work,
        [from, to]: [u64; 2],
        is_old: bool,
        prices: &Prices,
    ) -> u64 {
        let File { runs: [read, written], size, .. } = &mut self.files[work.call.file.0 as usize];
        let goes_on = written.ends_at(from);
        written.follow(from, to);
        // The rest of a page that was just written to is near.
        let is_rest = goes_on && from % PAGE != 0;
        if !is_old || is_rest || read.has_just_moved(from, to, prices.near_window()) {
            return 0;
        }
        prices.being_far(to - from, work.call.bytes, *size, from == work.call.offset && !goes_on) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_begins_anew_and_what_is_far_behind_is_far() {
        let mut run = Run::default();
        run.follow(0, 4096);
        run.follow(4096, 8192);
        assert!(run.has_just_moved(0, 8192, 8192) && !run.has_just_moved(0, 4096, 4096));
        run.follow(65_536, 69_632);
        assert!(!run.has_just_moved(4096, 8192, 1 << 20) && run.has_just_moved(65_536, 69_632, 1 << 20));
    }
}
