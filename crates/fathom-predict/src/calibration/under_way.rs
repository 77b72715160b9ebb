//! What jobs with several requests under way tell of the device and of their thread, without a fit.

use fathom_program::job::{Direction, Job};
use fathom_run::load::Outcome;
use fathom_stats::quantile;

use super::put_middle;
use crate::model::{Answers, Model, PAGE, Queued, Scalar};
use crate::trial::Trial;

/// Whether requests that a thread has under way overlap: more at once take less each, of those that read or of those that write.
pub(super) fn queued(trials: &[Trial]) -> Queued {
    const LESS: f64 = 1.0 / 1.3;
    // What a transfer takes, by how many are under way.
    let took = |side: Direction| {
        let of = |trial: &Trial| Some((trial.job.depth.most, trial.ns_per_transfer()?));
        trials.iter().filter(move |trial| is_by_pages(&trial.job, side)).filter_map(of)
    };
    let overlap = [Direction::Read, Direction::Write].into_iter().any(|side| {
        let alone = took(side).filter(|(depth, _)| *depth <= 1).map(|(_, took)| took).reduce(f64::min);
        let many = took(side).max_by_key(|(depth, _)| *depth).filter(|(depth, _)| *depth > 1);
        alone.zip(many).is_none_or(|(alone, (_, many))| many < alone * LESS)
    });
    if overlap { Queued::Together } else { Queued::InTurn }
}

/// Whether one thread moves single pages past the cache, in one direction.
fn is_by_pages(job: &Job, side: Direction) -> bool {
    let is_small = job.blocks[side as usize].most == PAGE && job.directions().all(|one| one == side);
    job.direct && is_small && job.numjobs == 1
}

/// Those in which one thread has several reads of single pages under way.
fn queues(trials: &[Trial]) -> impl Iterator<Item = &Trial> {
    trials.iter().filter(|trial| trial.job.depth.most > 1 && is_by_pages(&trial.job, Direction::Read))
}

/// How a device answers the requests that are under way, as far as the sleeps of a thread tell: one that waits for all of them sleeps
/// once for as many as its queue has. A thread that hardly sleeps tells nothing.
pub(super) fn answers(trials: &[Trial]) -> Option<Answers> {
    const ABOUT: f64 = 1.4;
    const MANY: f64 = 3.0;
    let sleeps = |trial: &Trial| {
        let depth = f64::from(trial.job.depth.most);
        quantile::median(&trial.each(|run| run.usage.sleeps as f64 / run.calls() as f64 * depth))
    };
    // Large ones take long enough for a server to leave the thread's CPU.
    let sleeps: Vec<f64> = queues(trials).filter_map(sleeps).collect();
    let most = sleeps.iter().copied().reduce(f64::max)?;
    if sleeps.iter().all(|sleeps| (1.0 / ABOUT..ABOUT).contains(sleeps)) {
        return Some(Answers::Together);
    }
    (most > MANY).then_some(Answers::Each)
}

/// What a request takes of its caller's CPU, if requests overlap: its submission, and what the thread's time on its CPU holds besides,
/// of the job with the most requests under way. How long such a job takes does not tell that from what the device or a kernel's worker
/// takes at the same time; and a program that does more itself is slower only by what the caller's CPU has no time for.
pub(super) fn callers_part(model: &mut Model, trials: &[Trial]) {
    let deepest = queues(trials).max_by_key(|trial| trial.job.depth.most);
    let Some(trial) = deepest.filter(|_| model.parameters.choices.queued == Queued::Together) else { return };
    let [call, caller] = [Scalar::Call, Scalar::Caller].map(|scalar| model.parameters[scalar]);
    let parts = |run: &Outcome| {
        let cpu = (run.usage.user + run.usage.system).as_nanos() as f64 / run.calls() as f64 - caller;
        let submission = run.transfers[Direction::Read as usize].submission.mean() * run.ns_per_tick;
        let submission = submission.min(cpu);
        (submission > call).then_some([submission - call, cpu - submission])
    };
    let parts: Vec<[f64; 2]> = trial.runs.iter().filter_map(parts).collect();
    for (at, scalar) in [Scalar::Submission, Scalar::QueuedCall].into_iter().enumerate() {
        put_middle(model, scalar, &parts.iter().map(|part| part[at]).collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{put_measured, stages};
    use super::*;
    use crate::model::Number;

    #[test]
    fn how_a_device_answers_is_seen_in_how_often_a_thread_sleeps() {
        // How often a queue of 4 and one of 32 has the thread sleep for as many requests as it holds.
        let seen = |of_four: f64, of_many: f64| {
            let trial = |job: &Job| {
                let mut run = Outcome { elapsed_ns: 1, ..Outcome::nothing(1.0) };
                (0..3_200).for_each(|_| run.transfers[0].latency.record(1));
                let of_queue = if job.depth.most > 4 { of_many } else { of_four };
                run.usage.sleeps = (3_200.0 * of_queue / f64::from(job.depth.most)) as u64;
                Trial { job: job.clone(), runs: vec![run], disturbed: 0, refusal: None }
            };
            let jobs = stages(&Model::assumed()).into_iter().flat_map(|stage| stage.jobs);
            answers(&jobs.map(|job| trial(&job)).collect::<Vec<_>>())
        };
        assert_eq!([seen(1.0, 1.0), seen(0.8, 1.2)], [Some(Answers::Together); 2]);
        assert_eq!([seen(4.0, 32.0), seen(1.0, 8.0)], [Some(Answers::Each); 2]);
        // A thread that is busy all the time, and one that is now and then.
        assert_eq!([seen(0.1, 0.0), seen(2.0, 0.5), answers(&[])], [None; 3]);
    }

    #[test]
    fn what_a_request_takes_of_its_callers_cpu_is_what_the_thread_used_of_it() {
        // What a submission took, what the thread used of its CPU for each request, and the two parts of it.
        let found = |submission: u64, cpu: u64, queued: Queued| {
            let mut model = Model::assumed();
            model.parameters.choices.queued = queued;
            put_measured(&mut model, Scalar::Call, 400.0);
            put_measured(&mut model, Scalar::Caller, 50.0);
            let trial = |job: Job| {
                let mut run = Outcome { elapsed_ns: 1, ..Outcome::nothing(1.0) };
                let cpu = if job.depth.most == 32 { cpu } else { 5 * cpu };
                for _ in 0..1_000 {
                    run.transfers[0].latency.record(1);
                    run.transfers[0].submission.record(submission);
                }
                run.usage.system = Duration::from_nanos(1_000 * cpu);
                Trial { job, runs: vec![run], disturbed: 0, refusal: None }
            };
            let jobs = stages(&model).into_iter().flat_map(|stage| stage.jobs);
            callers_part(&mut model, &jobs.map(trial).collect::<Vec<_>>());
            let free: Vec<_> = stages(&model).into_iter().flat_map(|stage| stage.free(&model)).collect();
            let [submission, rest] = [Scalar::Submission, Scalar::QueuedCall].map(|scalar| {
                let is_free = free.iter().any(|(number, _)| *number == Number::Scalar(scalar));
                (!is_free).then_some(model.parameters[scalar])
            });
            [submission, rest]
        };
        let near = |found: Option<f64>, wanted: f64| found.is_some_and(|found| (found - wanted).abs() < 30.0);
        let [submission, rest] = found(2_000, 3_050, Queued::Together);
        assert!(near(submission, 1_600.0) && near(rest, 1_000.0), "{submission:?} {rest:?}");
        // A submission that a kernel's worker interrupts takes longer than the thread uses.
        let [submission, rest] = found(9_000, 3_050, Queued::Together);
        assert!(near(submission, 2_600.0) && near(rest, 0.0), "{submission:?} {rest:?}");
        assert_eq!(found(2_000, 3_050, Queued::InTurn), [None; 2]);
        assert_eq!(found(2_000, 0, Queued::Together), [None; 2], "the kernel does not say");
    }

    #[test]
    fn whether_requests_overlap_is_seen_in_what_each_takes() {
        let trial = |job: Job, took: f64| {
            let mut run = Outcome { elapsed_ns: (took * 1e3) as u64, ..Outcome::nothing(1.0) };
            for side in job.directions() {
                run.transfers[side as usize].bytes = 1_000 * PAGE;
                (0..1_000).for_each(|_| run.transfers[side as usize].latency.record(took as u64));
            }
            Trial { job, runs: vec![run], disturbed: 0, refusal: None }
        };
        // What one of many takes, of what one alone does.
        let found = |reads: f64, writes: f64| {
            let jobs = stages(&Model::assumed()).into_iter().flat_map(|stage| stage.jobs);
            let took = |job: &Job| match (job.depth.most > 1, job.does(Direction::Read)) {
                (true, true) => 50_000.0 * reads,
                (true, false) => 90_000.0 * writes,
                (false, _) => {
                    if job.does(Direction::Read) {
                        50_000.0
                    } else {
                        90_000.0
                    }
                }
            };
            queued(
                &jobs
                    .map(|job| {
                        let took = took(&job);
                        trial(job, took)
                    })
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!([found(1.0, 1.1), found(0.9, 0.9)], [Queued::InTurn; 2]);
        assert_eq!([found(0.2, 1.0), found(1.0, 0.3), found(0.1, 0.1)], [Queued::Together; 3]);
        assert_eq!(queued(&[]), Queued::Together);
    }
}
