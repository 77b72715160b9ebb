//! Fits of positive numbers to a model that is no line: Levenberg (1944) and Marquardt (1963), in logarithms.
//!
//! Costs are positive and known by their share, so that the search steps in their logarithms, and the
//! intervals that come out are products. Derivatives are differences, for which the model is called once per number; from
//! step to step they are learned from what the step led to (Broyden, 1965), and taken anew where that leads no further.
//!
//! ```
//! use fathom_stats::nonlinear::{STEPS, Search};
//!
//! // Two costs from the times of three jobs, as shares of what was measured.
//! let measured = [110.0, 1_010.0, 10_010.0];
//! let calls = [1.0, 1.0, 1.0];
//! let bytes = [100.0, 1_000.0, 10_000.0];
//! let mut search = Search::start(&[1.0, 0.1], |costs| {
//!     (0..3).map(|job| ((costs[0] * calls[job] + costs[1] * bytes[job]) / measured[job]).ln()).collect()
//! }).unwrap();
//! search.go(STEPS);
//! let found = search.end();
//! assert!((found.values[0] - 10.0).abs() < 1e-3 && (found.values[1] - 1.0).abs() < 1e-3);
//! ```

use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// What a fit found.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The numbers.
    pub values: Vec<f64>,
    /// The standard deviation of each number's logarithm; infinite where the residuals say nothing of it.
    pub deviations: Vec<f64>,
    /// The residuals that are left.
    pub residuals: Vec<f64>,
}

/// The relative step of a difference: far above the rounding of simulated times, far below their bends.
const STEP: f64 = 0.02;
/// The steps of a search that goes to its end.
pub const STEPS: usize = 30;
/// The largest step of a logarithm: a number changes by less than a factor of e.
const LONGEST: f64 = 1.0;
/// The damping that a search begins with. It grows ever faster while steps lead no further (Nielsen, 1999).
const LEAST_DAMPING: f64 = 1e-4;
/// A step that makes the sum of squares less by no more than this share, or promises no more, is the last.
const ENOUGH: f64 = 1e-3;

/// A search for the positive numbers that make the sum of the squared residuals least, which goes on for as long as it is worth it.
pub struct Search<R> {
    residuals: R,
    values: Vec<f64>,
    left: Vec<f64>,
    slopes: Vec<Vec<f64>>,
    /// Whether the slopes are differences, and not learned from the steps.
    are_taken: bool,
    damping: f64,
    /// What the damping grows by where a step leads no further.
    grows: f64,
    is_over: bool,
}

impl<R: Fn(&[f64]) -> Vec<f64> + Sync> Search<R> {
    /// Begins a search from the numbers given. `residuals` gives one residual per observation, all of the same weight, and is asked on
    /// all CPUs at once. None where there are fewer observations than numbers, or a residual is no number.
    pub fn start(start: &[f64], residuals: R) -> Option<Self> {
        let values: Vec<f64> = start.iter().map(|value| value.max(f64::MIN_POSITIVE)).collect();
        let left = residuals(&values);
        if left.len() < values.len() || values.is_empty() || left.iter().any(|one| !one.is_finite()) {
            return None;
        }
        let slopes = differences(&values, &left, &residuals);
        let (damping, grows) = (LEAST_DAMPING, 2.0);
        Some(Self { residuals, values, left, slopes, are_taken: true, damping, grows, is_over: false })
    }

    /// The sum of the squared residuals where the search is now.
    pub fn left(&self) -> f64 {
        squares(&self.left)
    }

    /// Makes at most so many steps more; [`STEPS`] are enough.
    pub fn go(&mut self, steps: usize) {
        for _ in 0..steps {
            if self.is_over {
                return;
            }
            self.is_over = !self.step();
        }
    }

    /// Makes a step; whether another one may lead further.
    fn step(&mut self) -> bool {
        if squares(&self.left) < 1e-24 {
            return false;
        }
        let Some(step) = step(&self.slopes, &self.left, self.damping) else { return false };
        let is_whole = step.iter().all(|step| step.abs() <= LONGEST);
        let step: Vec<f64> = step.iter().map(|step| step.clamp(-LONGEST, LONGEST)).collect();
        let promised = 1.0 - squares(&led_to(&self.slopes, &step, &self.left)) / squares(&self.left);
        let tried: Vec<f64> = self.values.iter().zip(&step).map(|(value, step)| value * step.exp()).collect();
        let there = (self.residuals)(&tried);
        let gained = 1.0 - squares(&there) / squares(&self.left);
        let were_taken = self.are_taken;
        if gained > 0.0 {
            learn(&mut self.slopes, &step, &self.left, &there);
            (self.values, self.left, self.are_taken) = (tried, there, false);
            (self.damping, self.grows) = (LEAST_DAMPING.max(self.damping / 5.0), 2.0);
        } else if were_taken {
            (self.damping, self.grows) = (self.damping * self.grows, self.grows * 2.0);
        }
        if gained >= ENOUGH {
            return true;
        }
        if were_taken && is_whole && (gained > 0.0 || promised < ENOUGH) {
            return false;
        }
        self.take_slopes();
        true
    }

    fn take_slopes(&mut self) {
        if !self.are_taken {
            (self.slopes, self.are_taken) = (differences(&self.values, &self.left, &self.residuals), true);
        }
    }

    /// What the search has found.
    pub fn end(mut self) -> Fit {
        self.take_slopes();
        let deviations = deviations(&self.slopes, &self.left);
        Fit { values: self.values, deviations, residuals: self.left }
    }
}

/// The slope of each residual (row) along the logarithm of each number (column).
fn differences(
    values: &[f64],
    left: &[f64],
    residuals: &(impl Fn(&[f64]) -> Vec<f64> + Sync),
) -> Vec<Vec<f64>> {
    let along = |column: usize| -> Vec<f64> {
        let mut aside = values.to_vec();
        aside[column] *= STEP.exp();
        residuals(&aside).iter().zip(left).map(|(there, here)| (there - here) / STEP).collect()
    };
    let columns: Vec<Vec<f64>> = (0..values.len()).into_par_iter().map(along).collect();
    let mut slopes = vec![vec![0.0; values.len()]; left.len()];
    for (column, along) in columns.into_iter().enumerate() {
        slopes.iter_mut().zip(along).for_each(|(row, slope)| row[column] = slope);
    }
    slopes
}

/// The residuals that a step leads to, as the slopes have it.
fn led_to(slopes: &[Vec<f64>], step: &[f64], left: &[f64]) -> Vec<f64> {
    let along = |row: &[f64]| -> f64 { row.iter().zip(step).map(|(slope, one)| slope * one).sum() };
    slopes.iter().zip(left).map(|(row, here)| here + along(row)).collect()
}

/// Has slopes agree with what a step led to: the least change of them that does (Broyden, 1965).
fn learn(slopes: &mut [Vec<f64>], step: &[f64], left: &[f64], there: &[f64]) {
    let length: f64 = step.iter().map(|one| one * one).sum();
    if length == 0.0 {
        return;
    }
    let predicted = led_to(slopes, step, left);
    for ((row, predicted), there) in slopes.iter_mut().zip(predicted).zip(there) {
        let off = (there - predicted) / length;
        row.iter_mut().zip(step).for_each(|(slope, one)| *slope += off * one);
    }
}

fn squares(residuals: &[f64]) -> f64 {
    let sum: f64 = residuals.iter().map(|one| one * one).sum();
    if sum.is_finite() { sum } else { f64::INFINITY }
}

/// Slopes times slopes.
fn normal(slopes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let columns = slopes.first().map_or(0, Vec::len);
    let product = |a: usize, b: usize| slopes.iter().map(|row| row[a] * row[b]).sum::<f64>();
    (0..columns).map(|a| (0..columns).map(|b| product(a, b)).collect()).collect()
}

fn step(slopes: &[Vec<f64>], left: &[f64], damping: f64) -> Option<Vec<f64>> {
    let mut matrix = normal(slopes);
    let columns = matrix.len();
    let largest = (0..columns).map(|at| matrix[at][at]).fold(0.0, f64::max);
    for (at, row) in matrix.iter_mut().enumerate() {
        row[at] += damping * row[at].max(1e-6 * largest);
    }
    let inverse = inverse(matrix)?;
    let downhill: Vec<f64> = (0..columns)
        .map(|at| -slopes.iter().zip(left).map(|(row, one)| row[at] * one).sum::<f64>())
        .collect();
    Some(inverse.iter().map(|row| row.iter().zip(&downhill).map(|(a, b)| a * b).sum()).collect())
}

/// The deviation of each number, from the residuals that are left: s^2 (J'J)^-1.
fn deviations(slopes: &[Vec<f64>], left: &[f64]) -> Vec<f64> {
    let matrix = normal(slopes);
    let columns = matrix.len();
    let freedom = left.len().saturating_sub(columns).max(1) as f64;
    let variance = squares(left) / freedom;
    match inverse(matrix) {
        Some(inverse) => (0..columns).map(|at| (inverse[at][at].max(0.0) * variance).sqrt()).collect(),
        None => vec![f64::INFINITY; columns],
    }
}

/// By Gauss and Jordan with the largest pivot; none of a matrix that has none.
pub(crate) fn inverse(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    for (at, row) in matrix.iter_mut().enumerate() {
        row.extend((0..size).map(|column| f64::from(u8::from(column == at))));
    }
    for at in 0..size {
        let largest = (at..size).max_by(|&a, &b| matrix[a][at].abs().total_cmp(&matrix[b][at].abs()))?;
        matrix.swap(at, largest);
        let pivot = matrix[at][at];
        if pivot.abs() < 1e-300 {
            return None;
        }
        matrix[at].iter_mut().for_each(|cell| *cell /= pivot);
        let pivot_row = matrix[at].clone();
        for (_, row) in matrix.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            let factor = row[at];
            row.iter_mut().zip(&pivot_row).for_each(|(cell, above)| *cell -= factor * above);
        }
    }
    Some(matrix.into_iter().map(|row| row[size..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::{Rng, SeedableRng};

    use super::*;

    fn fit(steps: usize, start: &[f64], residuals: impl Fn(&[f64]) -> Vec<f64> + Sync) -> Option<Fit> {
        let mut search = Search::start(start, residuals)?;
        search.go(steps);
        Some(search.end())
    }

    /// Jobs at planted costs with 3 % of noise: the intervals of 95 % hold the truth as often as they say.
    #[test]
    fn intervals_hold_what_was_planted() {
        let truth = [300.0, 40.0, 0.1];
        let jobs: Vec<[f64; 3]> = [512.0, 4096.0, 16384.0, 65536.0, 262_144.0, 1_048_576.0]
            .iter()
            .flat_map(|&bytes: &f64| {
                [[1.0, (bytes / 4096.0).floor(), bytes], [1.0, (bytes / 16384.0).floor(), bytes]]
            })
            .collect();
        let time = |costs: &[f64], job: &[f64; 3]| costs.iter().zip(job).map(|(a, b)| a * b).sum::<f64>();
        let mut held = 0;
        for seed in 0..200 {
            let mut dice = Pcg64Mcg::seed_from_u64(seed);
            let mut noise =
                || (0..12).map(|_| f64::from(dice.next_u32()) / 4_294_967_296.0).sum::<f64>() - 6.0;
            let measured: Vec<f64> =
                jobs.iter().map(|job| time(&truth, job) * (0.03 * noise()).exp()).collect();
            let residuals = |costs: &[f64]| {
                jobs.iter().zip(&measured).map(|(job, measured)| (time(costs, job) / measured).ln()).collect()
            };
            let found = fit(STEPS, &[100.0, 100.0, 1.0], residuals).unwrap();
            for ((value, deviation), truth) in found.values.iter().zip(&found.deviations).zip(&truth) {
                // Student's t for nine degrees of freedom.
                held += usize::from((value / truth).ln().abs() <= 2.26 * deviation);
            }
        }
        assert!((560..=600).contains(&held), "{held} of 600 intervals hold the truth");
    }

    #[test]
    fn a_search_in_parts_is_that_in_one() {
        let of = |costs: &[f64], job: f64| costs[0] + costs[1] * job * job;
        let jobs = [1.0, 2.0, 3.0, 4.0, 5.0];
        let residuals =
            |costs: &[f64]| jobs.map(|job| (of(costs, job) / of(&[50.0, 3.0], job)).ln()).to_vec();
        let mut search = Search::start(&[1.0, 100.0], residuals).unwrap();
        search.go(2);
        assert!(search.left() > 0.1, "{}", search.left());
        search.go(STEPS - 2);
        assert!(search.left() < 1e-6, "{}", search.left());
        assert_eq!(search.end(), fit(STEPS, &[1.0, 100.0], residuals).unwrap());
    }

    #[test]
    fn what_nothing_depends_on_stays_and_is_unknown() {
        let found = fit(STEPS, &[5.0, 7.0], |costs| vec![(costs[0] / 20.0).ln(); 4]).unwrap();
        assert!((found.values[0] - 20.0).abs() < 1e-6 && (found.values[1] - 7.0).abs() < 1e-9);
        assert!(found.deviations[1].is_infinite());
        assert!(fit(STEPS, &[1.0, 1.0], |_| vec![0.0]).is_none());
        assert!(fit(STEPS, &[1.0], |_| vec![f64::NAN; 3]).is_none());
    }
}
