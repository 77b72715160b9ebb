//! The caller's library: what an application reads and writes goes through buffers of streams, which ask the kernel
//! for more or less, earlier or later.

use std::sync::Arc;

use fathom_net::{NetBuilder, Place};

use super::{Prices, Shared, Work};

/// What stands on both sides of the library.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    /// What the application asks for, and what it gets back.
    pub(super) calls: Place<Work>,
    pub(super) done: Place<Work>,
    /// What the kernel is asked for.
    pub(super) system_calls: Place<Work>,
}

/// Ports: `calls` and `returned` in; `system calls` and `done` out. A call of the library copies what it can, and
/// makes its system calls one after the other.
pub(super) fn draw(net: &mut NetBuilder, prices: &Arc<Prices>, ports: Ports, shared: Shared) {
    let (calls, returned) = (net.port_in(ports.calls), net.port_in(shared.returned));
    let (system_calls, done) = (net.port_out(ports.system_calls), net.port_out(ports.done));
    let kernel = net.fusion("kernel", shared.state);
    let buffered = net.place::<Work>("buffered");
    let prices = Arc::clone(prices);
    net.transition("use the buffer")
        .input(calls)
        .update_each(kernel, buffered, |(work,), state, _| [state.library_call(work)])
        .add();
    net.transition("copy")
        .input(buffered)
        .delay_by(move |(work,), rng| {
            let fresh = f64::from(work.call.fresh_pages) * prices.fresh_page;
            match super::state::goes_through_streams(work.call.kind) {
                true => {
                    prices.around(prices.stdio_call + prices.copied_byte * work.copied as f64 + fresh, rng)
                }
                false => fathom_net::Span::ZERO,
            }
        })
        .update_each(kernel, system_calls, |(work,), state, firing| {
            state.next_system_call(work, firing.done())
        })
        .update_each(kernel, done, |(work,), state, _| state.take_library_call(work))
        .add();
    net.transition("go on")
        .input(returned)
        .update_each(kernel, system_calls, |(work,), state, firing| {
            state.next_system_call(work, firing.now())
        })
        .update_each(kernel, done, |(work,), state, _| state.take_library_call(work))
        .add();
}
