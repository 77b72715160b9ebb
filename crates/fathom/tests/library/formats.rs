//! The formats that other people's tools read, each given to such a tool.
//!
//! Where a tool is not there the test says `skipped: NAME: reason`; with `FATHOM_REQUIRE=all` in the
//! environment it fails instead. `FATHOM_PYTHON` names the interpreter.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::SystemTime;

use fathom::provenance::MachineFacts;
use fathom::report::{comma_separated, fio, google_benchmark, hyperfine};
use fathom::speed::measurement::{Latencies, Measurement};
use fathom_scripted::support::require;
use serde_json::Value;

/// Google Benchmark's own script, as Debian's libbenchmark-tools installs it.
const COMPARE: &str = "/usr/share/benchmark/compare.py";

fn python(arguments: &[&str]) -> Output {
    let python = std::env::var("FATHOM_PYTHON").unwrap_or_else(|_| "python3".into());
    Command::new(python).args(arguments).output().unwrap()
}

/// Twelve samples around so many ns per call, of two measurements; the second has no processor time.
fn measurements(call_ns: f64) -> Vec<Measurement> {
    let samples = |call_ns: f64| (0..12).map(move |index| call_ns * 100.0 * (1.0 + 0.001 * f64::from(index)));
    let read = Measurement::new("read", 100, 409_600, samples(call_ns).collect()).unwrap();
    let seek = Measurement::new("lseek, \"far\"", 100, 0, samples(137.0).collect()).unwrap();
    vec![
        read.with("order", "sequential").with("block_bytes", 4096).cpu_ns(vec![[10_000.0, 40_000.0]; 12]),
        seek.with("file_bytes", 10_240),
    ]
}

fn written(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("fathom-formats-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn google_benchmarks_script_compares_two_runs() {
    let has_script =
        std::path::Path::new(COMPARE).exists() && python(&["-c", "import scipy"]).status.success();
    if !require("google-benchmark", has_script, "libbenchmark-tools or Python's scipy is not installed") {
        return;
    }
    let report = |call_ns: f64| {
        google_benchmark::of(&measurements(call_ns), &MachineFacts::here(), "2026-01-31T12:00:00Z")
    };
    let old = written("old.json", &report(600.0).to_string());
    let new = written("new.json", &report(660.0).to_string());
    let all = written("all.json", "");
    let [old, new, all] = [&old, &new, &all].map(|path| path.to_str().unwrap());
    let outcome = python(&[COMPARE, "--no-color", "-d", all, "benchmarks", old, new]);
    let text = String::from_utf8_lossy(&outcome.stdout);
    assert!(outcome.status.success(), "{text}{}", String::from_utf8_lossy(&outcome.stderr));
    let compared: Value = serde_json::from_str(&std::fs::read_to_string(all).unwrap()).unwrap();
    [old, new, all].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    let read = compared.as_array().unwrap().iter().find(|one| one["name"] == measurements(1.0)[0].label());
    let read = read.unwrap();
    assert_eq!(read["measurements"].as_array().unwrap().len(), 12, "{text}");
    for one in read["measurements"].as_array().unwrap() {
        assert!((one["time"].as_f64().unwrap() - 0.1).abs() < 1e-9, "{one}");
        assert_eq!(one["cpu"], 0.0);
    }
    // Its U test sees that every new sample is slower than any old one.
    assert!(read["utest"]["time_pvalue"].as_f64().unwrap() < 0.001, "{read}");
    assert_eq!(read["utest"]["cpu_pvalue"], 1.0);
}

#[test]
fn hyperfine_writes_the_same_keys() {
    let report = hyperfine::of(&measurements(600.0));
    let results = report["results"].as_array().unwrap();
    let close = |value: &Value, expected: f64| (value.as_f64().unwrap() / expected - 1.0).abs() < 1e-9;
    assert!(close(&results[0]["min"], 600e-9) && close(&results[0]["max"], 606.6e-9));
    assert!(close(&results[0]["median"], 603.3e-9) && close(&results[0]["mean"], 603.3e-9));
    assert!(close(&results[0]["user"], 100e-9) && close(&results[0]["system"], 400e-9));
    assert_eq!(results[0]["parameters"]["block_bytes"], "4096");

    let theirs = written("hyperfine.json", "");
    let mut command = Command::new("hyperfine");
    command.args(["--runs", "2", "--parameter-list", "block_bytes", "512,4096", "--export-json"]);
    let outcome = command.arg(&theirs).arg("true {block_bytes}").output();
    let text = std::fs::read_to_string(&theirs).unwrap();
    std::fs::remove_file(&theirs).unwrap();
    if !require("hyperfine", outcome.is_ok(), "hyperfine is not installed") {
        return;
    }
    let theirs: Value = serde_json::from_str(&text).unwrap();
    let shape = |value: &Value| -> BTreeSet<String> {
        let kind = |value: &Value| match value {
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
            _ => "other",
        };
        let result = value["results"][0].as_object().unwrap();
        result.iter().map(|(key, value)| format!("{key}: {}", kind(value))).collect()
    };
    assert_eq!(shape(&report), shape(&theirs));
}

#[test]
fn fio_writes_the_same_keys() {
    let mut known = measurements(600.0);
    let mut histogram = fathom::load::Histogram::default();
    (0..1200).for_each(|ticks| histogram.record(1000 + ticks));
    known[0].latencies = Some(Latencies { histogram, ns_per_tick: 0.5 });
    let ours = serde_json::to_value(fio::measured(&known, SystemTime::UNIX_EPOCH)).unwrap();
    let [read, seek] = [&ours["jobs"][0]["read"], &ours["jobs"][1]["read"]];
    assert_eq!((&read["total_ios"], &read["io_bytes"]), (&1200.into(), &(12 * 409_600).into()));
    // 12 samples of 100 calls each, of 603.3 ns on average.
    assert!((read["iops"].as_f64().unwrap() * 603.3e-9 - 1.0).abs() < 1e-6, "{read}");
    assert_eq!((&read["clat_ns"]["N"], &read["clat_ns"]["max"]), (&1200.into(), &1100.into()));
    assert_eq!(
        (&seek["total_ios"], &seek["clat_ns"]["N"], &seek["io_bytes"]),
        (&1200.into(), &0.into(), &0.into())
    );
    assert_eq!(ours["jobs"][0]["job options"]["order"], "sequential");

    let file = written("fio.data", &"x".repeat(1 << 16));
    let mut command = Command::new("fio");
    command.args(["--name=x", "--rw=read", "--size=64k", "--output-format=json", "--readonly"]);
    let outcome = command.arg(format!("--filename={}", file.display())).output();
    std::fs::remove_file(&file).unwrap();
    if !require("fio", outcome.is_ok(), "fio is not installed") {
        return;
    }
    let text = String::from_utf8(outcome.unwrap().stdout).unwrap();
    let theirs: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<String>>();
    let [our_job, their_job] = [&ours["jobs"][0], &theirs["jobs"][0]];
    assert_eq!(keys(our_job), keys(their_job));
    assert_eq!(keys(&our_job["read"]), keys(&their_job["read"]));
    assert_eq!(keys(&our_job["read"]["clat_ns"]), keys(&their_job["read"]["clat_ns"]));
}

#[test]
fn pythons_csv_module_reads_every_sample() {
    let path = written("samples.csv", &comma_separated::of(&measurements(600.0)));
    let script =
        "import csv, json, sys; print(json.dumps(list(csv.DictReader(open(sys.argv[1], newline='')))))";
    let outcome = python(&["-c", script, path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
    let rows: Vec<Value> = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!(rows.len(), 24);
    assert_eq!((&rows[0]["name"], &rows[0]["block_bytes"]), (&"read".into(), &"4096".into()));
    assert_eq!((&rows[23]["name"], &rows[23]["block_bytes"]), (&"lseek, \"far\"".into(), &"".into()));
    assert_eq!((&rows[23]["sample"], &rows[23]["user_ns"]), (&"11".into(), &"".into()));
    // Every quantity bears its unit; what has none is a count or a name.
    let unitless = ["name", "order", "threads", "sample", "calls", "bytes", "bytes_per_second"];
    for column in rows[0].as_object().unwrap().keys() {
        let has_unit = column.ends_with("_ns") || column.ends_with("_bytes");
        assert!(has_unit || unitless.contains(&column.as_str()), "{column}");
    }
}
