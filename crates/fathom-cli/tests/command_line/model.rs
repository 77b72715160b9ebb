//! Models from the command line: a survey of a machine that does not exist, a job's prediction, and a mount's
//! calibration and validation. What a clock shows decides nothing here.

use std::fs;

use serde_json::Value;

use crate::published;
use crate::support::{Place, fathom};

/// What a survey of a model says of a parameter.
fn said(model: &str, settings: &[&str], asked: &str) -> Value {
    let settings: Vec<&str> = settings.iter().flat_map(|set| ["--set", set]).collect();
    let questions = ["survey", "--on", model, "--only", asked, "--evidence", "timing", "--json", "-"];
    let outcome = fathom(&[&questions, &settings[..]].concat());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let json: Value = serde_json::from_str(&outcome.out).unwrap();
    published::check("survey", &json);
    json["findings"][0]["value"].clone()
}

#[test]
fn a_survey_of_a_model_finds_what_was_set() {
    for (setting, asked, value) in [
        ("block=1K", "block_size", 1_024),
        ("block=2K", "block_size", 2_048),
        ("readahead=64K", "readahead_window", 65_536),
        ("readahead=512K", "readahead_window", 524_288),
    ] {
        assert_eq!(said("assumed", &[setting], asked), value, "{setting}");
    }
}

#[test]
fn a_model_s_file_is_surveyed_as_it_is_written_and_touches_nothing() {
    let place = Place::new();
    let model = place.join("MODEL.json");
    let written = r#"{"schema": "fathom.model/1", "components": {"device": "queue_and_bus"},
        "parameters": {"readahead": {"value": 262144, "unit": "bytes", "origin": "measured"}}}"#;
    fs::write(&model, written).unwrap();
    assert_eq!(said(&model, &[], "readahead_window"), 262_144);
    assert_eq!(said(&model, &["readahead=32K"], "readahead_window"), 32_768, "what is set goes first");
    assert_eq!(place.names(), ["MODEL.json"]);
    assert_eq!(fs::read_to_string(&model).unwrap(), written);
}

#[test]
fn a_model_of_version_1_predicts_what_it_did() {
    let place = Place::new();
    let [model, job] = ["MODEL.json", "job.fio"].map(|name| place.join(name));
    fs::write(&model, include_str!("model-1.json")).unwrap();
    let jobs = "[global]\nioengine=psync\nsize=8M\n[cached]\nbs=64k\nrw=read\npre_read=1\nio_size=32M\n\
        [jumps]\nstonewall\nbs=4k\nrw=randread\npre_read=1\n[cold]\nstonewall\nbs=32k\nrw=read\n\
        [written]\nstonewall\nbs=12k\nrw=write\nfsync=64\n";
    fs::write(&job, jobs).unwrap();
    let options = ["predict", &job, "--on", &model, "--draws", "3", "--seed", "1", "--format", "json"];
    let predicted: Value = serde_json::from_str(&fathom(&options).out).unwrap();
    // What the last version that wrote fathom.model/1 told of it, in ns.
    let before = [
        [4_431_118.076125994, 5_043_359.5, 5_740_193.470194726],
        [2_653_315.5624199025, 2_980_855.5, 3_348_828.7777487016],
        [4_942_684.118737697, 5_553_828.5, 6_240_538.59531078],
        [13_237_047.734316979, 14_936_745.5, 16_854_692.27049534],
    ];
    for (job, before) in predicted["jobs"].as_array().unwrap().iter().zip(before) {
        let of = |what| job["elapsed_ns"][what].as_f64().unwrap();
        let now = [of("low"), of("value"), of("high")];
        let same = now.iter().zip(before).all(|(now, before)| (now / before - 1.0_f64).abs() < 1e-9);
        assert!(same, "{}: {now:?} instead of {before:?}", job["name"]);
    }
}

#[test]
fn what_is_no_model_and_no_setting_is_said() {
    let place = Place::new();
    let other = place.join("other.json");
    fs::write(&other, "{}").unwrap();
    fathom(&["survey", "--on", &other]).complains(1, "schema");
    fathom(&["survey", "--on", &place.join("none")]).complains(1, "none");
    fathom(&["survey", "--on", "assumed", "--set", "readahaed=1M"]).complains(2, "did you mean 'readahead'");
    fathom(&["survey", "--on", "assumed", "--set", "device=tape"]).complains(2, "give one of queue_and_bus");
    fathom(&["survey", "--on", "assumed", "--set", "far_of=3M:0.5"]).complains(2, "points at 1M, 1536K");
    fathom(&["survey", "--set", "readahead=1M"]).complains(2, "--on");
}
