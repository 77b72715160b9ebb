//! Making room under a limit on two lists: `mm/vmscan.c` and `mm/workingset.c` for clean and dirty file pages alone.
//!
//! Modelled after the direct reclaim of a memory group. Its hits are held against one within 1 %, not page by page: in a
//! group other things than file pages are charged, the kernel's batches are per CPU, and background reclaim has watermarks.

use super::{ACTIVE, DIRTY, NOTHING, PageCache, REFERENCED, SHADOW, WRITEBACK};

/// `SWAP_CLUSTER_MAX`: the least that one reclaim asks for, and the pages of a batch.
const BATCH: u64 = 32;
const PAGES_PER_GIB: u64 = 1 << 18;

impl PageCache {
    /// Evicts until `pages` more have room, or nothing more can go: dirty folios and those on their way
    /// stay, and the limit is then exceeded.
    pub(super) fn make_room(&mut self, pages: u64) {
        let Some(limit) = self.limit else { return };
        if self.pages() + pages <= limit {
            return;
        }
        let target = (self.pages() + pages - limit).max(BATCH);
        if let Some(mut generations) = self.generations.take() {
            generations.shrink(self, target);
            self.generations = Some(generations);
            return;
        }
        let mut evicted = 0;
        // Each pass over the lists is one priority of `shrink_node`; twelve are the kernel's patience.
        for _ in 0..12 {
            if self.refaulted || self.inactive_is_low() {
                let [inactive, active] = self.list_pages();
                let share = target.max(BATCH) * active / inactive.max(1);
                self.shrink_active(share.clamp(BATCH, active.max(BATCH)));
            }
            evicted += self.shrink_inactive(target - evicted);
            if evicted >= target {
                break;
            }
        }
        self.refaulted = false;
    }

    /// Whether the active list has more than its share. Source: `inactive_is_low`.
    fn inactive_is_low(&self) -> bool {
        let [inactive, active] = self.list_pages();
        let gib = (inactive + active) / PAGES_PER_GIB;
        let ratio = if gib > 0 { (10 * gib).isqrt() } else { 1 };
        inactive * ratio < active
    }

    /// Moves the oldest active folios to the inactive list. Source: `shrink_active_list`.
    fn shrink_active(&mut self, pages: u64) {
        let mut moved = 0;
        while moved < pages && self.active.tail != super::lists::NONE {
            let slot = self.active.tail;
            self.unlink(slot);
            self.folios[slot as usize].flags &= !ACTIVE;
            self.link(slot);
            moved += 1 << self.folios[slot as usize].order;
        }
    }

    /// Evicts the oldest inactive folios that can go, and says how many pages that were. Those that can't
    /// are taken for young again. Source: `shrink_inactive_list`, `folio_check_references`.
    fn shrink_inactive(&mut self, pages: u64) -> u64 {
        let mut evicted = 0;
        let mut looked_at = 0;
        // Of the batch that is looked at: all of it, and what is dirty and not on its way.
        let [mut batch, mut unqueued] = [0; 2];
        let most = self.inactive.pages;
        while evicted < pages && looked_at < most && self.inactive.tail != super::lists::NONE {
            let slot = self.inactive.tail;
            let folio = &mut self.folios[slot as usize];
            let folio_pages = 1_u64 << folio.order;
            looked_at += folio_pages;
            batch += folio_pages;
            unqueued += if folio.flags & (DIRTY | WRITEBACK) == DIRTY { folio_pages } else { 0 };
            if batch >= BATCH {
                self.lacks_writeback |= unqueued == batch;
                [batch, unqueued] = [0; 2];
            }
            if folio.awaits != 0 || folio.flags & (DIRTY | WRITEBACK) != 0 {
                folio.flags &= !REFERENCED;
                self.unlink(slot);
                self.link(slot);
                continue;
            }
            let shadow = SHADOW | self.age & !SHADOW;
            self.remove(slot, shadow);
            self.grow_older(folio_pages);
            evicted += folio_pages;
        }
        evicted
    }

    /// Whether a page that comes back is activated at once: where as many pages as there are active ones
    /// went since it was evicted, or fewer. There is no swap. Source: `workingset_test_recent`.
    pub(super) fn refault(&mut self, entry: u32, pages: u64) -> bool {
        if entry == NOTHING || entry & SHADOW == 0 {
            return false;
        }
        let distance = (self.age & !SHADOW).wrapping_sub(entry & !SHADOW) & !SHADOW;
        let is_recent = u64::from(distance) <= self.active.pages;
        if is_recent {
            self.grow_older(pages);
            self.refaulted = true;
        }
        is_recent
    }

    /// `workingset_age_nonresident`.
    pub(super) fn grow_older(&mut self, pages: u64) {
        self.age = self.age.wrapping_add(pages as u32);
    }
}
