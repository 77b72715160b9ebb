//! A write fills a folio of the cache: what this changes in all layers.

use fathom_net::Time;

use super::{Change, Effects, State};
use crate::file_read::PAGE;
use crate::file_write::write_begin;
use crate::io_path::costs::Costs;
use crate::page_cache::FileId;
use crate::parameters::Scalar;

/// A stretch of a write that lies in one folio.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filled {
    /// The byte after its last.
    pub(crate) end: u64,
    /// Pages of the folio, if it is new.
    new_pages: u64,
    /// Pages of the folio, if it was there before.
    pub(crate) old_pages: u64,
    /// Bytes that the CPU's caches took since the folio's buffers were last looked at.
    since: u64,
    /// Whether they were not looked at since the job began.
    is_first: bool,
    /// Blocks of the file that were never written before.
    pub(crate) new_blocks: u64,
    /// Pages that are counted as dirty from now on: all of a folio.
    pub(crate) dirtied: u64,
    /// Clean pages that were written to. Source: `mark_buffer_dirty`, `ifs_set_range_dirty`.
    pub(crate) marked: u64,
}

impl Filled {
    /// The time of writing so many bytes there, without the copy; in ns.
    pub(crate) fn cost(self, bytes: u64, costs: &Costs) -> u64 {
        let folio = costs.new_folio(self.new_pages);
        let first = if self.is_first { costs[Scalar::WalkedFirst] } else { 0.0 };
        let walked = costs.caches.walking(self.old_pages, self.since, bytes) + self.old_pages as f64 * first;
        // The time of a new page includes that of its mark.
        let marked = if self.new_pages == 0 { self.marked as f64 * costs[Scalar::DirtiedPage] } else { 0.0 };
        (costs[Scalar::WriteCall]
            + folio
            + walked
            + marked
            + self.new_blocks as f64 * costs[Scalar::NewBlock]) as u64
    }
}

impl State {
    /// Writes into the folio at `position`, which may be new, at most to `end`; `now` in ns since the machine was
    /// started.
    pub(crate) fn fill_folio(&mut self, file: FileId, [position, end]: [u64; 2], now: u64) -> Filled {
        let (folio, is_new) = write_begin(&mut self.cache, self.limits, file, position, end);
        let end = end.min((folio.first + folio.pages) * PAGE);
        let pages = [position / PAGE, end.div_ceil(PAGE)];
        self.cache.mark_accessed(folio);
        let dirtied = if self.cache.set_dirty(folio, true) { folio.pages } else { 0 };
        let extended = self.files.write(file, [position, end], self.writeback.jiffy_of(now));
        let marked = self.writeback.mark(file, pages, dirtied, now);
        let change = Change {
            pages: pages[1] - pages[0],
            is_of_size: extended.is_longer || extended.new_blocks > 0,
            is_of_time: extended.is_later,
        };
        self.journal.change(file, change, now);
        let pointers = self.allocation.written(file, pages);
        self.journal.change_pointers(pointers);
        let size = self.files.get(file).size;
        let (since, is_first) =
            self.recency.look_at_buffers(file, [folio.first, folio.pages], end - position, size);
        let [new_pages, old_pages] = if is_new { [folio.pages, 0] } else { [0, folio.pages] };
        Filled {
            end,
            new_pages,
            old_pages,
            since,
            is_first,
            new_blocks: extended.new_blocks,
            dirtied,
            marked,
        }
    }

    /// What a write with O_DIRECT changes of a file besides its data; `now` in ns since the machine was started. Returns whether it
    /// has blocks that were never written.
    pub(crate) fn written_past_cache(&mut self, file: FileId, [position, end]: [u64; 2], now: u64) -> bool {
        let pages = [position / PAGE, end.div_ceil(PAGE)];
        let extended = self.files.write(file, [position, end], self.writeback.jiffy_of(now));
        let change = Change {
            pages: 0,
            is_of_size: extended.is_longer || extended.new_blocks > 0,
            is_of_time: extended.is_later,
        };
        self.journal.change(file, change, now);
        let pointers = self.allocation.written(file, pages);
        self.journal.change_pointers(pointers);
        extended.new_blocks > 0
    }

    /// Wakes the flusher if reclaim has found dirty folios alone.
    pub(crate) fn write_for_room(&mut self, now: u64, effects: &mut Effects) {
        if self.cache.wants_writeback() {
            effects.wake = effects.wake.or_else(|| self.writeback.wake_for_all(now));
        }
    }

    /// Writes data into a file that stay in the cache, in no time and by no job. If memory is short, the next read or
    /// write of a job wakes the flusher.
    pub(super) fn write(&mut self, file: FileId, offset: u64, bytes: u64) {
        // As programs do that write a file: not all at once.
        const AT_ONCE: u64 = 1 << 20;
        let (mut at, end, now) = (offset, offset + bytes, self.clock.ns(Time::ZERO));
        while at < end {
            let beyond = end.min((at / AT_ONCE + 1) * AT_ONCE);
            at = self.fill_folio(file, [at, beyond], now).end;
        }
    }
}
