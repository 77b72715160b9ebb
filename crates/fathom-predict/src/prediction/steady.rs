//! When the simulation of jobs may end before their runs do, and what the runs are then.

use std::time::Duration;

use fathom_model::io_path::Load;
use fathom_program::job::{Course, Direction, Distribution, Job, Layout, Pattern};
use fathom_program::program::Thread;
use fathom_run::load::Outcome;

use super::finds_cached;
use crate::model::{Parameters, Scalar};

/// A load that ends once it is steady, if its jobs go on as they began; and after so many calls.
pub(super) fn until_steady<T: Thread, K>(
    load: Load<T, K>,
    jobs: &[Job],
    parameters: &Parameters,
    most_calls: u64,
) -> Load<T, K> {
    let ramp = jobs.iter().map(|job| job.ramp_time).max().unwrap_or_default();
    let load = load.at_most(most_calls, ramp.as_nanos() as u64);
    let Some(from) = counts_from(jobs) else { return load };
    // By twice the age of old data what is written back because of it shows in the rate.
    let long = 2.0 * parameters[Scalar::DirtyExpire];
    load.until_steady(from, jobs.iter().all(comes_back_to_nothing), long as u64)
}

/// The jobs without what a model need not wait for. Its rate is steady from the start, so that a search for a steady rate ends
/// after the time that is left out and one window; and where memory does not change a ramp need not be long.
pub(super) fn steady_from_the_start(jobs: &[Job], parameters: &Parameters) -> impl Iterator<Item = Job> {
    const RAMP: Duration = Duration::from_millis(100);
    let is_still = |job: &Job| job.direct || (!job.does(Direction::Write) && finds_cached(job, parameters));
    let are_still = jobs.iter().all(is_still);
    let ended = move |job: &Job| {
        let ramp_time = if are_still { job.ramp_time.min(RAMP) } else { job.ramp_time };
        let job = Job { ramp_time, ..job.clone() };
        let Some(steady) = job.steady_state else { return job };
        let [steady, most] = [steady.ramp + steady.duration, job.runtime];
        let runtime = if most.is_zero() { steady } else { steady.min(most) };
        Job { runtime, steady_state: None, ..job }
    };
    jobs.iter().map(ended)
}

/// When the calls of jobs begin to count, in ns, if all of their threads do the like of it from then on to their end; none
/// where some end earlier than others, or do something else after a while.
fn counts_from(jobs: &[Job]) -> Option<u64> {
    let first = jobs.first()?;
    let goes_on = |job: &Job| {
        let Course { loops, new_group, exitall_on_error, exitall, exit_what, .. } = job.course;
        job.order.strides == [0; 3]
            && job.verify.is_none()
            && job.course
                == Course { loops, new_group, exitall_on_error, exitall, exit_what, ..Course::default() }
    };
    let ends = |job: &Job| (job.runtime, job.time_based, job.ramp_time);
    let is_even = jobs.iter().all(|job| goes_on(job) && ends(job) == ends(first));
    // Jobs that differ in their files alone end at about the same time.
    let but_for_files =
        |job: &Job| Job { name: String::new(), filename: None, seed: 0, offset: 0, ..job.clone() };
    let are_alike = || jobs.iter().all(|job| but_for_files(job) == but_for_files(first));
    (is_even && (first.time_based || are_alike())).then_some(first.ramp_time.as_nanos() as u64)
}

/// Whether a job finds in memory nothing that it has read or written before: it goes through its files once, or drops them before
/// each pass, and they were there before the first.
pub(super) fn comes_back_to_nothing(job: &Job) -> bool {
    let once_a_pass = job.pattern == Pattern::Sequential
        || (job.random_map && job.order.distribution == Distribution::Uniform && job.order.every <= 1);
    once_a_pass && (job.loops() == Ok(false) || (job.drops_caches() && job.layout() == Layout::Filled))
}

/// A run that was ended early as it was steady, at last as in `steady`, as long as the job makes it: to the end of its time, or of
/// its bytes.
pub(super) fn prolonged(mut run: Outcome, steady: Outcome, job: &Job) -> Outcome {
    let left = |whole: u64, done: u64, each: u64| whole.saturating_sub(done) as f64 / each.max(1) as f64;
    let [done, each] = [&run, &steady].map(|one| one.transfers.iter().map(|side| side.bytes).sum::<u64>());
    let by_bytes = match job.transfer() {
        Ok(Some(wanted)) if !job.time_based => left(wanted, done, each),
        _ => f64::INFINITY,
    };
    let by_count = match job.course.number_ios {
        0 => f64::INFINITY,
        count => left(count, run.calls(), steady.calls()),
    };
    let runtime = job.runtime.as_nanos() as u64;
    let by_time = if runtime == 0 { f64::INFINITY } else { left(runtime, run.elapsed_ns, steady.elapsed_ns) };
    let factor = by_bytes.min(by_count).min(by_time);
    if factor.is_finite() && factor > 0.0 {
        run.follow(&steady.prolonged(factor));
    }
    run
}

#[cfg(test)]
mod tests {
    use fathom_program::job::{Depth, Engine};

    use super::super::simulate;
    use super::*;
    use crate::model::Model;

    /// What a steady job does in the rest of its time need not be simulated; what changes is.
    #[test]
    fn a_steady_job_is_simulated_until_nothing_new_comes() {
        let model = Model::assumed();
        let of = |job: &Job| {
            let outcomes = simulate(std::slice::from_ref(job), &model.parameters, 1).unwrap();
            Outcome::together(&outcomes[0]).unwrap()
        };
        let direct = |seconds| Job {
            engine: Engine::Libaio,
            depth: Depth { most: 16, ..Depth::default() },
            direct: true,
            pattern: Pattern::Random,
            size: Some(256 << 20),
            time_based: true,
            runtime: Duration::from_secs(seconds),
            ..Job::named("direct")
        };
        let (short, long) = (of(&direct(4)), of(&direct(4_000)));
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.01;
        assert!(near(short.elapsed_ns as f64, 4e9) && near(long.elapsed_ns as f64, 4e12));
        assert!(near(long.calls() as f64, 1_000.0 * short.calls() as f64));
        assert!(near(long.latency_ns(0.99), short.latency_ns(0.99)));
        // So many bytes, and not so long.
        let bytes =
            |mib: u64| Job { time_based: false, runtime: Duration::ZERO, size: Some(mib << 20), ..direct(0) };
        let (few, many) = (of(&bytes(512)), of(&bytes(51_200)));
        assert!(
            near(many.calls() as f64, 51_200.0 * 256.0)
                && near(many.elapsed_ns as f64, 100.0 * few.elapsed_ns as f64)
        );
        // What fills memory evenly and is not read again goes on, too, and need not be simulated to its end.
        let cold =
            |seconds| Job { direct: false, engine: Engine::IoUring, size: Some(8 << 30), ..direct(seconds) };
        let [short, long] = [2, 400].map(|seconds| of(&cold(seconds)));
        assert!(
            near(long.calls() as f64, 200.0 * short.calls() as f64),
            "{} {}",
            short.calls(),
            long.calls()
        );
        // So does what writes the same file again and again, whose pages are dropped before each pass; and loops are passes as well.
        let written = |seconds| Job {
            direct: false,
            engine: Engine::Psync,
            read_percent: 0,
            size: Some(64 << 20),
            ..direct(seconds)
        };
        let [short, long] = [4, 200].map(|seconds| of(&written(seconds)));
        let ratio = long.calls() as f64 / short.calls() as f64 / 50.0;
        assert!((ratio - 1.0).abs() < 0.03, "{ratio}");
        let loops = |loops| {
            let mut job = bytes(64);
            job.course.loops = loops;
            of(&job)
        };
        let [one, many] = [1, 3_000].map(loops);
        assert!(near(many.calls() as f64, 3_000.0 * one.calls() as f64), "{} {}", one.calls(), many.calls());
        // The first pass reads from the device, all others from memory.
        let warming = Job {
            direct: false,
            engine: Engine::Psync,
            invalidate: false,
            size: Some(32 << 20),
            ..direct(2)
        };
        let warm = of(&warming);
        let rate = warm.bytes_per_second(Direction::Read);
        assert!(rate > 20.0 * 4096.0 * 1e9 / 80_000.0, "{rate}");
    }
}
