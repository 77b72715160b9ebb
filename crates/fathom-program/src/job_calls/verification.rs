//! What a job with `verify=` has written and has still to read again, in fio's order.

use std::collections::{BTreeMap, VecDeque};

use crate::job::Verify;
use crate::offsets::Span;

/// A block that was written, and the number of that write: from one, and never [`ANY_WRITE`].
pub(super) type Written = (Span, u32);

/// The number of a read whose block any write may have made, as [`Call::flags`](crate::call::Call::flags) has it.
pub const ANY_WRITE: u32 = u32::MAX;

/// Blocks that were written and not yet verified. Source: `log_io_piece` of fio's `iolog.c`.
#[derive(Debug)]
pub(super) struct Verification {
    /// Where no block is written twice before it is verified: in the order of the writes.
    listed: VecDeque<Written>,
    /// Else by their offset; a write takes the place of those that it touches.
    sorted: BTreeMap<u64, Written>,
    is_listed: bool,
    /// `verify_backlog`, zero for none, and how many are verified then.
    backlog: (u64, u64),
    /// How many are still to be verified before the next write.
    batch: u64,
    /// How far the phase of verifying that follows the writes has come.
    pub(super) phase: Phase,
}

/// What comes before the reads at the end. Source: `do_verify` of fio's `backend.c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Writes are made.
    Writing,
    /// What is under way is awaited.
    Drained,
    /// The file is synced.
    Synced,
    /// The file is dropped from the cache, and read.
    Reading,
}

impl Verification {
    pub(super) fn new(verify: &Verify, is_listed: bool) -> Self {
        let (backlog, batch) = verify.backlog;
        Self {
            listed: VecDeque::new(),
            sorted: BTreeMap::new(),
            is_listed,
            backlog: (backlog, if batch == 0 { backlog } else { u64::from(batch) }),
            batch: 0,
            phase: Phase::Writing,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.listed.len() + self.sorted.len()
    }

    /// Whether a batch is to be read before the next write.
    pub(super) fn is_due(&self) -> bool {
        self.batch > 0 && self.len() > 0
    }

    /// Notes a write.
    pub(super) fn note(&mut self, span: Span, number: u32) {
        if self.is_listed {
            self.listed.push_back((span, number));
        } else {
            let end = span.offset + span.length;
            let touches = |(other, _): &Written| other.offset + other.length > span.offset;
            while let Some((&offset, _)) =
                self.sorted.range(..end).next_back().filter(|(_, one)| touches(one))
            {
                self.sorted.remove(&offset);
            }
            self.sorted.insert(span.offset, (span, number));
        }
        let is_due = self.backlog.0 > 0 && (self.len() as u64).is_multiple_of(self.backlog.0);
        if is_due && self.batch == 0 {
            self.batch = self.backlog.1;
        }
    }

    /// The next block of the batch that is due.
    pub(super) fn next_of_batch(&mut self) -> Option<Written> {
        let next = self.next()?;
        self.batch -= 1;
        Some(next)
    }

    /// The next block.
    pub(super) fn next(&mut self) -> Option<Written> {
        self.listed.pop_front().or_else(|| self.sorted.pop_first().map(|(_, one)| one))
    }

    pub(super) fn clear(&mut self) {
        self.listed.clear();
        self.sorted.clear();
        (self.batch, self.phase) = (0, Phase::Writing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_takes_the_place_of_those_that_it_touches() {
        let mut all = Verification::new(&Verify::default(), false);
        let spans = [(0, 8), (8, 8), (32, 4), (4, 8), (2, 1)];
        for (number, (offset, length)) in (1..).zip(spans) {
            all.note(Span { offset, length }, number);
        }
        let left: Vec<_> =
            std::iter::from_fn(|| all.next()).map(|(span, number)| (span.offset, number)).collect();
        assert_eq!(left, [(2, 5), (4, 4), (32, 3)]);
    }
}
