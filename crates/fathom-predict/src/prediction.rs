//! What jobs will do on a machine that is only a model, before anybody runs them.
//!
//! The jobs make the calls that [`load`](fathom_run::load) would make, from the same offsets, on the model in
//! simulated time. That is done several times over, each time with parameters drawn from their
//! intervals; how far the model was off on the jobs that it was fitted to widens what comes out.
//! What the model can't express is refused by name.
//!
//! ```
//! use fathom_program::job::Job;
//! use fathom_predict::model::Model;
//! use fathom_predict::prediction::{Settings, predict};
//!
//! let job = Job { size: Some(1 << 20), ..Job::named("cold") };
//! let predicted = predict(&[job], &Model::assumed(), Settings::default())?;
//! let rate = predicted.forecasts[0].sides[0].bytes_per_second;
//! assert!(rate.low <= rate.value && rate.value <= rate.high);
//! # Ok::<(), String>(())
//! ```

mod class;
mod counted;
mod forecast;
mod miniature;
mod own_work;
mod pace;
mod refusal;
mod replay;
mod steady;
mod threads;
mod trace;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use fathom_model::io_path::{Advice, Load, Path, State};
use fathom_program::call::{Call, CallKind, FileId};
use fathom_program::job_calls::JobCalls;
use fathom_program::program::{Program, repeated};
use fathom_sys::usage::Usage;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use self::class::as_opened;
pub use self::class::class;
pub(crate) use self::class::finds_cached;
pub(crate) use self::forecast::SHARES;
pub use self::forecast::{Estimate, Forecast, Latencies, Predicted, SCHEMA, Side};
pub use self::refusal::check;
pub use self::trace::{Replay, predict_trace, simulate_trace, trace_calls};

use self::counted::Tally;
use self::forecast::{Part, Runs};
use self::miniature::Extent;
pub(crate) use self::own_work::TAKEN_AT_ONCE;
use self::own_work::{fills_buffers, overhead};
use self::steady::{prolonged, steady_from_the_start, until_steady};
use self::threads::{ends, queueing, serial_depths};
use crate::model::{FreeMemory, LIMITS, Model, Parameter, Parameters, Scalar};
use fathom_program::job::{Direction, Job, Layout, OpenSync, Pattern, Region, ThreadFile};
use fathom_run::load::{Cached, Outcome, groups};

/// How to predict.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The most sets of parameters that are drawn from their intervals; fewer are drawn where they would change no interval.
    pub draws: u32,
    /// The seed of the draws and of the model's randomness.
    pub seed: u64,
}

/// The prediction of some jobs.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// One run of the model with its own values: the outcomes of each job's threads.
    pub outcomes: Vec<Vec<Outcome>>,
    /// Each job's figures with their intervals.
    pub forecasts: Vec<Forecast>,
}

/// The time of a byte on the device in one direction, at the rate that the device is limited to, in ns.
pub fn device_byte(model: &Model, direction: Direction) -> f64 {
    let parameters = &model.parameters;
    let (own, rate) = match direction {
        Direction::Write if parameters[Scalar::DeviceWriteByte] > 0.0 => {
            (Scalar::DeviceWriteByte, Scalar::LimitWriteRate)
        }
        Direction::Write => (Scalar::DeviceByte, Scalar::LimitWriteRate),
        Direction::Read => (Scalar::DeviceByte, Scalar::LimitReadRate),
    };
    let [own, rate] = [parameters[own], parameters[rate]];
    if rate > 0.0 { own.max(1e9 / rate) } else { own }
}

impl Default for Settings {
    fn default() -> Self {
        Self { draws: 15, seed: 1 }
    }
}

/// Predicts the jobs of a file. Jobs between two stonewalls run at the same time, one such group after the other.
///
/// # Errors
/// What the model can't express, by name.
pub fn predict(jobs: &[Job], model: &Model, settings: Settings) -> Result<Prediction, String> {
    check(jobs)?;
    let extent = Extent::in_seconds(jobs, &model.parameters, settings.seed)?;
    let draws = runs(jobs, model, settings) - 1;
    let mut drawn = drawn_sets(&model.parameters, Settings { draws, ..settings }).into_iter();
    let as_it_is = (Part::Drawn, (model.parameters.clone(), settings.seed));
    let near_limits =
        near_limits(&model.parameters, jobs, settings.seed).into_iter().map(|set| (Part::NearLimits, set));
    let other =
        other_memory(&model.parameters, jobs).map(|other| (Part::OtherMemory, (other, settings.seed)));
    let mut round: Vec<_> = std::iter::once(as_it_is).chain(near_limits).chain(other).collect();
    let mut made: Vec<_> = jobs.iter().map(|_| Runs::default()).collect();
    let (mut outcomes, mut cuts) = (None, Vec::new());
    loop {
        round.extend(drawn.by_ref().take(ROUND).map(|set| (Part::Drawn, set)));
        let is_first = outcomes.is_none();
        let run = |(number, (part, (parameters, seed))): (usize, (Part, (Parameters, u64)))| {
            let run = simulate_within(jobs, &parameters, seed, extent)?;
            Ok((part, of_jobs(&run.threads), (is_first && number == 0).then_some(run)))
        };
        let all = std::mem::take(&mut round).into_par_iter().enumerate();
        for (part, joined, first) in all.map(run).collect::<Result<Vec<_>, String>>()? {
            made.iter_mut().zip(joined).for_each(|(runs, one)| runs.part(part).extend(one));
            if let Some(Simulated { threads, cuts: of_first }) = first {
                (outcomes, cuts) = (Some(threads), of_first);
            }
        }
        // Where a simulation takes long, one round of draws has to do.
        let are_enough = || made.iter().zip(jobs).all(|(runs, job)| runs.are_enough(job, model));
        let is_long = extent.times > 1 || cuts.iter().any(Option::is_some);
        if drawn.len() == 0 || is_long || are_enough() {
            break;
        }
    }
    let forecasts = made.iter().zip(jobs).map(|(runs, job)| Forecast::of(job, runs, model));
    let forecasts = forecasts.zip(cuts).map(|(forecast, cut)| extent.named(forecast, cut)).collect();
    Ok(Prediction { forecasts, outcomes: outcomes.unwrap_or_default() })
}

/// The number of runs of the model that a prediction takes: one with the own values of the model, and one per draw if needed.
pub fn runs(jobs: &[Job], model: &Model, settings: Settings) -> u32 {
    // Of a class whose errors were seen, what the parameters are uncertain by is seen as well.
    let is_seen = |job: &Job| model.residuals.contains_key(&class(job, &model.parameters));
    if jobs.iter().all(is_seen) { 1 } else { 1 + settings.draws }
}

/// The forecasts of each job by some of the [`runs`] of a prediction, every run by itself. Run 0 has the model's own values.
///
/// # Errors
/// As [`predict`].
pub fn predict_runs(
    jobs: &[Job],
    model: &Model,
    settings: Settings,
    wanted: Range<u32>,
) -> Result<Vec<Vec<Forecast>>, String> {
    for group in groups(jobs) {
        check(group)?;
    }
    let draws = wanted.end.saturating_sub(1);
    let drawn = drawn_sets(&model.parameters, Settings { draws, ..settings });
    let all = [(model.parameters.clone(), settings.seed)].into_iter().chain(drawn);
    let extent = Extent::in_seconds(jobs, &model.parameters, settings.seed)?;
    let run = |(parameters, seed): (Parameters, u64)| {
        let run = simulate_within(jobs, &parameters, seed, extent)?;
        let forecasts = jobs.iter().zip(of_jobs(&run.threads)).zip(run.cuts).map(|((job, one), cut)| {
            let of_one = Runs { drawn: one.into_iter().collect(), ..Runs::default() };
            extent.named(Forecast::of(job, &of_one, model), cut)
        });
        Ok(forecasts.collect())
    };
    let wanted: Vec<_> = all.skip(wanted.start as usize).take(wanted.len()).collect();
    wanted.into_par_iter().map(run).collect()
}

/// The threads of each job together.
fn of_jobs(threads: &[Vec<Outcome>]) -> Vec<Option<Outcome>> {
    threads.iter().map(|of_job| Outcome::together(of_job)).collect()
}

/// The same device with limits a little lower and a little higher, if the kernel grants its limits in slices: a job that
/// needs nearly all of a slice waits for the next one if it writes a few more blocks of metadata, and their number is not
/// known that well. Reading in a file that does not fit into memory may also have used up two slices before the job begins.
fn near_limits(parameters: &Parameters, jobs: &[Job], seed: u64) -> Vec<(Parameters, u64)> {
    const UNKNOWN: f64 = 0.03;
    let is_held = LIMITS.into_iter().any(|limit| parameters[limit] > 0.0);
    if !is_held || parameters[Scalar::LimitSlice] == 0.0 {
        return Vec::new();
    }
    let held_to = |part: f64| {
        let mut held = parameters.clone();
        for limit in LIMITS {
            // What is zero stays so, and no limit.
            held.put_value(limit, parameters[limit] * part);
        }
        held
    };
    let mut near_limits = [1.0 - UNKNOWN, 1.0 + UNKNOWN].map(held_to).to_vec();
    if jobs.iter().any(|job| job.pre_read && class(job, parameters).starts_with("past_cache")) {
        let mut spent = parameters.clone();
        spent.put_value(Scalar::LimitSpent, 2.0);
        near_limits.push(spent);
    }
    near_limits.into_iter().map(|held| (held, seed)).collect()
}

/// The machine with its free memory where it was not, for jobs that need some for the page cache, that of a server or large buffers, if
/// its host takes free memory: which of both a run finds depends on what was freed before, and how long ago.
pub(crate) fn other_memory(parameters: &Parameters, jobs: &[Job]) -> Option<Parameters> {
    let needs = |job: &Job| {
        let fills_servers = parameters.writes_wait_for_server() && job.does(Direction::Write);
        !job.direct || fills_servers || fills_buffers(job, parameters)
    };
    let matters = parameters[Scalar::TakenByte] > 0.0 && jobs.iter().any(needs);
    let mut other = matters.then(|| parameters.clone())?;
    other.choices.free_memory = match parameters.choices.free_memory {
        FreeMemory::There => FreeMemory::Taken,
        FreeMemory::Taken => FreeMemory::There,
    };
    Some(other)
}

/// Sets of parameters drawn from their intervals, each with the seed of its run.
fn drawn_sets(parameters: &Parameters, settings: Settings) -> Vec<(Parameters, u64)> {
    let mut dice = Pcg64Mcg::seed_from_u64(settings.seed);
    (0..settings.draws).map(|_| (drawn_from(parameters, &mut dice), dice.next_u64())).collect()
}

/// Every parameter somewhere in its interval, as if it were normal.
fn drawn_from(parameters: &Parameters, dice: &mut Pcg64Mcg) -> Parameters {
    let mut drawn = parameters.clone();
    // In the order of their names: the same seed draws the same, whatever the order of the table.
    let mut all: Vec<_> = parameters.iter().collect();
    all.sort_by_cached_key(|(number, _)| number.name());
    for (number, parameter) in all {
        let Parameter { value, interval: Some([low, high]), origin } = parameter else { continue };
        // Twelve even draws of the sum 6 and the variance 1; an interval of 95 % is 1.96 deviations to each side.
        let sum: f64 = (0..12).map(|_| f64::from(dice.next_u32()) / f64::from(u32::MAX)).sum();
        let side = if sum < 6.0 { value - low } else { high - value };
        // What comes out below zero is zero.
        let value = value + (sum - 6.0) * side / 1.96;
        drawn.put(number, Parameter { value, interval: None, origin });
    }
    drawn
}

/// One run of the model, on a machine that has just been started; one outcome per thread.
///
/// # Errors
/// A job that has no sense.
pub fn simulate(jobs: &[Job], parameters: &Parameters, seed: u64) -> Result<Vec<Vec<Outcome>>, String> {
    simulate_at_most(jobs, parameters, seed, u64::MAX)
}

/// [`simulate`], of no more than so many calls.
pub(crate) fn simulate_at_most(
    jobs: &[Job],
    parameters: &Parameters,
    seed: u64,
    most_calls: u64,
) -> Result<Vec<Vec<Outcome>>, String> {
    let extent = Extent { most_calls, ..Extent::in_seconds(jobs, parameters, seed)? };
    Ok(simulate_within(jobs, parameters, seed, extent)?.threads)
}

/// A run of the model.
struct Simulated {
    /// The outcomes of each job's threads.
    threads: Vec<Vec<Outcome>>,
    /// After how many calls of its group each job was cut off, if it would have made more.
    cuts: Vec<Option<u64>>,
}

/// [`simulate`] to some extent.
fn simulate_within(
    jobs: &[Job],
    parameters: &Parameters,
    seed: u64,
    extent: Extent,
) -> Result<Simulated, String> {
    let times = extent.times;
    let parameters = &miniature::machine(parameters, times);
    let jobs = steady_from_the_start(jobs, parameters).map(|job| as_opened(job, parameters));
    let jobs = &jobs.map(|job| miniature::smaller(job, times)).collect::<Vec<_>>();
    let mut bench = Bench::new(parameters);
    let most_calls = extent.most_calls / groups(jobs).count().max(1) as u64;
    let (mut threads, mut cuts) = (Vec::with_capacity(jobs.len()), Vec::with_capacity(jobs.len()));
    for (number, group) in groups(jobs).enumerate() {
        let found = threads::as_found(group, parameters);
        bench.path = Path::new(&found);
        let simulated = bench.together(group, &found, seed ^ (number as u64) << 48, most_calls)?;
        threads.extend(simulated.threads);
        cuts.extend(simulated.cuts);
    }
    let enlarged = |threads: Vec<Outcome>| threads.into_iter().map(|one| miniature::enlarged(one, times));
    let threads = threads.into_iter().map(|threads| enlarged(threads).collect()).collect();
    Ok(Simulated { threads, cuts })
}

/// The calls that each thread of jobs makes, in order, if the jobs run at the same time; for tests that compare machines.
///
/// # Errors
/// A job that has no sense.
pub fn calls(jobs: &[Job], parameters: &Parameters, seed: u64) -> Result<Vec<Vec<Call>>, String> {
    let mut bench = Bench::new(parameters);
    let (load, _) = bench.load(jobs, parameters, seed, u64::MAX, |call| call)?;
    let _ = bench.path.run_load(&load, bench.state, seed);
    Ok(load.take_made().into_iter().map(|made| made.into_iter().map(|(call, _)| call).collect()).collect())
}

/// So many sets of parameters are drawn before it is asked whether they are enough.
const ROUND: usize = 4;

/// So many steps of the net are taken between two counts of the calls that were made.
const SLICE: u64 = 1 << 15;

/// Simulated time is in ns.
const TICKS_PER_SECOND: f64 = 1e9;

/// The threads of jobs with what is kept of their calls, and what was cached of each thread's files.
type Loaded<K> = (Arc<Load<JobCalls, K>>, Vec<Cached>);

/// The simulated machine with its files.
struct Bench {
    path: Path,
    state: State,
    files: HashMap<String, FileId>,
}

impl Bench {
    /// One that has just been started.
    fn new(parameters: &Parameters) -> Self {
        Self { path: Path::new(parameters), state: State::new(parameters), files: HashMap::new() }
    }

    fn together(
        &mut self,
        jobs: &[Job],
        parameters: &Parameters,
        seed: u64,
        most_calls: u64,
    ) -> Result<Simulated, String> {
        let (load, cached) = self.load(jobs, parameters, seed, most_calls, |call| (call.kind, call.bytes))?;
        let started = self.state.now().as_ticks();
        let mut tally = Tally::new(serial_depths(jobs, parameters));
        let state = std::mem::take(&mut self.state);
        self.state = self.path.run_in_slices(&load, state, seed, SLICE, |state| tally.take(&load, state));
        // What came before a ramp's or a delay's end does not count.
        let from = load.counts_from().into_iter().map(|from| from.map_or(0, |(_, from)| from));
        let steady_since = load.steady_since().map(|since| started + since);
        let ends = load.verified().into_iter().zip(load.stopped()).zip(load.sleeps());
        let mut threads = tally.threads().zip(cached).zip(from).zip(ends);
        let mut outcomes = Vec::with_capacity(jobs.len());
        for job in jobs {
            // Where not every transfer is followed by a wait, the last one need not be.
            let thinks = job.thinking.blocks <= 1 && job.thinking.iotime.is_zero();
            let thinks = if thinks { job.thinktime.as_nanos() as u64 } else { 0 };
            let threads = threads.by_ref().take(job.numjobs as usize).map(
                |(((counted, cached), from), ((verified, stopped), sleeps))| {
                    let one = counted.outcome(started + from).apart(job, verified);
                    let one = match steady_since {
                        Some(since) => prolonged(one, counted.outcome_since(since), job),
                        None => one,
                    };
                    let elapsed_ns = match stopped {
                        Some(end) => one.elapsed_ns.max(end.saturating_sub(from)),
                        None => one.elapsed_ns + thinks,
                    };
                    let sleeps = (sleeps * one.calls() as f64).round() as u64;
                    let usage = Usage { sleeps, ..Usage::default() };
                    Outcome { cached_before: Some(cached), elapsed_ns, usage, ..one }
                },
            );
            outcomes.push(threads.collect());
        }
        let cut = load.is_cut().then_some(most_calls);
        Ok(Simulated { cuts: vec![cut; outcomes.len()], threads: outcomes })
    }

    /// The threads of jobs that run at the same time, with their files in the state that they begin with, and what is kept of
    /// each call.
    fn load<K>(
        &mut self,
        jobs: &[Job],
        parameters: &Parameters,
        seed: u64,
        most_calls: u64,
        keep: fn(Call) -> K,
    ) -> Result<Loaded<K>, String> {
        for job in jobs {
            self.lay_out(job)?;
        }
        let (mut threads, mut cached, mut files) = (Vec::new(), Vec::new(), Vec::new());
        let mut visited: HashMap<FileId, [u64; 2]> = HashMap::new();
        for job in jobs {
            for thread in 0..job.numjobs {
                let mut regions = Vec::new();
                let mut sum = Cached { cached: 0, pages: 0 };
                for ThreadFile { name, region } in job.files_of(thread)? {
                    let file = self.files[&name];
                    let Cached { cached, pages } = self.prepare(job, parameters, region, file, seed);
                    (sum.cached, sum.pages) = (sum.cached + cached, sum.pages + pages);
                    let [from, to] = visited.entry(file).or_insert([u64::MAX, 0]);
                    (*from, *to) = ((*from).min(region.offset), (*to).max(region.offset + region.length));
                    regions.push((FileId(files.len() as u32), region));
                    files.push(file);
                }
                cached.push(sum);
                threads.push(JobCalls::new(job, &regions, thread, TICKS_PER_SECOND)?);
            }
        }
        visited.into_iter().for_each(|(file, [from, to])| self.state.visit(file, to - from));
        self.state.forget_done();
        let by_thread = jobs.iter().flat_map(|job| (0..job.numjobs).map(move |_| job));
        let overheads: Vec<_> = by_thread.clone().map(|job| overhead(job, parameters)).collect();
        let queueing: Vec<_> = by_thread.map(|job| queueing(job, parameters)).collect();
        let load = Load::with(Program::of(threads), files, |thread| overheads[thread], keep);
        let load = load.queued(&queueing).ending(ends(jobs));
        Ok((Arc::new(until_steady(load, jobs, parameters, most_calls)), cached))
    }

    /// As `load::Testbed::lay_out`.
    fn lay_out(&mut self, job: &Job) -> Result<(), String> {
        for thread in 0..job.numjobs {
            for ThreadFile { name, region } in job.files_of(thread)? {
                let new = || self.state.create();
                let file = *self.files.entry(name).or_insert_with(new);
                match job.layout() {
                    Layout::Filled => self.state.fill(file, region.file),
                    Layout::Allocated { keeps_size: false } | Layout::Hole => {
                        self.state.lengthen(file, region.file);
                    }
                    Layout::Allocated { keeps_size: true } | Layout::Empty => {}
                }
            }
        }
        Ok(())
    }

    /// As `load::Testbed::prepare` and `hint`: the state of the cache, and a new descriptor.
    fn prepare(
        &mut self,
        job: &Job,
        parameters: &Parameters,
        region: Region,
        file: FileId,
        seed: u64,
    ) -> Cached {
        let count = |state: &State| state.cached(file, region.offset, region.length).map(u64::from);
        if !job.engine.has_files() {
            return Cached { cached: 0, pages: 0 };
        }
        if !finds_cached(job, parameters) {
            self.state.evict(file);
        } else if job.pre_read {
            let [cached, pages] = count(&self.state);
            if cached < pages {
                self.read_in(region, file, seed);
            }
        }
        let advice = match job.expected_order() {
            None => Advice::Normal,
            Some(Pattern::Sequential) => Advice::Sequential,
            Some(Pattern::Random) => Advice::Random,
        };
        self.state.open(file, advice, job.direct);
        self.state.sync_writes(
            file,
            match job.durability.open {
                OpenSync::No => None,
                OpenSync::Dsync => Some(CallKind::Fdatasync),
                OpenSync::Sync => Some(CallKind::Fsync),
            },
        );
        let [cached, pages] = count(&self.state);
        Cached { cached, pages }
    }

    fn read_in(&mut self, region: Region, file: FileId, seed: u64) {
        const CHUNK: u64 = 1 << 20;
        let end = region.offset + region.length;
        let starts = (region.offset..end).step_by(CHUNK as usize);
        let read = |offset: u64| Call::new(CallKind::Read, file).at(offset, CHUNK.min(end - offset));
        let reads = repeated(starts.map(read).collect(), 1);
        self.state.open(file, Advice::Normal, false);
        self.state = self.path.run(reads, std::mem::take(&mut self.state), seed);
    }
}

#[cfg(test)]
mod tests;
