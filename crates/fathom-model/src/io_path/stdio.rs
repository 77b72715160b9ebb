//! The caller's library: reads and writes of an application go through the buffers of streams, which make other system
//! calls, at other times.

use std::sync::Arc;

use fathom_net::{NetBuilder, Place, Span, Time};

use super::costs::Costs;
use super::places::Shared;
use super::state::State;
use super::work::Work;
use crate::file_read::Read;
use crate::parameters::Scalar;

/// The places on both sides of the library.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    /// Calls of the library.
    pub(super) calls: Place<Work>,
    /// Calls of the library that have returned.
    pub(super) done: Place<Work>,
    /// System calls.
    pub(super) system_calls: Place<Work>,
}

/// Draws the library. Ports: `calls` and `returned` in; `system calls` and `done` out. A call of the library copies what it can, and
/// makes its system calls one after the other.
pub(super) fn draw(net: &mut NetBuilder, costs: &Arc<Costs>, ports: Ports, shared: Shared) {
    let (calls, returned) = (net.port_in(ports.calls), net.port_in(shared.returned));
    let (system_calls, done) = (net.port_out(ports.system_calls), net.port_out(ports.done));
    let kernel = net.fusion("kernel", shared.state);
    let buffered = net.place::<Work>("buffered");
    let costs = Arc::clone(costs);
    net.transition("use the buffer")
        .input(calls)
        .update_each(kernel, buffered, |(work,), state, _| {
            let file = state.files.get(work.call.file);
            [state.streams.call(work, file.size, file.is_direct)]
        })
        .add();
    net.transition("copy")
        .input(buffered)
        .delay_by(move |(work,), rng| {
            let fresh = f64::from(work.call.fresh_pages) * costs[Scalar::FreshPage];
            match super::state::goes_through_streams(work.call.kind) {
                true => costs.around(
                    costs[Scalar::StdioCall] + costs[Scalar::CopiedByte] * work.copied as f64 + fresh,
                    rng,
                ),
                false => Span::ZERO,
            }
        })
        .update_into(kernel, (system_calls, done), |(work,), state, firing| state.go_on(work, firing.done()))
        .add();
    net.transition("go on")
        .input(returned)
        .update_into(kernel, (system_calls, done), |(work,), state, firing| state.go_on(work, firing.now()))
        .add();
}

impl State {
    /// The next system call of a job's call of the library, or that call when it returns.
    fn go_on(&mut self, work: &Work, now: Time) -> (Option<Work>, Option<Work>) {
        let (call, returned) = self.streams.next(work.turn.job);
        let begun = call.map(|work| {
            let call = work.call;
            let reader = self.files.reader(call.file, call.descriptor);
            Work { begun: now, read: Read::new(call.file, call.offset, call.bytes, reader), ..work }
        });
        (begun, returned)
    }
}
