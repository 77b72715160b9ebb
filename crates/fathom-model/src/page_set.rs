//! Sets of a file's pages, as bits.

/// A set of pages, by their number in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageSet {
    words: Vec<u64>,
    /// No word before this one has a page.
    from: usize,
    pages: u64,
}

impl PageSet {
    /// The number of pages.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Adds the pages from `first` to before `end`.
    pub fn insert(&mut self, first: u64, end: u64) {
        let needed = end.div_ceil(64) as usize;
        if self.words.len() < needed {
            self.words.resize(needed, 0);
        }
        self.from = if self.pages == 0 { first as usize / 64 } else { self.from.min(first as usize / 64) };
        self.each_word(first, end, |word, mask| {
            let new = mask & !*word;
            *word |= mask;
            new.count_ones() as i64
        });
    }

    /// Removes the pages from `first` to before `end`.
    pub fn remove(&mut self, first: u64, end: u64) {
        self.each_word(first, end, |word, mask| {
            let gone = mask & *word;
            *word &= !mask;
            -i64::from(gone.count_ones())
        });
        while self.from < self.words.len() && self.words[self.from] == 0 {
            self.from += 1;
        }
    }

    /// The first page at or after `index`.
    pub fn next(&self, index: u64) -> Option<u64> {
        if self.pages == 0 {
            return None;
        }
        let index = index.max(self.from as u64 * 64);
        let place = index as usize / 64;
        let first = self.words.get(place)? & (u64::MAX << (index % 64));
        if first != 0 {
            return Some(place as u64 * 64 + u64::from(first.trailing_zeros()));
        }
        let later = self.words[place + 1..].iter().position(|&word| word != 0)? + place + 1;
        Some(later as u64 * 64 + u64::from(self.words[later].trailing_zeros()))
    }

    /// The end of the run of pages that begins at `index`, at most `end`.
    pub fn run_end(&self, index: u64, end: u64) -> u64 {
        let mut at = index;
        while at < end {
            let word = self.words.get(at as usize / 64).copied().unwrap_or(0);
            let ones = u64::from((!(word >> (at % 64))).trailing_zeros()).min(64 - at % 64);
            at += ones;
            if ones == 0 || !at.is_multiple_of(64) {
                break;
            }
        }
        at.min(end)
    }

    fn each_word(&mut self, first: u64, end: u64, change: impl Fn(&mut u64, u64) -> i64) {
        let mut at = first;
        while at < end {
            let until = end.min((at / 64 + 1) * 64);
            let mask = (u64::MAX >> (64 - (until - at))) << (at % 64);
            if let Some(word) = self.words.get_mut(at as usize / 64) {
                self.pages = self.pages.wrapping_add_signed(change(word, mask));
            }
            at = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_does_what_a_tree_of_numbers_does() {
        let (mut set, mut tree) = (PageSet::default(), BTreeSet::new());
        let mut state = 7_u64;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        for _ in 0..2_000 {
            let first = below(500);
            let end = first + below(130);
            if below(2) == 0 {
                set.insert(first, end);
                tree.extend(first..end);
            } else {
                set.remove(first, end);
                tree.retain(|page| !(first..end).contains(page));
            }
            let at = below(640);
            assert_eq!(set.pages(), tree.len() as u64);
            assert_eq!(set.next(at), tree.range(at..).next().copied());
            if let Some(from) = set.next(at) {
                let run = (from..).take_while(|page| tree.contains(page)).count() as u64;
                assert_eq!(
                    (set.run_end(from, u64::MAX), set.run_end(from, from + 1)),
                    (from + run, from + 1)
                );
            }
        }
    }
}
