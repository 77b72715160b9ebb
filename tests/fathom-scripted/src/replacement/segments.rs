//! Rules that protect some pages from the others.

use std::collections::{HashMap, HashSet};

use super::queues::Queues;
use super::{Page, Rule};

/// New pages, and those that must leave before the others.
const NEW: u32 = 0;
/// Pages that have earned to stay.
const KEPT: u32 = 1;

/// Linux's lists of pages of files. Sources: `folio_mark_accessed` of `mm/swap.c`, `inactive_is_low` and
/// `shrink_active_list` of `mm/vmscan.c`, `workingset_test_recent` of `mm/workingset.c`.
#[derive(Debug)]
pub(super) struct TwoLists {
    pages: Queues,
    referenced: HashSet<Page>,
    /// Pages that were dropped, each with the age of the lists at that time.
    shadows: HashMap<Page, u64>,
    /// Pages that were dropped or activated so far.
    age: u64,
    pages_per_gib: u64,
}

impl TwoLists {
    pub(super) fn new(page: u64) -> Self {
        Self {
            pages: Queues::default(),
            referenced: HashSet::new(),
            shadows: HashMap::new(),
            age: 0,
            pages_per_gib: (1 << 30) / page,
        }
    }

    fn activate(&mut self, page: Page) {
        self.pages.push(KEPT, page);
        self.age += 1;
    }

    fn inactive_is_low(&self) -> bool {
        let (inactive, active) = (self.pages.len(NEW) as u64, self.pages.len(KEPT) as u64);
        let gib = (inactive + active) / self.pages_per_gib;
        let ratio = if gib > 0 { (10 * gib).isqrt() } else { 1 };
        inactive * ratio < active
    }
}

impl Rule for TwoLists {
    fn add(&mut self, page: Page) {
        let distance = self.shadows.remove(&page).map(|then| self.age - then);
        match distance {
            Some(distance) if distance <= self.pages.len(KEPT) as u64 => self.activate(page),
            _ => self.pages.push(NEW, page),
        }
    }

    fn touch(&mut self, page: Page, _: bool) {
        let inactive = self.pages.queue_of(page) == Some(NEW);
        if inactive && self.referenced.remove(&page) {
            self.activate(page);
        } else {
            self.referenced.insert(page);
        }
    }

    fn remove(&mut self, page: Page) {
        self.pages.remove(page);
        self.referenced.remove(&page);
        self.shadows.remove(&page);
    }

    fn victim(&mut self) -> Option<Page> {
        while self.inactive_is_low()
            && let Some(page) = self.pages.pop_oldest(KEPT)
        {
            self.pages.push(NEW, page);
        }
        let page = self.pages.pop_oldest(NEW)?;
        self.referenced.remove(&page);
        self.age += 1;
        self.shadows.insert(page, self.age);
        Some(page)
    }
}

/// A segment on probation and a protected one, each in order of use.
#[derive(Debug)]
pub(super) struct Segmented {
    pages: Queues,
    most_kept: usize,
}

impl Segmented {
    pub(super) fn new(most_kept: usize) -> Self {
        Self { pages: Queues::default(), most_kept }
    }
}

impl Rule for Segmented {
    fn add(&mut self, page: Page) {
        self.pages.push(NEW, page);
    }

    fn touch(&mut self, page: Page, first: bool) {
        self.pages.push(if first { NEW } else { KEPT }, page);
        if self.pages.len(KEPT) > self.most_kept
            && let Some(demoted) = self.pages.pop_oldest(KEPT)
        {
            self.pages.push(NEW, demoted);
        }
    }

    fn remove(&mut self, page: Page) {
        self.pages.remove(page);
    }

    fn victim(&mut self) -> Option<Page> {
        self.pages.pop_oldest(NEW).or_else(|| self.pages.pop_oldest(KEPT))
    }
}

/// Linux's generations for pages that are read and never mapped. Sources: `lru_gen_folio_seq` of
/// `include/linux/mm_inline.h`, `lru_gen_inc_refs` of `mm/swap.c`, `sort_folio` of `mm/vmscan.c`.
#[derive(Debug, Default)]
pub(super) struct Generations {
    /// A queue for each generation, the oldest first.
    pages: Queues,
    uses: HashMap<Page, u32>,
}

/// With so many uses the bits that count them are full: `BIT(LRU_REFS_WIDTH) + 1`.
const MOST_USES: u32 = 5;

impl Rule for Generations {
    fn add(&mut self, page: Page) {
        let oldest = self.pages.first().unwrap_or(0);
        self.pages.push(oldest, page);
        self.uses.insert(page, 0);
    }

    fn touch(&mut self, page: Page, _: bool) {
        let uses = self.uses.entry(page).or_default();
        *uses = (*uses + 1).min(MOST_USES);
    }

    fn remove(&mut self, page: Page) {
        self.pages.remove(page);
        self.uses.remove(&page);
    }

    fn victim(&mut self) -> Option<Page> {
        loop {
            let oldest = self.pages.first()?;
            let page = self.pages.pop_oldest(oldest)?;
            if self.uses.remove(&page) != Some(MOST_USES) {
                return Some(page);
            }
            self.pages.push(oldest + 1, page);
        }
    }
}

/// 2Q: new pages in order of entry; those that come back after they were dropped are kept in order of use.
#[derive(Debug)]
pub(super) struct TwoQueues {
    pages: Queues,
    dropped: Queues,
    capacity: usize,
}

impl TwoQueues {
    pub(super) fn new(capacity: usize) -> Self {
        Self { pages: Queues::default(), dropped: Queues::default(), capacity }
    }
}

impl Rule for TwoQueues {
    fn add(&mut self, page: Page) {
        let back = self.dropped.remove(page);
        self.pages.push(if back { KEPT } else { NEW }, page);
    }

    fn touch(&mut self, page: Page, _: bool) {
        if self.pages.queue_of(page) == Some(KEPT) {
            self.pages.push(KEPT, page);
        }
    }

    fn remove(&mut self, page: Page) {
        self.pages.remove(page);
        self.dropped.remove(page);
    }

    fn victim(&mut self) -> Option<Page> {
        if self.pages.len(NEW) <= self.capacity / 4
            && let Some(page) = self.pages.pop_oldest(KEPT)
        {
            return Some(page);
        }
        let page = self.pages.pop_oldest(NEW)?;
        self.dropped.push(NEW, page);
        if self.dropped.len(NEW) > self.capacity / 2 {
            self.dropped.pop_oldest(NEW);
        }
        Some(page)
    }
}

/// ARC: pages used once and pages used again, each in order of use, and the same of pages that were
/// dropped, which decide how the cache is divided.
#[derive(Debug)]
pub(super) struct Adaptive {
    pages: Queues,
    dropped: Queues,
    capacity: usize,
    /// How many new pages are aimed at.
    aim: usize,
}

impl Adaptive {
    pub(super) fn new(capacity: usize) -> Self {
        Self { pages: Queues::default(), dropped: Queues::default(), capacity, aim: 0 }
    }
}

impl Rule for Adaptive {
    fn add(&mut self, page: Page) {
        let (new, kept) = (self.dropped.len(NEW).max(1), self.dropped.len(KEPT).max(1));
        let back = self.dropped.queue_of(page);
        match back {
            Some(NEW) => self.aim = (self.aim + (kept / new).max(1)).min(self.capacity),
            Some(_) => self.aim = self.aim.saturating_sub((new / kept).max(1)),
            None => {}
        }
        self.dropped.remove(page);
        self.pages.push(if back.is_some() { KEPT } else { NEW }, page);
    }

    fn touch(&mut self, page: Page, first: bool) {
        let kept = self.pages.queue_of(page) == Some(KEPT);
        self.pages.push(if first && !kept { NEW } else { KEPT }, page);
    }

    fn remove(&mut self, page: Page) {
        self.pages.remove(page);
        self.dropped.remove(page);
    }

    fn victim(&mut self) -> Option<Page> {
        let from = if self.pages.len(NEW) > self.aim { NEW } else { KEPT };
        let other = if from == NEW { KEPT } else { NEW };
        let (queue, page) = match self.pages.pop_oldest(from) {
            Some(page) => (from, page),
            None => (other, self.pages.pop_oldest(other)?),
        };
        self.dropped.push(queue, page);
        // Of pages used once, those that are there and those that are remembered fit the cache together.
        if self.pages.len(NEW) + self.dropped.len(NEW) > self.capacity {
            self.dropped.pop_oldest(NEW);
        }
        if self.dropped.len(KEPT) > self.capacity {
            self.dropped.pop_oldest(KEPT);
        }
        Some(page)
    }
}
