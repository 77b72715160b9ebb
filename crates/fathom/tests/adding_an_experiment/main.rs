//! An experiment that is added by the guide's steps, one file and one line of a registry, has its row everywhere.

/// As `experiment.rs` of `fathom-survey`, where the guide's file would stand.
mod experiment {
    mod seek_cost;

    pub(crate) use fathom::experiment::*;

    /// The registry with the line that the guide asks for.
    pub(crate) fn registry() -> Vec<&'static dyn Experiment> {
        REGISTRY.iter().copied().chain([&seek_cost::SeekCost as &dyn Experiment]).collect()
    }
}

use std::time::Duration;

use fathom::comparison::{self, Comparison, Outcome, Rules, Verdict};
use fathom::lab::{CaseReport, Kernel, LabReport, OutcomeName, ParameterScore, Score, cases};
use fathom::survey::{self, Answer, Plan, SCHEMA, Survey};
use fathom::{case, finding, inference, report};
use fathom_scripted::support::provenance;
use fathom_scripted::{Costs, Noise, Script, Scripted};

use crate::experiment::{Effort, REGISTRY, find, registry};
use crate::finding::Kind;

const ADDED: &str = "seek_cost";
const GUIDE: &str = include_str!("../../../../docs/guide/adding-an-experiment.md");

/// A survey that asks the added question and another one, on a machine whose calls cost `call` ns.
fn surveyed(call: f64) -> (Survey, Vec<Answer>) {
    let registry = registry();
    let asked = ["page_size", ADDED].map(|name| find(&registry, name).unwrap());
    let plan = Plan {
        experiments: asked.to_vec(),
        evidence: vec![Kind::Timing],
        effort: Effort::Full,
        seed: 3,
        max_time: Duration::from_secs(300),
        intrusive: false,
    };
    let costs = Costs { call, ..Costs::default() };
    let script = Script { costs, noise: Noise::usual(0.1), ..Script::new(3) };
    let answers = survey::ask(&mut Scripted::new(script), &plan, &mut |_, _| ()).unwrap();
    let survey = Survey {
        schema: SCHEMA.to_owned(),
        provenance: provenance(3),
        findings: answers.iter().map(|answer| answer.finding.clone()).collect(),
        effects: Vec::new(),
        duration_ns: 1,
        bytes_written: 0,
        bytes_read: 0,
    };
    (survey, answers)
}

#[test]
fn the_guide_shows_the_file() {
    assert!(
        GUIDE.contains(include_str!("experiment/seek_cost.rs")),
        "docs/guide/adding-an-experiment.md is out of date"
    );
}

#[test]
fn it_is_listed() {
    let abouts: Vec<_> = registry().iter().map(|experiment| experiment.about()).collect();
    let list = report::list(&abouts);
    assert!(list.contains("\nseek_cost: What does lseek(2) cost?\n"), "{list}");
}

#[test]
fn it_is_surveyed_and_reported() {
    let (survey, answers) = surveyed(400.0);
    let value = survey.finding(ADDED).unwrap().value.as_ref().and_then(finding::Value::as_number).unwrap();
    assert!((350.0..550.0).contains(&value), "{value}");
    let text = report::survey(&survey, report::Colours::Off);
    assert!(text.lines().any(|line| line.starts_with(ADDED) && line.contains(" ns")), "{text}");
    let runs = answers.iter().map(|answer| (answer.finding.parameter.as_str(), answer.runs.as_slice()));
    let page = report::survey_page(&survey, &runs.collect(), &registry());
    for wanted in [
        "<h3 id=\"seek_cost\">",
        "What does lseek(2) cost?",
        "Moving a file&#39;s position takes",
        "Time of each lseek against its place",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
}

#[test]
fn two_answers_are_compared_by_its_nature() {
    // Half as much again is more than what drifts may differ by, and no more than what moves may.
    let outcomes = [400.0, 640.0].map(|call| {
        let (survey, _) = surveyed(call);
        (format!("{call}"), Outcome::Survey(Box::new(survey)))
    });
    let rules = Rules { rate: 0.05, margin: 0.75 };
    let verdict = |comparison: Comparison| {
        comparison.items.into_iter().find(|item| item.what == ADDED).map(|item| item.verdict)
    };
    let known = comparison::compare(&outcomes, rules, &registry()).unwrap();
    assert_eq!(verdict(known), Some(Verdict::Different));
    let unknown = comparison::compare(&outcomes, rules, REGISTRY).unwrap();
    assert_eq!(verdict(unknown), Some(Verdict::Same));
}

#[test]
fn the_lab_scores_it() {
    let (survey, _) = surveyed(400.0);
    let finding = survey.finding(ADDED).unwrap();
    let experiment = find(&registry(), ADDED).unwrap();
    let case = cases().into_iter().find(|case| experiment.is_asked_in(case)).unwrap();
    let kernel = Kernel { name: "Linux 6.18.1".to_owned(), page_size: 4096, generations: false };
    let score = ParameterScore::of(finding, experiment.truth(&case, &kernel), Duration::from_millis(7));
    assert_eq!(score.finding.score, Score::Right);
    let report = CaseReport {
        name: case.name,
        fs_type: case.fs_type,
        outcome: OutcomeName::Surveyed,
        reason: None,
        duration_ns: 1,
        parameters: vec![score],
        findings: vec![finding.clone()],
    };
    let report = LabReport::new(String::new(), kernel.name, &[Kind::Timing], vec![report]);
    let table = fathom::lab::report::table(&report);
    let mut lines = table.lines();
    assert!(lines.next().is_some_and(|head| head.contains(ADDED)), "{table}");
    assert!(lines.any(|line| line.starts_with("ext2-1k-ra128") && line.contains(" ns ok")), "{table}");
}
