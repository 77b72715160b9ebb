//! How a survey's time is shared out, so that no hard question starves the others.

use std::time::Duration;

use super::Plan;
use crate::experiment::Demands;

/// Questions that come first wait for a server, which takes longer than a device.
const FIRST: u32 = 3;

/// The weight of each question; one that will be refused has none.
#[derive(Debug)]
pub(super) struct Schedule {
    seconds: Vec<f64>,
}

impl Schedule {
    /// Questions that say how long they take are slow ones: they get a share where the time suffices
    /// for all that comes first, and none otherwise.
    pub(super) fn new(plan: &Plan, demands: &[Demands], write_budget: u64) -> Self {
        let mut left = plan.max_time;
        let mut seconds = vec![0.0; demands.len()];
        for slow in [false, true] {
            for (index, demand) in demands.iter().enumerate().filter(|(_, d)| d.time.is_zero() != slow) {
                let usual = plan.experiments[index].about().cost.seconds.max(1);
                let quick =
                    Duration::from_secs(if demand.comes_first { FIRST * usual } else { usual }.into());
                let time = if slow { demand.time } else { quick };
                if demand.refusal(plan.intrusive, write_budget, left).is_none() {
                    seconds[index] = time.as_secs_f64();
                    left = left.saturating_sub(time);
                }
            }
        }
        Self { seconds }
    }

    /// How much of the time `left` the question at `index` may take, when it is its turn.
    pub(super) fn share(&self, index: usize, left: Duration) -> Duration {
        let all: f64 = self.seconds[index..].iter().sum();
        if all > 0.0 { left.mul_f64(self.seconds[index] / all) } else { Duration::ZERO }
    }
}
