//! The file system's map: where on the device the pages of a file are, and the blocks that have to be read to know it.

use fathom_net::{NetBuilder, Place};

use super::places::Shared;
use super::request::Request;

/// The places on both sides of the map.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    /// Requests that have their place on the device.
    pub(super) mapped: Place<Request>,
    /// Those that were served, by direction.
    pub(super) served: [Place<Request>; 2],
    /// The requests of files that they were made for.
    pub(super) arrived: Place<Request>,
    pub(super) written: Place<Request>,
}

/// Draws the map. Ports: `requests`, `reads done` and `writes done` in; `mapped`, `arrived` and `written` out. A request
/// of pages in several places becomes several; one whose pages have no known place waits until blocks of pointers are
/// read.
pub(super) fn draw(net: &mut NetBuilder, ports: Ports, shared: Shared) {
    let requests = net.port_in(shared.requests);
    let served = ports.served.map(|place| net.port_in(place));
    let mapped = net.port_out(ports.mapped);
    let [arrived, written] = [ports.arrived, ports.written].map(|place| net.port_out(place));
    let kernel = net.fusion("kernel", shared.state);
    net.transition("map")
        .input(requests)
        .priority(2)
        .update_each(kernel, mapped, |(request,), state, _| state.allocation.map(request, &mut state.ids))
        .add();
    for (name, served, done) in [("gather reads", served[0], arrived), ("gather writes", served[1], written)]
    {
        net.transition(name)
            .input(served)
            .priority(2)
            .update_into(kernel, (done, mapped), |(request,), state, _| {
                state.allocation.gather(request, &mut state.ids)
            })
            .add();
    }
}
