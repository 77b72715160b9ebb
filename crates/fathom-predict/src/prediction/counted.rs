//! What simulated calls come to.

use fathom_model::io_path::Done;

use fathom_program::job::{DIRECTIONS, Direction};
use fathom_run::load::{Histogram, Outcome, Transfers};

/// What a call is to whoever counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// It moves so many bytes.
    Transfer(Direction, u64),
    Sync,
    /// It only takes its time.
    Other,
}

/// What a run was that began at `started`, in ns, from the calls that the model made of it.
pub(super) fn outcome<'a>(
    done: impl Iterator<Item = &'a Done>,
    started: u64,
    counted: impl Fn(&Done) -> Counted,
) -> Outcome {
    let mut transfers: [Transfers; DIRECTIONS] = Default::default();
    let mut syncs = Histogram::default();
    let mut end = started;
    for call in done {
        end = end.max(call.span[1].as_ticks());
        match counted(call) {
            Counted::Transfer(direction, bytes) => {
                let side = &mut transfers[direction as usize];
                side.bytes += bytes;
                side.latency.record(call.took_ns());
            }
            Counted::Sync => syncs.record(call.took_ns()),
            Counted::Other => {}
        }
    }
    Outcome {
        transfers,
        syncs,
        elapsed_ns: end - started,
        ns_per_tick: 1.0,
        cached_before: None,
        usage: Default::default(),
        device_wrote: None,
    }
}
