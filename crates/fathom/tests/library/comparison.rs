//! Surveys of one machine are not told apart, and what was changed is found: with machines whose truth is planted.

use std::time::Duration;

use fathom::comparison::{self, Comparison, Outcome, Rules, Verdict};
use fathom::experiment::{Effort, REGISTRY, by_name};
use fathom::finding::Kind;
use fathom::survey::{self, Plan, SCHEMA, Survey};
use fathom_scripted::support::provenance;
use fathom_scripted::{Noise, Script, Scripted};

const RULES: Rules = Rules { rate: 0.05, margin: 0.75 };

fn surveyed(script: Script, parameters: &[&str], effort: Effort) -> Outcome {
    let plan = Plan {
        experiments: parameters.iter().filter_map(|parameter| by_name(parameter)).collect(),
        evidence: vec![Kind::Timing],
        effort,
        seed: 3,
        max_time: Duration::from_secs(300),
        intrusive: true,
    };
    let answers = survey::ask(&mut Scripted::new(script), &plan, &mut |_, _| ()).unwrap();
    Outcome::Survey(Box::new(Survey {
        schema: SCHEMA.to_owned(),
        provenance: provenance(3),
        findings: answers.into_iter().map(|answer| answer.finding).collect(),
        effects: Vec::new(),
        duration_ns: 1,
        bytes_written: 0,
        bytes_read: 0,
    }))
}

fn noisy(seed: u64) -> Script {
    Script { noise: Noise::usual(0.2), ..Script::new(seed) }
}

fn compared(first: &Outcome, other: &Outcome) -> Comparison {
    let named = |name: &str, outcome: &Outcome| (name.to_owned(), outcome.clone());
    comparison::compare(&[named("first", first), named("other", other)], RULES, REGISTRY).unwrap()
}

#[test]
fn surveys_of_one_machine_differ_no_more_often_than_stated() {
    let parameters =
        ["page_size", "block_size", "readahead_window", "call_cost", "page_cost", "device_latency"];
    let surveys: Vec<Outcome> =
        (0..10).map(|seed| surveyed(noisy(seed), &parameters, Effort::Quick)).collect();
    let pairs = (0..10).flat_map(|one| (one + 1..10).map(move |two| (one, two)));
    let compared: Vec<Comparison> = pairs.map(|(one, two)| compared(&surveys[one], &surveys[two])).collect();
    assert!(compared.iter().all(|comparison| !comparison.is_empty()));
    let differing = compared.iter().filter(|comparison| comparison.has_differences()).count();
    assert!(differing * 20 <= compared.len(), "{differing} of {} pairs", compared.len());
}

#[test]
fn another_window_or_block_is_found_always() {
    for seed in 0..6 {
        let usual = Script { block: 1024, ..noisy(seed) };
        let window = usual.read_ahead.window / 2;
        let parameters = ["block_size", "readahead_window"];
        let first = surveyed(usual, &parameters, Effort::Full);
        let mut other = Script { block: 2048, ..noisy(seed + 100) };
        other.read_ahead.window = window;
        let comparison = compared(&first, &surveyed(other, &parameters, Effort::Full));
        let verdicts: Vec<Verdict> = comparison.items.iter().map(|item| item.verdict).collect();
        assert_eq!(verdicts, [Verdict::Different; 2], "{seed}: {comparison:?}");
    }
}

#[test]
fn one_result_or_two_kinds_are_refused() {
    let one = surveyed(noisy(1), &["page_size"], Effort::Quick);
    assert!(comparison::compare(&[("a".to_owned(), one)], RULES, REGISTRY).is_err());
}
