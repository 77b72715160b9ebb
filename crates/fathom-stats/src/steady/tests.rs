use super::*;
use crate::tests::{Planted, Score};

fn found(positions: usize, stalls: &[usize]) -> Result<Steady, Reason> {
    find(positions, stalls)
}

/// Read-ahead as Linux ramps it up: the window doubles from `first` until it is `window`, and
/// stands at that until the end. Each stall opens the next window.
fn ramp(positions: usize, first: usize, window: usize) -> Vec<usize> {
    let (mut stalls, mut at, mut size) = (vec![0, 1], first, first);
    while at < positions {
        stalls.push(at);
        at += size;
        size = (2 * size).min(window);
    }
    stalls.sort_unstable();
    stalls.dedup();
    stalls
}

/// Adds `extras` false stalls and drops each stall with probability `missed`.
fn disturbed(
    planted: &mut Planted,
    positions: usize,
    stalls: &[usize],
    extras: usize,
    missed: f64,
) -> Vec<usize> {
    let mut kept: Vec<usize> = stalls.iter().copied().filter(|_| planted.uniform() >= missed).collect();
    kept.extend((0..extras).map(|_| (planted.uniform() * positions as f64) as usize));
    kept.sort_unstable();
    kept.dedup();
    kept
}

#[test]
fn measured_sequences_give_their_windows() {
    // 4 KiB reads, distances in pages: windows of 128 KiB and of 512 KiB.
    let mut small = vec![0, 1, 4, 12, 16, 24];
    small.extend((32..512).step_by(32));
    assert_eq!(found(512, &small).unwrap().period, 32);
    let mut large = vec![0, 1, 4, 20, 48, 64, 96];
    large.extend((128..2048).step_by(128));
    assert_eq!(found(2048, &large).unwrap().period, 128);
    let tiny: Vec<usize> = (0..256).step_by(8).collect();
    assert_eq!(found(256, &tiny).unwrap().period, 8);
}

#[test]
fn a_plateau_of_the_ramp_is_not_steady() {
    let mut stalls = Vec::new();
    let mut at = 0;
    for distance in [4, 12, 16, 16, 32, 16, 32, 32, 64, 64, 128, 128, 128] {
        stalls.push(at);
        at += distance;
    }
    stalls.push(at);
    for positions in [at + 1, at + 64, at + 128] {
        let answer = found(positions, &stalls);
        assert!(matches!(answer, Err(Reason::TooFewPeriods { last_distance: 128 })), "{answer:?}");
    }
}

#[test]
fn windows_survive_false_and_missed_stalls() {
    for window in [8, 16, 32, 64, 128, 256] {
        for periods in [7, 12, 30] {
            let positions = 2 * window + window * periods + window / 3;
            let stalls = ramp(positions, 4, window);
            let mut score = Score::default();
            for seed in 0..1000 {
                let mut planted = Planted::new(seed);
                let extras = (planted.uniform() * 3.0) as usize;
                let missed = if periods >= 30 { 0.03 } else { 0.0 };
                let stalls = disturbed(&mut planted, positions, &stalls, extras, missed);
                let answer = found(positions, &stalls);
                score.count(answer.ok().map(|steady| steady.period == window));
            }
            score.assert_never_wrong(&format!("steady, window {window}, {periods} periods"));
        }
    }
}

#[test]
fn stalls_at_random_are_not_steady() {
    for positions in [64, 256, 1024, 2048] {
        for density in [0.005, 0.02, 0.1, 0.3, 0.6] {
            let mut score = Score::default();
            for seed in 0..1000 {
                let mut planted = Planted::new(seed);
                let stalls: Vec<usize> = (0..positions).filter(|_| planted.uniform() < density).collect();
                score.count(found(positions, &stalls).ok().map(|_| false));
            }
            score.assert_silent(&format!("steady, noise, {positions} positions, {density}"));
        }
    }
}

#[test]
fn edges() {
    assert_eq!(found(0, &[]), Err(Reason::NoStalls));
    assert_eq!(found(100, &[]), Err(Reason::NoStalls));
    assert_eq!(found(1, &[0]), Err(Reason::TooFewPeriods { last_distance: 0 }));
    assert_eq!(found(100, &[3]), Err(Reason::TooFewPeriods { last_distance: 0 }));
    let all: Vec<usize> = (0..100).collect();
    assert_eq!(found(100, &all), Err(Reason::Saturated));
    // Stalls beyond the end are ignored.
    assert_eq!(found(2, &[5, 9]), Err(Reason::NoStalls));
    // Order and repetition do not matter.
    let mut shuffled: Vec<usize> = (0..100).rev().step_by(10).collect();
    shuffled.extend_from_within(..);
    assert_eq!(found(100, &shuffled).unwrap().period, 10);
}
