//! A server that works on the CPU of who waits for it, and leaves it for another after a while.
//!
//! The scheduler wakes a server on the CPU of its caller as long as that seems to have time for both, and moves it to an idle one
//! later. Then each request has to wake that CPU, which takes long in a virtual machine, and both work at the same time.

use fathom_net::Time;

use crate::parameters::{Parameters, Runner, Scalar};

/// For how long a server works on its caller's CPU when a run begins, in ns: as was seen of runs of fio, which has kept its CPU busy
/// before.
#[must_use]
pub fn near_at_start(parameters: &Parameters) -> u64 {
    if parameters.choices.runner == Runner::Fio { parameters[Scalar::ServerNear] as u64 } else { 0 }
}

/// Until when a server works on its caller's CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    /// For how long when a run begins, in ns; 0 where it does not then.
    at_start: u64,
    /// For how long after a sync, in ns; 0 where it never does.
    after_sync: u64,
    /// Until when, in ns of the run.
    until: u64,
}

impl Near {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let after_sync = parameters[Scalar::ServerNear] as u64;
        Self { at_start: near_at_start(parameters), after_sync, until: 0 }
    }

    /// A run begins.
    pub(crate) fn begin_run(&mut self) {
        self.until = self.at_start;
    }

    /// A sync has ended, for which both have slept: they meet on one CPU again, whoever runs the job.
    pub(crate) fn synced(&mut self, now: Time) {
        if self.after_sync > 0 {
            self.until = self.until.max(now.as_ticks() + self.after_sync);
        }
    }

    /// Whether a request that is made so far into the run is served on its caller's CPU.
    pub(crate) fn holds(&self, now: Time) -> bool {
        now.as_ticks() < self.until
    }
}
