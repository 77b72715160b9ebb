//! What simulated calls come to.

use fathom_model::io_path::Done;
use fathom_program::call::{CallKind, DIRECTIONS};
use fathom_run::load::{Histogram, Outcome, Transfers};

/// The calls of a thread, or of all.
#[derive(Default)]
pub(super) struct Counted {
    transfers: [Transfers; DIRECTIONS],
    syncs: Histogram,
    /// When the last of them ended, whether it counts or not, in ns.
    end: u64,
}

impl Counted {
    /// Adds a call; of one that counts, its kind and the bytes that it moved.
    pub(super) fn add(&mut self, one: &Done, counts: Option<(CallKind, u64)>) {
        self.end = self.end.max(one.span[1].as_ticks());
        let Some((kind, bytes)) = counts else { return };
        match kind.direction() {
            Some(direction) => {
                let side = &mut self.transfers[direction as usize];
                side.bytes += bytes;
                side.latency.record(one.took_ns());
            }
            None => self.syncs.record(one.took_ns()),
        }
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
