//! The commands that measure speed: their formats, their refusals, and that nothing stays behind.

use std::collections::BTreeSet;

use fathom::load::program;
use serde_json::Value;

use crate::published;
use crate::support::{Outcome, Place, command, fathom, require};

/// A curve of two sizes, in some seconds.
fn curve(place: &Place, more: &[&str]) -> Outcome {
    let small = ["--block-sizes", "512,4K", "--file-size", "64K", "--max-write", "8M", "--max-time", "4s"];
    fathom(&[&["curve", place.text()], &small[..], more].concat())
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.out).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

#[test]
fn a_curve_has_a_point_for_each_setting_and_leaves_nothing() {
    let place = Place::new();
    let outcome = curve(&place, &["--format", "json", "--width", "50"]);
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome:?}");
    let curve = json(&outcome);
    published::check("curve", &curve);
    let points = curve["points"].as_array().unwrap();
    // Reads and overwrites in two orders and two states, and appends.
    assert_eq!(points.len(), 2 * (2 * 2 * 2 + 1), "{}", outcome.out);
    for point in points {
        let settings: BTreeSet<&str> =
            point["samples"].as_array().unwrap().iter().filter_map(|one| one["proof"].as_str()).collect();
        assert!(!settings.is_empty() && point["latency"]["calls"].as_u64() > Some(0), "{point}");
        let (low, high) = (&point["latency"]["min_ns"], &point["latency"]["max_ns"]);
        assert!(low.as_f64() <= high.as_f64(), "{point}");
    }
    assert!(curve["bytes_written"].as_u64().unwrap() <= 8 << 20);
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn every_format_holds_the_samples() {
    let place = Place::new();
    let of = |format: &str| {
        curve(&place, &["--ops", "read", "--state", "cached", "--order", "random", "--format", format])
    };
    let text = of("text").out;
    assert!(text.contains("random read, cached") && text.contains("nothing was left behind"), "{text}");
    let csv = of("csv").out;
    let header = "name,block_bytes,file_bytes,order,state,threads,sample,calls,bytes,elapsed_ns,";
    assert!(csv.starts_with(header) && csv.lines().count() > 2 * 6, "{csv}");
    let google = json(&of("google-benchmark"));
    let first = &google["benchmarks"][0];
    assert_eq!(first["name"], "read/block_bytes:512/file_bytes:65536/order:random/state:cached");
    assert!(first["real_time"].as_f64().unwrap() > 0.0 && first["cpu_time"].as_f64().unwrap() >= 0.0);
    let fio = json(&of("fio-json"));
    let job = &fio["jobs"][0];
    assert_eq!((&job["groupid"], &job["job options"]["block_bytes"]), (&0.into(), &"512".into()));
    assert_eq!(job["read"]["total_ios"], job["read"]["clat_ns"]["N"], "{job}");
    assert!(job["read"]["clat_ns"]["percentile"]["99.000000"].as_u64() > Some(0), "{job}");
    let hyperfine = json(&of("hyperfine"));
    assert_eq!(hyperfine["results"].as_array().unwrap().len(), 2);
    assert_eq!(hyperfine["results"][1]["parameters"]["block_bytes"], "4096");
}

#[test]
fn what_is_not_measured_is_named() {
    let place = Place::new();
    let poor = ["--ops", "append", "--block-sizes", "512,4K", "--max-write", "300K", "--max-time", "4s"];
    let outcome = fathom(&[&["curve", place.text()], &poor[..]].concat());
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert!(outcome.out.contains("not measured: append: calls of"), "{outcome:?}");
    let intrusive = curve(&place, &["--ops", "read", "--state", "cached", "--intrusive"]);
    assert_eq!(intrusive.code, Some(3), "{intrusive:?}");
    assert!(intrusive.out.contains("not measured: files larger than the memory"), "{intrusive:?}");
    assert!(intrusive.out.contains("raise --file-size to 8 MiB"), "{intrusive:?}");
    fathom(&["curve", place.text(), "--width", "0"]).complains(2, "--width must be more than 0");
    fathom(&["curve", place.text(), "--threads", "0"]).complains(2, "--threads: each must be from 1 to 1024");
    fathom(&["curve", place.text(), "--file-size", "0"]).complains(2, "--file-size: a file must have");
    fathom(&["versus", place.text(), "--block-sizes", "2M", "--file-size", "1M"])
        .complains(2, "a call can't move more than the file has");
}

#[test]
fn writing_is_compared_where_the_budget_allows_it() {
    let place = Place::new();
    let of = |budget: &str, more: &[&str]| {
        let small = ["--file-size", "1M", "--block-sizes", "64K", "--max-time", "5s", "--format", "json"];
        let writes = ["--ops", "write", "--max-write", budget];
        fathom(&[&["versus", place.text()], &small[..], &writes, more].concat())
    };
    let all = of("100M", &["--width", "60"]);
    assert!(matches!(all.code, Some(0 | 3)), "{all:?}");
    let all = json(&all);
    published::check("versus", &all);
    for entry in all["entries"].as_array().unwrap() {
        assert_eq!(
            (&entry["operation"], &entry["samples"][0]["bytes"]),
            (&"overwrite".into(), &(1 << 20).into())
        );
    }
    // What other programs write counts as well.
    let samples = |entry: &Value| entry["samples"].as_array().unwrap().len();
    let passes: usize = all["entries"].as_array().unwrap().iter().map(samples).sum();
    // One more pass checks whether the kernel tells what is cached.
    let written = all["bytes_written"].as_u64().unwrap() - ((passes as u64 + 1) << 20);
    assert!(written <= 64 << 10, "{written}");
    let poor = json(&of("4M", &[]));
    assert_eq!(poor["refused"].as_array().unwrap().last().unwrap()["what"], "writing", "{poor}");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn a_comparison_names_the_programs_that_are_not_there() {
    let place = Place::new();
    let small = ["--file-size", "1M", "--block-sizes", "64K", "--max-time", "4s", "--format", "json"];
    let arguments = [&["versus", place.text()], &small[..]].concat();
    let alone: Outcome = command(&arguments).env("PATH", place.text()).output().unwrap().into();
    assert!(matches!(alone.code, Some(0 | 3)), "{alone:?}");
    let alone = json(&alone);
    published::check("versus", &alone);
    let missing: Vec<&str> =
        alone["refused"].as_array().unwrap().iter().filter_map(|one| one["what"].as_str()).collect();
    assert_eq!((missing, alone["entries"].as_array().unwrap().len()), (vec!["dd", "fio"], 2));

    let all = json(&fathom(&arguments));
    published::check("versus", &all);
    let dd = all["entries"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["program"].as_str().unwrap().starts_with("dd"));
    for sample in dd.unwrap()["samples"].as_array().unwrap() {
        assert!(sample["bytes"] == 1 << 20 && sample["inside_ns"].as_f64() < sample["outside_ns"].as_f64());
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn jobs_are_compared_with_fio_whatever_their_engine() {
    let test = "jobs_are_compared_with_fio_whatever_their_engine";
    if !require(test, program::version("fio").is_some(), "fio is not installed") {
        return;
    }
    let (place, elsewhere) = (Place::new(), Place::new());
    let file = elsewhere.join("two.fio");
    // A path of its own, several threads, requests under way: fio must do all of that on the files of this comparison.
    let text = "[global]\ndirectory=/no such/directory\nbs=4k\nsize=1m\n\
                [many]\nioengine=libaio\niodepth=8\nrw=randrw\nnumjobs=2\n\
                [one]\nstonewall\nfilename=/dev/nothing\nrw=read\n";
    std::fs::write(&file, text).unwrap();
    let arguments =
        ["versus", place.text(), "--jobs", &file, "--width", "60", "--max-time", "20s", "--format", "json"];
    let both = fathom(&arguments);
    assert!(matches!(both.code, Some(0 | 3)), "{both:?}");
    let both = json(&both);
    published::check("versus-jobs", &both);
    let jobs = both["jobs"].as_array().unwrap();
    assert_eq!(jobs.iter().map(|job| &job["job"]).collect::<Vec<_>>(), ["many", "one"], "{both}");
    for side in jobs.iter().flat_map(|job| [&job["fathom"], &job["fio"]]) {
        assert!(side["per_second"].as_f64().unwrap() > 0.0, "{both}");
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
    fathom(&["versus", place.text(), "--jobs", &file, "--ops", "write"]).complains(2, "cannot be used with");
    fathom(&["versus", place.text(), "--jobs", "/nothing.fio"]).complains(2, "/nothing.fio: ");
}
