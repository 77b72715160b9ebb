//! What simulated calls come to.

use fathom_model::io_path::Done;
use fathom_program::call::{Call, DIRECTIONS};
use fathom_run::load::{Histogram, Outcome, Transfers};

/// What a run of a thread, or of all, was that began at `started`, in ns: from the calls that count, each with the bytes
/// that it moved. The last of all calls ends it, whether it counts or not.
pub(super) fn outcome<'a>(
    counted: impl Iterator<Item = (&'a Done, Call, u64)>,
    started: u64,
    done: &[Done],
    thread: impl Into<Option<u32>>,
) -> Outcome {
    let thread = thread.into();
    let own = done.iter().filter(|one| thread.is_none_or(|thread| one.job == thread));
    let end = own.map(|one| one.span[1].as_ticks()).max().unwrap_or(started);
    let mut transfers: [Transfers; DIRECTIONS] = Default::default();
    let mut syncs = Histogram::default();
    for (one, call, bytes) in counted {
        match call.kind.direction() {
            Some(direction) => {
                let side = &mut transfers[direction as usize];
                side.bytes += bytes;
                side.latency.record(one.took_ns());
            }
            None => syncs.record(one.took_ns()),
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
