//! The system call: the time of entering the kernel, and the path that serves the call.

use std::sync::Arc;

use fathom_net::{NetBuilder, Place, Span};

use super::CallKind;
use super::costs::Costs;
use super::places::Shared;
use super::state::State;
use super::work::Work;
use crate::parameters::{Opening, Scalar};
use crate::read_ahead::Advice;

/// The places of the paths that serve calls.
#[derive(Clone, Copy)]
pub(super) struct Paths {
    pub(super) reads: Place<Work>,
    pub(super) writes: Place<Work>,
}

/// Draws the system call. Ports: `calls` in; `reads`, `writes` and `returned` out.
pub(super) fn draw(
    net: &mut NetBuilder,
    costs: &Arc<Costs>,
    calls: Place<Work>,
    paths: Paths,
    shared: Shared,
) {
    let (calls, returned) = (net.port_in(calls), net.port_out(shared.returned));
    let (reads, writes) = (net.port_out(paths.reads), net.port_out(paths.writes));
    let kernel = net.fusion("kernel", shared.state);
    let [costs, behind] = [(); 2].map(|()| Arc::clone(costs));
    let cpus = shared.cpus.map(|cpus| net.fusion("cpus", cpus));
    net.transition("enter")
        .input(calls)
        .with(cpus, |transition, cpus| transition.consume(cpus, 1))
        .delay_by(move |(work,), rng| match work.call.kind {
            CallKind::Evict | CallKind::Look | CallKind::Pause => Span::ZERO,
            // Its caller has taken the time.
            _ if work.call.is_queued => Span::ZERO,
            CallKind::Seek | CallKind::Dup | CallKind::Truncate | CallKind::Allocate | CallKind::Discard => {
                costs.around(work.crowded(costs[Scalar::SeekCall]), rng)
            }
            CallKind::Open
            | CallKind::OpenDirect
            | CallKind::Close
            | CallKind::Create
            | CallKind::Unlink
            | CallKind::Rename => costs.around(work.crowded(costs[Scalar::OpenCall]), rng),
            _ => {
                let fresh = f64::from(work.call.fresh_pages) * costs[Scalar::FreshPage];
                let entering = match work.call.faults {
                    // The write that follows takes it.
                    Some(_) if work.call.then == Some(CallKind::Write) => 0.0,
                    Some(faults) if work.call.kind == CallKind::Write => {
                        f64::from(faults) * costs[Scalar::WriteFault]
                    }
                    Some(faults) => f64::from(faults) * costs[Scalar::PageFault],
                    None => costs[Scalar::Call] + fresh,
                };
                costs.around(work.crowded(entering), rng)
            }
        })
        .with(cpus, |transition, cpus| transition.produce(cpus, 1))
        .update_into(kernel, (reads, writes, returned), move |(work,), state, _| match work.call.kind {
            CallKind::Read | CallKind::Prefetch => (Some(*work), None, None),
            // What does not stay in the cache alone goes to the device at once, in either direction.
            CallKind::Write if work.call.faults.is_some() => (None, Some(*work), None),
            CallKind::Write
                if behind[Scalar::WriteThrough] > 0.0 || state.files.get(work.call.file).is_direct =>
            {
                (Some(*work), None, None)
            }
            // An eviction waits for writes of the device, as syncs do.
            CallKind::Write | CallKind::Evict => (None, Some(*work), None),
            kind if kind.is_sync() => (None, Some(*work), None),
            _ => {
                state.others(work, behind.opening);
                (None, None, Some(*work))
            }
        })
        .add();
}

impl State {
    /// Serves a call that moves no data.
    fn others(&mut self, work: &Work, opening: Opening) {
        let file = work.call.file;
        match work.call.kind {
            CallKind::Open | CallKind::OpenDirect => {
                let is_direct = work.call.kind == CallKind::OpenDirect || opening == Opening::Bypasses;
                self.files.open(file, work.call.descriptor, Advice::Normal, is_direct);
                if opening == Opening::Drops {
                    self.evict(file);
                }
            }
            CallKind::Create => self.replace(file, self.clock.ns(work.begun)),
            _ => {}
        }
    }
}
