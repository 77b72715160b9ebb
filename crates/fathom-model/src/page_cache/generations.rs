//! Making room under a limit in generations: the multi-generational LRU (MGLRU) of Linux 6.12.
//!
//! Each folio is in one of up to four generations, and folios of the oldest one are evicted. Among these, a folio that was used again
//! is in a higher tier. A controller counts how many evicted pages of each tier are read again soon; if a tier has more than twice the
//! first tier's share of them, it is protected: its folios move on to the next generation, where their uses are counted from none. A
//! new generation begins when the oldest one is short of folios or the youngest one has too many.
//!
//! For folios of files that system calls read and write: no page tables are walked, and nothing is swapped. Folios join their generation
//! when they are added; the kernel lets up to 31 wait on each CPU, and a reclaim takes those of its own CPU first. Dirty folios are as
//! in 6.12.117; early versions of 6.12 moved them to the next generation. Linux 6.14 has other rules of what is protected (docs/model.md).
//!
//! Source: `mm/vmscan.c`, `mm/workingset.c`, `include/linux/mm_inline.h`.

use super::lists::{List, NONE};
use super::reclaim::PRIORITY;
use super::{DIRTY, PageCache, RECLAIM, REFERENCED, SHADOW, Slot, WRITEBACK};

/// The most generations, and the fewest: `MAX_NR_GENS`, `MIN_NR_GENS`.
const GENERATIONS: usize = 4;
const FEWEST: u64 = 2;
/// `MAX_NR_TIERS`.
const TIERS: usize = 4;
/// The most uses after the first one that are counted: what `PG_workingset` and the bits of `LRU_REFS_WIDTH` can hold.
pub(super) const MOST_REFS: u8 = 4;
/// Pages that are evicted at once, and folios that are looked at for that: `MIN_LRU_BATCH`, `MAX_LRU_BATCH`.
const BATCH: u64 = 64;
const LOOKED_AT: usize = 64 * 64;
/// Bits of a shadow that hold uses. Those above hold the generation.
const REFS_BITS: u32 = 3;

/// All generations. They have running numbers; a folio keeps the last two bits of its own.
#[derive(Clone)]
pub(super) struct Generations {
    pub(super) lists: [List; GENERATIONS],
    /// The number of the oldest generation: `min_seq`.
    oldest: u64,
    /// The number of the youngest one: `max_seq`.
    youngest: u64,
    tiers: [Tier; TIERS],
}

/// Pages of a tier, since the oldest generation is the oldest.
#[derive(Clone, Copy, Default)]
struct Tier {
    /// Evicted, and read again.
    refaulted: u64,
    /// Evicted or protected.
    total: u64,
    /// The same two of earlier generations: each counts half as much as the next one.
    before: [u64; 2],
}

/// What one pass at a priority did, in pages.
#[derive(Default)]
struct Pass {
    evicted: u64,
    /// Taken off the oldest list.
    taken: u64,
    /// Dirty, and not on their way to the device.
    unqueued: u64,
}

impl Default for Generations {
    /// Source: `lru_gen_init_lruvec`.
    fn default() -> Self {
        Self {
            lists: [const { List::EMPTY }; GENERATIONS],
            oldest: 0,
            youngest: FEWEST + 1,
            tiers: Default::default(),
        }
    }
}

impl Tier {
    /// Pages that were evicted and read again, and pages that were evicted or protected. Source: `read_ctrl_pos`.
    fn position(&self) -> [u64; 2] {
        [self.before[0] + self.refaulted, self.before[1] + self.total]
    }
}

/// Source: `lru_tier_from_refs`.
fn tier_of(refs: u8) -> usize {
    (refs + 1).next_power_of_two().trailing_zeros() as usize
}

fn place(generation: u64) -> u8 {
    (generation % GENERATIONS as u64) as u8
}

impl Generations {
    /// Where a folio is that leaves next.
    pub(super) fn oldest_place(&self) -> u8 {
        place(self.oldest)
    }

    pub(super) fn list(&mut self, place: u8) -> &mut List {
        &mut self.lists[usize::from(place)]
    }

    fn pages_of(&self, generation: u64) -> u64 {
        self.lists[usize::from(place(generation))].pages
    }

    /// The pages of all generations but the youngest two, and of these. Source: `lru_gen_is_active`.
    pub(super) fn list_pages(&self) -> [u64; 2] {
        let all: u64 = self.lists.iter().map(|list| list.pages).sum();
        let active = self.pages_of(self.youngest) + self.pages_of(self.youngest - 1);
        [all - active, active]
    }

    /// Decides on the generation of a new folio. If `entry` is the shadow of one that was evicted since the oldest generation is the
    /// oldest, its tier has a refault more, and a folio that was often used counts as that again. Source: `lru_gen_add_folio`,
    /// `lru_gen_refault`.
    pub(super) fn admit(&mut self, folio: &mut Slot, entry: u32) {
        let is_short = self.oldest + FEWEST >= self.youngest;
        folio.generation = place(if is_short { self.oldest } else { self.oldest + 1 });
        let refs = (entry & ((1 << REFS_BITS) - 1)) as u8;
        if entry != self.shadow(refs) {
            return;
        }
        self.tiers[tier_of(refs)].refaulted += 1 << folio.order;
        if refs >= MOST_REFS - 1 {
            folio.refs = MOST_REFS;
        }
    }

    /// What stands in the place of a folio that is evicted now. Source: `lru_gen_eviction`, `lru_gen_test_recent`.
    fn shadow(&self, refs: u8) -> u32 {
        SHADOW | ((self.oldest as u32) << REFS_BITS) | u32::from(refs)
    }

    /// Evicts at least `target` pages, if that many can go. Source: `do_try_to_free_pages`.
    pub(super) fn shrink(&mut self, cache: &mut PageCache, target: u64) {
        let mut evicted = 0;
        for priority in (0..=PRIORITY).rev() {
            let pass = self.shrink_at(cache, priority);
            cache.lacks_writeback |= pass.unqueued > 0 && pass.unqueued == pass.taken;
            evicted += pass.evicted;
            if evicted >= target {
                break;
            }
        }
    }

    /// Source: `try_to_shrink_lruvec`.
    fn shrink_at(&mut self, cache: &mut PageCache, priority: u32) -> Pass {
        let (mut pass, mut seen) = (Pass::default(), 0);
        loop {
            let wanted = self.pages_to_scan(priority);
            if wanted == 0 {
                return pass;
            }
            let progress = self.evict(cache, &mut pass);
            seen += progress;
            if progress == 0 || seen >= wanted {
                return pass;
            }
        }
    }

    /// How many pages are to be looked at; none where a new generation begins instead, or none is old enough. Source:
    /// `get_nr_to_scan`, `should_run_aging`, `inc_max_seq`.
    fn pages_to_scan(&mut self, priority: u32) -> u64 {
        let total: u64 = self.list_pages().iter().sum();
        let [young, old] = [self.youngest, self.oldest].map(|generation| self.pages_of(generation));
        let (is_out, is_short) =
            (self.oldest + FEWEST > self.youngest, self.oldest + FEWEST == self.youngest);
        let is_uneven = young * FEWEST > total || old * (FEWEST + 2) < total;
        if (is_out || is_short && is_uneven) && priority < PRIORITY {
            self.youngest += 1;
            return 0;
        }
        if is_out { 0 } else { total >> priority }
    }

    /// Evicts a batch of the oldest generation, and says how many pages it looked at. What is dirty or on its way moves to the youngest
    /// one. Source: `evict_folios`, `shrink_folio_list`, `move_folios_to_lru`.
    fn evict(&mut self, cache: &mut PageCache, pass: &mut Pass) -> u64 {
        let (isolated, mut seen) = self.isolate(&mut cache.folios);
        seen += u64::from(self.retire());
        if self.youngest - self.oldest + 1 == FEWEST {
            seen = 0;
        }
        for slot in isolated {
            let folio = &mut cache.folios[slot as usize];
            let (pages, refs) = (1 << folio.order, folio.refs);
            pass.taken += pages;
            if folio.flags & (DIRTY | WRITEBACK) == 0 && folio.awaits == 0 {
                self.tiers[tier_of(refs)].total += pages;
                pass.evicted += pages;
                cache.forget(slot, self.shadow(refs));
                continue;
            }
            pass.unqueued += if folio.flags & (DIRTY | WRITEBACK) == DIRTY { pages } else { 0 };
            folio.refs = if folio.awaits == 0 { refs.min(1) } else { 0 };
            folio.flags = folio.flags & !REFERENCED | if folio.awaits == 0 { RECLAIM } else { 0 };
            folio.generation = place(self.youngest);
            self.list(place(self.youngest)).push_head(&mut cache.folios, slot);
        }
        seen
    }

    /// Takes the oldest folios off their list, and says how many pages it looked at; none where that leads nowhere. Those that are
    /// protected move to the next generation. Source: `scan_folios`, `sort_folio`, `folio_inc_gen`.
    fn isolate(&mut self, folios: &mut [Slot]) -> (Vec<u32>, u64) {
        let (mut isolated, mut pages, mut looked_at, mut seen) = (Vec::new(), 0, 0, 0);
        if self.youngest - self.oldest + 1 == FEWEST {
            return (isolated, 0);
        }
        let last = self.last_evicted_tier();
        let [oldest, next] = [self.oldest, self.oldest + 1].map(place);
        while looked_at < LOOKED_AT && pages < BATCH && self.list(oldest).tail != NONE {
            let slot = self.list(oldest).tail;
            self.list(oldest).unlink(folios, slot);
            let folio = &mut folios[slot as usize];
            let (folio_pages, tier) = (1 << folio.order, tier_of(folio.refs));
            looked_at += 1;
            seen += folio_pages;
            if tier > last || folio.refs == MOST_REFS {
                self.tiers[tier].total += folio_pages;
                folio.flags &= !REFERENCED;
                folio.refs = 0;
                folio.generation = next;
                self.list(next).push_tail(folios, slot);
            } else {
                isolated.push(slot);
                pages += folio_pages;
            }
        }
        let leads_nowhere = isolated.is_empty() && looked_at < LOOKED_AT;
        (isolated, if leads_nowhere { 0 } else { seen })
    }

    /// The last tier that is not protected: each tier up to it has few refaults, or at most twice the first tier's share of them.
    /// Source: `get_tier_idx`, `positive_ctrl_err`.
    fn last_evicted_tier(&self) -> usize {
        let [first_refaulted, first_total] = self.tiers[0].position();
        let goes = |tier: &&Tier| {
            let [refaulted, total] = tier.position();
            refaulted < BATCH || refaulted * (first_total + BATCH) <= (first_refaulted + 1) * total * 2
        };
        self.tiers[1..].iter().take_while(goes).count()
    }

    /// Drops the oldest generations that are empty, and says whether there were any. Source: `try_to_inc_min_seq`, `reset_ctrl_pos`.
    fn retire(&mut self) -> bool {
        let before = self.oldest;
        while self.oldest + FEWEST <= self.youngest && self.pages_of(self.oldest) == 0 {
            self.oldest += 1;
        }
        if self.oldest == before {
            return false;
        }
        for tier in &mut self.tiers {
            *tier = Tier { before: tier.position().map(|pages| pages / 2), ..Tier::default() };
        }
        true
    }
}
