use super::*;
use crate::distribution::normal_quantile;
use crate::tests::{Planted, assert_covers};

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
            let estimate = median_interval(&samples, level);
            // All samples lie on one side of the median with this chance, and then no interval holds it.
            let is_possible = 1.0 - 0.5_f64.powi(count - 1) >= level;
            assert_eq!(estimate.is_some(), is_possible, "{count} {level}");
            let holds = estimate.is_none_or(|estimate| estimate.interval.contains(estimate.value));
            assert!(holds, "{count} {level} {estimate:?}");
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
