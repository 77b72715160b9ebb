//! What is kept in memory, by timing alone, on machines whose truth is planted.

use std::time::Duration;

use fathom::experiment::{Effort, by_name};
use fathom::finding::{Finding, Kind, Status, Value};
use fathom::machine::scripted::{Noise, Pure, Script, Scripted, Throttle};
use fathom::survey::{self, Plan};

fn ask(script: Script, parameter: &str) -> Finding {
    let plan = Plan {
        experiments: vec![by_name(parameter).unwrap()],
        evidence: vec![Kind::Timing],
        effort: Effort::Full,
        seed: script.seed,
        max_time: Duration::from_secs(600),
        intrusive: true,
    };
    survey::ask(&mut Scripted::new(script), &plan, &mut |_, _| ()).unwrap().remove(0).finding
}

fn noises(seed: u64) -> [Pure; 4] {
    let pick = |values: [f64; 3]| values[seed as usize % 3];
    [
        Pure::Lognormal { sigma: pick([0.05, 0.3, 1.0]) },
        Pure::HeavyTails { exponent: pick([1.0, 1.5, 2.5]) },
        Pure::Wandering { sigma: 0.3, correlation: pick([0.5, 0.9, 0.99]) },
        Pure::Spikes { share: pick([0.002, 0.02, 0.1]), factor: 20.0 },
    ]
}

/// Noise of every kind must leave a question open: in 99 % of the trials, and here in all.
fn assert_silent_on_noise(parameter: &str, seeds: u64) {
    for seed in 0..seeds {
        for pure in noises(seed) {
            let finding = ask(Script::noise_only(pure, seed), parameter);
            let value = &finding.value;
            assert_eq!(finding.status, Status::Inconclusive, "{parameter}, {pure:?}, seed {seed}: {value:?}");
        }
    }
}

#[test]
fn the_capacity_is_found_within_its_interval() {
    // Not next to any size that is tried, just above one, and just below one.
    for (seed, mib) in [24, 33, 50, 63].into_iter().enumerate() {
        let capacity = mib << 20;
        let noise = Noise::usual([0.05, 0.15, 0.3][seed % 3]);
        let mut script = Script { cache: Some(capacity), noise, ..Script::new(seed as u64) };
        script.costs.zeroed_page = 1_000.0;
        let finding = ask(script, "page_cache_capacity");
        let Some(Value::Whole(found)) = finding.value else {
            panic!("{mib} MiB: {}", finding.caveats.join("; "))
        };
        let error = found as f64 / capacity as f64 - 1.0;
        assert!(error.abs() < 0.02, "{mib} MiB: {found}");
        let [low, high] = finding.interval.unwrap();
        assert!(low <= capacity as f64 && capacity as f64 <= high, "{mib} MiB: {low} to {high}");
    }
}

#[test]
fn the_capacity_is_silent_on_noise() {
    assert_silent_on_noise("page_cache_capacity", 6);
}

#[test]
fn where_holes_are_as_fast_as_what_is_cached_nothing_is_said() {
    let script = Script { cache: Some(24 << 20), ..Script::new(1) };
    assert_eq!(ask(script, "page_cache_capacity").status, Status::Inconclusive);
}

/// A machine on which nobody waits below 3/4 of `mib` MiB.
fn throttled(mib: u64, sigma: f64, seed: u64) -> Script {
    let limit = mib << 20;
    let throttle = Throttle { background: limit / 2, limit, device_rate: 100e6 };
    let noise = Noise::usual(sigma);
    Script { throttle: Some(throttle), noise, write_budget: 16 << 30, ..Script::new(seed) }
}

#[test]
fn that_writers_wait_is_seen_and_where_is_left_open() {
    for (seed, mib) in [64, 128, 256].into_iter().enumerate() {
        let finding = ask(throttled(mib, [0.05, 0.15, 0.3][seed % 3], seed as u64), "dirty_throttle_point");
        assert_eq!(finding.status, Status::Inconclusive, "{mib} MiB");
        assert!(finding.caveats[0].starts_with("writers wait after"), "{mib} MiB: {:?}", finding.caveats);
    }
}

#[test]
fn the_point_where_writers_wait_is_silent_on_noise() {
    assert_silent_on_noise("dirty_throttle_point", 3);
}
