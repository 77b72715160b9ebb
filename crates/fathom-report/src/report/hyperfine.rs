//! Measurements as hyperfine writes them with `--export-json`: what its scripts plot and test.
//!
//! hyperfine times commands; here a call is the command, and each sample one run of it. Times are seconds
//! per call. Source: hyperfine 1.15, `--export-json`.

use serde_json::{Map, Value, json};

use fathom_speed::measurement::Measurement;

/// The report: one entry of `results` per measurement. Without measured processor time `user` and `system` are zero.
pub fn of(measurements: &[Measurement]) -> Value {
    json!({ "results": measurements.iter().map(result).collect::<Vec<_>>() })
}

fn result(one: &Measurement) -> Value {
    let per_call = |ns: f64| ns / one.calls as f64 * 1e-9;
    let times: Vec<f64> = one.samples_ns.iter().map(|&ns| per_call(ns)).collect();
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    let deviation = (times.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
    let cpu = |of: usize| {
        let sum: f64 = one.cpu_ns.iter().map(|cpu| per_call(cpu[of])).sum();
        sum / one.cpu_ns.len().max(1) as f64
    };
    let parameters: Map<String, Value> =
        one.settings.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    let mut result = json!({
        "command": one.label(),
        "mean": mean,
        "stddev": deviation,
        "median": per_call(one.call_ns * one.calls as f64),
        "user": cpu(0),
        "system": cpu(1),
        "min": times.iter().copied().fold(f64::INFINITY, f64::min),
        "max": times.iter().copied().fold(0.0, f64::max),
        "times": times,
        "exit_codes": vec![0; one.samples_ns.len()],
    });
    if let (false, Some(map)) = (parameters.is_empty(), result.as_object_mut()) {
        map.insert("parameters".to_owned(), Value::Object(parameters));
    }
    result
}
