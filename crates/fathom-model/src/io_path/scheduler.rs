//! The scheduler and the queue: the way of a request to the device.

use fathom_net::{NetBuilder, Place, Span, Time};

use super::places::Shared;
use super::request::Request;
use super::state::{Moment, State};

/// The places on both sides of the queue.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    pub(super) requests: Place<Request>,
    /// Requests on their way to the device, merged.
    pub(super) dispatched: Place<Request>,
    /// Those that the device has served, by direction.
    pub(super) served: [Place<Request>; 2],
    /// The requests that they were merged from.
    pub(super) done: [Place<Request>; 2],
}

/// Draws the queue. Ports: `requests`, `reads served` and `writes served` in; `dispatched`, `arrived` and `written` out.
pub(super) fn draw(net: &mut NetBuilder, ports: Ports, shared: Shared) {
    let requests = net.port_in(ports.requests);
    let served = ports.served.map(|place| net.port_in(place));
    let dispatched = net.port_out(ports.dispatched);
    let [arrived, written] = ports.done.map(|place| net.port_out(place));
    let kernel = net.fusion("kernel", shared.state);
    let (runs, windows, over) = (net.place("runs"), net.place::<u64>("windows"), net.place("over"));
    // Requests that come at once are all in the queue before one goes to the device: a plug.
    net.transition("submit")
        .input(requests)
        .priority(1)
        .update_into(kernel, (runs, windows), |(request,), state, firing| {
            let moment = state.moment(firing.now());
            (state.queue.submit(*request, moment), state.queue.set_timer())
        })
        .add();
    net.transition("dispatch")
        .consume(runs, 1)
        .update_each(kernel, dispatched, |(), state, firing| {
            state.queue.dispatch(state.clock.ns(firing.now()))
        })
        .add();
    for (name, served, done) in
        [("complete a read", served[0], arrived), ("complete a write", served[1], written)]
    {
        net.transition(name)
            .input(served)
            .priority(1)
            .update_into(kernel, (done, runs), |(request,), state, firing| {
                let moment = state.moment(firing.now());
                (state.queue.complete(request, moment), [()])
            })
            .add();
    }
    net.transition("watch a window")
        .input(windows)
        .delay_by(|(wait,), _| Span::ticks(*wait))
        .produce(over, 1)
        .add();
    net.transition("judge it")
        .consume(over, 1)
        .update_into(kernel, (runs, windows), |(), state, firing| {
            let moment = state.moment(firing.now());
            (state.queue.judge_window(moment), state.queue.set_timer())
        })
        .add();
}

impl State {
    /// A moment of the run, as the queue sees it.
    fn moment(&self, now: Time) -> Moment {
        let now = self.clock.ns(now);
        Moment { now, waits: self.writeback.paused_lately(now) }
    }
}
