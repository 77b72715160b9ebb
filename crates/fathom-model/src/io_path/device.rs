//! Devices: modules that serve requests, any of which can stand for any other.

mod disk;
mod empirical;
mod slice;
mod token_bucket;

use std::sync::Arc;

use fathom_net::{In, NetBuilder, Out};

pub use self::disk::disk_with_seeks;
pub use self::empirical::{ServiceTimes, Times, empirical};
pub use self::token_bucket::token_bucket;
use super::{DeviceModule, Prices, Request};

/// The modules, in the order of [`DEVICES`](crate::parameters::DEVICES).
pub const MODULES: [DeviceModule; 5] = [queue_and_bus, plain_queue, token_bucket, disk_with_seeks, empirical];

/// A device that works at several requests side by side and moves their data one after the other: a
/// solid-state disk, or a virtual one. Seeks cost nothing.
pub fn queue_and_bus(
    net: &mut NetBuilder,
    prices: &Arc<Prices>,
    requests: In<Request>,
    arrived: Out<Request>,
    written: Out<Request>,
) {
    let (tags, bus) = (net.place("tags"), net.place("bus"));
    let found = net.place::<Request>("found");
    net.initial(tags, (0..prices.device_depth).map(|_| ()));
    net.initial(bus, [()]);
    let (access, transfer) = (Arc::clone(prices), Arc::clone(prices));
    net.transition("access")
        .input(requests)
        .consume(tags, 1)
        .delay_by(move |(request,), rng| access.around(access.latency(request), rng))
        .output(found, |(request,), _| *request)
        .add();
    net.transition("transfer")
        .input(found)
        .consume(bus, 1)
        .delay_by(move |(request,), rng| transfer.around(moving(&transfer, request), rng))
        .produce(bus, 1)
        .produce(tags, 1)
        .output_each(arrived, |(request,), _| (!request.is_write).then_some(*request))
        .output_each(written, |(request,), _| request.is_write.then_some(*request))
        .add();
}

/// The paper's own device: one queue, one server, the same speed for all.
pub fn plain_queue(
    net: &mut NetBuilder,
    prices: &Arc<Prices>,
    requests: In<Request>,
    arrived: Out<Request>,
    written: Out<Request>,
) {
    let idle = net.place("idle");
    net.initial(idle, [()]);
    let prices = Arc::clone(prices);
    net.transition("serve")
        .input(requests)
        .consume(idle, 1)
        .delay_by(move |(request,), rng| prices.around(prices.device_latency + moving(&prices, request), rng))
        .produce(idle, 1)
        .output_each(arrived, |(request,), _| (!request.is_write).then_some(*request))
        .output_each(written, |(request,), _| request.is_write.then_some(*request))
        .add();
}

/// Moving a request's data, in ns.
fn moving(prices: &Prices, request: &Request) -> f64 {
    let byte = if request.is_write { prices.device_write_byte } else { prices.device_byte };
    request.bytes() as f64 * byte
}
