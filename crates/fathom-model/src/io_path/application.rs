//! The application: jobs that call, think, and call again.

use std::sync::Arc;

use fathom_net::{NetBuilder, Place, Span, Time};

use super::places::Shared;
use super::state::State;
use super::work::{Turn, Work};
use super::{GoOn, Kind, Program};
use crate::file_read::Read;

/// Draws the application. Ports: `calls` out, `returned` in. A closed loop: a job has one call under way, or thinks, or
/// waits for another job's call; or it has ended.
pub(super) fn draw(net: &mut NetBuilder, program: Arc<dyn Program>, calls: Place<Work>, shared: Shared) {
    let (calls, returned) = (net.port_out(calls), net.port_in(shared.returned));
    let kernel = net.fusion("kernel", shared.state);
    let (ready, ended) = (net.place::<Turn>("ready"), net.place("ended"));
    net.initial(
        ready,
        (0..program.jobs()).filter(|&job| program.begins(job)).map(|job| Turn { job, number: 0 }),
    );
    let (thinking, waiting) = (Arc::clone(&program), Arc::clone(&program));
    net.transition("issue")
        .input(ready)
        .delay_by(move |(turn,), _| Span::ticks(thinking.think_ns(turn.job, turn.number)))
        .update_into(kernel, (calls, ended), move |(turn,), state, firing| {
            let Some(call) = program.call_at(turn.job, turn.number, firing.done()) else {
                state.ledger.end_job();
                return (None, Some(()));
            };
            let descriptor = program.descriptor(turn.job, turn.number);
            let work = Work {
                turn: *turn,
                call,
                descriptor,
                begun: firing.done(),
                read: Read::new(
                    call.file,
                    call.offset,
                    call.bytes,
                    state.files.reader(call.file, descriptor),
                ),
                owed_ns: 0,
                far_ns: 0,
                copied: 0,
                pause_ns: 0,
            };
            (Some(work), None)
        })
        .add();
    net.transition("go on")
        .input(returned)
        .update(kernel, |(work,), state, firing| state.enter(work, firing.now()))
        .output_each(ready, move |(work,), firing| {
            let Turn { job, number } = work.turn;
            let GoOn { itself, others } = waiting.returned(job, number, firing.now());
            let own = itself.then_some(Turn { job, number: number + 1 });
            own.into_iter().chain(others.into_iter().map(|(job, number)| Turn { job, number }))
        })
        .add();
}

impl State {
    /// Enters a call that has returned.
    fn enter(&mut self, work: &Work, now: Time) {
        let call = work.call;
        self.clock.note(now);
        let looked = (call.kind == Kind::Look).then(|| self.cached(call.file, call.offset, call.bytes));
        self.ledger.enter(work, looked, &self.clock, now);
    }
}
