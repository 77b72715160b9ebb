//! Rules that treat all pages alike.

use std::collections::{HashMap, HashSet};

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use super::queues::Queues;
use super::{Page, Rule};

/// One queue, which one end of leaves.
#[derive(Debug)]
pub(super) struct Queue {
    pages: Queues,
    /// Whether a use puts a page to the new end again.
    moves: bool,
    newest_goes: bool,
}

impl Queue {
    pub(super) fn least_recent() -> Self {
        Self { pages: Queues::default(), moves: true, newest_goes: false }
    }

    pub(super) fn first_in() -> Self {
        Self { moves: false, ..Self::least_recent() }
    }

    pub(super) fn most_recent() -> Self {
        Self { newest_goes: true, ..Self::least_recent() }
    }
}

impl Rule for Queue {
    fn add(&mut self, page: Page) {
        self.pages.push(0, page);
    }

    fn touch(&mut self, page: Page, _: bool) {
        if self.moves {
            self.pages.push(0, page);
        }
    }

    fn remove(&mut self, page: Page) {
        self.pages.remove(page);
    }

    fn victim(&mut self) -> Option<Page> {
        if self.newest_goes { self.pages.pop_newest(0) } else { self.pages.pop_oldest(0) }
    }
}

/// A queue whose old end is where the hand is.
#[derive(Debug)]
pub(super) struct Clock {
    pages: Queues,
    used: HashSet<Page>,
    first_use_counts: bool,
}

impl Clock {
    pub(super) fn new(first_use_counts: bool) -> Self {
        Self { pages: Queues::default(), used: HashSet::new(), first_use_counts }
    }
}

impl Rule for Clock {
    fn add(&mut self, page: Page) {
        self.pages.push(0, page);
    }

    fn touch(&mut self, page: Page, first: bool) {
        if self.first_use_counts || !first {
            self.used.insert(page);
        }
    }

    fn remove(&mut self, page: Page) {
        self.pages.remove(page);
        self.used.remove(&page);
    }

    fn victim(&mut self) -> Option<Page> {
        loop {
            let page = self.pages.pop_oldest(0)?;
            if !self.used.remove(&page) {
                return Some(page);
            }
            self.pages.push(0, page);
        }
    }
}

/// Pages of which any one goes.
#[derive(Debug)]
pub(super) struct Drawn {
    pages: Vec<Page>,
    places: HashMap<Page, usize>,
    generator: Pcg64Mcg,
}

impl Drawn {
    pub(super) fn new(seed: u64) -> Self {
        let generator = Pcg64Mcg::seed_from_u64(seed);
        Self { pages: Vec::new(), places: HashMap::new(), generator }
    }

    fn take(&mut self, place: usize) -> Page {
        let page = self.pages.swap_remove(place);
        self.places.remove(&page);
        if let Some(&moved) = self.pages.get(place) {
            self.places.insert(moved, place);
        }
        page
    }
}

impl Rule for Drawn {
    fn add(&mut self, page: Page) {
        self.places.insert(page, self.pages.len());
        self.pages.push(page);
    }

    fn touch(&mut self, _: Page, _: bool) {}

    fn remove(&mut self, page: Page) {
        if let Some(&place) = self.places.get(&page) {
            self.take(place);
        }
    }

    fn victim(&mut self) -> Option<Page> {
        let count = self.pages.len();
        (count > 0).then(|| self.generator.random_range(0..count)).map(|place| self.take(place))
    }
}

/// A queue for each number of uses.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pages: Queues,
}

impl Rule for Counted {
    fn add(&mut self, page: Page) {
        self.pages.push(0, page);
    }

    fn touch(&mut self, page: Page, _: bool) {
        if let Some(uses) = self.pages.queue_of(page) {
            self.pages.push(uses + 1, page);
        }
    }

    fn remove(&mut self, page: Page) {
        self.pages.remove(page);
    }

    fn victim(&mut self) -> Option<Page> {
        self.pages.first().and_then(|uses| self.pages.pop_oldest(uses))
    }
}
