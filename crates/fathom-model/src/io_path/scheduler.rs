//! The scheduler and the queue: what happens to a request between those who ask and the device.

use fathom_net::{NetBuilder, Place};

use super::state::ns;
use super::{Request, Shared};

/// What stands on both sides of the queue.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    pub(super) requests: Place<Request>,
    /// Requests on their way to the device, merged.
    pub(super) dispatched: Place<Request>,
    /// Those that the device has served, by direction.
    pub(super) served: [Place<Request>; 2],
    /// What they were made of.
    pub(super) done: [Place<Request>; 2],
}

/// Ports: `requests`, `reads served` and `writes served` in; `dispatched`, `arrived` and `written` out.
pub(super) fn draw(net: &mut NetBuilder, ports: Ports, shared: Shared) {
    let requests = net.port_in(ports.requests);
    let served = ports.served.map(|place| net.port_in(place));
    let dispatched = net.port_out(ports.dispatched);
    let [arrived, written] = ports.done.map(|place| net.port_out(place));
    let kernel = net.fusion("kernel", shared.state);
    let (runs, windows, over) = (net.place("runs"), net.place::<u64>("windows"), net.place("over"));
    // All that is asked for at once is in the queue before anything goes: a plug.
    net.transition("submit")
        .input(requests)
        .priority(1)
        .update(kernel, |(request,), state, firing| state.submit_request(request, firing.now()))
        .update_each(kernel, runs, |_, state, _| state.take_queue_run())
        .update_each(kernel, windows, |_, state, _| state.take_window())
        .add();
    net.transition("dispatch")
        .consume(runs, 1)
        .update_each(kernel, dispatched, |(), state, firing| state.dispatch_requests(firing.now()))
        .add();
    for (name, served, done) in
        [("complete a read", served[0], arrived), ("complete a write", served[1], written)]
    {
        net.transition(name)
            .input(served)
            .priority(1)
            .update_each(kernel, done, |(request,), state, firing| {
                state.complete_request(request, firing.now())
            })
            .update_each(kernel, runs, |_, state, _| state.take_queue_run())
            .add();
    }
    net.transition("watch a window").input(windows).delay_by(|(wait,), _| ns(*wait)).produce(over, 1).add();
    net.transition("judge it")
        .consume(over, 1)
        .update(kernel, |(), state, firing| state.judge_window(firing.now()))
        .update_each(kernel, runs, |(), state, _| state.take_queue_run())
        .update_each(kernel, windows, |(), state, _| state.take_window())
        .add();
}
