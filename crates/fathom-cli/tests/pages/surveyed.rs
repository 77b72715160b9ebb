//! A survey of the scripted machine at a path that no page should trust.

use std::time::Duration;

use fathom::experiment::{Effort, REGISTRY};
use fathom::finding::{Evidence, Finding, Kind, Trial, Value};
use fathom::machine::Machine;
use fathom::provenance::{DeviceFacts, MountFacts, Provenance};
use fathom::report;
use fathom::samples::Samples;
use fathom::speed::curve::{self, Curve, Latency, Operation, Order, Point, Proof, Sample, Setting, State};
use fathom::survey::{self, Answer, Plan, SCHEMA, Survey};
use fathom::workload::{CacheState, CallKind, Pass, Region, ScratchFile, Workload};
use fathom_scripted::{Noise, Script, Scripted};

/// What a directory, a label or an option may be called.
pub(crate) const HOSTILE: &str =
    "/srv/\"it's\"</script><script>window.intruded=1</script><img src=x onerror=intruded=1>&amp;${7}";

/// The page that `fathom survey` writes.
pub(crate) fn page(survey: &Survey, answers: &[Answer]) -> String {
    let runs = answers.iter().map(|one| (one.finding.parameter.as_str(), one.runs.as_slice())).collect();
    report::survey_page(survey, &runs, REGISTRY)
}

/// All questions asked of the scripted machine; declarations that disagree; hostile words wherever words come
/// from outside.
pub(crate) fn hostile_survey() -> (Survey, Vec<Answer>) {
    let script = Script { block: 1024, noise: Noise::usual(0.2), ..Script::new(1) };
    let plan = Plan {
        experiments: REGISTRY.to_vec(),
        evidence: vec![Kind::Timing],
        effort: Effort::Quick,
        seed: 11,
        max_time: Duration::from_secs(300),
        intrusive: true,
    };
    let mut answers = survey::ask(&mut Scripted::new(script), &plan, &mut |_, _| ()).unwrap();
    for answer in &mut answers {
        let mut evidence = answer.finding.evidence.clone();
        evidence.push(Evidence::measured(Kind::Declared, HOSTILE, Value::Whole(65536)).caveat(HOSTILE));
        evidence.extend(tried(&answer.finding.parameter));
        let mut finding = Finding::from_evidence(&answer.finding.parameter, &answer.finding.unit, evidence);
        finding.explanation = HOSTILE.to_owned();
        answer.finding = finding;
        for run in &mut answer.runs {
            run.notes.push(HOSTILE.to_owned());
        }
    }
    (survey_of(&answers), answers)
}

/// What witnesses try who need no clock.
fn tried(parameter: &str) -> Option<Evidence> {
    let (value, trials): (u64, Vec<Trial>) = match parameter {
        "inline_limit" => (
            2048,
            (0..16)
                .map(|power| Trial::new(HOSTILE, 1 << power, if power < 12 { "inline" } else { HOSTILE }))
                .collect(),
        ),
        "direct_io_alignment" => {
            let of = |case: &'static str| {
                (8..16).map(move |power| {
                    Trial::new(case, 1 << power, if power > 8 { "direct" } else { "refused" })
                })
            };
            (512, ["offset", "length", "memory"].into_iter().flat_map(of).collect())
        }
        "extent_length" => {
            let lengths = [("set aside", 128_u64 << 20), ("set aside", 64 << 20), ("backward", 1 << 20)];
            (128 << 20, lengths.map(|(case, bytes)| Trial::new(case, bytes, "extent")).to_vec())
        }
        _ => return None,
    };
    Some(Evidence::measured(Kind::Witness, "trials", Value::Whole(value)).tried(trials))
}

fn survey_of(answers: &[Answer]) -> Survey {
    Survey {
        schema: SCHEMA.to_owned(),
        provenance: provenance(),
        findings: answers.iter().map(|answer| answer.finding.clone()).collect(),
        effects: vec![HOSTILE.to_owned()],
        duration_ns: 1,
        bytes_written: 0,
        bytes_read: 0,
    }
}

pub(crate) fn provenance() -> Provenance {
    let word = || HOSTILE.to_owned();
    let mut from = fathom_scripted::support::provenance(11);
    (from.machine.kernel, from.machine.virtualisation) = (word(), word());
    from.mount = MountFacts {
        path: word(),
        fs_type: word(),
        source: word(),
        options: format!("rw,label={HOSTILE}"),
        device: DeviceFacts { name: Some(word()), ..DeviceFacts::default() },
        free_bytes: 1 << 30,
    };
    from.instrument.evidence = vec![word()];
    from
}

/// A run of a million readings.
pub(crate) fn many_readings() -> Samples {
    let region = Region { offset: 0, size: 4096, step: 4096, count: 16384 };
    let workload = Workload::new(vec![ScratchFile::filled("many", 64 << 20)])
        .pass(Pass::untimed(0, &[CallKind::Evict]))
        .pass(Pass::timed(0, &[CallKind::Pread], region).needs(CacheState::Cold))
        .rounds(62);
    Scripted::new(Script::new(3)).run(&workload).unwrap()
}

/// Reads of a file by calls of many sizes, and appends; `gain` times as quick where calls are large.
pub(crate) fn curve(gain: f64) -> Curve {
    let mut points = Vec::new();
    for (operation, order, state) in [
        (Operation::Read, Order::Sequential, State::Cached),
        (Operation::Read, Order::Random, State::Cold),
        (Operation::Append, Order::Sequential, State::Empty),
    ] {
        for block_bytes in (9..=20).map(|power| 1_u64 << power) {
            let per_call = if state == State::Cold { 90_000.0 } else { 300.0 };
            let call_ns = per_call + block_bytes as f64 * 0.12 / gain;
            let setting = Setting { operation, order, state, threads: 1, file_bytes: 64 << 20, block_bytes };
            points.push(point(setting, call_ns));
        }
    }
    Curve {
        schema: curve::SCHEMA.to_owned(),
        provenance: provenance(),
        points,
        families: Vec::new(),
        read_ahead: Vec::new(),
        past_memory: None,
        past_dirty: None,
        effects: vec![HOSTILE.to_owned()],
        refused: Vec::new(),
        duration_ns: 1,
        bytes_written: 1,
    }
}

fn point(setting: Setting, call_ns: f64) -> Point {
    let calls = 1000;
    let rate = setting.block_bytes as f64 / call_ns * 1e9;
    let sample = |round| Sample {
        round,
        calls,
        bytes: calls * setting.block_bytes,
        elapsed_ns: call_ns * calls as f64,
        call_ns,
        user_ns: 0.0,
        system_ns: call_ns,
        sync_ns: None,
        proof: Proof::Proven,
    };
    Point {
        setting,
        bytes_per_second: Some(rate),
        bytes_per_second_interval: Some([rate * 0.98, rate * 1.02]),
        latency: Latency {
            calls,
            min_ns: call_ns * 0.9,
            p50_ns: call_ns,
            p90_ns: call_ns * 1.2,
            p99_ns: call_ns * 2.0,
            p999_ns: call_ns * 9.0,
            max_ns: call_ns * 40.0,
        },
        latencies: None,
        is_settled: true,
        samples: (0..12).map(sample).collect(),
        caveats: Vec::new(),
    }
}
