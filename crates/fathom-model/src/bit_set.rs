//! Sets of whole numbers, such as a file's pages, as bits.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// A set of numbers. It takes memory by the numbers that it has, and not by how large they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet {
    /// By their place, words that are not zero: bit `n` of word `w` is the number 64 `w` + `n`.
    words: BTreeMap<u64, u64>,
    count: u64,
}

impl BitSet {
    /// How many numbers it has.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds the numbers from `first` to before `end`. Returns how many are new.
    pub fn insert(&mut self, first: u64, end: u64) -> u64 {
        let before = self.count;
        for (place, mask) in masks(first, end) {
            let word = self.words.entry(place).or_default();
            self.count += u64::from((mask & !*word).count_ones());
            *word |= mask;
        }
        self.count - before
    }

    /// Removes the numbers from `first` to before `end`.
    pub fn remove(&mut self, first: u64, end: u64) {
        for (place, mask) in masks(first, end) {
            let Entry::Occupied(mut word) = self.words.entry(place) else { continue };
            self.count -= u64::from((mask & *word.get()).count_ones());
            *word.get_mut() &= !mask;
            if *word.get() == 0 {
                word.remove();
            }
        }
    }

    /// The first number that is at least `least`.
    pub fn next(&self, least: u64) -> Option<u64> {
        let (place, bit) = (least / 64, least % 64);
        let here = self.words.get(&place).map(|word| (place, word & u64::MAX << bit));
        let first = |(place, word): (u64, u64)| place * 64 + u64::from(word.trailing_zeros());
        let later = || self.words.range(place + 1..).next().map(|(place, word)| (*place, *word));
        here.filter(|(_, word)| *word != 0).or_else(later).map(first)
    }

    /// Where the run of numbers that begins at `first` ends, at most `end`.
    pub fn run_end(&self, first: u64, end: u64) -> u64 {
        let mut at = first;
        while at < end {
            let word = self.words.get(&(at / 64)).copied().unwrap_or(0);
            let ones = u64::from((!(word >> (at % 64))).trailing_zeros()).min(64 - at % 64);
            at += ones;
            if ones == 0 || !at.is_multiple_of(64) {
                break;
            }
        }
        at.min(end)
    }
}

/// The words that the numbers from `first` to before `end` are in, by place, and which bits of them they are.
fn masks(first: u64, end: u64) -> impl Iterator<Item = (u64, u64)> {
    (first / 64..end.div_ceil(64)).filter(move |_| first < end).map(move |place| {
        let [from, until] = [first.max(place * 64), end.min(place * 64 + 64)];
        (place, (u64::MAX >> (64 - (until - from))) << (from % 64))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_does_what_a_tree_of_numbers_does() {
        let (mut set, mut tree) = (BitSet::default(), BTreeSet::new());
        let mut state = 7_u64;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        for _ in 0..2_000 {
            let first = below(500);
            let end = first + below(130);
            if below(2) == 0 {
                let before = tree.len();
                tree.extend(first..end);
                assert_eq!(set.insert(first, end), (tree.len() - before) as u64);
            } else {
                set.remove(first, end);
                tree.retain(|page| !(first..end).contains(page));
            }
            let at = below(640);
            assert_eq!(set.count(), tree.len() as u64);
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
