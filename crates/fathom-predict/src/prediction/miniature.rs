//! Long jobs in large files in miniature: files, memory, run and the ages at which the kernel writes data back are divided by the same
//! number; calls, devices and the pauses of writers stay as they are. So every share stays what it is: of a file that is cached, of
//! memory that is dirty, of the run that is over when memory is full. The idea for caches: Waldspurger and others, "Cache Modeling
//! and Optimization using Miniature Simulations", 2017.

use std::collections::HashMap;
use std::time::Duration;

use fathom_program::job::{Distribution, Job};
use fathom_run::load::{Cached, Outcome, groups};

use super::forecast::Forecast;
use super::simulate_within;
use crate::model::{Parameters, Scalar};

/// What must be left of the files of jobs that run at once, so that no CPU's caches hold a larger share of them; and of each of them.
const LEAST_FILES: u64 = 256 << 20;
const LEAST_FILE: u64 = 16 << 20;
/// What must be left of a run: its time, or its transfers where it ends by their number.
const LEAST_TIME: Duration = Duration::from_secs(2);
const LEAST_TRANSFERS: u64 = 250_000;
/// What is not made this many times smaller is left as it is.
const WORTH: u64 = 4;
/// Sizes in bytes, and ages in ns.
const DIVIDED: [Scalar; 9] = [
    Scalar::Cache,
    Scalar::Dirtyable,
    Scalar::DirtyBytes,
    Scalar::DirtyBackgroundBytes,
    Scalar::DirtyLimit,
    Scalar::Disk,
    Scalar::DirtyExpire,
    Scalar::DirtyWriteback,
    Scalar::CommitInterval,
];

/// Jobs that show within so many calls what they do are not made smaller.
const FEW_CALLS: u64 = 500_000;
/// No simulation makes more calls, which take some three seconds.
const MOST_CALLS: u64 = 1_500_000;

/// How much of jobs is simulated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// Files, memory and run are so many times smaller.
    pub(super) times: u64,
    /// Jobs make at most so many calls together.
    pub(super) most_calls: u64,
}

impl Extent {
    /// As much as takes a few seconds.
    ///
    /// # Errors
    /// A job that has no sense.
    pub(super) fn in_seconds(jobs: &[Job], parameters: &Parameters, seed: u64) -> Result<Self, String> {
        let times = times_at_most(jobs);
        let few = Self { times: 1, most_calls: FEW_CALLS };
        let ends_soon =
            times == 1 || simulate_within(jobs, parameters, seed, few)?.cuts.iter().all(Option::is_none);
        // What is read again at the end can't be taken to go on as before.
        let verifies = jobs.iter().any(|job| job.verify.as_ref().is_some_and(|verify| verify.backlog.0 == 0));
        let most_calls = if verifies { u64::MAX } else { MOST_CALLS };
        Ok(Self { times: if ends_soon { 1 } else { times }, most_calls })
    }

    /// The forecast of a job that says to what extent the job was simulated, and after how many calls it was cut off.
    pub(super) fn named(self, mut forecast: Forecast, cut: Option<u64>) -> Forecast {
        let times = self.times;
        let smaller = (times > 1)
            .then(|| format!("simulated with files, memory and run {times} times smaller than they are"));
        let cut = cut.map(|calls| {
            format!("{calls} calls were simulated, and the rest is taken to go on as their last half did")
        });
        forecast.caveats.extend(smaller.into_iter().chain(cut));
        forecast
    }
}

/// How many times smaller jobs can be without doing something else.
fn times_at_most(jobs: &[Job]) -> u64 {
    let is_long = |job: &Job| !job.direct && job.engine.transfers();
    if !jobs.iter().any(is_long) || !jobs.iter().all(can_shrink) {
        return 1;
    }
    let runs = jobs.iter().map(|job| {
        let by_time =
            (!job.runtime.is_zero()).then(|| (job.runtime.as_nanos() / LEAST_TIME.as_nanos()) as u64);
        let transfers = |bytes: u64| bytes * u64::from(job.numjobs) / job.least_block();
        let bytes = job.transfer().ok().flatten().filter(|_| !job.time_based);
        by_time.into_iter().chain(bytes.map(|bytes| transfers(bytes) / LEAST_TRANSFERS)).min().unwrap_or(1)
    });
    let files = groups(jobs).map(|group| {
        let mut lengths = HashMap::new();
        for job in group {
            for file in (0..job.numjobs).filter_map(|thread| job.files_of(thread).ok()).flatten() {
                lengths.insert(file.name, file.region.length);
            }
        }
        let least = lengths.values().min().copied().unwrap_or(0);
        (lengths.values().sum::<u64>() / LEAST_FILES).min(least / LEAST_FILE)
    });
    let times = runs.chain(files).min().unwrap_or(1);
    if times < WORTH { 1 } else { times }
}

/// Whether a job is the same in a smaller file: not one whose order, checks or end speak of single blocks.
fn can_shrink(job: &Job) -> bool {
    job.order.strides == [0; 3]
        && job.order.distribution == Distribution::Uniform
        && job.verify.is_none()
        && job.course.number_ios == 0
        && job.thinking.iotime.is_zero()
        && job.replay.log.is_none()
        && job.files.existing.is_none()
}

/// A job with files and run so many times smaller, its sizes in whole blocks.
pub(super) fn smaller(job: Job, times: u64) -> Job {
    if times == 1 {
        return job;
    }
    let block = job.largest_block().max(1);
    let bytes = |bytes: u64| (bytes / times / block).max(u64::from(bytes > 0)) * block;
    let time = |time: Duration| time / times as u32;
    let mut small = Job {
        size: job.size.map(bytes),
        filesize: job.filesize.map(bytes),
        io_size: job.io_size.map(bytes),
        offset: bytes(job.offset),
        runtime: time(job.runtime),
        ramp_time: time(job.ramp_time),
        ..job
    };
    small.files.sizes = small.files.sizes.map(|(least, most)| (bytes(least), bytes(most)));
    small.order.increment.0 = bytes(small.order.increment.0);
    let (from, to) = small.course.start_delay;
    small.course.start_delay = (time(from), time(to));
    small
}

/// A machine with memory so many times smaller, where data grow old as much sooner.
pub(super) fn machine(parameters: &Parameters, times: u64) -> Parameters {
    let mut small = parameters.clone();
    for scalar in DIVIDED {
        small.put_value(scalar, parameters[scalar] / times as f64);
    }
    small
}

/// What a thread of the jobs themselves does where one of the smaller jobs did this.
pub(super) fn enlarged(small: Outcome, times: u64) -> Outcome {
    let whole = |Cached { cached, pages }| Cached { cached: cached * times, pages: pages * times };
    let cached_before = small.cached_before.map(whole);
    Outcome { cached_before, ..small.prolonged(times as f64) }
}

#[cfg(test)]
mod tests {
    use super::super::simulate;
    use super::super::tests::{job, silent};
    use super::*;
    use fathom_program::job::{Direction, Order, Pattern, Verify};

    fn written_at_random(size: u64, runtime: u64) -> Job {
        Job {
            pattern: Pattern::Random,
            read_percent: 0,
            size: Some(size),
            runtime: Duration::from_secs(runtime),
            time_based: true,
            ..job("large")
        }
    }

    #[test]
    fn long_jobs_in_large_files_alone_become_smaller() {
        let large = written_at_random(10 << 30, 900);
        assert_eq!(times_at_most(std::slice::from_ref(&large)), 40);
        let same = [
            Job { direct: true, ..large.clone() },
            Job { runtime: Duration::from_secs(6), ..large.clone() },
            Job { size: Some(512 << 20), ..large.clone() },
            Job { time_based: false, runtime: Duration::ZERO, size: Some(2 << 30), ..large.clone() },
            Job { order: Order { strides: [4096; 3], ..Order::default() }, ..large.clone() },
            Job { verify: Some(Verify::default()), ..large.clone() },
        ];
        for other in same {
            assert_eq!(times_at_most(std::slice::from_ref(&other)), 1, "{other:?}");
            assert_eq!(times_at_most(&[large.clone(), other.clone()]) == 1, !other.direct, "{other:?}");
        }
        let files = Job { numjobs: 16, size: Some(1 << 30), ..large };
        assert_eq!(times_at_most(&[files]), 64);
    }

    #[test]
    fn a_job_that_stays_as_it_is_keeps_sizes_that_are_no_whole_blocks() {
        let odd = Job { offset: 512, size: Some(10_001), filesize: Some(20_003), ..job("odd") };
        assert_eq!(smaller(odd.clone(), 1), odd);
    }

    /// More is written than may be dirty, and than the device takes.
    #[test]
    fn a_job_runs_at_the_same_rate_with_files_memory_and_run_four_times_smaller() {
        let mut model = silent();
        for setting in ["dirtyable=64M", "dirty_ratio=20", "dirty_background_ratio=10", "device_byte=4"] {
            model.set(setting).unwrap();
        }
        let jobs = [written_at_random(64 << 20, 4)];
        let [whole, small] = [1, 4].map(|times| {
            let extent = Extent { times, most_calls: u64::MAX };
            simulate_within(&jobs, &model.parameters, 1, extent).unwrap().threads[0][0].clone()
        });
        let [rate, smaller] = [&whole, &small].map(|one| one.bytes_per_second(Direction::Write));
        assert!((smaller / rate - 1.0).abs() < 0.1, "{rate} {smaller}");
        let took = [&whole, &small].map(|one| one.elapsed_ns);
        assert!(took[0].abs_diff(took[1]) < 100_000_000, "{took:?}");
        let calls = [&whole, &small].map(|one| one.calls() as f64);
        assert!((calls[1] / calls[0] - 1.0).abs() < 0.1, "{calls:?}");
        assert_eq!(whole.cached_before, small.cached_before);
        // Memory alone would make it slower.
        let tight = machine(&model.parameters, 16);
        let tight = simulate(&jobs, &tight, 1).unwrap()[0][0].bytes_per_second(Direction::Write);
        assert!(tight < 0.9 * rate, "{tight} {rate}");
    }

    #[test]
    fn a_job_that_makes_too_many_calls_goes_on_as_it_did_in_its_last_half() {
        let model = silent();
        // What ends after so many transfers is not watched.
        let mut counted = Job { numjobs: 2, time_based: true, ..job("counted") };
        counted.course.number_ios = 100_000;
        let jobs = [counted];
        let run = |most_calls| {
            simulate_within(&jobs, &model.parameters, 1, Extent { times: 1, most_calls }).unwrap()
        };
        let [whole, cut] = [u64::MAX, 20_000].map(run);
        assert_eq!((&whole.cuts[..], &cut.cuts[..]), (&[None][..], &[Some(20_000)][..]));
        for (whole, cut) in whole.threads.iter().flatten().zip(cut.threads.iter().flatten()) {
            let calls = [whole, cut].map(|one| one.calls() as f64);
            assert!((calls[1] / calls[0] - 1.0).abs() < 0.05, "{calls:?}");
            let took = [whole, cut].map(|one| one.elapsed_ns as f64);
            assert!((took[1] / took[0] - 1.0).abs() < 0.05, "{took:?}");
        }
    }
}
