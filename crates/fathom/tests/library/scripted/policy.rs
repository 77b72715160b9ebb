//! By which rule pages leave a full cache, by timing alone, on machines whose rule is planted.

use fathom::finding::{Status, Value};
use fathom_scripted::{Noise, Replacement, Script};

use super::{SIGMAS, Score, ask, is_silent_on_noise, show};

/// Each rule that can be named, and its name.
const NAMED: [(Replacement, &str); 10] = [
    (Replacement::Lru, "lru"),
    (Replacement::Fifo, "fifo"),
    (Replacement::Clock { first_use_counts: true }, "clock"),
    (Replacement::Clock { first_use_counts: false }, "clock"),
    (Replacement::TwoLists, "two_lists"),
    (Replacement::Segmented { protected: 0.5 }, "segmented"),
    (Replacement::Segmented { protected: 0.65 }, "segmented"),
    (Replacement::Segmented { protected: 0.8 }, "segmented"),
    (Replacement::Random, "random"),
    (Replacement::Generations, "generations"),
];
/// Rules that have no name here.
const NAMELESS: [Replacement; 4] =
    [Replacement::LeastOften, Replacement::MostRecent, Replacement::TwoQueues, Replacement::Adaptive];

const SEEDS: u64 = 20;

/// A machine with pages of 64 KiB, so that a cache of many MiB is soon gone through.
fn machine(replacement: Replacement, mib: u64, sigma: f64, seed: u64) -> Script {
    let page = 64 << 10;
    let noise = Noise::usual(sigma);
    let mut script =
        Script { page, block: page, cache: Some(mib << 20), replacement, noise, ..Script::new(seed) };
    script.costs.zeroed_page = 8_000.0;
    script
}

/// Capacities next to no power of two and next to one.
fn capacity(seed: u64) -> u64 {
    [28, 40, 63, 65, 100][seed as usize % 5]
}

#[test]
fn the_rule_is_named() {
    let scores = NAMED.map(|(replacement, name)| {
        let mut score = Score::default();
        for seed in 0..SEEDS {
            let mib = capacity(seed);
            let script = machine(replacement, mib, SIGMAS[seed as usize % 3], seed);
            let case = format!("{replacement:?}, {mib} MiB, seed {seed}");
            score.count(&case, &ask(script, "page_cache_policy"), &Value::Word(name.to_owned()));
        }
        (replacement, score)
    });
    scores.into_iter().for_each(|(replacement, score)| score.assert_right(&format!("{replacement:?}")));
}

#[test]
fn a_rule_without_a_name_is_not_given_another_one() {
    for replacement in NAMELESS {
        for seed in 0..10 {
            let script = machine(replacement, capacity(seed), SIGMAS[seed as usize % 3], seed);
            let finding = ask(script, "page_cache_policy");
            show(&format!("{replacement:?}: {}", finding.caveats.join("; ")));
            assert_eq!(
                finding.status,
                Status::Inconclusive,
                "{replacement:?}, seed {seed}: {:?}",
                finding.value
            );
        }
    }
}

#[test]
fn the_policy_is_silent_on_noise() {
    is_silent_on_noise("page_cache_policy", 100);
}
