//! Making room under a limit on two lists: `mm/vmscan.c` and `mm/workingset.c` for clean and dirty file pages alone.
//!
//! Modelled after the direct reclaim of a memory group, with the lengths that the lists have. Since 6.12 the kernel takes those from
//! counts that are up to two seconds old (`mem_cgroup_flush_stats_ratelimited`), and the model does not. Batches that wait on a CPU to
//! join a list, and the watermarks of background reclaim, are left out.

use super::{ACTIVE, DIRTY, NOTHING, PageCache, RECLAIM, REFERENCED, SHADOW, WRITEBACK};

/// `SWAP_CLUSTER_MAX`: the least that one reclaim asks for, and the pages of a batch.
const BATCH: u64 = 32;
/// `DEF_PRIORITY`: a reclaim looks at one of 2^12 pages, then at twice as many for as long as it has evicted too few.
pub(super) const PRIORITY: u32 = 12;
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
        for priority in (0..=PRIORITY).rev() {
            evicted += self.shrink_lists(priority, target - evicted);
            if evicted >= target {
                break;
            }
        }
        self.refaulted = false;
    }

    /// Looks at one of 2^`priority` pages of each list, in batches until enough are evicted, and says how many that were. Source:
    /// `prepare_scan_control`, `get_scan_count`, `shrink_lruvec`.
    fn shrink_lists(&mut self, priority: u32, target: u64) -> u64 {
        let deactivates = self.refaulted || self.inactive_is_low();
        let [mut inactive, mut active] = self.list_pages().map(|pages| pages >> priority);
        let mut evicted = 0;
        while inactive + active > 0 && evicted < target {
            let batches = [&mut inactive, &mut active].map(|left| {
                let batch = BATCH.min(*left);
                *left -= batch;
                batch
            });
            evicted += self.shrink_inactive(batches[0]);
            if deactivates {
                self.shrink_active(batches[1]);
            }
        }
        evicted
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

    /// Evicts what can go of the oldest inactive folios, and says how many pages that were. What is dirty or on its way becomes
    /// active, and what is read is young again. Source: `shrink_inactive_list`, `shrink_folio_list`, `move_folios_to_lru`.
    fn shrink_inactive(&mut self, pages: u64) -> u64 {
        let [mut taken, mut evicted, mut unqueued] = [0; 3];
        while taken < pages && self.inactive.tail != super::lists::NONE {
            let slot = self.inactive.tail;
            let folio = &mut self.folios[slot as usize];
            let folio_pages = 1_u64 << folio.order;
            let is_clean = folio.flags & (DIRTY | WRITEBACK) == 0;
            taken += folio_pages;
            unqueued += if folio.flags & (DIRTY | WRITEBACK) == DIRTY { folio_pages } else { 0 };
            if is_clean && folio.awaits == 0 {
                let shadow = SHADOW | self.age & !SHADOW;
                self.remove(slot, shadow);
                self.grow_older(folio_pages);
                evicted += folio_pages;
                continue;
            }
            self.unlink(slot);
            let flags = &mut self.folios[slot as usize].flags;
            if !is_clean {
                *flags = *flags & !REFERENCED | ACTIVE | RECLAIM;
                self.grow_older(folio_pages);
            }
            self.link(slot);
        }
        self.lacks_writeback |= taken > 0 && unqueued == taken;
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
