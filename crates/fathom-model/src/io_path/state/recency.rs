//! How long ago data were touched, in bytes that the CPU's caches have taken since: data that are no longer in them
//! take longer to copy.

use std::collections::HashMap;

use crate::file_read::PAGE;
use crate::io_path::CallKind;
use crate::io_path::costs::Costs;
use crate::io_path::costs::caches::{Seen, taken_by};
use crate::io_path::work::{SystemCall, Work};
use crate::page_cache::FileId;

/// What was touched of every file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recency {
    files: Vec<Touched>,
    buffers: Buffers,
}

/// What was touched of a file.
#[derive(Clone, Debug, Default)]
struct Touched {
    /// The bytes of it that are read and written again and again; 0 for all.
    visited: u64,
    /// The bytes read and written since then.
    moved: [u64; 2],
    /// The last bytes read, and the last written, in one go. What a writer has just touched is near for a reader as
    /// well.
    runs: [Run; 2],
}

/// Bytes that were moved one after the other. One that goes back to its start goes on.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    start: u64,
    end: u64,
    /// The greatest end that it ever had.
    reach: u64,
}

impl Run {
    /// Bytes are moved, which go on with the run or begin another.
    fn follow(&mut self, from: u64, to: u64) {
        if from != self.end && from != self.start {
            (self.start, self.reach) = (from, to);
        }
        (self.end, self.reach) = (to, self.reach.max(to));
    }

    /// Whether it has ever moved a range.
    fn was_at(&self, from: u64, to: u64) -> bool {
        self.start <= from && to <= self.reach
    }

    /// Whether bytes moved from here on go on with it.
    fn ends_at(&self, from: u64) -> bool {
        self.end == from
    }

    /// The bytes that it has moved since the begin of a range; none if it has not moved the range.
    fn moved_since(&self, from: u64, to: u64) -> Option<u64> {
        (self.start <= from && to <= self.end).then(|| self.end - from)
    }
}

/// When the buffers of folios were last looked at: a write into a folio looks at the buffers of all its pages.
#[derive(Clone, Debug, Default)]
struct Buffers {
    /// Bytes that the CPU's caches have taken so far.
    clock: u64,
    /// The clock after the last write into a folio, by file and first page.
    last: HashMap<(FileId, u64), u64>,
}

impl Buffers {
    /// A job begins with a file: earlier writes do not count.
    fn forget(&mut self, file: FileId) {
        self.last.retain(|(of, _), _| *of != file);
    }

    /// Bytes are copied.
    fn pass(&mut self, bytes: u64) {
        self.clock += taken_by(bytes, 0);
    }

    /// Bytes are written into a folio. Returns the bytes that the caches have taken since its buffers were last looked
    /// at, with this look; if that was before the job began, those of a copy of `before` bytes. And whether it was.
    fn walk(&mut self, file: FileId, [first, pages]: [u64; 2], bytes: u64, before: u64) -> (u64, bool) {
        if pages == 1 {
            self.pass(bytes);
            return (0, false);
        }
        let begun = self.clock;
        self.clock += taken_by(bytes, pages);
        let last = self.last.insert((file, first), self.clock);
        (last.map_or(taken_by(before, 0), |last| begun - last) + taken_by(0, pages), last.is_none())
    }
}

impl Touched {
    /// The bytes of a file of this size that are read and written again and again.
    fn footprint(&self, size: u64) -> u64 {
        if self.visited == 0 { size } else { self.visited.min(size) }
    }

    /// A call moves a range of a file of this size. Returns when the range was last moved since the job began.
    fn touch(&mut self, call: &SystemCall, [from, to]: [u64; 2], size: u64) -> Seen {
        let round = self.footprint(size);
        let is_write = call.kind == CallKind::Write;
        let own = usize::from(is_write);
        let [alike, all] = [self.moved[own], self.moved.iter().sum()];
        self.moved[own] += to - from;
        self.runs[own].follow(from, to);
        let other = &self.runs[1 - own];
        // Both runs go on at one speed. Written data push out less of the read data than the other way round.
        let behind = |bytes| if is_write { bytes + bytes / 2 } else { 2 * bytes };
        let behind = other.moved_since(from, to).map(behind).filter(|bytes| *bytes < round + call.bytes);
        match behind {
            Some(bytes) => Seen::Before { bytes, times: 1, alike: 1.0 },
            None if all < round => Seen::Never,
            None => Seen::Before {
                // The data and the caller's buffer.
                bytes: round + call.bytes,
                times: all / round.max(1),
                // A range that the other run moved soon after counts as moved again by this one.
                alike: if other.was_at(from, to) { 1.0 } else { alike as f64 / all.max(1) as f64 },
            },
        }
    }
}

impl Recency {
    /// A file is new.
    pub(crate) fn add_file(&mut self) {
        self.files.push(Touched::default());
    }

    /// A file is replaced by an empty one. When buffers of the old one were looked at is kept.
    pub(crate) fn replace_file(&mut self, file: FileId) {
        self.files[file.0 as usize] = Touched::default();
    }

    /// From now on no more than so many bytes of a file are read and written. None of them is near.
    pub(crate) fn visit(&mut self, file: FileId, bytes: u64) {
        self.buffers.forget(file);
        self.files[file.0 as usize] = Touched { visited: bytes, ..Touched::default() };
    }

    /// A read copies a range of a file of this size. Returns how long it waits for data that are not near, in ns.
    pub(crate) fn read(
        &mut self,
        work: &Work,
        range: [u64; 2],
        size: u64,
        jumped: bool,
        costs: &Costs,
    ) -> f64 {
        let [from, to] = range;
        self.buffers.pass(to - from);
        let seen = self.files[work.call.file.0 as usize].touch(&work.call, range, size);
        costs.caches.waiting_for(work.call.bytes, range, seen, jumped)
    }

    /// Whether a write begins where the last one of its file ended. One that does not finds no extent to grow
    /// (`ext4_es_insert_extent`, `xfs_bmap_add_extent_hole_delay`).
    fn goes_on(&self, file: FileId, from: u64) -> bool {
        let [_, written] = &self.files[file.0 as usize].runs;
        written.ends_at(from)
    }

    /// Whether a write begins here, and elsewhere than the last one of its file ended.
    pub(crate) fn jumps(&self, work: &Work, from: u64) -> bool {
        from == work.call.offset && !self.goes_on(work.call.file, from)
    }

    /// A write copies into a range, of old data or of none. Returns how long it waits for data that are not near, in ns.
    pub(crate) fn write(
        &mut self,
        work: &Work,
        [from, to]: [u64; 2],
        size: u64,
        is_old: bool,
        costs: &Costs,
    ) -> u64 {
        let (goes_on, jumps) = (self.goes_on(work.call.file, from), self.jumps(work, from));
        let seen = self.files[work.call.file.0 as usize].touch(&work.call, [from, to], size);
        // The rest of a page that was just written to is near.
        let is_rest = goes_on && from % PAGE != 0;
        let seen = if is_old && !is_rest { seen } else { Seen::Now };
        costs.caches.waiting_for(work.call.bytes, [from, to], seen, jumps) as u64
    }

    /// A write of bytes into a folio looks at the buffers of its pages. Returns the bytes that the caches have taken
    /// since they were last looked at, and whether that was before the job began.
    pub(crate) fn look_at_buffers(
        &mut self,
        file: FileId,
        folio: [u64; 2],
        bytes: u64,
        size: u64,
    ) -> (u64, bool) {
        // The flusher, too, looked at all of them.
        let before = self.files[file.0 as usize].footprint(size);
        self.buffers.walk(file, folio, bytes, before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_was_left_before_all_that_was_moved_and_walked_through_since() {
        let mut buffers = Buffers::default();
        let (mib, walked) = (1 << 20, 256 * 104);
        let mut walk = |first, passed| {
            buffers.pass(passed);
            buffers.walk(FileId(1), [first, 256], 4096, mib)
        };
        let (first, later) = ((2 * mib + walked, true), |since| (since, false));
        assert_eq!([walk(0, 0), walk(0, 0), walk(0, 8192)], [first, later(walked), later(2 * 8192 + walked)]);
        assert_eq!([walk(256, 0), walk(0, 0)], [first, later(2 * 4096 + 2 * walked)]);
        assert_eq!(buffers.walk(FileId(2), [9, 1], 4096, mib), (0, false));
        buffers.forget(FileId(1));
        assert_eq!(buffers.walk(FileId(1), [0, 256], 4096, mib), first);
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
    fn data_moved_before_count_with_the_share_of_calls_like_this_one() {
        let (size, block) = (1 << 20, 4096);
        let mut file = Touched::default();
        let mut touch = |kind, at: u64| {
            let call = SystemCall {
                kind,
                file: FileId(1),
                descriptor: 0,
                fresh_pages: 0,
                faults: None,
                offset: at,
                bytes: block,
                flags: 0,
                is_queued: false,
                then: None,
            };
            file.touch(&call, [at, at + block], size)
        };
        assert_eq!([touch(CallKind::Write, 0), touch(CallKind::Write, block)], [Seen::Never; 2]);
        assert_eq!(touch(CallKind::Read, 0), Seen::Before { bytes: 4 * block, times: 1, alike: 1.0 });
        assert_eq!(touch(CallKind::Read, 8 * block), Seen::Never);
        for page in 0..256 {
            touch(CallKind::Read, page * block);
        }
        let seen = touch(CallKind::Read, 9 * block);
        let Seen::Before { bytes, times: 1, alike } = seen else { panic!("{seen:?}") };
        assert!(bytes == size + block && (0.98..1.0).contains(&alike), "{seen:?}");
        for page in 0..256 {
            touch(CallKind::Write, page * block);
        }
        let seen = touch(CallKind::Read, 0);
        assert!(matches!(seen, Seen::Before { times: 2, alike: 1.0, .. }), "{seen:?}");
    }
}
