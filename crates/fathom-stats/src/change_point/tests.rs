use super::*;
use crate::planted::{Planted, Score, assert_covers, show};

const SEEDS: u64 = 1000;

fn step_values(planted: &mut Planted, count: usize, at: usize, jump: f64, sigma: f64) -> Vec<f64> {
    (0..count)
        .map(|i| {
            let level = if i < at { 2000.0 } else { 2000.0 * jump };
            let drift = 1.0 + 0.2 * i as f64 / count as f64;
            (level * drift * planted.lognormal(sigma) * planted.outlier()).ln()
        })
        .collect()
}

fn found(values: &[f64], planted: &mut Planted) -> Result<ChangePoint, Reason> {
    find(values, &Options::default(), &mut planted.rng)
}

#[test]
fn clear_steps_are_placed_exactly() {
    for (count, at) in [(60, 30), (200, 150), (100, 15)] {
        let mut score = Score::default();
        for seed in 0..SEEDS {
            let mut planted = Planted::new(seed);
            let values = step_values(&mut planted, count, at, 5.0, 0.15);
            let change = find(&values, &Options { replicates: 50, ..Options::default() }, &mut planted.rng);
            score.count(change.ok().map(|change| change.position.abs_diff(at) <= 1));
        }
        score.assert_never_wrong(&format!("change at {at} of {count}"));
    }
}

#[test]
fn intervals_hold_the_place_of_a_faint_step() {
    // The place is a whole number, so a clear step would be covered always; these are faint.
    for (jump, sigma) in [(2.0, 0.3), (1.5, 0.15)] {
        let (mut covered, mut answered, mut width) = (0, 0, 0.0);
        for seed in 0..SEEDS {
            let mut planted = Planted::new(seed);
            let values = step_values(&mut planted, 100, 58, jump, sigma);
            let options = Options { replicates: 200, ..Options::default() };
            if let Ok(change) = find(&values, &options, &mut planted.rng) {
                answered += 1;
                covered += usize::from(change.interval.contains(58.0));
                width += change.interval.width();
            }
        }
        let name = format!("interval of a change by {jump}, sigma {sigma}");
        let width = width / answered as f64;
        show(&name, &format!("covered {covered} of {answered}, mean width {width:.1}"));
        assert!(answered >= 950, "{name}: {answered}");
        assert_covers(&name, covered, answered);
    }
}

#[test]
fn noise_has_no_change() {
    type Noise = (&'static str, fn(&mut Planted) -> Vec<f64>);
    let noises: [Noise; 6] = [
        ("lognormal", |p| (0..150).map(|_| p.lognormal(0.3) * p.outlier()).collect()),
        ("Cauchy", |p| (0..150).map(|_| p.normal() / p.normal()).collect()),
        ("AR(1) 0.5", |p| p.autoregressive(150, 0.5)),
        ("AR(1) 0.8", |p| p.autoregressive(300, 0.8)),
        ("spikes", |p| (0..150).map(|_| if p.uniform() < 0.1 { 50.0 } else { 1.0 }).collect()),
        ("drift", |p| (0..150).map(|i| (1.0 + 0.2 * i as f64 / 150.0) * p.lognormal(0.02)).collect()),
    ];
    for (name, noise) in noises {
        let mut score = Score::default();
        for seed in 0..SEEDS {
            let mut planted = Planted::new(seed);
            let values = noise(&mut planted);
            score.count(found(&values, &mut planted).ok().map(|_| false));
        }
        score.assert_silent(&format!("change point, {name}"));
    }
}

#[test]
fn segments_of_planted_levels_are_found() {
    let planted_starts = [0, 40, 90, 130];
    let levels = [1000.0, 3000.0, 1500.0, 6000.0];
    let mut score = Score::default();
    for seed in 0..SEEDS {
        let mut planted = Planted::new(seed);
        let values: Vec<f64> = (0..200)
            .map(|i| {
                let level = levels[planted_starts.iter().rposition(|&s| s <= i).unwrap()];
                let drift = 1.0 + 0.2 * i as f64 / 200.0;
                (level * drift * planted.lognormal(0.1) * planted.outlier()).ln()
            })
            .collect();
        let starts: Vec<usize> =
            segments(&values, &SegmentOptions::default()).iter().map(|s| s.start).collect();
        let near = starts.len() == 4
            && starts.iter().zip(planted_starts).all(|(start, truth)| start.abs_diff(truth) <= 2);
        score.count(Some(near));
    }
    score.assert_never_wrong("segments, four levels");
}

#[test]
fn noise_is_one_segment() {
    type Noise = (&'static str, fn(&mut Planted) -> Vec<f64>);
    let noises: [Noise; 4] = [
        ("lognormal", |p| (0..200).map(|_| p.lognormal(0.3) * p.outlier()).collect()),
        ("heavy", |p| (0..200).map(|_| 10.0 + p.normal() / p.normal()).collect()),
        ("AR(1) 0.5", |p| p.autoregressive(200, 0.5).iter().map(|x| (0.2 * x).exp()).collect()),
        ("drift", |p| (0..200).map(|i| (1.0 + 0.2 * i as f64 / 200.0) * p.lognormal(0.02)).collect()),
    ];
    for (name, noise) in noises {
        let mut score = Score::default();
        for seed in 0..SEEDS {
            let values = noise(&mut Planted::new(seed));
            let pieces = segments(&values, &SegmentOptions::default()).len();
            score.count((pieces > 1).then_some(false));
        }
        score.assert_silent(&format!("segments, {name}"));
    }
}

#[test]
fn pruning_changes_nothing() {
    // Against the plain recursion over all starts.
    for seed in 0..50 {
        let mut planted = Planted::new(seed);
        let values: Vec<f64> = (0..60).map(|i| f64::from(i / 15) + planted.normal()).collect();
        let (penalty, min_length) = (4.0, 3);
        let mut best = vec![f64::INFINITY; values.len() + 1];
        best[0] = -penalty;
        for end in min_length..=values.len() {
            for start in 0..=end - min_length {
                let total: f64 = best[start] + deviations(&values[start..end]) + penalty;
                best[end] = best[end].min(total);
            }
        }
        // Ends may differ between ties, costs may not.
        let mut start = 0;
        let cost: f64 = segments::optimal_ends(&values, penalty, min_length)
            .into_iter()
            .map(|end| penalty + deviations(&values[std::mem::replace(&mut start, end)..end]))
            .sum();
        assert!((cost - penalty - best[values.len()]).abs() < 1e-9, "{seed}");
    }
}

fn deviations(part: &[f64]) -> f64 {
    let middle = quantile::median(part).unwrap();
    part.iter().map(|v| (v - middle).abs()).sum()
}

#[test]
fn edges() {
    let mut planted = Planted::new(1);
    assert_eq!(found(&[], &mut planted), Err(Reason::TooFew));
    assert_eq!(found(&[1.0; 9], &mut planted), Err(Reason::TooFew));
    assert_eq!(found(&[1.0; 50], &mut planted), Err(Reason::Level));
    let mut values = [1.0; 50];
    values[7] = f64::INFINITY;
    assert_eq!(found(&values, &mut planted), Err(Reason::NotFinite));
    assert!(segments(&values, &SegmentOptions::default()).is_empty());
    assert!(segments(&[], &SegmentOptions::default()).is_empty());
    let one = segments(&[4.0], &SegmentOptions::default());
    assert_eq!(one, [Segment { start: 0, end: 1, level: 4.0 }]);
    assert_eq!(segments(&[4.0; 30], &SegmentOptions::default()).len(), 1);
    // A step without any noise, whose noise scale is zero.
    let exact: Vec<f64> = (0..40).map(|i| if i < 20 { 1.0 } else { 9.0 }).collect();
    assert_eq!(found(&exact, &mut planted).unwrap().position, 20);
    assert_eq!(segments(&exact, &SegmentOptions::default()).len(), 2);
}
