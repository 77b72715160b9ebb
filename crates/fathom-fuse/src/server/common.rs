//! What the calls of the server share: errors, waiting, and who owns the root.

use std::time::{Duration, Instant};

use fuser::{Errno, ReplyEmpty};

/// A shorter delay is spent spinning. Threads that sleep wait together on few CPUs, and threads that spin don't.
const SHORTEST_SLEEP: Duration = Duration::from_micros(200);
/// A sleep ends too late by about so much: the usual slack of timers, `PR_SET_TIMERSLACK`.
const SLACK: Duration = Duration::from_micros(50);

pub(super) fn answer<T>(outcome: Result<T, Errno>, reply: ReplyEmpty) {
    match outcome {
        Ok(_) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

pub(super) fn times(each: Duration, count: u64) -> Duration {
    each.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
}

pub(super) fn wait(time: Duration) {
    let started = Instant::now();
    if time >= SHORTEST_SLEEP {
        std::thread::sleep(time - SLACK);
    }
    while started.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// The user and group of this process.
pub(super) fn own_ids() -> (u32, u32) {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map_or((0, 0), |about| (about.uid(), about.gid()))
}
