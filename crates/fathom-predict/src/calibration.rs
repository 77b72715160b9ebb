//! From runs on a real mount to a model: in stages, each of which identifies one group of parameters.
//!
//! A stage runs a few jobs and searches for the costs with which the model reproduces the measured times.
//! What a stage has found holds for those after it. Last come jobs that nothing was fitted to: how far the
//! model is off on them is what its predictions are widened by.

mod known;
mod own_work;
mod residuals;
mod stages;
mod under_way;

use std::collections::BTreeMap;
use std::time::Instant;

use fathom_stats::{nonlinear, quantile};
use rayon::iter::{IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator};
use serde::{Deserialize, Serialize};

pub use self::known::{as_surveyed, found_by_other_means};

use self::own_work::{
    OTHER_RUNS, at_random, crowded, fresh_memory, leave_out_taken, near_server, programs_own_work,
    put_at_random, put_own_work, taken_memory,
};
use self::residuals::residuals;
use self::stages::{Stage, stages};
use self::under_way::{answers, callers_part, queued};
use crate::model::{Answers, Curve, Fits, Journal, Model, Number, Origin, PAGE, Parameter, Runner, Scalar};
use crate::prediction::{class, device_byte, simulate_at_most};
use crate::single_runs::{self, SingleRuns};
use crate::trial::{self, Schedule, Settled, Trial, ns_per_transfer};
use fathom_program::job::{self, Direction, Job, Pattern};
use fathom_run::fault::Fault;
use fathom_run::load::{self, Needs, Outcome, Testbed};
use fathom_run::watch::Watch;

/// How often each job is run, so that a disturbance of one run or two does not move the median.
const REPEATS: usize = 4;
/// How often each check is run, where it is jobs that differ, more than their runs: once before all else and once after it, since a
/// machine changes within minutes, and a user's run comes later still.
pub const CHECKED: usize = 2;
/// How many times as long as what comes before the fitted jobs that takes which comes after them: checks in both, and what programs do
/// themselves.
const AFTER: f64 = 1.25;
/// An interval wider than this, as a deviation of the logarithm, is no answer.
const UNKNOWN: f64 = 0.7;
/// Numbers of requests side by side that are tried.
const DEPTHS: [f64; 4] = [1.0, 2.0, 8.0, 64.0];

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
    /// By how much the later half of the stage's runs took longer than the earlier half, as a share.
    #[serde(default)]
    pub drift: f64,
    /// Jobs that the system refused, with the reason.
    pub refused: Vec<String>,
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

/// What a stage's search does not find by itself: a choice, if there is one, and values from which it begins.
type Way = (Option<Answers>, Vec<(Scalar, f64)>);

/// How a device may answer: so many requests side by side, each by itself or all together, or as it was `seen` to; with two starts
/// of the search.
fn ways_to_answer(model: &Model, seen: Option<Answers>) -> Vec<Way> {
    // Whether the caller's CPU is busy with a request or the device is looks much alike where the thread's time on its CPU did not
    // tell, and a search finds what is near.
    const STARTS: [[(Scalar, f64); 2]; 2] = [
        [(Scalar::Submission, 12_000.0), (Scalar::DeviceReadRequest, 100.0)],
        [(Scalar::Submission, 1_000.0), (Scalar::DeviceReadRequest, 8_000.0)],
    ];
    let possible = Answers::ALL.iter().copied().filter(move |one| seen.is_none_or(|seen| seen == *one));
    let of_depth = |depth: f64| possible.clone().map(move |answers| (depth, answers));
    let start = |(depth, answers), start: [(Scalar, f64); 2]| {
        let is_open = |(scalar, _): &(Scalar, f64)| !is_measured(model, *scalar);
        let values = start.into_iter().filter(is_open).chain([(Scalar::DeviceDepth, depth)]);
        (Some(answers), values.collect())
    };
    let ways = DEPTHS.into_iter().flat_map(of_depth);
    ways.flat_map(|way| STARTS.map(|values| start(way, values))).collect()
}

/// How much a write may pass to a server at once: a page, what FUSE allows by itself, and what it allows at most. Source:
/// `FUSE_DEFAULT_MAX_PAGES_PER_REQ`, `FUSE_MAX_MAX_PAGES`.
fn ways_to_pass_on() -> Vec<Way> {
    [1, 32, 256].map(|pages| (None, vec![(Scalar::WriteThrough, (pages * PAGE) as f64)])).to_vec()
}

/// Fits for each of several ways, and keeps the best.
fn best_of(model: &mut Model, stage: &Stage, trials: &[Trial], ways: &[Way], watch: &Watch) {
    // A few steps tell which ways are worth more of them: how many of each, and how many ways go on.
    const ROUNDS: [(usize, usize); 3] = [(3, 6), (5, 2), (nonlinear::STEPS, 1)];
    let free = stage.free(model);
    let attempt = |(answers, values): &Way| {
        let mut one = model.clone();
        one.parameters.choices.answers = answers.unwrap_or(one.parameters.choices.answers);
        let is_free = |scalar| free.iter().any(|(number, _)| *number == Number::Scalar(scalar));
        for &(scalar, value) in values {
            if is_free(scalar) {
                assume(&mut one, scalar, value)
            } else {
                put_measured(&mut one, scalar, value)
            }
        }
        let free = free.iter().map(|&(number, least)| {
            let own = values.iter().find(|(scalar, _)| Number::Scalar(*scalar) == number);
            (number, own.map_or(least, |(_, value)| *value))
        });
        Fitting::start(one, &free.collect::<Vec<_>>(), trials, watch)
    };
    let mut left: Vec<Fitting<'_>> = ways.par_iter().filter_map(attempt).collect();
    for (steps, stay) in ROUNDS {
        left.par_iter_mut().for_each(|one| one.search.go(steps));
        left.sort_by(|a, b| a.search.left().total_cmp(&b.search.left()));
        left.truncate(stay);
    }
    if let Some(best) = left.pop() {
        *model = best.end();
    }
}

/// Fits numbers to the trials, each from the least value that its search begins at.
fn fit(model: &mut Model, free: &[(Number, f64)], trials: &[Trial], watch: &Watch) {
    if let Some(mut fitting) = Fitting::start(model.clone(), free, trials, watch) {
        fitting.search.go(nonlinear::STEPS);
        *model = fitting.end();
    }
}

/// How far a model with some numbers is from what was measured, job by job.
type Residuals<'a> = Box<dyn Fn(&[f64]) -> Vec<f64> + Send + Sync + 'a>;

/// A model whose numbers are being fitted to trials.
struct Fitting<'a> {
    model: Model,
    numbers: Vec<Number>,
    trials: &'a [Trial],
    search: nonlinear::Search<Residuals<'a>>,
}

impl<'a> Fitting<'a> {
    /// None where the trials are fewer than the numbers. After an interrupt the search is soon over.
    fn start(model: Model, free: &[(Number, f64)], trials: &'a [Trial], watch: &'a Watch) -> Option<Self> {
        let start: Vec<f64> =
            free.iter().map(|&(number, least)| model.parameters.number(number).value.max(least)).collect();
        let numbers: Vec<Number> = free.iter().map(|(number, _)| *number).collect();
        let measured =
            trials.iter().filter_map(|trial| Some((&trial.job, trial.ns_per_transfer()?, weight(trial))));
        let measured: Vec<(&Job, f64, f64)> = measured.collect();
        let (still, varied) = (without_noise(&model), numbers.clone());
        let residuals = move |values: &[f64]| {
            let mut tried = still.clone();
            varied.iter().zip(values).for_each(|(&number, value)| assume(&mut tried, number, *value));
            let off = |(job, measured, weight): &(&Job, f64, f64)| match watch.advance(0) {
                Ok(()) => (time(job, &tried) / measured).ln() * weight,
                Err(_) => f64::NAN,
            };
            measured.par_iter().map(off).collect()
        };
        let residuals: Residuals<'_> = Box::new(residuals);
        let search = nonlinear::Search::start(&start, residuals)?;
        Some(Self { model, numbers, trials, search })
    }

    /// The model with what was found.
    fn end(self) -> Model {
        let Self { mut model, numbers, trials, search } = self;
        let found = search.end();
        // Few jobs: the tails of Student's t reach further.
        let freedom = (found.residuals.len().saturating_sub(numbers.len())).max(1) as f64;
        let reach = 1.96 * (1.0 + 2.0 / freedom);
        // What the machine itself changed by meanwhile, all parameters alike.
        let drift = drift(trials) / 2.0;
        for ((&number, &value), &deviation) in numbers.iter().zip(&found.values).zip(&found.deviations) {
            if deviation > UNKNOWN {
                // The jobs don't tell it from nothing, or from the others.
                assume(&mut model, number, value);
                continue;
            }
            let deviation = deviation.hypot(drift);
            let interval = Some([value * (-reach * deviation).exp(), value * (reach * deviation).exp()]);
            model.parameters.put(number, Parameter { value, interval, origin: Origin::Measured });
        }
        model
    }
}

/// How much a job says, of 1: less where its runs differ among themselves by more than a model may be off.
fn weight(trial: &Trial) -> f64 {
    const OFF: f64 = 0.06;
    OFF / OFF.hypot(trial.uncertainty().unwrap_or(0.0))
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

/// What a transfer of a job takes on a model, in ns.
fn time(job: &Job, model: &Model) -> f64 {
    /// So many requests that are alike show how long each takes, for each that is under way at a time; and so many windows of
    /// read-ahead how it goes on after the first.
    const ENOUGH: u64 = 64;
    const LEAST: u64 = 500;
    const WINDOWS: u64 = 128;
    let is_even = model.parameters[Scalar::ServerNear] == 0.0 && job.fsync == 0;
    let is_cold = !job.pre_read && !job.does(Direction::Write) && job.pattern == Pattern::Sequential;
    let waits = job.direct || (job.is_new() && model.parameters.writes_wait_for_server());
    let under_way = u64::from(job.depth.most.max(1)) * u64::from(job.numjobs);
    let windows = WINDOWS * model.parameters[Scalar::Readahead] as u64;
    let most_calls = match is_even {
        true if waits => LEAST.max(ENOUGH * under_way),
        true if is_cold => LEAST.max(windows / job.blocks[Direction::Read as usize].most.max(1)),
        _ => u64::MAX,
    };
    simulated_at_most(job, model, most_calls).map_or(f64::NAN, |outcome| ns_per_transfer(&outcome))
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
        drift: drift(trials).exp() - 1.0,
        refused: refused.collect(),
    }
}

/// The mean over the jobs of what the later half of the runs took longer, as a logarithm: noise of single jobs
/// averages out, what befell all of them does not.
fn drift(trials: &[Trial]) -> f64 {
    let drifts: Vec<f64> = trials.iter().filter_map(Trial::drift).collect();
    drifts.iter().sum::<f64>() / drifts.len().max(1) as f64
}

fn mean_square(values: &[f64]) -> f64 {
    values.iter().map(|one| one * one).sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_run::load::Wrote;

    #[test]
    fn how_a_device_answers_is_found() {
        let is_cold = |stage: &Stage| stage.fits == Fits::ColdReads;
        let mut stage = stages(&Model::assumed()).into_iter().find(is_cold).unwrap();
        // Fewer calls do.
        stage.jobs.iter_mut().for_each(|job| job.size = job.size.map(|size| size / 8));
        for &answers in Answers::ALL {
            let mut truth = Model::assumed();
            truth.parameters.choices.answers = answers;
            let settings = "device_latency=25us wake=15us submission=3us device_read_request=8us device_byte=0.3 direct_read_page=1us";
            settings.split(' ').for_each(|setting| truth.set(setting).unwrap());
            let run = |job: &Job, seed| {
                let outcomes =
                    simulate_at_most(std::slice::from_ref(job), &truth.parameters, seed, u64::MAX).unwrap();
                Outcome::together(&outcomes[0]).unwrap()
            };
            let trial = |job: &Job| Trial {
                job: job.clone(),
                runs: (1..4).map(|seed| run(job, seed)).collect(),
                disturbed: 0,
                refusal: None,
            };
            let trials: Vec<Trial> = stage.jobs.iter().map(trial).collect();
            let seen = super::answers(&trials);
            assert_eq!(seen, Some(answers));
            for seen in [seen, None] {
                let mut found = Model::assumed();
                let ways = ways_to_answer(&found, seen);
                best_of(&mut found, &stage, &trials, &ways, &Watch::default());
                assert_eq!(found.parameters.choices.answers, answers);
                for trial in &trials {
                    let off = time(&trial.job, &found) / trial.ns_per_transfer().unwrap();
                    assert!((off - 1.0).abs() < 0.15, "{} with {answers:?}: {off}", trial.job.name);
                }
            }
        }
    }

    #[test]
    fn a_part_of_a_job_takes_as_long_for_each_transfer_as_all_of_it() {
        let names = [
            "cold in order by 65536",
            "direct at random by 4096, 32 at once",
            "written in order by 512",
            "written directly in order by 4096 into a new file, 16 at once",
        ];
        for settings in ["readahead=131072", "readahead=8388608", "write_through=4096"] {
            let mut model = without_noise(&Model::assumed());
            model.set(settings).unwrap();
            for job in stages(&model).into_iter().flat_map(|stage| stage.jobs) {
                if !names.contains(&&*job.name) {
                    continue;
                }
                let whole = ns_per_transfer(&simulated(&job, &model).unwrap());
                let off = time(&job, &model) / whole - 1.0;
                assert!(off.abs() < 0.02, "{} with {settings}: {off}", job.name);
            }
        }
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
