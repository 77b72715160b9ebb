//! What a file's readers and writers have just touched, and what waits for data that are not near the CPU.

use std::collections::HashMap;

use super::{File, Inner};
use crate::file_read::PAGE;
use crate::io_path::prices::caches::{Seen, taken_by};
use crate::io_path::{Call, Kind, Prices, Work};
use crate::page_cache::FileId;

/// Bytes that were moved one after the other, and again from the start where it ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    start: u64,
    end: u64,
    /// As far as it ever came.
    reach: u64,
}

impl Run {
    pub(super) fn follow(&mut self, from: u64, to: u64) {
        if from != self.end && from != self.start {
            (self.start, self.reach) = (from, to);
        }
        (self.end, self.reach) = (to, self.reach.max(to));
    }

    /// Whether it ever came by a range.
    fn was_at(&self, from: u64, to: u64) -> bool {
        self.start <= from && to <= self.reach
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

    /// A call of so many bytes moves a range. Gives when these were moved since the job began.
    fn touch(&mut self, call: &Call, [from, to]: [u64; 2]) -> Seen {
        let round = self.footprint();
        let is_write = call.kind == Kind::Write;
        let own = usize::from(is_write);
        let [alike, all] = [self.moved[own], self.moved.iter().sum()];
        self.moved[own] += to - from;
        self.runs[own].follow(from, to);
        let other = &self.runs[1 - own];
        // Both go on alike. What is written pushes out less of what was read than the other way round.
        let behind = |bytes| if is_write { bytes + bytes / 2 } else { 2 * bytes };
        let behind = other.moved_since(from, to).map(behind).filter(|bytes| *bytes < round + call.bytes);
        match behind {
            Some(bytes) => Seen::Before { bytes, times: 1, alike: 1.0 },
            None if all < round => Seen::Never,
            None => Seen::Before {
                // Beside the data the caller's buffer.
                bytes: round + call.bytes,
                times: all / round.max(1),
                // What others came by soon after is as good as asked for again by the same.
                alike: if other.was_at(from, to) { 1.0 } else { alike as f64 / all.max(1) as f64 },
            },
        }
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
        let seen = file.touch(&work.call, [from, to]);
        prices.caches.waiting_for(work.call.bytes, [from, to], seen, jumped)
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
        let seen = file.touch(&work.call, [from, to]);
        // The rest of a page that was just written to is near.
        let is_rest = goes_on && from % PAGE != 0;
        let seen = if is_old && !is_rest { seen } else { Seen::Now };
        prices.caches.waiting_for(work.call.bytes, [from, to], seen, jumps) as u64
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
        assert!(!run.was_at(4096, 8192) && run.was_at(65_536, 69_632));
    }

    #[test]
    fn who_begins_again_was_everywhere() {
        let mut run = Run::default();
        [(0, 4096), (4096, 8192), (0, 4096)].into_iter().for_each(|(from, to)| run.follow(from, to));
        assert_eq!([run.moved_since(0, 4096), run.moved_since(4096, 8192)], [Some(4096), None]);
        assert!(run.was_at(4096, 8192) && !run.was_at(8192, 12_288));
    }

    #[test]
    fn data_were_seen_by_who_moves_alike_and_by_who_goes_on_beside() {
        let (size, block) = (1 << 20, 4096);
        let mut file = File { size, ..File::default() };
        let mut touch = |kind, at: u64| {
            let call = Call::new(kind, FileId(1)).at(at, block);
            file.touch(&call, [at, at + block])
        };
        assert_eq!([touch(Kind::Write, 0), touch(Kind::Write, block)], [Seen::Never; 2]);
        assert_eq!(touch(Kind::Read, 0), Seen::Before { bytes: 4 * block, times: 1, alike: 1.0 });
        assert_eq!(touch(Kind::Read, 8 * block), Seen::Never);
        for page in 0..256 {
            touch(Kind::Read, page * block);
        }
        let seen = touch(Kind::Read, 9 * block);
        let Seen::Before { bytes, times: 1, alike } = seen else { panic!("{seen:?}") };
        assert!(bytes == size + block && (0.98..1.0).contains(&alike), "{seen:?}");
        for page in 0..256 {
            touch(Kind::Write, page * block);
        }
        let seen = touch(Kind::Read, 0);
        assert!(matches!(seen, Seen::Before { times: 2, alike: 1.0, .. }), "{seen:?}");
    }
}
