//! A server that works on the CPU of the thread that waits for it, and leaves it for another after a while.
//!
//! The scheduler wakes a server on the CPU of its caller as long as that seems to have time for both, and moves it to an idle one
//! later. Then each request has to wake that CPU, which takes long in a virtual machine, and both work at the same time.

use fathom_net::Time;

use crate::io_path::costs::Costs;
use crate::parameters::Scalar;

/// Until when a server works on its caller's CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Near {
    /// For how long from the beginning of a run and from each sync on, in ns; 0 where it never does.
    lasts: u64,
    /// Until when, in ns of the run.
    until: u64,
}

impl Near {
    /// A run begins, before which both have rested.
    pub(crate) fn of(costs: &Costs) -> Self {
        let lasts = costs[Scalar::ServerNear] as u64;
        Self { lasts, until: lasts }
    }

    /// A sync has ended, for which both have slept: they meet on one CPU again.
    pub(crate) fn synced(&mut self, now: Time) {
        if self.lasts > 0 {
            self.until = self.until.max(now.as_ticks() + self.lasts);
        }
    }

    /// Whether a request that is made so far into the run is served on its caller's CPU.
    pub(crate) fn holds(&self, now: Time) -> bool {
        now.as_ticks() < self.until
    }
}
