//! What jobs will do, as a table.

use super::table::{self, rate};
use fathom_predict::model::Made;
use fathom_predict::prediction::{Estimate, Forecast, Latencies, Predicted};
use fathom_program::units::Nanos;

/// The prediction as text: one line per job and direction, each figure with its interval of 90 % confidence.
pub fn prediction(predicted: &Predicted) -> String {
    let of = simulated(predicted.made.as_ref());
    let set = match predicted.settings.is_empty() {
        true => String::new(),
        false => format!(", with {}", predicted.settings.join(", ")),
    };
    let caveats: String =
        caveats(predicted).iter().map(|caveat| table::wrap(&format!("{caveat}."))).collect();
    let by = match predicted.runner.as_str() {
        "fio" => "what fio will print",
        _ => "what 'fathom run' will print",
    };
    format!(
        "{}\n{}\n{caveats}Predicted: {by}. Nothing was run.\n",
        table::wrap(&format!("{of}{set}.")),
        table::rows(&HEADER, &lines(predicted))
    )
}

/// Each caveat once, without the full stop, with the jobs that it is about where there are others.
pub(super) fn caveats(predicted: &Predicted) -> Vec<String> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for job in &predicted.jobs {
        for caveat in &job.caveats {
            match all.iter_mut().find(|(known, _)| known == caveat) {
                Some((_, names)) => names.push(&job.name),
                None => all.push((caveat, vec![&job.name])),
            }
        }
    }
    let about = |(caveat, names): (&str, Vec<&str>)| match names.len() == predicted.jobs.len() {
        true => caveat.to_owned(),
        false => format!("{}: {caveat}", names.join(", ")),
    };
    all.into_iter().map(about).collect()
}

/// What was simulated, without the full stop.
pub(super) fn simulated(made: Option<&Made>) -> String {
    match made {
        Some(made) => format!(
            "Simulated: {} on {}, {}, as measured {}",
            made.mount.fs_type, made.mount.path, made.machine.kernel, made.started
        ),
        None => "Simulated: a machine that was never measured; every parameter that is not set is assumed"
            .to_owned(),
    }
}

pub(super) const HEADER: [&str; 9] =
    ["job", "what", "calls", "bandwidth", "90 % interval", "mean", "90 % interval", "median", "p99"];

/// A line per job and direction.
pub(super) fn lines(predicted: &Predicted) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for job in &predicted.jobs {
        rows.extend(job.sides.iter().map(|side| {
            let bandwidth = [rate(side.bytes_per_second.value), between(side.bytes_per_second, rate)];
            row(job, &side.direction, bandwidth, &side.latency)
        }));
        rows.extend(job.syncs.iter().map(|syncs| row(job, "sync", Default::default(), syncs)));
    }
    rows
}

fn row(job: &Forecast, what: &str, [bandwidth, range]: [String; 2], latency: &Latencies) -> Vec<String> {
    let shown = |value: f64| Nanos(value).to_string();
    vec![
        job.name.clone(),
        what.to_owned(),
        latency.calls.to_string(),
        bandwidth,
        range,
        shown(latency.mean_ns.value),
        between(latency.mean_ns, shown),
        shown(latency.median_ns.value),
        shown(latency.p99_ns.value),
    ]
}

pub(super) fn between(estimate: Estimate, shown: impl Fn(f64) -> String) -> String {
    format!("{} to {}", shown(estimate.low), shown(estimate.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caveat_is_said_once_with_the_jobs_that_it_is_about() {
        let elapsed_ns = Estimate { value: 1.0, low: 1.0, high: 1.0 };
        let job = |name: &str, caveats: &[&str]| Forecast {
            name: name.to_owned(),
            class: String::new(),
            elapsed_ns,
            sides: Vec::new(),
            syncs: None,
            caveats: caveats.iter().map(|one| (*one).to_owned()).collect(),
        };
        let jobs = vec![job("a", &["all", "one"]), job("b", &["all", "two"]), job("c", &["one", "all"])];
        let mut predicted = Predicted {
            schema: String::new(),
            version: String::new(),
            made: None,
            settings: Vec::new(),
            runner: String::new(),
            seed: 1,
            draws: 0,
            jobs,
        };
        assert_eq!(caveats(&predicted), ["all", "a, c: one", "b: two"]);
        predicted.jobs.truncate(1);
        assert_eq!(caveats(&predicted), ["all", "one"]);
    }
}
