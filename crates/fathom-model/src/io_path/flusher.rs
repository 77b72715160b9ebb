//! The flusher: writes dirty data that nobody syncs, in the background once there are too many, and by a
//! timer once they are old.

use fathom_net::NetBuilder;

use super::Shared;
use super::state::ns;

/// Ports: `wakes` and `dirtied` in; `requests` out. It writes a chunk of a file, and sends itself off again
/// as long as there is more to write and the device has room.
pub(super) fn draw(net: &mut NetBuilder, shared: Shared) {
    let (wakes, dirtied) = (net.port_in(shared.wakes), net.port_in(shared.dirtied));
    let (again, rearm) = (net.port_out(shared.wakes), net.port_out(shared.dirtied));
    let requests = net.port_out(shared.requests);
    let kernel = net.fusion("kernel", shared.state);
    let (booted, alarm) = (net.place("booted"), net.place("alarm"));
    net.initial(booted, [()]);
    net.transition("write a chunk")
        .input(wakes)
        .update(kernel, |_, state, firing| state.flush(firing.now()))
        .update_each(kernel, requests, |_, state, _| state.take_requests())
        .update_each(kernel, again, |_, state, _| state.take_wake())
        .add();
    // What was dirty before the run.
    net.transition("boot")
        .input(booted)
        .update_each(kernel, rearm, |_, state, firing| state.take_alarm(firing.now()))
        .add();
    net.transition("set the timer")
        .input(dirtied)
        .delay_by(|(wait,), _| ns(*wait))
        .output(alarm, |_, _| ())
        .add();
    net.transition("look for old data")
        .input(alarm)
        .update(kernel, |_, state, firing| state.look_for_old_data(firing.now()))
        .update_each(kernel, again, |_, state, _| state.take_wake())
        .update_each(kernel, rearm, |_, state, firing| state.take_alarm(firing.now()))
        .add();
}
