use super::*;
use crate::tests::{Planted, assert_covers};

const SEEDS: u64 = 1000;

#[test]
fn least_squares_covers_under_normal_noise() {
    let x: Vec<f64> = (0..30).map(f64::from).collect();
    let mut slopes = 0;
    for seed in 0..SEEDS {
        let mut planted = Planted::new(seed);
        let y: Vec<f64> = x.iter().map(|x| 100.0 + 3.0 * x + 5.0 * planted.normal()).collect();
        let line = least_squares(&x, &y, 0.95).unwrap();
        slopes += usize::from(line.slope.interval.contains(3.0));
    }
    assert_covers("least squares slope", slopes, SEEDS as usize);
}

#[test]
fn residuals_are_told() {
    let x = [0.0, 1.0, 2.0, 3.0];
    let y = [0.0, 1.0, 2.0, 7.0];
    let line = least_squares(&x, &y, 0.95).unwrap();
    // The line runs through the means.
    let fitted = |x: f64| 2.5 + line.slope.value * (x - 1.5);
    let largest = x.iter().zip(y).map(|(x, y)| (y - fitted(*x)).abs()).fold(0.0, f64::max);
    assert!((line.max_residual - largest).abs() < 1e-12);
}

#[test]
fn large_offsets_cost_no_digits() {
    // Clock readings: large numbers, a slope very near one.
    let x: Vec<f64> = (0..100).map(|i| 1e15 + 1e6 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.1 * (x - 1e15) + 7.0).collect();
    let line = least_squares(&x, &y, 0.95).unwrap();
    assert!((line.slope.value - 2.1).abs() < 1e-9);
    assert!(line.max_residual < 1e-3);
}

#[test]
fn edges() {
    assert_eq!(least_squares(&[], &[], 0.95), None);
    assert_eq!(least_squares(&[1.0, 2.0], &[1.0, 2.0], 0.95), None);
    assert_eq!(least_squares(&[1.0; 4], &[1.0, 2.0, 3.0, 4.0], 0.95), None);
    assert_eq!(least_squares(&[1.0, 2.0, 3.0], &[1.0, 2.0], 0.95), None);
}
