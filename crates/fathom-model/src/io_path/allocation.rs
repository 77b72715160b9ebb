//! The file system's map: where on the device the pages of a file are, and what has to be read to know it.

use fathom_net::{NetBuilder, Place};

use super::{Request, Shared};

/// What stands on both sides of the map.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    /// Requests of places on the device.
    pub(super) mapped: Place<Request>,
    /// Those that were served, by direction.
    pub(super) served: [Place<Request>; 2],
    /// The requests of files that they were made for.
    pub(super) arrived: Place<Request>,
    pub(super) written: Place<Request>,
}

/// Ports: `requests`, `reads done` and `writes done` in; `mapped`, `arrived` and `written` out. What lies in several
/// places becomes several requests; what nobody knows the place of waits until blocks of pointers were read.
pub(super) fn draw(net: &mut NetBuilder, ports: Ports, shared: Shared) {
    let requests = net.port_in(shared.requests);
    let served = ports.served.map(|place| net.port_in(place));
    let mapped = net.port_out(ports.mapped);
    let [arrived, written] = [ports.arrived, ports.written].map(|place| net.port_out(place));
    let kernel = net.fusion("kernel", shared.state);
    net.transition("map")
        .input(requests)
        .priority(2)
        .update(kernel, |(request,), state, _| state.map_request(request))
        .update_each(kernel, mapped, |_, state, _| state.take_mapped())
        .add();
    for (name, served, done) in [("gather reads", served[0], arrived), ("gather writes", served[1], written)]
    {
        net.transition(name)
            .input(served)
            .priority(2)
            .update_each(kernel, done, |(request,), state, _| state.gather(request))
            .update_each(kernel, mapped, |_, state, _| state.take_mapped())
            .add();
    }
}
