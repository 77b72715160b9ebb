use super::*;
use crate::steady;
use crate::tests::{Planted, Score};

/// Paced reads: a floor, stalls that recur in every round, and noise that does not.
struct Device {
    floor: f64,
    floor_sigma: f64,
    /// Stalls are log-uniform in this range.
    stalls: (f64, f64),
    /// Share of single reads that take 4 to 12 times the floor for other reasons.
    noise: f64,
    rounds: usize,
}

fn virtual_disk() -> Device {
    let (floor, floor_sigma, stalls) = (2000.0, 0.1, (70_000.0, 1_000_000.0));
    Device { floor, floor_sigma, stalls, noise: 0.06, rounds: 5 }
}

fn loop_device() -> Device {
    let (floor, floor_sigma, stalls) = (2600.0, 0.15, (18_000.0, 100_000.0));
    Device { floor, floor_sigma, stalls, noise: 0.01, rounds: 5 }
}

impl Device {
    fn with(self, rounds: usize, noise: f64) -> Self {
        Self { rounds, noise, ..self }
    }

    fn read(&self, planted: &mut Planted, is_stall: &[bool]) -> Vec<f64> {
        let typical: Vec<f64> = is_stall
            .iter()
            .map(|&stall| {
                let (low, high) = self.stalls;
                if stall { low * (high / low).powf(planted.uniform()) } else { self.floor }
            })
            .collect();
        let mut latencies = Vec::new();
        for _ in 0..self.rounds {
            for (&level, &stall) in typical.iter().zip(is_stall) {
                let slow = 1.0 + 0.2 * latencies.len() as f64 / (self.rounds * typical.len()) as f64;
                let other = if planted.uniform() < self.noise {
                    4.5 * (12.5f64 / 4.5).powf(planted.uniform())
                } else {
                    1.0
                };
                let sigma = if stall { 0.15 } else { self.floor_sigma };
                let noisy = level * planted.lognormal(sigma) * if stall { 1.0 } else { other };
                latencies.push(noisy * slow * planted.outlier());
            }
        }
        latencies
    }
}

fn every(window: usize, positions: usize) -> Vec<bool> {
    (0..positions).map(|i| i % window == 0 || i == 1 || i == 4).collect()
}

/// Whether the rounds of a position disagree: more than 20 % but fewer than 80 % of them stalled.
fn is_ambiguous(rounds: &Rounds, levels: &Levels, position: usize) -> bool {
    let stalled = rounds.position(position).filter(|&latency| latency > levels.threshold).count();
    let share = stalled as f64 / rounds.rounds() as f64;
    share > 0.2 && share < 0.8
}

/// Scores whether a sequence of 512 reads is split right: no stall missed, and of the hits at most
/// two taken for stalls (noise that struck nearly every round), but for positions that are
/// ambiguous.
fn score(device: &Device, window: usize, with_reference: bool) -> Score {
    let truth = every(window, 512);
    let mut score = Score::default();
    for seed in 0..1000 {
        let mut planted = Planted::new(seed);
        let latencies = device.read(&mut planted, &truth);
        let reference = device.read(&mut planted, &[false; 40]);
        let rounds = Rounds::new(&latencies, truth.len()).unwrap();
        let levels = split(&rounds, with_reference.then_some(&reference[..]));
        score.count(levels.ok().map(|levels| {
            let wrong = |i: &usize| levels.stalls[*i] != truth[*i] && !is_ambiguous(&rounds, &levels, *i);
            let mistakes: Vec<usize> = (0..truth.len()).filter(wrong).collect();
            mistakes.len() <= 2 && mistakes.iter().all(|&i| !truth[i])
        }));
    }
    score
}

#[test]
fn stalls_of_real_devices_are_told_from_hits() {
    // Ten stalls and more: a few of very different heights hold gaps of their own.
    for window in [4, 8, 32, 64] {
        for rounds in [3, 5, 20] {
            let with_reference = rounds == 5;
            // Noise at 6 % of the reads would strike some positions in all of 3 rounds.
            let noise = if rounds == 3 { 0.03 } else { 0.06 };
            let disk = virtual_disk().with(rounds, noise);
            let result = score(&disk, window, with_reference);
            result.assert_never_wrong(&format!("virtual disk, window {window}, {rounds} rounds"));
            let device = loop_device().with(rounds, 0.01);
            let result = score(&device, window, with_reference);
            result.assert_never_wrong(&format!("loop device, window {window}, {rounds} rounds"));
        }
    }
}

#[test]
fn windows_are_read_off_the_latencies() {
    for window in [8, 16, 32, 64] {
        for device in [virtual_disk(), loop_device()] {
            let (truth, floor) = (every(window, 512), device.floor);
            let mut score = Score::default();
            for seed in 0..1000 {
                let latencies = device.read(&mut Planted::new(seed), &truth);
                let levels = split(&Rounds::new(&latencies, truth.len()).unwrap(), None);
                let steady = levels.ok().and_then(|levels| {
                    let stalls = (0..levels.stalls.len()).filter(|&at| levels.stalls[at]).collect::<Vec<_>>();
                    steady::find(truth.len(), &stalls).ok()
                });
                score.count(steady.map(|steady| steady.period == window));
            }
            score.assert_never_wrong(&format!("levels, then steady: {window}, floor {floor}"));
        }
    }
}

#[test]
fn one_round_of_a_quiet_device_is_enough() {
    let quiet = Device { noise: 0.0, rounds: 1, ..loop_device() };
    let truth = every(32, 512);
    let mut planted = Planted::new(3);
    let latencies = quiet.read(&mut planted, &truth);
    let levels = split(&Rounds::new(&latencies, 512).unwrap(), None).unwrap();
    let mistakes = (0..512).filter(|&i| levels.stalls[i] != truth[i]).count();
    assert!(mistakes <= 12, "more than the outliers: {mistakes}");
}

#[test]
fn noise_of_one_level_is_not_split() {
    for (name, sigma, spikes) in [("mild", 0.1, 0.0), ("wide", 0.5, 0.0), ("spiky", 0.2, 0.05)] {
        let mut score = Score::default();
        for seed in 0..1000 {
            let mut planted = Planted::new(seed);
            let latencies: Vec<f64> = (0..256 * 7)
                .map(|_| {
                    let spike = if planted.uniform() < spikes { 30.0 } else { 1.0 };
                    2000.0 * planted.lognormal(sigma) * spike
                })
                .collect();
            score.count(split(&Rounds::new(&latencies, 256).unwrap(), None).ok().map(|_| false));
        }
        score.assert_silent(&format!("levels, {name} noise"));
    }
}

#[test]
fn with_a_reference_all_stalls_and_all_hits_are_recognised() {
    let device = loop_device();
    let (mut all, mut none) = (Score::default(), Score::default());
    for seed in 0..1000 {
        let mut planted = Planted::new(seed);
        let reference = device.read(&mut planted, &[false; 20]);
        for (score, stall) in [(&mut all, true), (&mut none, false)] {
            let latencies = device.read(&mut planted, &[stall; 16]);
            let rounds = Rounds::new(&latencies, 16).unwrap();
            let levels = split(&rounds, Some(&reference));
            score.count(levels.ok().map(|levels| {
                (0..16).all(|i| levels.stalls[i] == stall || is_ambiguous(&rounds, &levels, i))
            }));
        }
    }
    all.assert_never_wrong("levels, all stalls");
    none.assert_never_wrong("levels, all hits");
}

#[test]
fn edges() {
    let split = |latencies: &[f64], positions, reference| {
        split(&Rounds::new(latencies, positions).unwrap(), reference)
    };
    assert_eq!(split(&[5.0], 1, None), Err(Reason::TooFewPositions));
    assert_eq!(split(&[5.0; 40], 8, None), Err(Reason::OneLevel));
    assert_eq!(split(&[0.0; 40], 8, None), Err(Reason::OneLevel));
    assert_eq!(split(&[5.0; 40], 8, Some(&[5.0; 9])).unwrap().stalls, [false; 8]);
    assert_eq!(split(&[9000.0], 1, Some(&[50.0; 9])).unwrap().stalls, [true]);
    // An empty reference is none; what is not finite in it is passed over.
    assert_eq!(split(&[5.0; 40], 8, Some(&[])), Err(Reason::OneLevel));
    assert!(split(&[5.0; 40], 8, Some(&[f64::NAN, 5.0])).is_ok());
}
