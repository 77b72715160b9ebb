//! What is kept in memory, by timing alone, on machines whose truth is planted.

use fathom::finding::{Status, Value};
use fathom_scripted::{Noise, Script, Throttle};

use super::{SIGMAS, ask, is_silent_on_noise, show};

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
    is_silent_on_noise("page_cache_capacity", 30);
}

#[test]
fn where_holes_are_as_fast_as_what_is_cached_nothing_is_said() {
    let script = Script { cache: Some(24 << 20), ..Script::new(1) };
    assert_eq!(ask(script, "page_cache_capacity").status, Status::Inconclusive);
}

/// A machine on which no writer waits below 3/4 of `mib` MiB.
fn throttled(mib: u64, sigma: f64, seed: u64) -> Script {
    let limit = mib << 20;
    let throttle = Throttle { background: limit / 2, limit, device_rate: 100e6, period: 0.0 };
    // More of them hold the writer up in each burst.
    let noise = Noise { outlier_share: 0.001, ..Noise::usual(sigma) };
    Script { throttle: Some(throttle), noise, write_budget: 16 << 30, ..Script::new(seed) }
}

#[test]
fn the_point_where_writers_wait_is_found_within_its_interval() {
    let mut covered = 0;
    let limits = [48, 64, 100, 128, 200, 256];
    for seed in 0..24 {
        let mib = limits[seed as usize % limits.len()];
        let truth = (mib << 20) as f64 * 0.75;
        let finding = ask(throttled(mib, SIGMAS[seed as usize % 3], seed), "dirty_throttle_point");
        let Some(Value::Whole(found)) = finding.value else {
            panic!("{mib} MiB, seed {seed}: {}", finding.caveats.join("; "))
        };
        let error = found as f64 / truth - 1.0;
        // Half of what a writer may be held up for.
        assert!(error.abs() < 0.075, "{mib} MiB, seed {seed}: {found}");
        covered += u32::from(finding.interval.is_some_and(|[low, high]| low <= truth && truth <= high));
    }
    show(&format!("intervals hold the point where writers wait in {covered} of 24"));
    assert!(covered >= 22);
}

/// What is found of `of` machines whose writers are held up by so many outliers, on a device that takes a tenth of a
/// second's data at once: how many answers, all of them near the truth.
fn answers_of_held_up(outlier_share: f64, of: u64) -> u64 {
    let mut answered = 0;
    for seed in 0..of {
        let mib = [48, 64, 100][seed as usize % 3];
        let mut script = throttled(mib, SIGMAS[seed as usize % 3], seed);
        script.throttle = script.throttle.map(|throttle| Throttle { period: 1e8, ..throttle });
        // As long as a scheduler lets another program go on.
        script.noise = Noise { outlier_share, outlier_factor: 300.0, ..script.noise };
        let finding = ask(script, "dirty_throttle_point");
        let Some(Value::Whole(found)) = finding.value else { continue };
        let truth = (mib << 20) as f64 * 0.75;
        let [low, high] = finding.interval.unwrap();
        assert!(
            (found as f64 / truth - 1.0).abs() <= 0.15,
            "{mib} MiB, seed {seed}: {found}, {low} to {high}"
        );
        assert!(low <= truth && truth <= high, "{mib} MiB, seed {seed}: {found}, {low} to {high}");
        answered += 1;
    }
    answered
}

#[test]
fn a_writer_that_is_held_up_gives_the_right_point_or_none() {
    let answered = [0.001, 0.004, 0.05].map(|share| answers_of_held_up(share, 24));
    show(&format!("of 24 machines each, where ever more holds the writer up, {answered:?} have an answer"));
    assert!(answered[0] >= 20, "{answered:?}");
    assert_eq!(answered[2], 0, "each burst is held up");
}

#[test]
fn where_the_device_keeps_up_nothing_is_said_of_writers_that_wait() {
    for device_rate in [3e9, 20e9] {
        let throttle = Throttle { background: 32 << 20, limit: 64 << 20, device_rate, period: 0.0 };
        let mut script = Script { throttle: Some(throttle), write_budget: 16 << 30, ..Script::new(1) };
        script.costs.device_byte = 1e9 / device_rate;
        let finding = ask(script, "dirty_throttle_point");
        assert_eq!(finding.status, Status::Inconclusive, "{device_rate}: {:?}", finding.value);
        assert!(finding.caveats[0].contains("the device takes"), "{:?}", finding.caveats);
    }
}

#[test]
fn what_can_not_be_written_is_no_answer() {
    let script = Script { write_budget: 100 << 20, ..throttled(256, 0.05, 1) };
    let finding = ask(script, "dirty_throttle_point");
    assert_eq!(finding.status, Status::Inconclusive);
    assert!(finding.caveats[0].contains("--max-write"), "{:?}", finding.caveats);
}

#[test]
fn the_point_where_writers_wait_is_silent_on_noise() {
    is_silent_on_noise("dirty_throttle_point", 100);
}
