//! The calendar of tokens that are not available yet.
//!
//! A radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster Algorithms for the Shortest Path
//! Problem", 1990). It asks that nothing be entered before the last instant taken out, which model
//! time guarantees, and repays it: entries move in long sequential copies instead of the cache
//! misses of a binary heap, and entries of one instant come out in the order they went in.

use crate::chain::SlotId;
use crate::time::Time;

/// A token's place and slot, due at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) due: Time,
    pub(crate) place: u32,
    pub(crate) slot: SlotId,
}

#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// Entries by the highest bit in which they differ from `last`.
    buckets: [Vec<Entry>; 64],
    /// Bit `b` is set when bucket `b` holds entries.
    occupied: u64,
    /// The memory of emptied buckets, for those filled next: as time goes on ever higher bits are
    /// set, but no new memory is asked for.
    spare: Vec<Vec<Entry>>,
    last: Time,
}

impl Calendar {
    pub(crate) fn new() -> Self {
        let buckets = [const { Vec::new() }; 64];
        Self { buckets, occupied: 0, spare: Vec::new(), last: Time::ZERO }
    }

    /// Enters a token that is due after the instant taken out last.
    #[inline]
    pub(crate) fn enter(&mut self, entry: Entry) {
        debug_assert!(entry.due > self.last, "a calendar runs forward");
        let number = (entry.due.as_ticks() ^ self.last.as_ticks()).ilog2();
        let bucket = &mut self.buckets[number as usize];
        if self.occupied & 1 << number == 0 {
            self.occupied |= 1 << number;
            if bucket.capacity() == 0 {
                *bucket = self.spare.pop().unwrap_or_default();
            }
        }
        bucket.push(entry);
    }

    /// Takes out every entry of the earliest instant.
    pub(crate) fn take_earliest(&mut self, mut taken: impl FnMut(Entry)) -> Option<Time> {
        if self.occupied == 0 {
            return None;
        }
        let lowest = self.occupied.trailing_zeros() as usize;
        let bucket = &mut self.buckets[lowest];
        let earliest = bucket.iter().map(|entry| entry.due).min()?;
        self.last = earliest;
        self.occupied &= self.occupied - 1;
        if let &[only] = bucket.as_slice() {
            bucket.clear();
            taken(only);
            return Some(earliest);
        }
        // The others now share a longer prefix with `last`, so all move to lower buckets.
        let mut bucket = std::mem::take(&mut self.buckets[lowest]);
        for entry in bucket.drain(..) {
            if entry.due == earliest { taken(entry) } else { self.enter(entry) }
        }
        self.spare.push(bucket);
        Some(earliest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_sorted_map() {
        let (mut rng, mut now) = (Rng::new(5), 0);
        let (mut calendar, mut model) = (Calendar::new(), BTreeMap::<u64, Vec<u32>>::new());
        for slot in 0..20_000 {
            let reach = 1 << rng.below(20);
            let due = now + 1 + rng.below(reach);
            calendar.enter(Entry { due: Time::ticks(due), place: 0, slot });
            model.entry(due).or_default().push(slot);
            if rng.below(3) == 0 {
                let mut slots = Vec::new();
                let taken = calendar.take_earliest(|entry| slots.push(entry.slot));
                let first = model.pop_first();
                assert_eq!(taken.map(|time| (time.as_ticks(), slots)), first);
                now = taken.map_or(now, Time::as_ticks);
            }
        }
        assert!(!model.is_empty());
        while let Some((due, slots)) = model.pop_first() {
            let mut left = Vec::new();
            assert_eq!(calendar.take_earliest(|entry| left.push(entry.slot)), Some(Time::ticks(due)));
            assert_eq!(left, slots);
        }
        assert_eq!(calendar.take_earliest(|_| {}), None);
    }
}
