//! The points of a grid on a real mount, by the load engine.

use std::time::Duration;

use crate::curve::grid::{Planned, share};
use crate::curve::{Latency, Operation, Order, Point, Proof, Refusal, Sample, Setting, State};
use crate::measurement::Latencies;
use crate::rounds::{self, Bench, Progress, Settings};
use fathom_program::job::{Blocks, DIRECTIONS, Job, Pattern};
use fathom_program::units::Bytes;
use fathom_run::fault::Fault;
use fathom_run::instrument::Certificate;
use fathom_run::load::{self, Histogram, Outcome, Testbed};

/// How long a sample takes, more or less: long enough for thousands of cached calls, short enough for
/// a thousand samples in a minute.
const SLICE: Duration = Duration::from_millis(25);

/// A ramp that is over after one write: the first one after an fsync pays for making the inode dirty
/// again, and a burst as short as a sample would spread that over a few calls.
const FIRST_WRITE: Duration = Duration::from_nanos(100);

/// What the rounds gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The points that could be measured, in the order of the plan.
    pub points: Vec<Point>,
    /// Those that the system refused, or that time did not allow.
    pub refused: Vec<Refusal>,
}

/// Measures the points at `testbed` in rounds, until the interval of every median is narrow enough or the deadline has
/// come; `certificate` is that of the clock.
///
/// # Errors
/// [`Fault::Interrupted`]. A point that the system refuses becomes a refusal.
pub fn measure(
    testbed: &mut Testbed,
    plan: &[Planned],
    certificate: &Certificate,
    settings: Settings,
    progress: &mut dyn FnMut(Progress),
) -> Result<Run, Fault> {
    let mut linux = Linux {
        testbed,
        overhead_ns: certificate.overhead_ns,
        spots: plan
            .iter()
            .map(|&planned| Spot { planned, calls: None, seen: Histogram::default() })
            .collect(),
    };
    let all = rounds::measure(&mut linux, plan.len(), settings, progress)?;
    let mut run = Run { points: Vec::new(), refused: Vec::new() };
    for (spot, series) in linux.spots.iter().zip(all) {
        let setting = spot.planned.setting;
        if series.samples.is_empty() {
            let reason = series.refusal.unwrap_or_else(|| "time ran out before: raise --max-time".to_owned());
            let what = format!("{}: calls of {}", setting.name(), Bytes(setting.block_bytes));
            run.refused.push(Refusal { what, reason });
        } else {
            let ns_per_tick = 1e9 / linux.testbed.ticks_per_second();
            let latency = latency(&spot.seen, ns_per_tick, linux.overhead_ns);
            let latencies = Latencies { histogram: spot.seen.clone(), ns_per_tick };
            run.points.push(Point::of(setting, series, latency, latencies));
        }
    }
    Ok(run)
}

struct Linux<'a> {
    testbed: &'a mut Testbed,
    overhead_ns: f64,
    spots: Vec<Spot>,
}

/// A point of the plan, the calls that each thread makes in a sample, and all latencies seen there.
struct Spot {
    planned: Planned,
    calls: Option<u64>,
    seen: Histogram,
}

impl Linux<'_> {
    fn run(
        &mut self,
        setting: &Setting,
        calls: u64,
        time: Option<Duration>,
        round: u32,
    ) -> Result<Vec<Outcome>, Fault> {
        let jobs = jobs(setting, calls, time, round);
        match (setting.operation, jobs.first()) {
            // What is overwritten must have been written.
            (Operation::Overwrite, Some(job)) => {
                self.testbed.lay_out(&[Job { read_percent: 100, ..job.clone() }])?;
            }
            (Operation::Append, Some(job)) => self.testbed.remove(job),
            _ => {}
        }
        Ok(load::run_all(&jobs, self.testbed)?.into_iter().flatten().collect())
    }

    /// How many calls each thread makes in the time of a sample.
    fn size_up(&mut self, planned: &Planned) -> Result<u64, Fault> {
        let most = (planned.most_bytes / planned.setting.block_bytes).max(1);
        let outcomes = self.run(&planned.setting, most, Some(SLICE), 0)?;
        let calls = |outcome: &Outcome| outcome.transfers.iter().map(|one| one.latency.count()).sum::<u64>();
        Ok(outcomes.iter().map(calls).min().unwrap_or(1).clamp(1, most))
    }
}

impl Bench for Linux<'_> {
    type Sample = Sample;

    fn sample(&mut self, index: usize, round: u32) -> Result<Sample, Fault> {
        let planned = self.spots[index].planned;
        let calls = match self.spots[index].calls {
            Some(calls) => calls,
            None => self.size_up(&planned)?,
        };
        self.spots[index].calls = Some(calls);
        let outcomes = self.run(&planned.setting, calls, None, round + 1)?;
        for outcome in &outcomes {
            self.spots[index]
                .seen
                .merge(&outcome.transfers[planned.setting.operation.direction() as usize].latency);
        }
        Ok(sample(&planned.setting, round, &outcomes, self.overhead_ns))
    }

    fn rate(sample: &Sample) -> Option<f64> {
        (sample.proof != Proof::Refuted).then(|| sample.bytes as f64 / sample.elapsed_ns * 1e9)
    }
}

fn latency(seen: &Histogram, ns_per_tick: f64, overhead_ns: f64) -> Latency {
    let ns = |ticks: u64| (ticks as f64 * ns_per_tick - overhead_ns).max(0.0);
    let at = |share: f64| ns(seen.quantile(share));
    Latency {
        calls: seen.count(),
        min_ns: ns(seen.min()),
        p50_ns: at(0.5),
        p90_ns: at(0.9),
        p99_ns: at(0.99),
        p999_ns: at(0.999),
        max_ns: ns(seen.max()),
    }
}

/// The file of this size that is kept in the cache, or out of it.
pub(super) fn file_name(state: State, file_bytes: u64) -> String {
    let state = if state == State::Cached { "cached" } else { "cold" };
    format!("{state}-{file_bytes}")
}

/// One job per thread. Those of sequential orders have a part of the file each.
fn jobs(setting: &Setting, calls: u64, time: Option<Duration>, round: u32) -> Vec<Job> {
    let filename = match setting.operation {
        Operation::Append => format!("grown-{}", setting.file_bytes),
        _ => file_name(setting.state, setting.file_bytes),
    };
    let reads = setting.operation == Operation::Read;
    let pattern = match setting.order {
        Order::Sequential => Pattern::Sequential,
        Order::Random => Pattern::Random,
    };
    let job = |thread: u32| Job {
        filename: Some(filename.clone()),
        pattern,
        read_percent: if reads { 100 } else { 0 },
        blocks: [Blocks::fixed(setting.block_bytes); DIRECTIONS],
        filesize: Some(setting.file_bytes),
        offset: if setting.order == Order::Sequential { u64::from(thread) * share(setting) } else { 0 },
        io_size: Some((calls + u64::from(!reads)) * setting.block_bytes),
        direct: setting.state == State::Direct,
        end_fsync: !reads,
        invalidate: matches!(setting.state, State::Cold | State::Direct),
        pre_read: setting.state == State::Cached,
        ramp_time: if reads { Duration::ZERO } else { FIRST_WRITE },
        // The kernel is to find out for itself, as it must for most programs.
        fadvise_hint: false,
        allocate: setting.operation != Operation::Append,
        runtime: time.unwrap_or(Duration::ZERO),
        seed: (u64::from(round) << 40) ^ (u64::from(thread) << 32) ^ setting.block_bytes,
        ..Job::named("curve")
    };
    (0..setting.threads).map(job).collect()
}

fn sample(setting: &Setting, round: u32, outcomes: &[Outcome], overhead_ns: f64) -> Sample {
    let mut sample = Sample {
        round,
        calls: 0,
        bytes: 0,
        elapsed_ns: 0.0,
        call_ns: 0.0,
        user_ns: 0.0,
        system_ns: 0.0,
        sync_ns: None,
        proof: Proof::Proven,
    };
    let (mut rate, mut time) = (0.0, 0.0);
    for outcome in outcomes {
        let transfers = &outcome.transfers[setting.operation.direction() as usize];
        let count = transfers.latency.count();
        // A call can't take less than nothing, whatever the clock costs.
        let taken =
            (transfers.latency.sum() as f64 * outcome.ns_per_tick - count as f64 * overhead_ns).max(1.0);
        sample.calls += count;
        sample.bytes += transfers.bytes;
        rate += transfers.bytes as f64 / taken;
        time += taken;
        sample.user_ns += outcome.usage.user.as_nanos() as f64;
        sample.system_ns += outcome.usage.system.as_nanos() as f64;
        if outcome.syncs.count() > 0 {
            let longest = outcome.syncs.max() as f64 * outcome.ns_per_tick;
            sample.sync_ns = Some(sample.sync_ns.map_or(longest, |other| longest.max(other)));
        }
        sample.proof = sample.proof.max(Proof::of(setting.state, outcome.cached_before));
    }
    sample.elapsed_ns = sample.bytes as f64 / rate;
    sample.call_ns = time / sample.calls.max(1) as f64;
    sample
}
