//! Runs of the same kind, repeated until there are enough of them or they have taken long enough.

use std::time::Duration;

use super::prelude::*;

/// How many runs to make. What decides is in the samples alone, so that a recording decides the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batches {
    /// The fewest rounds, however long they take.
    pub(super) fewest: u32,
    /// The most rounds.
    pub(super) most: u32,
    /// No more once all have taken this long together.
    pub(super) enough: Duration,
}

impl Batches {
    /// Makes the runs that `workload` describes by their number, and hands the samples of each to `keep`.
    ///
    /// Time that runs out ends them early; a first run that could not be made is a fault.
    pub(super) fn run(
        self,
        session: &mut Session<'_>,
        workload: impl Fn(u32) -> Workload,
        mut keep: impl FnMut(&Samples),
    ) -> Result<(), Fault> {
        let mut taken = Duration::ZERO;
        for batch in 0..self.most {
            if batch >= self.fewest && taken >= self.enough {
                break;
            }
            match session.observe(workload(batch)) {
                Ok(samples) => {
                    taken += Duration::from_nanos(samples.elapsed_ns);
                    keep(samples);
                }
                Err(Fault::OutOfTime | Fault::OverBudget { .. }) if batch > 0 => break,
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }
}
