//! From runs on a real mount to a model: in stages, each of which identifies one group of parameters.
//!
//! A stage runs a few jobs and searches for the costs with which the model reproduces the measured times.
//! What a stage has found holds for those after it. Last come jobs that nothing was fitted to: how far the
//! model is off on them is what its predictions are widened by.

mod fit;
mod known;
mod own_work;
mod residuals;
mod stages;
mod under_way;

use std::collections::BTreeMap;
use std::time::Instant;

use fathom_stats::quantile;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::{Deserialize, Serialize};

pub use self::known::{as_surveyed, found_by_other_means};

use self::fit::{best_of, fit, time, ways_to_answer, ways_to_pass_on};
use self::own_work::{
    OTHER_RUNS, at_random, crowded, fresh_memory, leave_out_taken, near_server, programs_own_work,
    put_at_random, put_own_work, taken_memory,
};
use self::residuals::residuals;
use self::stages::{Stage, stages};
use self::under_way::{answers, callers_part, queued};
use crate::model::{Curve, Fits, Journal, Model, Number, Origin, PAGE, Parameter, Runner, Scalar};
use crate::prediction::{class, device_byte, simulate_at_most};
use crate::single_runs::{self, SingleRuns};
use crate::trial::{self, Schedule, Settled, Trial, ns_per_transfer};
use fathom_program::job::{self, Direction, Job, Pattern};
use fathom_run::fault::Fault;
use fathom_run::load::{self, Needs, Outcome, Testbed};

/// How often each job is run, so that a disturbance of one run or two does not move the median.
const REPEATS: usize = 4;
/// How often each check is run, where it is jobs that differ, more than their runs: once before all else and once after it, since a
/// machine changes within minutes, and a user's run comes later still.
pub const CHECKED: usize = 2;
/// How many times as long as what comes before the fitted jobs that takes which comes after them: checks in both, and what programs do
/// themselves.
const AFTER: f64 = 1.25;

/// The result of a stage, for display.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// What the stage measured.
    pub name: String,
    /// The jobs of the stage: name, measured and simulated time per transfer in ns.
    pub jobs: Vec<(String, f64, f64)>,
    /// The measured time of each run of each job, in ns per transfer.
    #[serde(default)]
    pub runs: Vec<Vec<f64>>,
    /// How many of these runs were disturbed by work on the same core, with no undisturbed run in their place.
    #[serde(default)]
    pub disturbed: usize,
    /// Jobs that the system refused, with the reason.
    pub refused: Vec<String>,
}

impl Account {
    /// By how much the later half of each job's runs took longer than the earlier half, as a share: the middle of the jobs. None where
    /// no job ran twice.
    pub fn drift(&self) -> Option<f64> {
        drift(&self.runs).map(|log| log.exp() - 1.0)
    }
}

/// Space and writes that a calibration needs: its files exist at the same time, and jobs that only write do so again in each
/// repeat.
///
/// # Errors
/// A job that makes no sense.
pub fn needs() -> Result<Needs, String> {
    let fitted = trial::needs(&[(jobs(), Schedule::of(REPEATS, 0, Settled::ByPasses))])?;
    let checks = single_runs::needs(checks()?.iter().map(|one| &one.job), CHECKED)?;
    let add = |a: u64, b: u64| a.saturating_add(b);
    Ok(Needs {
        space: add(fitted.space, checks.space),
        writes: add(fitted.writes, checks.writes),
        time: fitted.time + checks.time,
    })
}

/// The jobs that a calibration fits the model to, on a device without limits.
pub fn jobs() -> Vec<Job> {
    // With jbd2 there is one more.
    let mut model = Model::assumed();
    model.parameters.choices.journal = Journal::Ordered;
    stages(&model).into_iter().flat_map(|stage| stage.jobs).collect()
}

/// The jobs that nothing is fitted to.
fn checks() -> Result<Vec<SingleRuns>, String> {
    let file = job::parse(include_str!("calibration/checks.fio"), &load::surroundings(&|_| None));
    let file = file.map_err(|mistake| format!("checks.fio:{}: {}", mistake.line, mistake.reason))?;
    Ok(SingleRuns::of(&file))
}

/// Fits the parameters of a model to runs at `testbed`; the model brings what is declared or found by other means.
///
/// The jobs of all stages run in random turns over the whole time, so that each stage sees the machine as the
/// others do, and how it drifts meanwhile. `seed` decides their order.
///
/// # Errors
/// What ends the runs: an interrupt, a budget, the end of the time.
pub fn calibrate(model: &mut Model, testbed: &mut Testbed, seed: u64) -> Result<Vec<Account>, Fault> {
    let stages: Vec<Stage> = stages(model).into_iter().map(|stage| stage.before_limits(model)).collect();
    let jobs: Vec<Job> = stages.iter().flat_map(|stage| stage.jobs.clone()).collect();
    let mut checks = checks().map_err(Fault::Unsupported)?;
    let programs = single_runs::programs();
    let by = programs[0];
    let writes_wait = model.parameters.writes_wait_for_server();
    let began = Instant::now();
    testbed.watch().expect((jobs.len() * REPEATS + OTHER_RUNS + checks.len() * CHECKED) as u64);
    single_runs::run(&mut checks, &[by], 1, seed, testbed)?;
    let cpus = model.parameters[Scalar::Cpus] as u32;
    put_middle(model, Scalar::Crowded, &crowded(cpus, Runner::Fathom, testbed)?);
    near_server(model, by, testbed)?;
    fresh_memory(model);
    taken_memory(model);
    let schedule = Schedule {
        rest: trial::rest_of(model),
        // The checks, by which a forecast knows how far off it may be, are worth more than another run of each job.
        leaves: began.elapsed().mul_f64(AFTER),
        writes_wait,
        // What waits for a device differs more from run to run.
        short_every: 3,
        ..Schedule::of(REPEATS, seed, Settled::ByPasses)
    };
    let mut trials = trial::run(&jobs, schedule, testbed)?;
    trials.iter_mut().for_each(|trial| leave_out_taken(&model.parameters, trial));
    let own_work = programs_own_work(model, programs, testbed)?;
    let at_random = at_random(model, by, testbed)?;
    let crowd = if by == Runner::Fathom { Vec::new() } else { crowded(cpus, by, testbed)? };
    single_runs::run(&mut checks, &[by], CHECKED - 1, seed.wrapping_add(1), testbed)?;
    // All runs are made, and the time allowed is that of runs.
    let watch = testbed.watch().clone();
    watch.expect(stages.len() as u64);
    logs(model, &trials);
    model.parameters.choices.queued = queued(&trials);
    let mut left = trials.as_slice();
    let mut accounts = Vec::new();
    for stage in stages {
        let (trials, others) = left.split_at(stage.jobs.len());
        left = others;
        between_calls(model, &stage, trials);
        match stage.fits {
            Fits::ColdReads => {
                callers_part(model, trials);
                best_of(model, &stage, trials, &ways_to_answer(model, answers(trials)), &watch);
            }
            Fits::Syncs if writes_wait => {
                // Whether each page of a write is waited for, or a sync for each byte, shows in writes without syncs.
                let with_writes: Vec<Trial> =
                    trials.iter().chain(others.iter().filter(|one| one.job.is_new())).cloned().collect();
                best_of(model, &stage, &with_writes, &ways_to_pass_on(), &watch);
            }
            _ => fit(model, &stage.free(model), trials, &watch),
        }
        accounts.push(account(stage.fits.word(), model, trials));
        watch.advance(1)?;
    }
    spread_of_far(model, &trials);
    // For jobs that ask for no size: what a byte of many costs.
    if let Some((bytes, took)) = model.parameters.curve(Curve::Near).pop() {
        put_measured(model, Scalar::CopiedByte, took / bytes);
    }
    // What the kernel has learned by the time that somebody writes much.
    let rate = 1e9 / device_byte(model, Direction::Write).max(1e-3);
    put_measured(model, Scalar::WriteBandwidth, rate);
    model.checks =
        trials.iter().filter_map(|one| Some((one.job.name.clone(), one.bytes_per_second()?))).collect();
    put_own_work(model, by, &own_work);
    put_middle(model, Scalar::Crowded, &crowd);
    model.parameters.choices.runner = by;
    put_at_random(model, by, &at_random);
    accounts.push(residuals(model, &checks, &trials));
    Ok(accounts)
}

/// One job of each class that calibrations check the model with.
pub fn one_check_of_each(model: &Model) -> Vec<Job> {
    let mut of_class: BTreeMap<String, Vec<Job>> = BTreeMap::new();
    for job in jobs() {
        of_class.entry(class(&job, &model.parameters)).or_default().push(job);
    }
    // Neither the smallest nor the largest calls.
    of_class.into_values().map(|mut jobs| jobs.swap_remove(jobs.len() / 2)).collect()
}

/// Sets the time that the loop spends between two calls. It needs no model: it is the time that no call took.
fn between_calls(model: &mut Model, stage: &Stage, trials: &[Trial]) {
    let Some((scalar, direction)) = stage.caller() else { return };
    let idle = |outcome: &Outcome| {
        let side = &outcome.transfers[direction as usize];
        let calls = side.latency.count().max(1) as f64;
        let busy = side.latency.sum() as f64 * outcome.ns_per_tick;
        let between = (outcome.elapsed_ns as f64 - busy) / calls;
        let own = if direction == Direction::Write { model.parameters[Scalar::Caller] } else { 0.0 };
        let per = if direction == Direction::Write { side.bytes as f64 / calls } else { 1.0 };
        ((between - own) / per).max(0.0)
    };
    let does_it_alone = |trial: &&Trial| trial.job.directions().all(|one| one == direction);
    let all: Vec<f64> = trials.iter().filter(does_it_alone).flat_map(|trial| trial.each(idle)).collect();
    put_middle(model, scalar, &all);
}

/// What each sync writes in addition to its data, as the device counted it. Without jbd2: the bytes and writes of the log as a
/// whole. With jbd2: the blocks between the transaction's first and its last (`jbd2_journal_commit_transaction`), and how many
/// more where new blocks lie apart, in files that are small enough for one block of extents.
fn logs(model: &mut Model, trials: &[Trial]) {
    const ENDS: f64 = 2.0;
    let journal = model.parameters.choices.journal;
    let largest = model.parameters[Scalar::LargestIo];
    // What a sync has to write of data, in bytes.
    let data = |job: &Job| job.blocks[Direction::Write as usize].most as f64 * f64::from(job.fsync);
    let in_turn = |pattern: Pattern| {
        let writes_alone = move |job: &Job| job.pattern == pattern && !job.does(Direction::Read);
        trials.iter().filter(move |trial| writes_alone(&trial.job))
    };
    let of = |pattern: Pattern| -> Vec<f64> {
        let of_one = |trial: &Trial| {
            let again = if journal == Journal::Data { data(&trial.job) } else { 0.0 };
            trial.logged().into_iter().map(|[_, bytes]| (bytes - again).max(0.0)).collect::<Vec<_>>()
        };
        in_turn(pattern).flat_map(of_one).collect()
    };
    let pages = |bytes: Vec<f64>, less: f64| -> Vec<f64> {
        bytes.into_iter().map(|bytes| (bytes / PAGE as f64 - less).max(0.0)).collect()
    };
    let in_order = of(Pattern::Sequential);
    let Some(usual) = quantile::median(&in_order) else { return };
    if !journal.is_jbd2() {
        let requests = in_turn(Pattern::Sequential).flat_map(|trial| {
            let own = (data(&trial.job) / largest).ceil();
            trial.logged().into_iter().map(move |[requests, _]| (requests - own).max(1.0))
        });
        put_middle(model, Scalar::LogRequests, &requests.collect::<Vec<_>>());
        put_middle(model, Scalar::LogBytes, &in_order);
    } else {
        put_middle(model, Scalar::JournalBlocks, &pages(in_order, ENDS));
    }
    put_middle(model, Scalar::ScatteredBlocks, &pages(of(Pattern::Random), usual / PAGE as f64));
}

/// Puts the median of what was seen, with the middle half as its interval, if there is anything.
fn put_middle(model: &mut Model, scalar: Scalar, seen: &[f64]) {
    let seen: Vec<f64> = seen.iter().copied().filter(|one| one.is_finite()).collect();
    let at = |share| quantile::quantile(&seen, share);
    if let [Some(low), Some(value), Some(high)] = [0.25, 0.5, 0.75].map(at) {
        let interval = Some([low, high]);
        model.parameters.put(scalar, Parameter { value, interval, origin: Origin::Measured });
    }
}

/// Puts a value that was measured, and whose interval is not known.
fn put_measured(model: &mut Model, scalar: Scalar, value: f64) {
    model.parameters.put(scalar, Parameter { value, interval: None, origin: Origin::Measured });
}

/// How much the wait for far data differs from call to call, by how far one in a hundred lies above the mean, in jobs that
/// do little else: they visit each byte once.
fn spread_of_far(model: &mut Model, trials: &[Trial]) {
    const FEWEST_CALLS: u64 = 1_000;
    let mut near = without_noise(model);
    assume(&mut near, Scalar::NearCache, 0.0);
    let spread = |trial: &Trial| {
        let job = &trial.job;
        let runs = Outcome::together(&trial.runs)?;
        let latency = &runs.transfers[Direction::Read as usize].latency;
        if !job.pre_read
            || job.loops() != Ok(false)
            || job.does(Direction::Write)
            || latency.count() < FEWEST_CALLS
        {
            return None;
        }
        let mean = latency.sum() as f64 / latency.count() as f64 * runs.ns_per_tick;
        let [all, near] = [trial.ns_per_transfer()?, time(job, &near)];
        // Of an exponential distribution.
        let above = 100.0_f64.ln() - 1.0;
        let far = (all - near).max(0.0);
        let tail = trial.latency_ns(0.99)? - mean;
        (far > near).then(|| (tail / far / above).clamp(0.0, 1.0))
    };
    let spreads: Vec<f64> = trials.iter().filter_map(spread).collect();
    put_middle(model, Scalar::FarSpread, &spreads);
}

/// Whether a value is known already, to the fit that would find it.
fn is_measured(model: &Model, number: impl Into<Number>) -> bool {
    model.parameters.number(number.into()).origin == Origin::Measured
}

fn assume(model: &mut Model, number: impl Into<Number>, value: f64) {
    model.parameters.put(number, Parameter { value, interval: None, origin: Origin::Assumed });
}

fn without_noise(model: &Model) -> Model {
    let mut still = model.clone();
    [Scalar::Noise, Scalar::FarSpread].into_iter().for_each(|spread| assume(&mut still, spread, 0.0));
    still
}

fn simulated(job: &Job, model: &Model) -> Option<Outcome> {
    simulated_at_most(job, model, u64::MAX)
}

fn simulated_at_most(job: &Job, model: &Model, most_calls: u64) -> Option<Outcome> {
    let run = simulate_at_most(std::slice::from_ref(job), &model.parameters, 1, most_calls);
    run.ok().and_then(|outcomes| Outcome::together(outcomes.first()?))
}

fn account(name: &str, model: &Model, trials: &[Trial]) -> Account {
    let still = without_noise(model);
    let of_trial = |trial: &Trial| {
        let simulated = time(&trial.job, &still);
        Some(((trial.job.name.clone(), trial.ns_per_transfer()?, simulated), trial.each(ns_per_transfer)))
    };
    let (jobs, runs) = trials.par_iter().filter_map(of_trial).unzip();
    let refused =
        trials.iter().filter_map(|trial| Some(format!("{}: {}", trial.job.name, trial.refusal.as_ref()?)));
    Account {
        name: name.to_owned(),
        jobs,
        runs,
        disturbed: trials.iter().map(|trial| trial.disturbed).sum(),
        refused: refused.collect(),
    }
}

/// The middle of what the later half of each job's runs took longer than the earlier half, as a logarithm: noise of single jobs
/// averages out, what befell all of them does not. None where no job ran twice.
fn drift(runs: &[Vec<f64>]) -> Option<f64> {
    let of_job = |times: &Vec<f64>| {
        let half = times.len() / 2;
        let [early, late] = [&times[..half], &times[times.len() - half..]].map(quantile::median);
        Some((late? / early?).ln()).filter(|drift| drift.is_finite())
    };
    quantile::median(&runs.iter().filter_map(of_job).collect::<Vec<_>>())
}

fn mean_square(values: &[f64]) -> f64 {
    values.iter().map(|one| one * one).sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_run::load::Wrote;

    #[test]
    fn what_befell_all_jobs_is_drift_and_what_befell_one_is_not() {
        let of = |runs: &[&[f64]]| {
            super::drift(&runs.iter().map(|times| times.to_vec()).collect::<Vec<_>>())
                .map(|log| (log.exp() * 100.0).round())
        };
        assert_eq!(of(&[&[10.0, 9.0], &[50.0, 46.0], &[2.0, 20.0], &[7.0], &[10.0, 1.0, 8.9]]), Some(91.0));
        assert_eq!([of(&[&[10.0], &[5.0]]), of(&[])], [None; 2]);
    }

    #[test]
    fn a_log_is_what_the_device_wrote_in_addition_to_the_data() {
        let trial = |name: &str, fsync: u32, writes: u32, pages: u64| {
            let jobs = stages(&Model::assumed()).into_iter().flat_map(|stage| stage.jobs);
            let job = jobs.into_iter().find(|job| job.name == name).unwrap();
            assert_eq!(job.fsync, fsync);
            let bytes = u64::from(writes) * job.blocks[Direction::Write as usize].most;
            let mut run = Outcome {
                elapsed_ns: 1,
                device_wrote: Some(Wrote {
                    requests: u64::from(writes / fsync) * (1 + pages / 3),
                    bytes: bytes + u64::from(writes / fsync) * pages * PAGE,
                }),
                ..Outcome::nothing(1.0)
            };
            run.transfers[Direction::Write as usize].bytes = bytes;
            // The last one is the job's end, and not counted.
            (1..writes / fsync).for_each(|_| run.syncs.record(1));
            Trial { job, runs: vec![run], disturbed: 0, refusal: None }
        };
        let [order, eight] =
            ["written in order by 4096, synced after 1", "written in order by 4096, synced after 8"];
        let random = "written at random by 4096, synced after 16";
        let found = |journal: Journal, trials: &[Trial]| {
            let mut model = Model::assumed();
            model.parameters.choices.journal = journal;
            logs(&mut model, trials);
            [Scalar::LogBytes, Scalar::LogRequests, Scalar::JournalBlocks, Scalar::ScatteredBlocks]
                .map(|scalar| model.parameters[scalar])
        };
        let of = |pages: [u64; 3]| {
            [trial(order, 1, 96, pages[0]), trial(eight, 8, 96, pages[1]), trial(random, 16, 96, pages[2])]
        };
        assert_eq!(found(Journal::Price, &of([9, 9, 9])), [36_864.0, 3.0, 4.0, 0.0]);
        assert_eq!(found(Journal::Ordered, &of([3, 3, 5])), [0.0, 1.0, 1.0, 2.0]);
        assert_eq!(found(Journal::Ordered, &of([6, 6, 5])), [0.0, 1.0, 4.0, 0.0], "never less");
        assert_eq!(found(Journal::Data, &of([4, 11, 19])), [0.0, 1.0, 1.0, 0.0], "data are written twice");
    }
}
