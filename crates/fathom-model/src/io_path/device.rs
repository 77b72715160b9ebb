//! Devices: modules that serve requests. All have the same ports, so that each can take another's place.

mod disk;
mod slice;
mod token_bucket;

use std::sync::Arc;

use fathom_net::{In, NetBuilder, Out, Place};

pub use self::disk::disk_with_seeks;
pub use self::token_bucket::token_bucket;
use super::costs::Costs;
use super::request::Request;
use crate::parameters::{Device, Scalar};

/// A module that serves requests.
pub type DeviceModule = fn(&mut NetBuilder, &Arc<Costs>, Ports);

/// What connects a device with the rest of the net.
#[derive(Clone, Copy)]
pub struct Ports {
    /// Requests for it.
    pub requests: In<Request>,
    /// Reads that are done.
    pub arrived: Out<Request>,
    /// Writes that are done.
    pub written: Out<Request>,
    /// Idle CPUs, of which the device needs one for its work; none where it works apart from them.
    pub cpus: Option<Place<()>>,
    /// The server that a device stands for, while it does nothing; none where syncs do not keep it from requests.
    pub server: Option<Place<()>>,
}

/// The module of a kind of device.
pub(super) fn module(device: Device) -> DeviceModule {
    match device {
        Device::QueueAndBus => queue_and_bus,
        Device::PlainQueue => plain_queue,
        Device::TokenBucket => token_bucket,
        Device::DiskWithSeeks => disk_with_seeks,
    }
}

/// A device that serves several requests at once and moves their data one after the other: a solid-state disk, or a
/// virtual one. Seeks take no time.
///
/// At most `device_depth` reads are served at once. Writes are all taken at once, by a cache or a queue; then a part of
/// the work is done for one after the other: a loop device's worker is woken once for all requests that wait, and
/// serves each in turn (`loop_process_work` of `drivers/block/loop.c`).
///
/// It may answer together: the thread of a virtual machine's host that stands for a disk often serves what is in the queue,
/// and interrupts the guest once, when the queue is empty. Then a thread with many requests under way waits for all of them.
///
/// The part that is done for one after the other takes a CPU where a thread of this machine does it.
pub fn queue_and_bus(net: &mut NetBuilder, costs: &Arc<Costs>, ports: Ports) {
    let Ports { requests, arrived, written, cpus, server } = ports;
    let tags = net.pool("tags", costs.device_depth);
    let bus = match server {
        Some(server) => net.fusion("bus", server),
        None => net.pool("bus", 1),
    };
    let found = net.place::<Request>("found");
    let served = costs.answers_together.then(|| net.place::<Request>("served"));
    let [access, take, transfer] = [(); 3].map(|()| Arc::clone(costs));
    let cpus = cpus.map(|cpus| net.fusion("cpus", cpus));
    net.transition("access")
        .input(requests)
        .guard(|(request,)| !request.is_write)
        .consume(tags, 1)
        .delay_by(move |(request,), rng| access.around(access.latency(request), rng))
        .output(found, |(request,), _| *request)
        .add();
    net.transition("take")
        .input(requests)
        .guard(|(request,)| request.is_write)
        .delay_by(move |(request,), rng| take.around(take.latency(request), rng))
        .output(found, |(request,), _| *request)
        .add();
    net.transition("transfer")
        .input(found)
        .consume(bus, 1)
        .with(cpus, |transfer, cpus| transfer.consume(cpus, 1))
        .delay_by(move |(request,), rng| transfer.around(transfer.serving(request), rng))
        .produce(bus, 1)
        .with(cpus, |transfer, cpus| transfer.produce(cpus, 1))
        .output_each(tags, |(request,), _| (!request.is_write).then_some(()))
        .with(served, |transfer, served| transfer.output(served, |(request,), _| *request))
        .with(served.is_none().then_some(()), |transfer, ()| {
            transfer
                .output_each(arrived, |(request,), _| request.arrives().then_some(*request))
                .output_each(written, |(request,), _| (!request.arrives()).then_some(*request))
        })
        .add();
    if let Some(served) = served {
        net.transition("answer")
            .input(served)
            .read(bus)
            .inhibit(found, 1)
            .output_each(arrived, |(request, _), _| request.arrives().then_some(*request))
            .output_each(written, |(request, _), _| (!request.arrives()).then_some(*request))
            .add();
    }
}

/// Paper E's device: one queue, one server, one speed.
pub fn plain_queue(net: &mut NetBuilder, costs: &Arc<Costs>, ports: Ports) {
    let Ports { requests, arrived, written, .. } = ports;
    let idle = net.pool("idle", 1);
    let costs = Arc::clone(costs);
    net.transition("serve")
        .input(requests)
        .consume(idle, 1)
        .delay_by(move |(request,), rng| {
            costs.around(costs[Scalar::DeviceLatency] + costs.moving(request), rng)
        })
        .produce(idle, 1)
        .output_each(arrived, |(request,), _| request.arrives().then_some(*request))
        .output_each(written, |(request,), _| (!request.arrives()).then_some(*request))
        .add();
}
