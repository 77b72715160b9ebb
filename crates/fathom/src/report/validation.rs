//! Models and what they are worth, as tables.

use super::table;
use crate::calibration::Account;
use crate::model::{Model, Origin};
use crate::units::{Bytes, Nanos};
use crate::validation::{Class, Validation};

/// The parameters of a model with where they come from, and how well they explain what they were fitted to.
pub fn calibration(model: &Model, accounts: &[Account]) -> String {
    let mut text = table::rows(&PARAMETERS, &parameters(model));
    for account in accounts {
        let rows: Vec<Vec<String>> = account
            .jobs
            .iter()
            .map(|(name, measured, simulated)| {
                let error = percent(measured / simulated - 1.0);
                vec![name.clone(), Nanos(*measured).to_string(), Nanos(*simulated).to_string(), error]
            })
            .collect();
        text += &format!("\n{}; later runs took {} longer\n", account.name, percent(account.drift));
        text += &table::rows(&["job", "measured per call", "simulated", "rate off by"], &rows);
        text += &account.refused.iter().map(|reason| format!("not run: {reason}\n")).collect::<String>();
    }
    text
}

/// The table by class, and one line per job.
pub fn validation(validation: &Validation) -> String {
    let missed: String = missed(validation).iter().map(|line| format!("{line}\n")).collect();
    let refused: String = validation.refused.iter().map(|reason| format!("left out: {reason}\n")).collect();
    let effects: String = validation.effects.iter().map(|line| format!("{line}\n")).collect();
    format!(
        "{} on {}: errors of predicted throughput, as means of their sizes\n\n{}\n{missed}\n{}{refused}{effects}\n{}\n",
        validation.provenance.mount.fs_type,
        validation.provenance.mount.path,
        table::rows(&CLASSES, &by_class(validation)),
        table::rows(&JOBS, &by_job(validation)),
        table::spent(validation.bytes_written, validation.duration_ns)
    )
}

pub(super) const PARAMETERS: [&str; 6] = ["parameter", "value", "unit", "95 % between", "origin", "is"];

/// A line per number of a model.
pub(super) fn parameters(model: &Model) -> Vec<Vec<String>> {
    model
        .entries()
        .map(|(known, parameter)| {
            let interval = parameter
                .interval
                .map_or_else(|| "-".to_owned(), |[low, high]| format!("{} to {}", figure(low), figure(high)));
            let cells = [
                known.name,
                &figure(parameter.value),
                known.unit.word(),
                &interval,
                origin(parameter.origin),
                known.about,
            ];
            cells.map(str::to_owned).to_vec()
        })
        .collect()
}

/// The classes that are beyond their bars, by name.
pub(super) fn missed(validation: &Validation) -> Vec<String> {
    let missed = |class: &&Class| class.verdict == "missed" && class.class != "all";
    let said = |class: &Class| {
        format!(
            "beyond its bar: {} is off by {}, its bar is {} and its noise floor {}",
            class.class,
            percent(class.mean_error),
            percent(class.bar),
            percent(class.noise_floor)
        )
    };
    validation.classes.iter().filter(missed).map(said).collect()
}

pub(super) const CLASSES: [&str; 10] = [
    "class",
    "jobs",
    "bar",
    "error",
    "worst",
    "noise floor",
    "paper E",
    "latency + bandwidth",
    "covered",
    "p99 error",
];

pub(super) const JOBS: [&str; 9] =
    ["job", "predicted", "90 % between", "measured", "error", "noise floor", "paper E", "plain", "p99 error"];

pub(super) fn by_class(validation: &Validation) -> Vec<Vec<String>> {
    validation
        .classes
        .iter()
        .map(|class| {
            vec![
                class.class.clone(),
                class.jobs.to_string(),
                format!("{} {}", percent(class.bar), class.verdict),
                percent(class.mean_error),
                percent(class.worst_error),
                percent(class.noise_floor),
                percent(class.paper_error),
                percent(class.plain_error),
                format!("{} of {}", class.covered, class.jobs),
                percent(class.p99_error),
            ]
        })
        .collect()
}

pub(super) fn by_job(validation: &Validation) -> Vec<Vec<String>> {
    validation
        .jobs
        .iter()
        .map(|job| {
            let rate = |rate: f64| format!("{}/s", Bytes(rate as u64));
            vec![
                job.condition
                    .as_ref()
                    .map_or_else(|| job.name.clone(), |set| format!("{} ({set})", job.name)),
                rate(job.predicted.value),
                format!("{} to {}", rate(job.predicted.low), rate(job.predicted.high)),
                rate(job.measured),
                percent(job.error),
                percent(job.noise_floor),
                percent(job.paper_error),
                percent(job.plain_error),
                percent(job.p99_error),
            ]
        })
        .collect()
}

/// Where a value comes from.
pub(super) fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Measured => "measured",
        Origin::Declared => "declared",
        Origin::Assumed => "assumed",
        Origin::Set => "set",
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn figure(value: f64) -> String {
    match value {
        value if value >= 1000.0 => format!("{value:.0}"),
        value if value >= 1.0 => format!("{value:.1}"),
        value => format!("{value:.4}"),
    }
}
