use super::*;
use crate::planted::{Planted, assert_covers};

const SEEDS: u64 = 1000;

/// Shares of the seeds whose interval held `truth`.
fn covered(truth: f64, interval_of: impl Fn(&mut Planted) -> Option<Estimate>) -> usize {
    (0..SEEDS)
        .filter(|&seed| {
            let estimate = interval_of(&mut Planted::new(seed));
            estimate.is_some_and(|estimate| estimate.interval.contains(truth))
        })
        .count()
}

/// Median of the contaminated noise: with 1 % of outliers, all above it, the clean noise's
/// quantile at 0.5 / 0.99.
fn contaminated_median(sigma: f64) -> f64 {
    (sigma * normal_quantile(0.5 / 0.99)).exp()
}

#[test]
fn median_interval_covers_under_noise_and_outliers() {
    for (count, sigma) in [(10, 0.3), (25, 0.3), (100, 0.1), (101, 1.0)] {
        let truth = 2000.0 * contaminated_median(sigma);
        let hits = covered(truth, |planted| {
            let samples: Vec<f64> =
                (0..count).map(|_| 2000.0 * planted.lognormal(sigma) * planted.outlier()).collect();
            median_interval(&samples, 0.95)
        });
        assert_covers(&format!("median of {count}, sigma {sigma}"), hits, SEEDS as usize);
    }
}

#[test]
fn median_interval_covers_heavy_tails() {
    // Cauchy noise has no mean; its median is still its centre.
    let hits = covered(5.0, |planted| {
        let samples: Vec<f64> = (0..40).map(|_| 5.0 + planted.normal() / planted.normal()).collect();
        median_interval(&samples, 0.95)
    });
    assert_covers("median of Cauchy noise", hits, SEEDS as usize);
}

#[test]
fn median_interval_edges() {
    assert_eq!(median_interval(&[], 0.95), None);
    assert_eq!(median_interval(&[1.0], 0.95), None);
    assert_eq!(median_interval(&[1.0; 5], 0.95), None);
    let constant = median_interval(&[3.0; 6], 0.95).unwrap();
    assert_eq!((constant.value, constant.interval), (3.0, Interval { low: 3.0, high: 3.0 }));
    for level in [0.0, 1.0, -1.0, f64::NAN] {
        assert_eq!(median_interval(&[1.0; 20], level), None);
    }
    // Low levels reach the middle pair and stay ordered.
    for count in 2..30 {
        let samples: Vec<f64> = (0..count).map(f64::from).collect();
        for level in [0.01, 0.1, 0.5, 0.9] {
            if let Some(estimate) = median_interval(&samples, level) {
                assert!(estimate.interval.contains(estimate.value), "{count} {level} {estimate:?}");
            }
        }
    }
}

#[test]
fn pair_coverages_match_the_binomial() {
    // Table of the sign test: 1 - 2 * 0.5^6 for the extremes of 6, and so on.
    let coverages = pair_coverages(6);
    assert!((coverages[0] - (1.0 - 2.0 / 64.0)).abs() < 1e-12);
    assert!((coverages[1] - (1.0 - 14.0 / 64.0)).abs() < 1e-12);
    assert!(pair_coverages(20_000)[9_000] > 0.99);
}

fn trimmed_mean(samples: &[f64]) -> f64 {
    let ascending = quantile::sorted(samples);
    let cut = ascending.len() / 10;
    let kept = &ascending[cut..ascending.len() - cut];
    kept.iter().sum::<f64>() / kept.len() as f64
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

#[test]
fn bca_covers_a_mean() {
    let sigma: f64 = 0.3;
    let truth = (0.5 * sigma * sigma).exp();
    let hits = covered(truth, |planted| {
        let samples: Vec<f64> = (0..60).map(|_| planted.lognormal(sigma)).collect();
        bootstrap(&samples, mean, 0.95, 1000, Method::Bca, &mut planted.rng)
    });
    assert_covers("BCa of a mean of 60", hits, SEEDS as usize);
}

#[test]
fn bca_covers_a_trimmed_mean_under_outliers() {
    // The estimand under contamination, from one very large sample.
    let mut planted = Planted::new(u64::MAX);
    let population: Vec<f64> = (0..500_000).map(|_| planted.lognormal(0.3) * planted.outlier()).collect();
    let truth = trimmed_mean(&population);
    let hits = covered(truth, |planted| {
        let samples: Vec<f64> = (0..100).map(|_| planted.lognormal(0.3) * planted.outlier()).collect();
        bootstrap(&samples, trimmed_mean, 0.95, 1000, Method::Bca, &mut planted.rng)
    });
    assert_covers("BCa of a trimmed mean of 100", hits, SEEDS as usize);
}

#[test]
fn percentile_bootstrap_covers_a_median_under_outliers() {
    let truth = contaminated_median(0.3);
    let middle = |samples: &[f64]| quantile::median(samples).unwrap_or(f64::NAN);
    let hits = covered(truth, |planted| {
        let samples: Vec<f64> = (0..101).map(|_| planted.lognormal(0.3) * planted.outlier()).collect();
        bootstrap(&samples, middle, 0.95, 500, Method::Percentile, &mut planted.rng)
    });
    assert_covers("percentile bootstrap of a median of 101", hits, SEEDS as usize);
}

#[test]
fn bootstrap_edges() {
    let rng = &mut Planted::new(1).rng;
    assert_eq!(bootstrap(&[], mean, 0.95, 100, Method::Bca, rng), None);
    assert_eq!(bootstrap(&[1.0], mean, 0.95, 100, Method::Bca, rng), None);
    assert_eq!(bootstrap(&[1.0, 2.0], mean, 0.95, 0, Method::Bca, rng), None);
    assert_eq!(bootstrap(&[1.0, 2.0], mean, 1.0, 100, Method::Bca, rng), None);
    assert_eq!(bootstrap(&[1.0, 2.0], |_| f64::NAN, 0.95, 100, Method::Bca, rng), None);
    for method in [Method::Bca, Method::Percentile] {
        let constant = bootstrap(&[2.0; 9], mean, 0.95, 100, method, rng).unwrap();
        assert_eq!(constant.interval, Interval { low: 2.0, high: 2.0 });
    }
    let two = bootstrap(&[1.0, 2.0], mean, 0.95, 100, Method::Bca, rng).unwrap();
    assert!(two.interval.low.is_finite() && two.interval.high.is_finite());
}

#[test]
fn the_same_seed_gives_the_same_interval() {
    let samples: Vec<f64> = (0..30).map(f64::from).collect();
    let run = || bootstrap(&samples, mean, 0.9, 200, Method::Bca, &mut Planted::new(7).rng);
    assert_eq!(run(), run());
}
