//! A server that works on the CPU of the thread that waits for it, and leaves it for another after a while.
//!
//! The scheduler wakes a server on the CPU of its caller as long as that seems to have time for both. How busy a CPU is it tells by
//! a mean that forgets half of what was in 32 ms (`kernel/sched/pelt.c`): a pair that works without a pause fills it little by little,
//! and one that often sleeps, as a thread does in a sync, may never do so. Once the server is on another CPU it stays there; each
//! request has to wake that CPU, which takes long in a virtual machine, and both work at the same time.

use fathom_net::Time;

use crate::io_path::costs::Costs;
use crate::parameters::Scalar;

/// Time in which the scheduler forgets half of what a CPU did, in ns.
const HALF_LIFE: f64 = 32e6;

/// How busy the CPU of a thread and its server has been.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Near {
    /// The scheduler's mean at which the server leaves, as a share of the CPU's time; 0 once it has left.
    most: f64,
    /// That mean.
    used: f64,
    /// Until when that counts, in ns of the run.
    until: u64,
}

impl Near {
    /// A run begins, before which both have rested.
    pub(crate) fn of(costs: &Costs) -> Self {
        let most = 1.0 - left_after(costs[Scalar::ServerNear]);
        Self { most, ..Self::default() }
    }

    /// The thread works until now, and sleeps in a sync for so many ns then.
    pub(crate) fn syncs(&mut self, now: Time, sleep: f64) {
        if self.holds(now) {
            self.used *= left_after(sleep);
            self.until = now.as_ticks() + sleep as u64;
        }
    }

    /// Whether a request that is made so far into the run is served on its caller's CPU.
    pub(crate) fn holds(&mut self, now: Time) -> bool {
        if self.most > 0.0 {
            let worked = now.as_ticks().saturating_sub(self.until);
            self.used = 1.0 - (1.0 - self.used) * left_after(worked as f64);
            self.until = self.until.max(now.as_ticks());
            if self.used > self.most {
                self.most = 0.0;
            }
        }
        self.most > 0.0
    }
}

/// The share that is left of what was so many ns ago.
fn left_after(ns: f64) -> f64 {
    (-ns / HALF_LIFE).exp2()
}
