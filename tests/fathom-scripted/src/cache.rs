//! The page cache of one file: which pages are in it, in which folios, and when their data arrive.

use super::replacement::Event;

/// Pages by their index in the file.
#[derive(Debug, Default)]
pub(super) struct Cache {
    pages: Vec<Option<Page>>,
    /// What became of pages since they were last asked for; none where they never are.
    events: Option<Vec<Event>>,
    /// No folio is smaller than this many pages, as a power of two: a block larger than a page.
    least_order: u32,
}

/// One page that is in the cache or on its way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Page {
    /// The first page of its folio, and how many pages that has.
    pub(super) folio: u64,
    pub(super) folio_pages: u64,
    /// When its data have arrived, in ns.
    pub(super) ready: f64,
    /// Whether a reader who touches this folio sets off the next window.
    pub(super) marked: bool,
    /// Whether it was made by the last write.
    pub(super) new: bool,
}

impl Cache {
    /// An empty one. Events are noted only where there is an end to the memory of all files: else each call would list the
    /// pages of its folio in vain.
    pub(super) fn new(least_order: u32, is_limited: bool) -> Self {
        Self { pages: Vec::new(), events: is_limited.then(Vec::new), least_order }
    }

    pub(super) fn least_order(&self) -> u32 {
        self.least_order
    }

    pub(super) fn page(&self, index: u64) -> Option<Page> {
        self.pages.get(index as usize).copied().flatten()
    }

    pub(super) fn holds(&self, index: u64) -> bool {
        self.page(index).is_some()
    }

    /// Puts a folio of 2^`order` pages in, unless one of its pages is there already.
    pub(super) fn insert(&mut self, first: u64, order: u32, marked: bool, ready: f64) -> bool {
        let folio_pages = 1 << order;
        if (first..first + folio_pages).any(|index| self.holds(index)) {
            return false;
        }
        let end = (first + folio_pages) as usize;
        if self.pages.len() < end {
            self.pages.resize(end, None);
        }
        self.pages[first as usize..end].fill(Some(Page {
            folio: first,
            folio_pages,
            ready,
            marked,
            new: false,
        }));
        if let Some(events) = &mut self.events {
            events.extend((first..first + folio_pages).map(Event::Added));
        }
        true
    }

    /// Changes every page of the folio that `index` belongs to.
    pub(super) fn change(&mut self, index: u64, change: impl Fn(&mut Page)) {
        if let Some(page) = self.page(index) {
            let (from, to) = (page.folio as usize, (page.folio + page.folio_pages) as usize);
            self.pages[from..to].iter_mut().flatten().for_each(change);
        }
    }

    /// The data of a page will be there at `ready`, in ns.
    pub(super) fn arrives(&mut self, index: u64, ready: f64) {
        if let Some(Some(page)) = self.pages.get_mut(index as usize) {
            page.ready = ready;
        }
    }

    /// The pages just before `index` that are there without a gap, at most `most`, and whether they
    /// reach to the start of the file: `page_cache_prev_miss`.
    pub(super) fn run_before(&self, index: u64, most: u64) -> (u64, bool) {
        let run = (0..index).rev().take(most as usize).take_while(|&at| self.holds(at)).count() as u64;
        (run, run == index)
    }

    /// The first page from `index` on that is not there, within `most` pages: `page_cache_next_miss`.
    pub(super) fn next_miss(&self, index: u64, most: u64) -> u64 {
        (index..index + most).find(|&at| !self.holds(at)).unwrap_or(index + most)
    }

    /// The folio of a page was used.
    pub(super) fn touch(&mut self, index: u64) {
        let Some(page) = self.page(index) else { return };
        let Self { pages, events: Some(events), .. } = self else { return };
        let is_there = |index: &u64| pages.get(*index as usize).is_some_and(Option::is_some);
        events.extend((page.folio..page.folio + page.folio_pages).filter(is_there).map(Event::Used));
    }

    /// What became of pages since the last time, in order.
    pub(super) fn drain_events(&mut self) -> Vec<Event> {
        self.events.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn forget(&mut self, index: u64) {
        if let Some(page) = self.pages.get_mut(index as usize) {
            *page = None;
        }
    }

    /// Drops all pages. Of those that went before nothing is remembered any more, either.
    pub(super) fn clear(&mut self) {
        if let Some(events) = &mut self.events {
            events.extend((0..self.pages.len() as u64).map(Event::Dropped));
        }
        self.pages.clear();
    }
}
