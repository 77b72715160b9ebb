//! Why a job is faster on one machine than on another: the parameters that account for it.
//!
//! Each parameter in which two models differ is changed by itself, from both ends: in the first model to what the second
//! has, and in the second to what the first has. Its share of the difference is the mean of both effects on the time that a
//! byte takes, since times add up where rates do not; from both ends, so that what needs another change to show (a limit, and
//! the kind of device that obeys it) is seen from one end at least. All runs of the models share their random numbers.
//!
//! ```
//! use fathom_predict::{explanation::explain, model::Model};
//! use fathom_program::job::Job;
//!
//! let mut slow = Model::assumed();
//! slow.set("readahead=16K")?;
//! slow.set("seek_call=1us")?;
//! let job = Job { size: Some(1 << 20), ..Job::named("cold") };
//! let explained = explain(&[job], ["quick".into(), "slow".into()], [&Model::assumed(), &slow], Vec::new(), 1)?;
//! let parts = &explained.jobs[0].parts;
//! assert_eq!(parts[0].parameter, "readahead");
//! assert!(parts[0].share.unwrap() > 0.9);
//! # Ok::<(), String>(())
//! ```

use std::collections::BTreeSet;

use fathom_model::parameters::{CHOICES, Named, Unit, named};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibration::as_surveyed;
use crate::model::{Curve, Model, Number, Parameters};
use crate::prediction::{Estimate, Forecast, Settings, predict, simulate};
use fathom_program::job::Job;
use fathom_program::units::{Bytes, Nanos};
use fathom_run::load::{Outcome, per_second};
use fathom_survey::finding::Finding;

/// The schema of a written [`Explanation`].
pub const SCHEMA: &str = "fathom.explanation/1";

/// Two results whose logarithms differ by less are the same: the parameters have nothing to account for.
const SAME: f64 = 0.01;

/// Findings of two surveys that differ by less than this factor are not reported as different.
const NEAR: f64 = 1.25;

/// Which parameters account for the difference of two models, as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.explanation/1")]
pub struct Explanation {
    /// Always `fathom.explanation/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The version of Fathom that wrote it.
    pub version: String,
    /// The names of the two models.
    pub names: [String; 2],
    /// One entry per job.
    pub jobs: Vec<Explained>,
    /// Other known differences that have no part in a prediction, one sentence each.
    pub unmodelled: Vec<String>,
    /// For surveys: the model that both take from for everything that surveys do not measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alike: Option<String>,
}

/// The explanation of one job on both models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// The job's name.
    pub job: String,
    /// Bytes per second in both directions on each model, as `fathom predict` predicts them.
    pub bytes_per_second: [f64; 2],
    /// The intervals of these rates with 90 % confidence.
    pub intervals: [[f64; 2]; 2],
    /// Every parameter in which the two models differ, the one with the largest share first.
    pub parts: Vec<Part>,
    /// The share of the difference that comes from the corrections of each model, which it learned from runs; none where the rates
    /// are the same.
    pub correction: Option<f64>,
}

impl Explained {
    /// Whether the intervals overlap, so that the job may be as fast on one as on the other.
    pub fn is_open(&self) -> bool {
        let [[first_low, first_high], [second_low, second_high]] = self.intervals;
        first_low <= second_high && second_low <= first_high
    }
}

/// The part of one parameter in the difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// The name of the parameter.
    pub parameter: String,
    /// The value of the parameter in each model, with the unit.
    pub values: [String; 2],
    /// Bytes per second of the first model with the second's value.
    pub first_with_it: f64,
    /// Bytes per second of the second model with the first's value.
    pub second_without_it: f64,
    /// The parameter's share of the difference: 1 is all of it, a negative share works against it; none where the rates are the
    /// same.
    pub share: Option<f64>,
}

/// Finds which parameters account for the difference between two models, job by job; `unmodelled` is kept as it is.
///
/// # Errors
/// What the models can't express, by name.
pub fn explain(
    jobs: &[Job],
    names: [String; 2],
    models: [&Model; 2],
    unmodelled: Vec<String>,
    seed: u64,
) -> Result<Explanation, String> {
    let settings = Settings { seed, ..Settings::default() };
    let [of_first, of_second] = models.map(|model| predict(jobs, model, settings));
    let predicted = [of_first?, of_second?];
    let rates = |parameters: &Parameters| -> Result<Vec<f64>, String> {
        Ok(simulate(jobs, parameters, seed)?.iter().map(|threads| rate(threads)).collect())
    };
    let [first, second] = models.map(|model| &model.parameters);
    // The models as they are ran for the predictions.
    let ends = [0, 1]
        .map(|end| -> Vec<f64> { predicted[end].outcomes.iter().map(|threads| rate(threads)).collect() });
    let differing: Vec<String> = differing(first, second).into_iter().collect();
    let both = |name: &String| {
        let with = rates(&replaced(first, second, name)?)?;
        Ok([with, rates(&replaced(second, first, name)?)?])
    };
    let changed = differing.par_iter().map(both).collect::<Result<Vec<_>, String>>()?;
    let of_job = |(at, job): (usize, &Job)| {
        let forecasts = [0, 1].map(|end| in_all(&predicted[end].forecasts[at]));
        let corrected = [0, 1].map(|end| forecasts[end].value / ends[end][at]);
        let [from, to] = forecasts.map(|rate| 1.0 / rate.value);
        let is_same = (from / to).ln().abs() <= SAME;
        let share = |difference: f64| {
            let share = difference / (to - from);
            (!is_same && share.is_finite()).then_some(share)
        };
        let part = |(name, [with, without]): (&String, &[Vec<f64>; 2])| {
            let [with, without] = [with[at] * corrected[0], without[at] * corrected[1]];
            Part {
                parameter: name.clone(),
                values: [shown(first, name), shown(second, name)],
                first_with_it: with,
                second_without_it: without,
                share: share((1.0 / with - from + to - 1.0 / without) / 2.0),
            }
        };
        let mut parts: Vec<Part> = differing.iter().zip(&changed).map(part).collect();
        let size = |part: &Part| part.share.unwrap_or(0.0).abs();
        parts.sort_by(|one, other| size(other).total_cmp(&size(one)));
        // In the place of a change of all parameters at once, from either end.
        let [with_all, without_all] = [ends[1][at] * corrected[0], ends[0][at] * corrected[1]];
        let correction = share((to - 1.0 / with_all + 1.0 / without_all - from) / 2.0);
        Explained {
            job: job.name.clone(),
            bytes_per_second: forecasts.map(|rate| rate.value),
            intervals: forecasts.map(|rate| [rate.low, rate.high]),
            parts,
            correction,
        }
    };
    Ok(Explanation {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        names,
        jobs: jobs.iter().enumerate().map(of_job).collect(),
        unmodelled,
        alike: None,
    })
}

/// Makes a model of each of two surveys' findings, on top of `base`. Also returns a sentence on each other difference between the
/// surveys, which no parameter stands for.
pub fn of_surveys(base: &Model, findings: [&[Finding]; 2]) -> ([Model; 2], Vec<String>) {
    let [(first, others), (second, seconds)] = findings.map(|findings| as_surveyed(base, findings));
    let difference = |one: &&Finding| {
        let other = seconds.iter().find(|other| other.parameter == one.parameter)?;
        let [a, b] = [one.value.as_ref()?, other.value.as_ref()?];
        let is_near = a.as_number().zip(b.as_number()).is_some_and(|(a, b)| a.max(b) < NEAR * a.min(b));
        let [a_words, b_words] = [a, b].map(|value| value.in_words(&one.unit));
        (a != b && !is_near)
            .then(|| format!("{}: {a_words} on the first, {b_words} on the second", one.parameter))
    };
    let unmodelled = others.iter().filter_map(difference).collect();
    ([first, second], unmodelled)
}

/// Bytes per second of all threads of a job.
fn rate(threads: &[Outcome]) -> f64 {
    let of = |sum: Outcome| per_second(sum.transfers.iter().map(|side| side.bytes).sum(), sum.elapsed_ns);
    Outcome::together(threads).map_or(0.0, of)
}

/// Bytes per second in both directions: none where nothing is moved.
fn in_all(forecast: &Forecast) -> Estimate {
    forecast.bytes_per_second().unwrap_or(Estimate { value: 0.0, low: 0.0, high: 0.0 })
}

/// The names of what two sets of parameters differ in: scalars, curves as a whole, choices.
fn differing(first: &Parameters, second: &Parameters) -> BTreeSet<String> {
    let numbers = first.iter().zip(second.iter()).filter(|((_, one), (_, other))| one.value != other.value);
    let numbers = numbers.map(|((number, _), _)| match number {
        Number::Scalar(scalar) => scalar.row().name,
        Number::Point(curve, _) => curve.row().name,
    });
    let words = |parameters: &Parameters| {
        CHOICES.iter().map(|row| (row.word)(&parameters.choices)).collect::<Vec<_>>()
    };
    let choices = CHOICES.iter().zip(words(first)).zip(words(second));
    let choices = choices.filter(|((_, one), other)| one != other).map(|((row, _), _)| row.name);
    numbers.chain(choices).map(str::to_owned).collect()
}

/// Parameters with one of them as `other` has it. A name that stands for a curve and for a point of it is the curve.
fn replaced(parameters: &Parameters, other: &Parameters, name: &str) -> Result<Parameters, String> {
    let mut replaced = parameters.clone();
    match (Curve::named(name), named(name)?) {
        (Some(curve), _) | (None, Named::Curve(curve)) => {
            curve.numbers().for_each(|point| replaced.put(point, other.number(point)));
        }
        (None, Named::Number(number)) => replaced.put(number, other.number(number)),
        (None, Named::Choice(row)) => replaced.choices.choose(row, (row.word)(&other.choices))?,
    }
    Ok(replaced)
}

/// A parameter's value as it is read.
fn shown(parameters: &Parameters, name: &str) -> String {
    match (Curve::named(name), named(name)) {
        (Some(curve), _) => format!("a curve of {} points", curve.numbers().count()),
        (None, Ok(Named::Choice(row))) => (row.word)(&parameters.choices).to_owned(),
        (None, Ok(Named::Number(number))) => {
            let value = parameters.number(number).value;
            match number.row().unit {
                Unit::Bytes => Bytes(value as u64).to_string(),
                Unit::Ns => Nanos(value).to_string(),
                Unit::NsPerByte => format!("{value:.4} ns/B"),
                Unit::Count | Unit::Share => format!("{value:.4}"),
            }
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Residual;

    fn of(second: &[&str], job: Job) -> Explained {
        let (first, mut other) = (Model::assumed(), Model::assumed());
        second.iter().for_each(|set| other.set(set).unwrap());
        let names = ["a", "b"].map(str::to_owned);
        explain(&[job], names, [&first, &other], Vec::new(), 1).unwrap().jobs.remove(0)
    }

    fn cold(name: &str) -> Job {
        Job { size: Some(4 << 20), ..Job::named(name) }
    }

    #[test]
    fn the_parameter_that_slows_a_job_has_the_whole_share() {
        let random = Job { pattern: fathom_program::job::Pattern::Random, ..cold("random") };
        let explained = of(&["device_latency=800us", "open_call=1ms", "block=1K"], random);
        assert_eq!(explained.parts[0].parameter, "device_latency");
        assert!((explained.parts[0].share.unwrap() - 1.0).abs() < 0.02, "{explained:?}");
        assert!(explained.parts[1..].iter().all(|part| part.share.unwrap().abs() < 0.02), "{explained:?}");
        assert_eq!(explained.parts[0].values, ["80 us", "800 us"]);
    }

    #[test]
    fn a_limit_and_the_device_that_obeys_it_share_what_they_do_together() {
        let explained = of(&["device=token_bucket", "limit_read_rate=20M"], cold("held"));
        let names: BTreeSet<&str> = explained.parts.iter().map(|part| part.parameter.as_str()).collect();
        assert_eq!(names, ["device", "limit_read_rate"].into());
        let shares: Vec<f64> = explained.parts.iter().map(|part| part.share.unwrap()).collect();
        assert!(shares.iter().all(|share| (0.4..0.6).contains(share)), "{explained:?}");
    }

    #[test]
    fn prices_that_make_up_for_each_other_add_up_to_the_difference() {
        let random = Job { pattern: fathom_program::job::Pattern::Random, ..cold("random") };
        let explained = of(&["device_latency=20us", "submission=150us"], random);
        let [longer, shorter] = [&explained.parts[0], &explained.parts[1]];
        assert_eq!([&longer.parameter, &shorter.parameter], ["submission", "device_latency"]);
        let [one, other] = [longer, shorter].map(|part| part.share.unwrap());
        assert!(one > 1.5 && other < -0.5 && (one + other - 1.0).abs() < 0.05, "{explained:?}");
        assert!(explained.correction.unwrap().abs() < 0.01 && !explained.is_open(), "{explained:?}");
    }

    #[test]
    fn what_predictions_are_corrected_by_is_a_share_and_wide_intervals_leave_it_open() {
        let residual = |factor, spread| Residual { jobs: 9, factor, spread, ..Residual::default() };
        let with = |model: &Model, residual| Model {
            residuals: [("cold_sequential_read".to_owned(), residual)].into(),
            ..model.clone()
        };
        let (first, mut second) = (Model::assumed(), Model::assumed());
        second.set("device_latency=8ms").unwrap();
        let explained = |models: [&Model; 2]| {
            explain(&[cold("one")], ["a", "b"].map(str::to_owned), models, Vec::new(), 1)
                .unwrap()
                .jobs
                .remove(0)
        };
        let same = explained([&with(&first, residual(1.0, 0.05)), &with(&first, residual(0.5, 0.05))]);
        assert!(same.parts.is_empty() && (same.correction.unwrap() - 1.0).abs() < 1e-9, "{same:?}");
        for (spread, is_open) in [(0.05, false), (3.0, true)] {
            let [a, b] = [&first, &second].map(|model| with(model, residual(1.0, spread)));
            let both = explained([&a, &b]);
            assert_eq!(
                (both.is_open(), both.parts[0].parameter.as_str()),
                (is_open, "device_latency"),
                "{both:?}"
            );
        }
    }

    #[test]
    fn where_nothing_differs_nothing_is_accounted_for() {
        let explained = of(&[], cold("same"));
        assert!(explained.parts.is_empty() && explained.bytes_per_second[0] == explained.bytes_per_second[1]);
        assert_eq!(explained.correction, None);
        // A parameter that this job has no use for.
        let explained = of(&["open_call=5us"], cold("same"));
        assert_eq!(explained.parts[0].share, None);
    }
}
