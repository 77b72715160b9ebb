//! What names and attributes cost, and for how long they are believed, by timing alone on machines where both are planted.

use fathom::finding::{Status, Value};
use fathom_scripted::{Metadata, Noise, Script};

use super::{SIGMAS, ask, is_silent_on_noise, show};

const TIMEOUTS: [&str; 3] = ["attribute_timeout", "entry_timeout", "negative_timeout"];

/// A machine whose server takes so long, and what of it may be believed for how long, in ns.
fn served(seed: u64) -> Script {
    let pick = |values: [f64; 6], at: u64| values[(seed / at % 6) as usize] * 1e9;
    let metadata = Metadata {
        round_trip: [20e3, 100e3, 1e6][(seed % 3) as usize],
        attributes: pick([1.0, 0.0, 0.3, 2.5, 4.0, 1.0], 1),
        names: pick([1.0, 3.0, 0.0, 0.5, 1.0, 2.0], 2),
        absences: pick([0.0, 0.0, 1.0, 3.5, 0.2, 1.0], 3),
        ..Metadata::default()
    };
    Script { metadata, noise: Noise::usual(SIGMAS[(seed / 3 % 3) as usize]), ..Script::new(seed) }
}

#[test]
fn what_is_believed_is_found() {
    for parameter in TIMEOUTS {
        let (mut right, mut silent, mut wrong) = (0, Vec::new(), Vec::new());
        for seed in 0..36 {
            let script = served(seed);
            let metadata = script.metadata;
            let truth = match parameter {
                "attribute_timeout" => metadata.attributes,
                "entry_timeout" => metadata.names,
                _ => metadata.absences,
            };
            let finding = ask(script, parameter);
            let case = format!("{parameter} {truth} ns, seed {seed}");
            match finding.value.as_ref().and_then(Value::as_number) {
                Some(value) if (value - truth).abs() <= 0.1 * truth => right += 1,
                Some(value) => wrong.push(format!("{case}: {value}")),
                None => silent.push(format!("{case}: {}", finding.caveats.join("; "))),
            }
        }
        show(&format!("{parameter}: {right} right, {} silent\n{}", silent.len(), silent.join("\n")));
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(right >= 33, "{silent:#?}");
    }
}

#[test]
fn where_there_is_no_server_nothing_is_believed() {
    for (seed, parameter) in (0..12).zip(TIMEOUTS.into_iter().cycle()) {
        let script = Script { noise: Noise::usual(0.15), ..Script::new(seed) };
        assert_eq!(ask(script, parameter).status, Status::NotApplicable, "{parameter}, seed {seed}");
    }
}

#[test]
fn calls_on_names_cost_what_is_planted_and_grow_with_the_directory() {
    let (mut covered, mut missed) = (0, Vec::new());
    for seed in 0..40 {
        let metadata = Metadata {
            create: [3e3, 8e3, 30e3, 200e3][(seed % 4) as usize],
            growth: [0.0, 0.5, 2.0][(seed % 3) as usize],
            ..Metadata::default()
        };
        let noise = Noise { drift: 0.0, ..Noise::usual(SIGMAS[(seed / 4 % 3) as usize]) };
        let script = Script { metadata, noise, ..Script::new(seed) };
        let call = script.costs.call;
        let finding = ask(script, "metadata_cost");
        let spreads = &finding.evidence[0].distributions;
        let case = |name: &str| spreads.iter().find(|one| one.case == name).unwrap();
        // Four of the eight files are there when the typical one is made.
        let planted = |files: f64| call + metadata.create * (1.0 + metadata.growth * (files + 3.5) / 1000.0);
        for (name, files) in [("create, 10 files", 10.0), ("create, 1000 files", 1000.0)] {
            match case(name).median_interval_ns {
                Some([low, high]) if low <= planted(files) && planted(files) <= high => covered += 1,
                other => missed.push(format!("seed {seed}, {name}: {other:?} for {}", planted(files))),
            }
        }
        let value = finding.value.as_ref().and_then(Value::as_number).unwrap();
        assert!((value / case("create, 10 files").median_ns - 1.0).abs() < 0.1, "{finding:?}");
        let grown = finding.explanation.contains("times: create ");
        assert_eq!(grown, metadata.growth > 0.0, "{}", finding.explanation);
    }
    show(&format!("metadata_cost: {covered} of 80 intervals hold the truth\n{}", missed.join("\n")));
    assert!(covered >= 72, "{missed:#?}");
}

#[test]
fn nothing_is_told_of_noise() {
    for parameter in TIMEOUTS.into_iter().chain(["metadata_cost"]) {
        is_silent_on_noise(parameter, 60);
    }
}
