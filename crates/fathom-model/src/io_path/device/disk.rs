//! A disk with an arm. Modelled, not validated.

use std::sync::Arc;

use fathom_net::{NetBuilder, Span};

use super::Ports;
use crate::file_read::PAGE;
use crate::io_path::costs::Costs;
use crate::io_path::request::Request;
use crate::page_cache::FileId;
use crate::parameters::Scalar;

/// Where the arm is: behind the last request.
type Arm = Option<Seat>;

/// A byte of a file, or of the disk where somebody knows it.
type Seat = (Option<FileId>, u64);

/// A disk with one arm that serves requests in their order. A request that follows on the last one costs only the transfer of its
/// data. Any other costs a seek, which within a file grows with the root of the distance up to that across a third of the disk, and
/// on average half a turn.
pub fn disk_with_seeks(net: &mut NetBuilder, costs: &Arc<Costs>, ports: Ports) {
    let Ports { requests, arrived, written, .. } = ports;
    let (idle, arm) = (net.pool("idle", 1), net.state::<Arm>("arm", None));
    let moved = net.place::<(u64, Request)>("moved");
    let seeking = Arc::clone(costs);
    net.transition("seek")
        .input(requests)
        .consume(idle, 1)
        .update_each(arm, moved, move |(request,), arm, firing| {
            let before = arm.replace(seat(request, request.bytes()));
            let share = firing.rng().below(1 << 20) as f64 / f64::from(1 << 20);
            [(seeking.positioning(before, request, share), *request)]
        })
        .add();
    let costs = Arc::clone(costs);
    net.transition("serve")
        .input(moved)
        .delay_by(move |((positioning, request),), rng| {
            Span::ticks(*positioning) + costs.around(costs[Scalar::Submission] + costs.moving(request), rng)
        })
        .produce(idle, 1)
        .output_each(arrived, |((_, request),), _| request.arrives().then_some(*request))
        .output_each(written, |((_, request),), _| (!request.arrives()).then_some(*request))
        .add();
}

impl Costs {
    /// Moving the arm and waiting for the sector, which comes by after a `share` of a turn; in ns.
    fn positioning(&self, arm: Arm, request: &Request, share: f64) -> u64 {
        let (file, byte) = seat(request, 0);
        let seek = match arm {
            Some(arm) if arm == (file, byte) => return 0,
            Some((before, last)) if before == file => {
                let pages = last.abs_diff(byte) as f64 / PAGE as f64;
                self[Scalar::Seek] * (pages / (self.disk_pages / 3.0)).min(1.0).sqrt()
            }
            _ => self[Scalar::Seek],
        };
        (seek + share * self[Scalar::Rotation]) as u64
    }
}

/// Where a request is after so many of its bytes.
fn seat(request: &Request, bytes: u64) -> Seat {
    match request.at {
        Some(at) => (None, at.byte + bytes),
        None => (Some(request.file), request.first * PAGE + bytes),
    }
}
