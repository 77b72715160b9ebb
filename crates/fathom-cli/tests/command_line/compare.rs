//! Comparing what was kept: text, JSON, a page, and exit codes that a script can act on.

use std::fs;

use serde_json::Value;

use crate::published;
use crate::support::{Place, fathom, survey};

/// The survey of a run with another value in the place of the one it measured.
fn changed(run: &str, to: &str, parameter: &str, value: u64) {
    let mut json: Value =
        serde_json::from_str(&fs::read_to_string(format!("{run}/survey.json")).unwrap()).unwrap();
    let findings = json["findings"].as_array_mut().unwrap();
    let finding = findings.iter_mut().find(|one| one["parameter"] == parameter).unwrap();
    for piece in finding["evidence"].as_array_mut().unwrap() {
        piece["value"] = value.into();
    }
    fs::write(to, json.to_string()).unwrap();
}

#[test]
fn what_differs_is_told_and_ends_with_four() {
    let (place, kept) = (Place::new(), Place::new());
    let run = kept.join("run");
    survey(place.text(), &["--out", &run]).is_done();
    let same = fathom(&["compare", &run, &run]);
    assert_eq!(same.code, Some(0), "{same:?}");
    assert!(same.out.contains("No difference was found."), "{same:?}");

    let (other, page) = (kept.join("other.json"), kept.join("page.html"));
    changed(&run, &other, "block_size", 65536);
    let outcome = fathom(&["compare", &run, &other, "--json", "-", "--page", &page]);
    assert_eq!(outcome.code, Some(4), "{outcome:?}");
    let json: Value = serde_json::from_str(&outcome.out).unwrap();
    published::check("comparison", &json);
    let verdicts: Vec<&str> =
        json["items"].as_array().unwrap().iter().filter_map(|one| one["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["same", "different"]);
    assert!(outcome.err.contains("block_size") && outcome.err.contains("64 KiB"), "{outcome:?}");
    assert!(fs::read_to_string(&page).unwrap().contains("64 KiB"));
}

#[test]
fn curves_are_kept_with_a_page_and_compared_point_by_point() {
    let (place, kept) = (Place::new(), Place::new());
    let out = kept.join("curve");
    let short = ["--block-sizes", "4K,64K", "--file-size", "1M", "--ops", "read", "--order", "sequential"];
    let more = ["--state", "cached", "--max-time", "3s", "--out", &out];
    let curve = fathom(&[&["curve", place.text()], &short[..], &more[..]].concat());
    assert!(matches!(curve.code, Some(0 | 3)), "{curve:?}");
    assert!(curve.err.contains("report.html"), "{curve:?}");
    let again = fathom(&["report", &out]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.out.contains("sequential read, cached"), "{again:?}");
    let same = fathom(&["compare", &out, &out]);
    assert_eq!(same.code, Some(0), "{same:?}");
    // What is there is not overwritten.
    fathom(&[&["curve", place.text()], &short[..], &more[..]].concat()).complains(1, "earlier run");
}

#[test]
fn what_can_t_be_compared_is_refused_with_the_reason() {
    let kept = Place::new();
    let other = kept.join("other.json");
    fs::write(&other, "{\"schema\": \"fathom.xor/1\"}").unwrap();
    fathom(&["compare", &other, &other]).complains(1, "it is a fathom.xor/1");
    fathom(&["compare", &other]).complains(2, "RESULT");
    fathom(&["compare", kept.text(), kept.text()]).complains(1, "survey.json");
}

#[test]
fn the_parameter_that_differs_accounts_for_the_difference() {
    let (place, kept) = (Place::new(), Place::new());
    let (run, other) = (kept.join("run"), kept.join("other.json"));
    let (slow, job) = (kept.join("slow.json"), kept.join("job.fio"));
    fs::write(&job, "[cold]\nrw=read\nbs=16k\nsize=2m\n").unwrap();
    fs::write(
        &slow,
        r#"{"schema": "fathom.model/2", "scalars": {"device_latency": {"value": 9e6, "unit": "ns", "origin": "measured"}}}"#,
    )
    .unwrap();
    let plain = kept.join("plain.json");
    fs::write(&plain, r#"{"schema": "fathom.model/2"}"#).unwrap();
    let outcome = fathom(&["explain", &plain, &slow, &job, "--json", "-"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let json: Value = serde_json::from_str(&outcome.out).unwrap();
    published::check("explanation", &json);
    let part = &json["jobs"][0]["parts"][0];
    assert_eq!((&part["parameter"], &part["values"][1]), (&"device_latency".into(), &"9 ms".into()));
    assert!(part["share"].as_f64().unwrap() > 0.9, "{json}");
    assert!(outcome.err.contains("device_latency  80 us  9 ms"), "{outcome:?}");

    survey(place.text(), &["--out", &run]).is_done();
    changed(&run, &other, "block_size", 65536);
    let outcome = fathom(&["explain", &run, &other, &job]);
    assert!(
        outcome.code == Some(0)
            && outcome.out.contains("no parameter that both surveys measured makes a difference"),
        "{outcome:?}"
    );
    let words: Vec<&str> = outcome.out.split_whitespace().collect();
    assert!(words.join(" ").contains("the model 'assumed' for both"), "{outcome:?}");
    fathom(&["explain", &run, &slow, &job]).complains(2, "give two models, or two surveys");
    fathom(&["explain", &run, "/nothing", &job]).complains(1, "/nothing");
}
