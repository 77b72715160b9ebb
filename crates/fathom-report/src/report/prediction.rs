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
    let mut caveats: Vec<String> = predicted.jobs.iter().flat_map(|job| job.caveats.clone()).collect();
    caveats.dedup();
    let caveats: String = caveats.iter().map(|caveat| table::wrap(&format!("{caveat}."))).collect();
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
