use super::*;
use crate::tests::{Planted, Score};

/// Probes of `positions` pages of which the first `hits` are in memory.
fn probes(planted: &mut Planted, positions: usize, hits: usize, rounds: usize) -> Vec<f64> {
    let levels: Vec<f64> = (0..positions).map(|i| if i < hits { 2600.0 } else { 40_000.0 }).collect();
    planted.rounds(&levels, rounds, 0.3, 0.2, 26.0)
}

fn reference(planted: &mut Planted) -> Vec<f64> {
    planted.rounds(&[2600.0; 30], 1, 0.3, 0.0, 26.0)
}

fn found(latencies: &[f64], positions: usize, reference: Option<&[f64]>) -> Result<Boundary, Reason> {
    find(&Rounds::new(latencies, positions).unwrap(), reference, 0.95)
}

#[test]
fn boundaries_are_found() {
    for (positions, hits) in [(16, 4), (32, 8), (64, 32), (128, 100), (16, 1), (16, 13)] {
        for isolated in [false, true] {
            let mut score = Score::default();
            for seed in 0..1000 {
                let mut planted = Planted::new(seed);
                let mut latencies = probes(&mut planted, positions, hits, 7);
                if isolated && hits > 3 {
                    // A page within the window that was not brought in, in every round.
                    (1..latencies.len()).step_by(positions).for_each(|i| latencies[i] = 50_000.0);
                }
                let reference = reference(&mut planted);
                let boundary = found(&latencies, positions, Some(&reference));
                if let Ok(boundary) = boundary {
                    assert!(boundary.interval.contains(hits as f64), "{seed} {boundary:?}");
                }
                score.count(boundary.ok().map(|boundary| boundary.position == hits));
            }
            score.assert_never_wrong(&format!("boundary {hits} of {positions}, {isolated}"));
        }
    }
}

#[test]
fn with_a_reference_no_hits_is_an_answer() {
    let mut score = Score::default();
    for seed in 0..1000 {
        let mut planted = Planted::new(seed);
        let latencies = probes(&mut planted, 16, 0, 7);
        let reference = reference(&mut planted);
        score.count(found(&latencies, 16, Some(&reference)).ok().map(|b| b.position == 0));
    }
    score.assert_never_wrong("boundary 0 of 16");
    let latencies = probes(&mut Planted::new(1), 16, 16, 7);
    let reference = reference(&mut Planted::new(2));
    assert_eq!(found(&latencies, 16, Some(&reference)), Err(Reason::NoStall));
}

#[test]
fn noise_has_no_boundary() {
    for (name, spikes, recurring) in
        [("quiet", 0.0, 0.0), ("spiky", 0.2, 0.0), ("recurring", 0.0, 0.1), ("half", 0.0, 0.5)]
    {
        for with_reference in [false, true] {
            let mut score = Score::default();
            for seed in 0..1000 {
                let mut planted = Planted::new(seed);
                let levels: Vec<f64> =
                    (0..32).map(|_| if planted.uniform() < recurring { 60_000.0 } else { 2600.0 }).collect();
                let mut latencies = planted.rounds(&levels, 7, 0.3, 0.2, 26.0);
                for latency in &mut latencies {
                    *latency *= if planted.uniform() < spikes { 20.0 } else { 1.0 };
                }
                let reference = reference(&mut planted);
                let reference = with_reference.then_some(&reference[..]);
                score.count(found(&latencies, 32, reference).ok().map(|_| false));
            }
            score.assert_silent(&format!("boundary, {name} noise, reference {with_reference}"));
        }
    }
}

#[test]
fn edges() {
    assert!(matches!(found(&[5.0], 1, None), Err(Reason::Levels(_))));
    assert!(matches!(found(&[5.0; 64], 16, None), Err(Reason::Levels(_))));
    let few = [2.0e3, 2.0e3, 2.0e3, 2.0e3, 2.0e3, 9.0e4].repeat(9);
    assert_eq!(found(&few, 6, None), Err(Reason::NoCleanStep));
    let one_round = [2.0e3, 2.0e3, 2.0e3, 2.0e3, 9.0e4, 9.0e4, 9.0e4, 9.0e4];
    // One round: the chance of such a step among 8 positions is not small.
    assert_eq!(found(&one_round, 8, None), Err(Reason::NoCleanStep));
    let two = found(&one_round.repeat(3), 8, None).unwrap();
    assert_eq!((two.position, two.level), (4, 0.75));
}
