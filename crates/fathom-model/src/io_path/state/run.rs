//! What a file's readers and writers have just touched, and what waits for data that are not near the CPU.

use std::collections::HashMap;

use super::{File, Inner};
use crate::file_read::PAGE;
use crate::io_path::prices::{Jump, Seen};
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
    /// Bytes that were moved and walked through so far.
    clock: u64,
    /// What it showed at the last walk through a folio, by file and first page.
    last: HashMap<(FileId, u64), u64>,
}

impl Walks {
    /// `struct buffer_head`.
    const BUFFER: u64 = 104;

    /// A job begins with a file: when others walked through it does not count.
    pub(super) fn forget(&mut self, file: FileId) {
        self.last.retain(|(of, _), _| *of != file);
    }

    /// Somebody moves bytes.
    pub(super) fn pass(&mut self, bytes: u64) {
        self.clock += bytes;
    }

    /// Somebody walks through a folio; gives how many bytes came between this and the last time: `before`, if that was
    /// before the job began.
    pub(super) fn walk(&mut self, file: FileId, first: u64, pages: u64, before: u64) -> u64 {
        if pages == 1 {
            return 0;
        }
        let last = self.last.insert((file, first), self.clock);
        let since = last.map_or(before, |last| self.clock - last);
        self.clock += pages * Self::BUFFER;
        since
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
        // Both go on alike.
        other.moved_since(from, to).map_or(seen, |behind| Seen::Often(2 * behind))
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
        prices.being_far(to - from, work.call.bytes, seen, Jump::to(from, jumped))
    }

    /// Whether a write begins where the last one of its file ended. One that does not finds no extent to grow
    /// (`ext4_es_insert_extent`, `xfs_bmap_add_extent_hole_delay`).
    pub(super) fn goes_on(&self, file: FileId, from: u64) -> bool {
        let [_, written] = &self.files[file.0 as usize].runs;
        written.ends_at(from)
    }

    /// What a write waits for because what it writes over, or what it writes, is not near, in ns.
    pub(super) fn write_far(
        &mut self,
        work: &Work,
        [from, to]: [u64; 2],
        is_old: bool,
        prices: &Prices,
    ) -> u64 {
        let goes_on = self.goes_on(work.call.file, from);
        let file = &mut self.files[work.call.file.0 as usize];
        let [read, written] = &mut file.runs;
        written.follow(from, to);
        let read = *read;
        let seen = file.touch([from, to], read);
        let buffer = prices.large_buffer(to - from, work.call.bytes);
        // The rest of a page that was just written to is near.
        let is_rest = goes_on && from % PAGE != 0;
        let far = if is_old && !is_rest {
            let jump = Jump::to(from, from == work.call.offset && !goes_on);
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
    fn a_folio_was_left_as_many_bytes_ago_as_were_moved_and_walked_through_since() {
        let mut walks = Walks::default();
        assert_eq!(walks.walk(FileId(1), 0, 256, 1 << 20), 1 << 20);
        walks.pass(8192);
        assert_eq!(walks.walk(FileId(1), 256, 256, 1 << 20), 1 << 20);
        assert_eq!(walks.walk(FileId(1), 0, 256, 1 << 20), 8192 + 2 * 256 * 104);
        assert_eq!(walks.walk(FileId(2), 9, 1, 1 << 20), 0);
        walks.forget(FileId(1));
        assert_eq!(walks.walk(FileId(1), 0, 256, 1 << 20), 1 << 20);
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
