//! The journal: what a sync waits for once its data are written. After `fs/jbd2` and `ext4_sync_file`.
//!
//! A sync whose file changed in the running transaction has it committed, and those that come meanwhile
//! share the next commit. A commit writes its blocks, has the device flush, and writes a record. Without
//! jbd2 a sync whose file has changed has the device flush, and writes a log or takes the time of a commit. Any sync of a file
//! that has not changed has it flush alone.

use std::sync::Arc;

use fathom_net::{In, NetBuilder, Out, Place, Span};

use super::CallKind;
use super::costs::Costs;
use super::places::Shared;
use super::request::Request;
use super::state::{Judged, Settling, State};
use super::work::Work;
use crate::parameters::Scalar;

/// The places that lead to the journal.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    /// Syncs whose data are written.
    pub(super) settling: Place<Work>,
    /// The commit goes on; true for its record.
    pub(super) steps: Place<bool>,
    /// Jobs whose transaction is committed.
    pub(super) committed: Place<u32>,
    /// The running transaction has to be committed in so many ns.
    pub(super) aging: Place<u64>,
}

/// Draws the journal. Ports: `settling`, `steps`, `committed` and `aging` in; `requests` and `returned` out.
pub(super) fn draw(net: &mut NetBuilder, costs: &Arc<Costs>, ports: Ports, shared: Shared) {
    let (settling, steps) = (net.port_in(ports.settling), net.port_in(ports.steps));
    let (committed, aging) = (net.port_in(ports.committed), net.port_in(ports.aging));
    let (step, age) = (net.port_out(ports.steps), net.port_out(ports.aging));
    let (requests, returned) = (net.port_out(shared.requests), net.port_out(shared.returned));
    let kernel = net.fusion("kernel", shared.state);
    let judged = net.place::<Judged>("judged");
    let by_job = net.index(judged, |judged| judged.work.turn.job);
    net.transition("judge")
        .input(settling)
        .update_into(kernel, (judged, step), |(work,), state, _| {
            let unsynced = std::mem::take(&mut state.files.of(work.call.file).unsynced);
            let (judged, step) = state.journal.settle(work, unsynced);
            ([judged], step)
        })
        .add();
    let [cost, slept] = [(); 2].map(|()| Arc::clone(costs));
    let server = shared.server.map(|server| net.fusion("server", server));
    net.transition("need no commit")
        .input(judged)
        .guard(|(judged,)| judged.settling != Settling::Commit)
        .with(server, |transition, server| transition.consume(server, 1))
        .delay_by(move |(judged,), rng| match judged.settling {
            Settling::Nothing => Span::ZERO,
            _ => cost.around(judged.cost(&cost), rng),
        })
        .with(server, |transition, server| transition.produce(server, 1))
        .update(kernel, move |(judged,), state, firing| {
            if judged.work.call.kind == CallKind::Evict {
                state.evict(judged.work.call.file);
            }
            if judged.settling != Settling::Nothing {
                state.near.syncs(firing.now(), judged.cost(&slept));
            }
        })
        .output(returned, |(judged,), _| judged.work)
        .add();
    let cost = Arc::clone(costs);
    net.transition("see it committed")
        .input(committed)
        .input_by(by_job, |(job,)| *job)
        .delay_by(move |(_, judged), rng| cost.around(cost.scattered(judged.scattered), rng))
        .output(returned, |(_, judged), _| judged.work)
        .add();
    draw_commit(net, costs, steps, requests, kernel);
    draw_timer(net, aging, age, step, kernel);
}

/// One commit after the other: its blocks, a flush, its record.
fn draw_commit(
    net: &mut NetBuilder,
    costs: &Arc<Costs>,
    steps: In<bool>,
    requests: Out<Request>,
    kernel: Place<State>,
) {
    let ready = net.place("ready");
    let cost = Arc::clone(costs);
    net.transition("prepare")
        .input(steps)
        .delay_by(move |(is_record,), rng| {
            cost.around(if *is_record { cost[Scalar::DeviceFlush] } else { cost[Scalar::JournalCommit] }, rng)
        })
        .output(ready, |_, _| ())
        .add();
    net.transition("write")
        .consume(ready, 1)
        .update_each(kernel, requests, |_, state, firing| {
            state.clock.note(firing.now());
            state.journal.commit_step(&mut state.ids)
        })
        .add();
}

/// A transaction that is old enough is committed even if no caller waits for it.
fn draw_timer(net: &mut NetBuilder, aging: In<u64>, age: Out<u64>, steps: Out<bool>, kernel: Place<State>) {
    let (booted, alarm) = (net.pool("booted", 1), net.place("alarm"));
    // A transaction that began before the run.
    net.transition("boot")
        .consume(booted, 1)
        .update_each(kernel, age, |_, state, firing| state.journal.set_timer(state.clock.ns(firing.now())))
        .add();
    net.transition("set the timer")
        .input(aging)
        .delay_by(|(wait,), _| Span::ticks(*wait))
        .output(alarm, |_, _| ())
        .add();
    net.transition("commit old")
        .consume(alarm, 1)
        .update_each(kernel, steps, |_, state, firing| state.journal.commit_old(state.clock.ns(firing.now())))
        .add();
}
