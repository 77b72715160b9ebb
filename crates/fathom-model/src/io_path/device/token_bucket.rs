//! A device with limits of requests and bytes a second: a cloud volume, or one that the block layer throttles.

use std::sync::Arc;

use fathom_net::{NetBuilder, Span};

use super::slice::Slice;
use super::{Ports, queue_and_bus};
use crate::io_path::costs::Costs;
use crate::io_path::request::{Request, Urgency};
use crate::io_path::state::Journal;
use crate::parameters::{Limited, Scalar};

/// What one direction has used.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    /// When its two buckets, of requests and of bytes, are full again, in ns.
    paid: [u64; 2],
    slice: Slice,
}

/// By default two buckets per direction before the usual device. Each fills at its rate and holds at most what it gets in
/// `limit_burst`; a request that finds too little waits, and so do those behind it in its direction. The generic cell rate
/// algorithm, in its form of virtual scheduling: ITU-T I.371. With a `limit_slice` the rule of the kernel's own throttle takes the
/// buckets' place.
pub fn token_bucket(net: &mut NetBuilder, costs: &Arc<Costs>, ports: Ports) {
    let Ports { requests, arrived, written, cpus, server } = ports;
    let used = |is_write| Used { slice: Slice::first(costs, is_write), ..Used::default() };
    let buckets = net.state("buckets", [false, true].map(used));
    let (held, admitted) = (net.place::<(u64, Request)>("held"), net.place::<Request>("admitted"));
    let limits = Arc::clone(costs);
    net.transition("weigh")
        .input(requests)
        .update_each(buckets, held, move |(request,), buckets, firing| {
            let used = &mut buckets[usize::from(request.is_write)];
            let now = firing.now().as_ticks();
            let wait = match limits.limit_slice {
                _ if limits.is_free(request) => 0,
                0 => limits.admit(request, &mut used.paid, now),
                _ => used.slice.dispatch(&limits, request, now) - now,
            };
            [(wait, *request)]
        })
        .add();
    net.transition("hold")
        .input(held)
        .delay_by(|((wait, _),), _| Span::ticks(*wait))
        .output(admitted, |((_, request),), _| *request)
        .add();
    net.module("volume", |net| {
        let (requests, arrived, written) =
            (net.port_in(admitted), net.port_out(arrived), net.port_out(written));
        queue_and_bus(net, costs, Ports { requests, arrived, written, cpus, server });
    });
}

impl Costs {
    /// Whether no limit holds a request.
    fn is_free(&self, request: &Request) -> bool {
        let is_journals = self.has_jbd2 && Journal::owns(request);
        match self.limited {
            Limited::All => false,
            Limited::Files => is_journals,
            Limited::Callers => is_journals || request.urgency == Urgency::Background,
        }
    }

    /// Takes a request's tokens out of its buckets; returns how many ns it has to wait.
    fn admit(&self, request: &Request, paid: &mut [u64; 2], now: u64) -> u64 {
        let costs = [1.0, request.bytes() as f64];
        let mut wait = 0;
        for (at, cost) in costs.into_iter().enumerate() {
            let rate = self.limits[usize::from(request.is_write)][at];
            if rate > 0.0 {
                // A request may go before its tokens are there, by as much as the bucket holds.
                wait = wait.max(paid[at].saturating_sub(now + self[Scalar::LimitBurst] as u64));
                paid[at] = paid[at].max(now) + (cost * 1e9 / rate) as u64;
            }
        }
        wait
    }
}
