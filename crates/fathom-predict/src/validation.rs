//! A model held to runs that it has never seen: each job is predicted before it is run.
//!
//! Every job is run several times, in turns with the others, and what two halves of its runs differ by is the
//! noise floor that the model's error is shown next to. So do the errors of two simpler models: that of paper E, and
//! one of a bandwidth and a latency; and by how much jobs that the calibration ran as well have changed since.

mod again;
mod baselines;
mod by_fio;
mod condition;
mod field;
mod held_out;
mod traces;

use std::collections::BTreeMap;
use std::path::Path;

use fathom_stats::quantile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::again::Again;
pub use self::by_fio::{Agreement, ByFio, agreement};
pub use self::condition::Condition;
pub use self::field::{usual_jobs, validate_in_field};
pub use self::traces::validate_traces;

use self::by_fio::FioRuns;
use crate::model::{Model, Runner};
use crate::prediction::{self, Estimate, Forecast, Prediction, Settings};
use crate::trial::{self, Schedule, Settled, Trial};
use fathom_program::job::{Direction, Job};
use fathom_run::fault::Fault;
use fathom_run::load::{Needs, Outcome, Testbed};
use fathom_run::provenance::Provenance;

/// The schema of a written [`Validation`].
pub const SCHEMA: &str = "fathom.validation/1";

/// A validation, as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.validation/1")]
pub struct Validation {
    /// Always `fathom.validation/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Where and when it was measured, and by which clock.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// One entry per job.
    pub jobs: Vec<Held>,
    /// The results of each class of jobs.
    pub classes: Vec<Class>,
    /// Jobs that the calibration ran too, with their rates then and now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<Again>,
    /// What was not predicted or not run, with the reason.
    pub refused: Vec<String>,
    /// How often each job was to be run.
    #[serde(default)]
    pub repeats: usize,
    /// What was changed on the machine during the runs, and restored.
    #[serde(default)]
    pub effects: Vec<String>,
    /// How long the validation took, in ns.
    pub duration_ns: u64,
    /// Bytes that the validation wrote.
    pub bytes_written: u64,
    /// Bytes that the kernel reclaimed from any process while jobs ran on the machine as it is; none for traces, and where
    /// the kernel does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaimed_bytes: Option<u64>,
}

/// One job, predicted and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// The name of the job.
    pub name: String,
    /// The class of the job.
    pub class: String,
    /// What was changed on the machine and in the model for this job, in the form of `--set`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Bytes per second in both directions, as predicted before the first run.
    pub predicted: Estimate,
    /// The median of the measured rates.
    pub measured: f64,
    /// The measured rate of each run, in the order of the runs.
    pub runs: Vec<f64>,
    /// How many of the runs were disturbed by work on the same core, with no undisturbed run in their place.
    #[serde(default)]
    pub disturbed: usize,
    /// The results of fio's runs of the same job, if fio ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fio: Option<ByFio>,
    /// How far the prediction is off, as a share of the measured rate; positive where the prediction is too fast.
    pub error: f64,
    /// The difference between two halves of the runs, as a share.
    pub noise_floor: f64,
    /// How far the prediction by paper E's model is off, as a share.
    pub paper_error: f64,
    /// How far the prediction by a bandwidth and a latency alone is off, as a share.
    pub plain_error: f64,
    /// How far the rate of the nearest job that the calibration ran is off, as a share; none where the model keeps no such job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest_error: Option<f64>,
    /// Whether the interval of 90 % contains the measured median.
    pub is_covered: bool,
    /// How many of the runs the interval contains, where each run was made as users make it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered_runs: Option<usize>,
    /// How far the predicted 99 % latency is off the median of the runs' 99 % latencies, as a share.
    pub p99_error: f64,
    /// The difference between the 99 % latencies of two halves of the runs, as a share; none for a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_noise_floor: Option<f64>,
    /// How far the predicted 99.9 % latency is off, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_error: Option<f64>,
}

/// The results of the jobs of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Class {
    /// The name of the class.
    pub class: String,
    /// The number of jobs.
    pub jobs: u32,
    /// The bound of the mean error, as a share.
    #[serde(default)]
    pub bar: f64,
    /// Whether the mean error keeps the bound: `kept`; `noise` where two halves of the runs differ by half as much; `drift` where
    /// jobs that the calibration also ran have changed by half as much since; or `missed`.
    #[serde(default)]
    pub verdict: String,
    /// The mean size of the errors.
    pub mean_error: f64,
    /// The largest error.
    pub worst_error: f64,
    /// The mean noise floor of the jobs.
    pub noise_floor: f64,
    /// By how much jobs of the class that the calibration also ran have changed since, as a share; none where it ran none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<f64>,
    /// The mean error of the predictions by paper E's model.
    pub paper_error: f64,
    /// The mean error of the predictions by a bandwidth and a latency alone.
    pub plain_error: f64,
    /// The mean error of taking the rates of the nearest jobs that the calibration ran, where the model keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest_error: Option<f64>,
    /// The median size of the errors.
    #[serde(default)]
    pub median_error: f64,
    /// The number of intervals that contain the measured median.
    pub covered: u32,
    /// The number of single runs, and how many of them the intervals contain, where each run was made as users make it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered_runs: Option<[u32; 2]>,
    /// The mean error of the 99 % latencies.
    pub p99_error: f64,
    /// The mean noise floor of the 99 % latencies, where all jobs have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_noise_floor: Option<f64>,
    /// The median sizes of the errors of the 99 % and the 99.9 % latencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_tail_errors: Option<[f64; TAILS.len()]>,
}

/// The shares of calls that take no longer than the latencies that are held against those of runs.
const TAILS: [f64; 2] = [0.99, 0.999];

/// What was predicted, by this model and in simpler ways: bytes per second in both directions.
struct Figures {
    rate: Estimate,
    tails_ns: [f64; TAILS.len()],
    paper: f64,
    plain: f64,
    nearest: Option<f64>,
}

/// What was predicted of a job.
struct Predicted {
    job: Job,
    figures: Figures,
    /// Bytes that it will write.
    writes: u64,
}

impl Figures {
    /// Next to what runs came to: the bytes per second of each, and its tail latencies in ns. None without runs.
    fn held(&self, name: &str, class: String, runs: Vec<f64>, tails: &[[f64; TAILS.len()]]) -> Option<Held> {
        let middle = |values: &[f64]| quantile::median(values).filter(|value| *value > 0.0);
        let [p99s, p999s] = [0, 1].map(|at| tails.iter().map(|tail| tail[at]).collect::<Vec<_>>());
        let (measured, p99_ns) = (middle(&runs)?, middle(&p99s)?);
        let off = |rate: f64| rate / measured - 1.0;
        Some(Held {
            name: name.to_owned(),
            class,
            condition: None,
            predicted: self.rate,
            measured,
            error: off(self.rate.value),
            noise_floor: halves_differ_by(&runs, measured),
            paper_error: off(self.paper),
            plain_error: off(self.plain),
            nearest_error: self.nearest.map(off),
            is_covered: self.rate.holds(measured),
            covered_runs: None,
            p99_error: self.tails_ns[0] / p99_ns - 1.0,
            p99_noise_floor: floor_of(&p99s, p99_ns),
            p999_error: middle(&p999s).map(|p999_ns| self.tails_ns[1] / p999_ns - 1.0),
            runs,
            disturbed: 0,
            fio: None,
        })
    }
}

/// What a validation compares, and how.
#[derive(Debug)]
pub struct Trials<'a> {
    /// The model to validate.
    pub model: &'a Model,
    /// The mount on which the jobs run.
    pub path: &'a Path,
    /// How often each job is run.
    pub repeats: usize,
    /// How often fio runs each job that it can run from the same state.
    pub by_fio: usize,
    /// The seed of the orders.
    pub seed: u64,
}

/// The outcome of [`validate`].
#[derive(Debug, Default)]
pub struct Outcomes {
    /// One entry per job.
    pub jobs: Vec<Held>,
    /// Jobs that the calibration ran too, with their rates then and now.
    pub again: Vec<Again>,
    /// What was not predicted or not run, with the reason.
    pub refused: Vec<String>,
    /// What was changed on the machine, and restored.
    pub effects: Vec<String>,
    /// Bytes that the kernel reclaimed from any process while jobs ran on the machine as it is.
    pub reclaimed_bytes: Option<u64>,
}

/// Predicts the jobs of a condition, sets the condition up on the machine, runs each job several times, and compares the
/// predictions with the runs.
///
/// # Errors
/// What ends the runs: an interrupt, a budget, the end of the time.
pub fn validate(condition: Condition, trials: &Trials<'_>, testbed: &mut Testbed) -> Result<Outcomes, Fault> {
    let mut outcomes = Outcomes::default();
    let reclaimed_before = testbed.reclaimed_bytes();
    let refuse = |reason: String| format!("{}: {reason}", condition.word().unwrap_or("all jobs"));
    let mut model = trials.model.clone();
    // fio's part is compared by the time within calls.
    model.parameters.choices.runner = Runner::Fathom;
    let settled = condition.make(&mut model, trials.path, testbed);
    // What was changed is put back when this goes.
    let _changed = match settled {
        Ok(changed) => changed,
        Err(Fault::Unsupported(reason)) => {
            outcomes.refused.push(refuse(reason));
            return Ok(outcomes);
        }
        Err(fault) => return Err(fault),
    };
    outcomes.effects.extend(condition.effect());
    let mut predicted = Vec::new();
    for job in condition.jobs() {
        match predict_job(&job, &model, trials.seed) {
            Ok(one) => predicted.push(one),
            Err(reason) => outcomes.refused.push(reason),
        }
    }
    let mut jobs: Vec<Job> = predicted.iter().map(|one| one.job.clone()).collect();
    jobs.extend(condition.again(&model));
    let schedule = Schedule {
        rest: trial::rest_of(&model),
        writes_wait: model.parameters.writes_wait_for_server(),
        ..Schedule::of(trials.repeats, trials.seed, condition.state())
    };
    testbed.watch().expect((jobs.len() * schedule.repeats) as u64);
    let mut fio_runs =
        FioRuns::new(&jobs[..predicted.len()], Schedule { repeats: trials.by_fio, ..schedule });
    let trials = trial::run_each(&jobs, schedule, testbed, &mut |index, testbed| {
        if index < predicted.len() { fio_runs.run(index, testbed) } else { Ok(()) }
    })?;
    for (index, (one, trial)) in predicted.iter().zip(&trials).enumerate() {
        let held = hold(one, trial, &model);
        match (&trial.refusal, held) {
            (None, Some(held)) => outcomes.jobs.push(Held {
                condition: condition.setting(),
                fio: fio_runs.of(index, trial),
                ..held
            }),
            (refusal, _) => {
                let reason = refusal.as_deref().unwrap_or("nothing was moved");
                outcomes.refused.push(format!("[{}]: {reason}", one.job.name));
            }
        }
    }
    outcomes.again = trials[predicted.len()..].iter().filter_map(|trial| again::of(trial, &model)).collect();
    outcomes.refused.extend(fio_runs.refused());
    for held in &mut outcomes.jobs {
        held.class += &condition.word().map(|word| format!(", {word}")).unwrap_or_default();
    }
    if condition == Condition::Usual {
        outcomes.reclaimed_bytes =
            testbed.reclaimed_bytes().zip(reclaimed_before).map(|(now, before)| now - before);
    }
    Ok(outcomes)
}

/// Space and writes that the jobs of some conditions need if each runs `repeats` times, and `by_fio` times by fio.
///
/// # Errors
/// A job that makes no sense.
pub fn needs(
    conditions: &[Condition],
    model: &Model,
    repeats: usize,
    by_fio: usize,
) -> Result<Needs, String> {
    let schedule = |repeats, state| Schedule::of(repeats, 0, state);
    let own = |condition: &Condition| (condition.jobs(), schedule(repeats, condition.state()));
    let own: Vec<_> = conditions.iter().map(own).collect();
    let fios = |(jobs, own): &(Vec<Job>, Schedule)| {
        let jobs = jobs.iter().filter(|job| by_fio::runs(job, own.state));
        // No run of fio goes uncounted.
        (jobs.cloned().collect::<Vec<_>>(), schedule(by_fio, Settled::AsLeft))
    };
    let fios: Vec<_> = own.iter().map(fios).collect();
    let again =
        conditions.iter().map(|condition| (condition.again(model), schedule(repeats, condition.state())));
    let needs = trial::needs(&own.into_iter().chain(again).collect::<Vec<_>>())?;
    Ok(Needs { writes: needs.writes + trial::writes(&fios)?, ..needs })
}

fn predict_job(job: &Job, model: &Model, seed: u64) -> Result<Predicted, String> {
    let alone = std::slice::from_ref(job);
    let Prediction { outcomes, forecasts } =
        prediction::predict(alone, model, Settings { seed, ..Settings::default() })?;
    let sum =
        outcomes.first().and_then(|threads| Outcome::together(threads)).ok_or("nothing was predicted")?;
    let rate = forecasts.first().and_then(Forecast::bytes_per_second);
    let figures = Figures {
        rate: rate.ok_or("nothing was predicted")?,
        tails_ns: TAILS.map(|share| {
            let simulated_ns = sum.latency_ns(share);
            let seen = model.residuals.get(&prediction::class(job, &model.parameters));
            seen.map_or(simulated_ns, |seen| seen.latency(share, sum.calls(), simulated_ns).value)
        }),
        paper: baselines::paper(job, model)?,
        plain: baselines::plain(job, model)?,
        nearest: baselines::nearest(job, model),
    };
    Ok(Predicted { job: job.clone(), figures, writes: sum.transfers[Direction::Write as usize].bytes })
}

fn hold(one: &Predicted, trial: &Trial, model: &Model) -> Option<Held> {
    let runs = trial.each(trial::bytes_per_second);
    let tails: Vec<_> = trial.runs.iter().map(|run| TAILS.map(|share| run.latency_ns(share))).collect();
    let class = prediction::class(&one.job, &model.parameters);
    let held = one.figures.held(&one.job.name, class, runs, &tails)?;
    Some(Held { disturbed: trial.disturbed, ..held })
}

/// What the medians of every other run differ by, as a share.
fn halves_differ_by(runs: &[f64], all: f64) -> f64 {
    let half = |which: usize| {
        let runs: Vec<f64> = runs.iter().copied().skip(which).step_by(2).collect();
        quantile::median(&runs).unwrap_or(all)
    };
    (half(0) / half(1) - 1.0).abs()
}

/// The same where there may be one run alone, or nothing in it.
fn floor_of(runs: &[f64], all: f64) -> Option<f64> {
    (runs.len() > 1).then(|| halves_differ_by(runs, all)).filter(|floor| floor.is_finite())
}

/// What the mean error of a class shall not exceed where each run is one as users make it.
const IN_FIELD: f64 = 0.25;

/// The class of all jobs together.
const ALL: &str = "all";

/// The results of each class, and of all classes at the end, from the jobs and from those that the calibration ran too.
pub fn classes(jobs: &[Held], again: &[Again]) -> Vec<Class> {
    let mut by_class: BTreeMap<&str, Vec<&Held>> = BTreeMap::new();
    jobs.iter().for_each(|job| by_class.entry(&job.class).or_default().push(job));
    let mut classes: Vec<Class> = by_class.iter().map(|(class, jobs)| of(class, jobs, again)).collect();
    if classes.len() > 1 {
        classes.push(of(ALL, &jobs.iter().collect::<Vec<_>>(), again));
    }
    classes
}

fn of(class: &str, jobs: &[&Held], again: &[Again]) -> Class {
    let mean = |figure: &dyn Fn(&Held) -> f64| {
        jobs.iter().map(|job| figure(job).abs()).sum::<f64>() / jobs.len().max(1) as f64
    };
    let mean_of_known = |figure: &dyn Fn(&Held) -> Option<f64>| {
        let sum = jobs.iter().map(|job| figure(job).map(f64::abs)).sum::<Option<f64>>();
        sum.map(|sum| sum / jobs.len().max(1) as f64)
    };
    let median = |figure: &dyn Fn(&Held) -> Option<f64>| {
        quantile::median(&jobs.iter().filter_map(|job| figure(job).map(f64::abs)).collect::<Vec<_>>())
    };
    let sizes: Vec<f64> = jobs.iter().map(|job| job.error.abs()).collect();
    let in_field: Option<Vec<[usize; 2]>> =
        jobs.iter().map(|job| Some([job.runs.len(), job.covered_runs?])).collect();
    let sum = |runs: Vec<[usize; 2]>| [0, 1].map(|at| runs.iter().map(|one| one[at] as u32).sum());
    let (mean_error, noise_floor) = (mean(&|job| job.error), mean(&|job| job.noise_floor));
    let drift = again::drift(again, class);
    let bar = if in_field.is_some() { IN_FIELD } else { bar(class) };
    let verdict = match mean_error {
        error if error <= bar => "kept",
        error if error <= 2.0 * noise_floor => "noise",
        error if error <= 2.0 * drift.unwrap_or(0.0) => "drift",
        _ => "missed",
    };
    Class {
        class: class.to_owned(),
        jobs: jobs.len() as u32,
        bar,
        verdict: verdict.to_owned(),
        mean_error,
        worst_error: sizes.iter().copied().fold(0.0, f64::max),
        noise_floor,
        drift,
        paper_error: mean(&|job| job.paper_error),
        plain_error: mean(&|job| job.plain_error),
        nearest_error: mean_of_known(&|job| job.nearest_error),
        median_error: quantile::median(&sizes).unwrap_or(0.0),
        covered_runs: in_field.map(sum),
        covered: jobs.iter().filter(|job| job.is_covered).count() as u32,
        p99_error: mean(&|job| job.p99_error),
        p99_noise_floor: mean_of_known(&|job| job.p99_noise_floor),
        median_tail_errors: median(&|job| Some(job.p99_error))
            .zip(median(&|job| job.p999_error))
            .map(|(p99, p999)| [p99, p999]),
    }
}

/// The bound of a class's mean error. For traces: 10 % if they only read, otherwise 15 %. For jobs: 5 % in order, 10 % for random
/// reads and past the dirty threshold, 15 % for random writes.
pub fn bar(class: &str) -> f64 {
    let has = |word: &str| class.contains(word);
    if has("traces") {
        return if has("write") { 0.15 } else { 0.10 };
    }
    match (has("throttled"), has("random"), has("write") || has("mixed")) {
        (true, ..) | (_, true, false) => 0.10,
        (_, true, true) => 0.15,
        _ => 0.05,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(class: &str, error: f64, noise_floor: f64) -> Held {
        let figure = Estimate { value: 1.0, low: 0.5, high: 2.0 };
        Held {
            name: String::new(),
            class: class.to_owned(),
            condition: None,
            predicted: figure,
            measured: 1.0,
            runs: Vec::new(),
            disturbed: 0,
            fio: None,
            error,
            noise_floor,
            paper_error: 0.0,
            plain_error: 0.0,
            nearest_error: None,
            is_covered: true,
            covered_runs: None,
            p99_error: 0.0,
            p99_noise_floor: None,
            p999_error: None,
        }
    }

    #[test]
    fn a_class_is_kept_missed_or_not_told_from_noise() {
        let jobs = [
            held("cached_sequential_read", -0.04, 0.01),
            held("random_write", 0.2, 0.12),
            held("throttled_sequential_write, dirty_bytes", -0.2, 0.01),
        ];
        let verdicts = |again: &[Again]| {
            let classes = classes(&jobs, again);
            classes.iter().map(|class| (class.bar, class.verdict.clone(), class.drift)).collect::<Vec<_>>()
        };
        let none = verdicts(&[]);
        let word = |verdict: &str| verdict.to_owned();
        assert_eq!(
            none[..3],
            [(0.05, word("kept"), None), (0.15, word("noise"), None), (0.10, word("missed"), None)]
        );
        let again = |class: &str, now| Again { name: String::new(), class: word(class), then: 4.0, now };
        let class = "throttled_sequential_write, dirty_bytes";
        let drifted = verdicts(&[again(class, 3.0), again("random_write", 4.4)]);
        let near = |drift: Option<f64>, wanted: f64| (drift.unwrap() - wanted).abs() < 1e-9;
        assert_eq!(drifted[2].1, "drift");
        assert!(
            near(drifted[2].2, 0.25) && near(drifted[1].2, 0.1) && near(drifted[3].2, 0.175),
            "{drifted:?}"
        );
        assert_eq!((drifted[0].2, &drifted[1].1), (None, &word("noise")));
        assert_eq!(verdicts(&[again(class, 3.8)])[2].1, "missed");
    }
}
