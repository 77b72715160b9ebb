//! The search for the costs with which the model takes as long as the runs of a stage did.

use fathom_stats::nonlinear;
use rayon::iter::{IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator};

use super::stages::Stage;
use super::{assume, drift, is_measured, put_measured, simulated_at_most, without_noise};
use crate::model::{Answers, Model, Number, Origin, PAGE, Parameter, Scalar};
use crate::trial::{Trial, ns_per_transfer};
use fathom_program::job::{Direction, Job, Pattern};
use fathom_run::watch::Watch;

/// An interval wider than this, as a deviation of the logarithm, is no answer.
const UNKNOWN: f64 = 0.7;
/// Numbers of requests side by side that are tried.
const DEPTHS: [f64; 4] = [1.0, 2.0, 8.0, 64.0];

/// What a stage's search does not find by itself: a choice, if there is one, and values from which it begins.
type Way = (Option<Answers>, Vec<(Scalar, f64)>);

/// How a device may answer: so many requests side by side, each by itself or all together, or as it was `seen` to; with two starts
/// of the search.
pub(super) fn ways_to_answer(model: &Model, seen: Option<Answers>) -> Vec<Way> {
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
pub(super) fn ways_to_pass_on() -> Vec<Way> {
    [1, 32, 256].map(|pages| (None, vec![(Scalar::WriteThrough, (pages * PAGE) as f64)])).to_vec()
}

/// Fits for each of several ways, and keeps the best.
pub(super) fn best_of(model: &mut Model, stage: &Stage, trials: &[Trial], ways: &[Way], watch: &Watch) {
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
pub(super) fn fit(model: &mut Model, free: &[(Number, f64)], trials: &[Trial], watch: &Watch) {
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
        let runs: Vec<Vec<f64>> = trials.iter().map(|trial| trial.each(ns_per_transfer)).collect();
        let drift = drift(&runs).unwrap_or(0.0) / 2.0;
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

/// What a transfer of a job takes on a model, in ns.
pub(super) fn time(job: &Job, model: &Model) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::super::simulated;
    use super::super::stages::stages;
    use super::*;
    use crate::model::Fits;
    use crate::prediction::simulate_at_most;
    use fathom_run::load::Outcome;

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
            let seen = super::super::answers(&trials);
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
}
