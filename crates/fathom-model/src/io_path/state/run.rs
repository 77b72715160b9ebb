//! What a file's readers and writers have just touched, and what waits for data that are not near the CPU.

use std::collections::HashMap;

use super::{File, Inner};
use crate::file_read::PAGE;
use crate::io_path::prices::{Jump, Seen, taken_by};
use crate::io_path::{Prices, Work};
use crate::page_cache::FileId;

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

    /// How many bytes it has moved since it came by the begin of a range; none where it was never there.
    fn moved_since(&self, from: u64, to: u64) -> Option<u64> {
        (self.start <= from && to <= self.end).then(|| self.end - from)
    }
}

/// When folios were last written to: a write walks through the buffers of all their pages.
#[derive(Clone, Debug, Default)]
pub(super) struct Walks {
    /// Bytes that a CPU's caches took so far.
    clock: u64,
    /// What it showed after the last write into a folio, by file and first page.
    last: HashMap<(FileId, u64), u64>,
}

impl Walks {
    /// A job begins with a file: when others walked through it does not count.
    pub(super) fn forget(&mut self, file: FileId) {
        self.last.retain(|(of, _), _| *of != file);
    }

    /// Somebody copies bytes.
    pub(super) fn pass(&mut self, bytes: u64) {
        self.clock += taken_by(bytes, 0);
    }

    /// Somebody writes bytes into a folio; gives how many the caches took between the last look at a buffer and the one before
    /// it copies, this walk's own among them: those of a copy of `before`, if the last one was before the job began.
    pub(super) fn walk(&mut self, file: FileId, [first, pages]: [u64; 2], bytes: u64, before: u64) -> u64 {
        if pages == 1 {
            self.pass(bytes);
            return 0;
        }
        let begun = self.clock;
        self.clock += taken_by(bytes, pages);
        let last = self.last.insert((file, first), self.clock);
        last.map_or(taken_by(before, 0), |last| begun - last) + taken_by(0, pages)
    }
}

impl File {
    /// How many bytes come round.
    pub(super) fn footprint(&self) -> u64 {
        if self.visited == 0 { self.size } else { self.visited.min(self.size) }
    }

    /// Somebody moves a range of bytes, and `other` is the run of those who do the opposite. Gives when these were moved since
    /// the job began.
    fn touch(&mut self, [from, to]: [u64; 2], other: Run) -> Seen {
        let round = self.footprint();
        let seen = match self.moved / round.max(1) {
            0 => Seen::Never,
            1 => Seen::Once(round),
            _ => Seen::Often(round),
        };
        self.moved += to - from;
        // Both go on alike, and what is written has two ends to find room for.
        other.moved_since(from, to).map_or(seen, |behind| Seen::Often(taken_by(2 * behind, 0)))
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
        self.walks.pass(to - from);
        let file = &mut self.files[work.call.file.0 as usize];
        let [read, written] = &mut file.runs;
        read.follow(from, to);
        let written = *written;
        let seen = file.touch([from, to], written);
        prices.being_far(to - from, work.call.bytes, seen, Jump::to(from, work.call.bytes, jumped))
    }

    /// Whether a write begins where the last one of its file ended. One that does not finds no extent to grow
    /// (`ext4_es_insert_extent`, `xfs_bmap_add_extent_hole_delay`).
    pub(super) fn goes_on(&self, file: FileId, from: u64) -> bool {
        let [_, written] = &self.files[file.0 as usize].runs;
        written.ends_at(from)
    }

    /// Whether a write begins here, and elsewhere than the last one of its file ended.
    pub(super) fn jumps(&self, work: &Work, from: u64) -> bool {
        from == work.call.offset && !self.goes_on(work.call.file, from)
    }

    /// What a write waits for because what it writes over, or what it writes, is not near, in ns.
    pub(super) fn write_far(
        &mut self,
        work: &Work,
        [from, to]: [u64; 2],
        is_old: bool,
        prices: &Prices,
    ) -> u64 {
        let (goes_on, jumps) = (self.goes_on(work.call.file, from), self.jumps(work, from));
        let file = &mut self.files[work.call.file.0 as usize];
        let [read, written] = &mut file.runs;
        written.follow(from, to);
        let read = *read;
        let seen = file.touch([from, to], read);
        let buffer = prices.large_buffer(to - from, work.call.bytes);
        // The rest of a page that was just written to is near.
        let is_rest = goes_on && from % PAGE != 0;
        let far = if is_old && !is_rest {
            let jump = Jump::to(from, work.call.bytes, jumps);
            prices.being_far(to - from, work.call.bytes, seen, jump)
        } else {
            0.0
        };
        (buffer + far) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_was_left_before_all_that_was_moved_and_walked_through_since() {
        let mut walks = Walks::default();
        let (mib, walked) = (1 << 20, 256 * 104);
        let mut walk = |first, passed| {
            walks.pass(passed);
            walks.walk(FileId(1), [first, 256], 4096, mib)
        };
        assert_eq!([walk(0, 0), walk(0, 0), walk(0, 8192)], [2 * mib + walked, walked, 2 * 8192 + walked]);
        assert_eq!([walk(256, 0), walk(0, 0)], [2 * mib + walked, 2 * 4096 + 2 * walked]);
        assert_eq!(walks.walk(FileId(2), [9, 1], 4096, mib), 0);
        walks.forget(FileId(1));
        assert_eq!(walks.walk(FileId(1), [0, 256], 4096, mib), 2 * mib + walked);
    }

    #[test]
    fn a_jump_begins_anew() {
        let mut run = Run::default();
        run.follow(0, 4096);
        run.follow(4096, 8192);
        assert_eq!([run.moved_since(0, 4096), run.moved_since(4096, 8192)], [Some(8192), Some(4096)]);
        run.follow(65_536, 69_632);
        assert_eq!([run.moved_since(4096, 8192), run.moved_since(65_536, 69_632)], [None, Some(4096)]);
    }
}
