//! Time that a job waits by the clock, as its `rate=` or `thinktime=` says, and not for the machine: a model is not off on that.

use fathom_program::job::{Direction, Job};
use fathom_run::load::Outcome;

/// What a job itself says of its pace.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace<'a>(Option<&'a Job>);

impl<'a> Pace<'a> {
    pub(super) fn of(job: &'a Job) -> Self {
        Self(Some(job).filter(|job| job.is_paced() || !job.thinktime.is_zero()))
    }

    /// How many times faster a simulated run is if all that it does between its waits is so many times faster.
    pub(super) fn faster(self, one: &Outcome, factor: f64) -> f64 {
        let Some(job) = self.0 else { return factor };
        let threads = f64::from(job.numjobs);
        let elapsed = one.elapsed_ns as f64;
        if job.is_paced() {
            // It makes up for what its calls take longer, as far as it has time left.
            let latencies =
                one.transfers.iter().map(|side| side.latency.sum()).sum::<u64>() + one.syncs.sum();
            let busy = (latencies as f64 * one.ns_per_tick / (elapsed * threads)).min(1.0);
            return (factor / busy).min(at_most(job, one));
        }
        let waits = (one.calls() / u64::from(job.thinking.blocks.max(1))) as f64 / threads;
        let waits = waits * job.thinktime.as_nanos() as f64;
        let busy = (1.0 - waits / elapsed).max(0.0);
        1.0 / (1.0 - busy + busy / factor)
    }
}

/// How many times faster a run of a job may be by the bounds on its rates.
fn at_most(job: &Job, one: &Outcome) -> f64 {
    let threads = f64::from(job.numjobs);
    let bound = |side: Direction| {
        let [bytes, calls] = [job.rate[side as usize] as f64, f64::from(job.rates.iops[side as usize])];
        let of = |most: f64, rate: f64| if most > 0.0 { most * threads / rate } else { f64::INFINITY };
        of(bytes, one.bytes_per_second(side)).min(of(calls, one.iops(side)))
    };
    // A whole pass may end a little earlier than its last wait would have.
    job.directions().map(bound).fold(f64::INFINITY, f64::min).max(1.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tests::job;
    use super::*;
    use fathom_program::job::Rates;

    /// A run of a second with a thousand transfers, each of which takes so long.
    fn run(latency_ns: u64) -> Outcome {
        let mut run = Outcome { elapsed_ns: 1_000_000_000, ..Outcome::nothing(1.0) };
        run.transfers[0].bytes = 4_096_000;
        (0..1_000).for_each(|_| run.transfers[0].latency.record(latency_ns));
        run
    }

    #[test]
    fn a_job_that_waits_by_the_clock_is_as_fast_on_a_faster_machine() {
        let free = Job { direct: true, ..job("free") };
        let held = Job { rate: [4_096_000, 0], ..free.clone() };
        let counted = Job { rates: Rates { iops: [1_000, 0, 0], ..free.rates }, ..free.clone() };
        let thinks = Job { thinktime: Duration::from_micros(500), ..free.clone() };
        let faster = |job: &Job, latency, factor| Pace::of(job).faster(&run(latency), factor);
        assert_eq!([faster(&free, 500_000, 1.3), faster(&free, 500_000, 0.7)], [1.3, 0.7]);
        for job in [&held, &counted] {
            assert_eq!([faster(job, 250_000, 1.3), faster(job, 250_000, 0.5)].map(|by| by.round()), [1.0; 2]);
            let slower = faster(job, 500_000, 0.25);
            assert!((slower - 0.5).abs() < 0.05, "it has no time left: {slower}");
        }
        assert!((faster(&thinks, 500_000, 2.0) - 4.0 / 3.0).abs() < 0.01);
        assert!((faster(&thinks, 500_000, 0.5) - 2.0 / 3.0).abs() < 0.01);
    }
}
