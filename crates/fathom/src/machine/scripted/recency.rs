//! Which pages of all files were used least recently.

use std::collections::{HashMap, VecDeque};

/// The pages of all files in the order of their last use.
#[derive(Debug, Default)]
pub(super) struct Recency {
    /// Each use with its number; all but the last of a page are out of date.
    uses: VecDeque<(u64, String, u64)>,
    last_use: HashMap<String, HashMap<u64, u64>>,
    pages: usize,
    clock: u64,
}

impl Recency {
    /// Pages of the file `name` that were used, or dropped, in this order.
    pub(super) fn use_pages(&mut self, name: &str, pages: Vec<(u64, bool)>) {
        if pages.is_empty() {
            return;
        }
        let last_use = self.last_use.entry(name.to_owned()).or_default();
        let before = last_use.len();
        for (index, used) in pages {
            self.clock += 1;
            if used {
                last_use.insert(index, self.clock);
                self.uses.push_back((self.clock, name.to_owned(), index));
            } else {
                last_use.remove(&index);
            }
        }
        self.pages = self.pages + last_use.len() - before;
    }

    /// How many pages there are.
    pub(super) fn len(&self) -> usize {
        self.pages
    }

    /// Takes out the page that was not used for the longest time.
    pub(super) fn oldest(&mut self) -> Option<(String, u64)> {
        while let Some((clock, name, index)) = self.uses.pop_front() {
            if let Some(pages) = self.last_use.get_mut(&name)
                && pages.get(&index) == Some(&clock)
            {
                pages.remove(&index);
                self.pages -= 1;
                return Some((name, index));
            }
        }
        None
    }
}
