//! Measurements as Google Benchmark writes them with `--benchmark_out_format=json`: what its
//! `tools/compare.py` and the services that plot such files read.
//!
//! Each sample is a repetition, each call an iteration. Source: the library's user guide, "Output Formats".

use serde_json::{Map, Value, json};

use fathom_run::provenance::MachineFacts;
use fathom_speed::measurement::Measurement;

/// The report: `context` and one entry of `benchmarks` per sample, times in ns per call.
///
/// `started` is when the measuring began, RFC 3339. Without measured processor time `cpu_time` is zero:
/// readers of the format ignore entries that leave it out.
pub fn of(measurements: &[Measurement], machine: &MachineFacts, started: &str) -> Value {
    let entries = measurements.iter().enumerate().flat_map(|(family, one)| {
        one.samples_ns
            .iter()
            .enumerate()
            .map(move |(index, &elapsed)| Value::Object(entry(one, family, index, elapsed)))
    });
    json!({
        "context": {
            "date": started,
            "executable": "fathom",
            "num_cpus": machine.cpus,
            "load_avg": machine.load,
            "library_build_type": "release",
            "caches": [],
        },
        "benchmarks": entries.collect::<Vec<_>>(),
    })
}

fn entry(one: &Measurement, family: usize, index: usize, elapsed: f64) -> Map<String, Value> {
    let cpu = one.cpu_ns.get(index).map_or(0.0, |[user, system]| user + system);
    let calls = one.calls as f64;
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| {
        entry.insert(key.to_owned(), value);
    };
    put("name", one.label().into());
    put("family_index", family.into());
    put("per_family_instance_index", 0.into());
    put("run_name", one.label().into());
    put("run_type", "iteration".into());
    put("repetitions", one.samples_ns.len().into());
    put("repetition_index", index.into());
    put("threads", one.threads.into());
    put("iterations", one.calls.into());
    put("real_time", (elapsed / calls).into());
    put("cpu_time", (cpu / calls).into());
    put("time_unit", "ns".into());
    if one.bytes > 0 {
        put("bytes_per_second", (one.bytes as f64 / elapsed * 1e9).into());
    }
    put("items_per_second", (calls / elapsed * 1e9).into());
    entry
}
