//! The application: jobs that call, think, and call again.

use std::sync::Arc;

use fathom_net::{NetBuilder, Place};

use super::state::ns;
use super::{Program, Shared, Turn, Work};
use crate::file_read::Read;

/// Ports: `calls` out, `returned` in. A closed loop: a job has one call under way, or thinks.
pub(super) fn draw(net: &mut NetBuilder, program: Arc<dyn Program>, calls: Place<Work>, shared: Shared) {
    let (calls, returned) = (net.port_out(calls), net.port_in(shared.returned));
    let kernel = net.fusion("kernel", shared.state);
    let ready = net.place::<Turn>("ready");
    net.initial(ready, (0..program.jobs()).map(|job| Turn { job, number: 0 }));
    let thinking = Arc::clone(&program);
    net.transition("issue")
        .input(ready)
        .delay_by(move |(turn,), _| ns(thinking.think_ns(turn.job, turn.number)))
        .update_each(kernel, calls, move |(turn,), state, firing| {
            let call = program.call_at(turn.job, turn.number, firing.done());
            if call.is_none() {
                state.end_job();
            }
            call.map(|call| Work {
                turn: *turn,
                call,
                begun: firing.done(),
                read: Read::new(call.file, call.offset, call.bytes, state.reader(call.file)),
                owed_ns: 0,
                copied: 0,
                pause_ns: 0,
            })
        })
        .add();
    net.transition("go on")
        .input(returned)
        .update(kernel, |(work,), state, firing| state.enter(work, firing.now()))
        .output(ready, |(work,), _| Turn { number: work.turn.number + 1, ..work.turn })
        .add();
}
