//! The flusher: writes dirty data that no program syncs, in the background once there are too many, and by a
//! timer once they are old.

use fathom_net::{NetBuilder, Span, Time};

use super::places::Shared;
use super::request::Urgency;
use super::state::{Effects, State};

/// Draws the flusher. Ports: `wakes` and `dirtied` in; `requests` out. It writes a chunk of a file, and runs again
/// as long as there is more to write and the device has room.
pub(super) fn draw(net: &mut NetBuilder, shared: Shared) {
    let (wakes, dirtied) = (net.port_in(shared.wakes), net.port_in(shared.dirtied));
    let (again, rearm) = (net.port_out(shared.wakes), net.port_out(shared.dirtied));
    let requests = net.port_out(shared.requests);
    let kernel = net.fusion("kernel", shared.state);
    let (booted, alarm) = (net.pool("booted", 1), net.place("alarm"));
    net.transition("write a chunk")
        .input(wakes)
        .update_into(kernel, (requests, again), |_, state, firing| {
            let Effects { requests, wake, .. } = state.flush(firing.now());
            (requests, wake)
        })
        .add();
    // Data that were dirty before the run.
    net.transition("boot")
        .input(booted)
        .update_each(kernel, rearm, |_, state, firing| {
            state.writeback.set_timer(state.clock.ns(firing.now()))
        })
        .add();
    net.transition("set the timer")
        .input(dirtied)
        .delay_by(|(wait,), _| Span::ticks(*wait))
        .output(alarm, |_, _| ())
        .add();
    net.transition("look for old data")
        .input(alarm)
        .update_into(kernel, (again, rearm), |_, state, firing| {
            let now = state.clock.ns(firing.now());
            let wake = state.writeback.look_for_old_data(state.cache.dirty_pages(), now);
            (wake, state.writeback.set_timer(now))
        })
        .add();
}

impl State {
    /// One turn of the flusher: a chunk of a file. Source: `wb_writeback`, `writeback_sb_inodes`.
    fn flush(&mut self, now: Time) -> Effects {
        let mut effects = Effects::default();
        let now = self.clock.ns(now);
        let is_over = self.ledger.jobs_left == 0;
        let file = match self.writeback.next_file(self.cache.dirty_pages(), is_over) {
            Ok(file) => file,
            Err(wake) => return Effects { wake, ..effects },
        };
        self.writeback.start_estimate(now);
        let most = self.writeback.chunk();
        // Where the last chunk ended, and round.
        let cursor = self.writeback.dirty(file).cursor;
        let written = self.write_out(file, [cursor, u64::MAX], most, Urgency::Background, &mut effects);
        if written < most {
            self.write_out(file, [0, cursor], most - written, Urgency::Background, &mut effects);
        }
        effects.wake = self.writeback.end_chunk(file, now);
        effects
    }
}
