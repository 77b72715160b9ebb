//! What simulated calls come to.

use std::collections::VecDeque;

use fathom_model::io_path::{Done, Time};
use fathom_program::call::{CallKind, DIRECTIONS};
use fathom_run::load::{Histogram, Outcome, Transfers};

/// The calls of a thread, or of all.
#[derive(Default)]
pub(super) struct Counted {
    transfers: [Transfers; DIRECTIONS],
    syncs: Histogram,
    /// When the transfers ended before which those were handed over that are under way now, in ns.
    under_way: VecDeque<u64>,
    depth: usize,
    /// When the last of them ended, whether it counts or not, in ns.
    end: u64,
}

impl Counted {
    /// Of a job that has so many transfers under way, which another thread makes one after the other; 1 of any other job.
    pub(super) fn of_depth(depth: usize) -> Self {
        Self { depth, ..Self::default() }
    }

    /// Adds a call; of one that counts, its kind and the bytes that it moved.
    pub(super) fn add(&mut self, one: &Done, counts: Option<(CallKind, u64)>) {
        self.end = self.end.max(one.span[1].as_ticks());
        let Some((kind, bytes)) = counts else { return };
        match kind.direction() {
            Some(direction) => {
                let took = self.took(one);
                let side = &mut self.transfers[direction as usize];
                side.bytes += bytes;
                side.latency.record(took);
            }
            None => self.syncs.record(one.took_ns()),
        }
    }

    /// How long a call took with its wait for those before it, in ns.
    fn took(&mut self, one: &Done) -> u64 {
        if self.depth <= 1 {
            return one.took_ns();
        }
        let [begin, end] = one.span.map(Time::as_ticks);
        if self.under_way.is_empty() {
            self.under_way.extend(std::iter::repeat_n(begin, self.depth));
        }
        let handed_over = self.under_way.pop_front().unwrap_or(begin);
        self.under_way.push_back(end);
        end - handed_over
    }

    /// The run that they are, which began at `started`, in ns.
    pub(super) fn outcome(self, started: u64) -> Outcome {
        Outcome {
            transfers: self.transfers,
            trims: Default::default(),
            syncs: self.syncs,
            elapsed_ns: self.end.saturating_sub(started),
            ..Outcome::nothing(1.0)
        }
    }
}
