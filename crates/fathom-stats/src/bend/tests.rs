use super::*;
use crate::tests::{Planted, Score, show};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

const SEEDS: u64 = 100;
const ROUNDS: usize = 12;

/// 512 B to 64 MiB.
fn sizes() -> Vec<f64> {
    (9..=26).map(|power| f64::from(1 << power)).collect()
}

/// Rounds of calls that take `time`, under noise, 1 % of outliers and a drift of 30 %.
fn planted(seed: u64, sigma: f64, time: impl Fn(f64) -> f64) -> Vec<Point> {
    let shape: Vec<f64> = sizes().into_iter().map(&time).collect();
    let matrix = Planted::new(seed).rounds(&shape, ROUNDS, sigma, 0.3, 0.0);
    let column = |index: usize| matrix.iter().skip(index).step_by(shape.len()).copied().collect();
    let point = |(index, size)| Point { size, times: column(index) };
    sizes().into_iter().enumerate().map(point).collect()
}

fn answer(seed: u64, points: &[Point]) -> Result<Bends, String> {
    fit(points, &mut Pcg64Mcg::seed_from_u64(seed))
}

/// The same, where the intervals don't matter.
fn law(seed: u64, points: &[Point]) -> Result<Bends, String> {
    replicated(points, 10, &mut Pcg64Mcg::seed_from_u64(seed))
}

#[test]
fn the_fixed_cost_and_the_half_size_are_covered() {
    for (sigma, fixed, per_byte) in [(0.02, 250.0, 0.12), (0.05, 250.0, 0.12), (0.1, 100_000.0, 1.0)] {
        let truth = fixed / per_byte;
        let (mut covered, mut near, mut bent) = (0, Score::default(), 0);
        for seed in 0..SEEDS {
            let bends = answer(seed, &planted(seed, sigma, |size| fixed + per_byte * size)).unwrap();
            bent += usize::from(bends.pieces.len() > 1);
            let Half::At(half) = bends.half else {
                near.count(None);
                continue;
            };
            covered += usize::from(half.interval.contains(truth));
            near.count(Some((half.value / truth).ln().abs() < 0.3));
        }
        show(&format!("half at {truth:.0}, sigma {sigma}"), &format!("covered {covered}, bent {bent}"));
        near.assert_never_wrong("half size");
        assert!(covered as u64 * 100 >= SEEDS * 93, "covered {covered} of {SEEDS}");
        assert!(bent as u64 * 100 <= SEEDS, "{bent} bends where there are none");
    }
}

#[test]
fn a_change_of_price_is_found_where_it_is() {
    for (sigma, ratio) in [(0.02, 1.3), (0.05, 1.5), (0.05, 0.5)] {
        let mut score = Score::default();
        for seed in 0..2 * SEEDS {
            let time = |size: f64| 250.0 + 0.1 * size * if size > 2e6 { ratio } else { 1.0 };
            let bends = law(seed, &planted(seed, sigma, time)).unwrap();
            // The first size above 2 MiB is the fourteenth.
            score.count(match bends.pieces[..] {
                [_] => None,
                [before, after] => {
                    let found = after.per_unit.value / before.per_unit.value / ratio;
                    Some(after.first.abs_diff(13) <= 1 && found.ln().abs() < 0.1)
                }
                _ => Some(false),
            });
        }
        score.assert_never_wrong(&format!("change by {ratio}, sigma {sigma}"));
    }
}

#[test]
fn two_changes_are_two() {
    let time = |size: f64| {
        let per_byte = if size < 1e5 {
            0.1
        } else if size < 5e6 {
            0.2
        } else {
            0.13
        };
        100.0 + per_byte * size
    };
    let bends = law(1, &planted(1, 0.02, time)).unwrap();
    assert_eq!(bends.pieces.iter().map(|piece| piece.first).collect::<Vec<_>>(), [0, 8, 14]);
}

#[test]
fn a_cost_that_is_not_there_has_no_half_size() {
    let bytes_alone = answer(3, &planted(3, 0.05, |size| 0.1 * size)).unwrap();
    assert_eq!(bytes_alone.half, Half::Below);
    let calls_alone = answer(4, &planted(4, 0.05, |size| 1e9 + 1e-3 * size)).unwrap();
    assert!(matches!(calls_alone.half, Half::Above | Half::Unclear), "{:?}", calls_alone.half);
}

#[test]
fn times_that_keep_to_no_law_give_none() {
    let mut score = Score::default();
    for seed in 0..SEEDS {
        // Levels that have nothing to do with the size.
        let mut levels = Planted::new(seed + 1000);
        let levels: Vec<f64> = sizes().iter().map(|_| 1000.0 * levels.lognormal(1.0)).collect();
        let at = |size: f64| levels[size.log2() as usize - 9];
        score.count(law(seed, &planted(seed, 0.05, at)).ok().map(|_| false));
    }
    score.assert_silent("levels at random");
}

#[test]
fn noise_shows_no_change_of_cost() {
    let mut score = Score::default();
    for seed in 0..3 * SEEDS {
        let points = planted(seed, 1.0, |size| 250.0 + 0.1 * size);
        let has_bend = law(seed, &points).is_ok_and(|bends| bends.pieces.len() > 1);
        score.count(has_bend.then_some(false));
    }
    score.assert_silent("noise of sigma 1");
}

#[test]
fn too_little_is_said_to_be_too_little() {
    let few = planted(1, 0.1, |size| size);
    let too_few = |points: &[Point]| law(1, points).is_err_and(|reason| reason.contains("too few"));
    assert!(too_few(&few[..4]));
    let thin: Vec<Point> = few.iter().map(|point| Point { times: vec![1.0; 3], ..point.clone() }).collect();
    assert!(too_few(&thin));
    let backward: Vec<Point> = few.into_iter().rev().collect();
    assert!(too_few(&backward));
}
