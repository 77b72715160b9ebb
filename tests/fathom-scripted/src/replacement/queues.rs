//! Pages in numbered queues, each in order of entry.

use std::collections::{BTreeMap, HashMap};

use super::Page;

/// Each page is in one queue at most.
#[derive(Debug, Default)]
pub(super) struct Queues {
    queues: BTreeMap<u32, BTreeMap<u64, Page>>,
    places: HashMap<Page, (u32, u64)>,
    entries: u64,
}

impl Queues {
    /// Puts a page at the new end of a queue, wherever it was.
    pub(super) fn push(&mut self, queue: u32, page: Page) {
        self.remove(page);
        self.entries += 1;
        self.places.insert(page, (queue, self.entries));
        self.queues.entry(queue).or_default().insert(self.entries, page);
    }

    /// Takes a page out; whether it was there.
    pub(super) fn remove(&mut self, page: Page) -> bool {
        let place = self.places.remove(&page);
        if let Some((queue, entry)) = place {
            self.queues.entry(queue).or_default().remove(&entry);
        }
        place.is_some()
    }

    /// Takes the page out that has been in a queue the longest.
    pub(super) fn pop_oldest(&mut self, queue: u32) -> Option<Page> {
        let (_, page) = self.queues.get_mut(&queue)?.pop_first()?;
        self.places.remove(&page);
        Some(page)
    }

    /// Takes the page out that entered a queue last.
    pub(super) fn pop_newest(&mut self, queue: u32) -> Option<Page> {
        let (_, page) = self.queues.get_mut(&queue)?.pop_last()?;
        self.places.remove(&page);
        Some(page)
    }

    pub(super) fn len(&self, queue: u32) -> usize {
        self.queues.get(&queue).map_or(0, BTreeMap::len)
    }

    /// The queue that a page is in.
    pub(super) fn queue_of(&self, page: Page) -> Option<u32> {
        self.places.get(&page).map(|&(queue, _)| queue)
    }

    /// The first queue by number that holds anything.
    pub(super) fn first(&self) -> Option<u32> {
        self.queues.iter().find(|(_, pages)| !pages.is_empty()).map(|(&queue, _)| queue)
    }
}
