//! Changes in the level of a sequence: one with an interval, or as many as there are.
//!
//! Levels are medians and deviations absolute, so that single outliers of any size neither make
//! nor move a change.

mod running_median;
mod segments;

pub use segments::{Segment, SegmentOptions, segments};

use crate::interval::Interval;
use crate::quantile;
use rand::{Rng, RngExt};
use running_median::RunningMedian;
use std::fmt;

/// How [`find`] decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Confidence level of the interval. Default 0.95.
    pub level: f64,
    /// Bootstrap replicates behind the interval. Default 400.
    pub replicates: usize,
    /// Largest probability of such a change in a sequence without any. Default 0.001.
    pub significance: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { level: 0.95, replicates: 400, significance: 1e-3 }
    }
}

/// One change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the new level.
    pub position: usize,
    /// Where the change lies, as indices, at [`level`](Self::level).
    pub interval: Interval,
    /// Confidence level of the interval.
    pub level: f64,
    /// Median before the change, in the unit of the values.
    pub before: f64,
    /// Median from the change on, in the unit of the values.
    pub after: f64,
    /// Probability of such a change in a sequence without any.
    pub p_value: f64,
}

/// Why no change was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Fewer than 10 values.
    TooFew,
    /// A value is infinite or not a number.
    NotFinite,
    /// No change that noise of the same autocorrelation could not have made.
    Level,
    /// The level changes, but along a slope rather than at one place.
    Slope,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooFew => "too few values to see a change",
            Self::NotFinite => "a value is not a finite number",
            Self::Level => "the level does not change",
            Self::Slope => "the level changes gradually, not at one place",
        })
    }
}

/// Finds the one change of level in `values` (any unit, equally spaced, in order of time or
/// place). One spread on both sides places it best: pass the logs of latencies.
///
/// Whether there is a change is decided by the maximally selected rank statistic (Pettitt 1979,
/// "A non-parametric approach to the change-point problem", standardised at each split as in
/// Lausen & Schumacher 1992, "Maximally selected rank statistics", Biometrics 48:73-85, so that
/// changes near an end are seen too). It is scaled down by the variance inflation of the
/// residuals' lag-one rank correlation: noise that wanders would otherwise pass for a change.
/// Where the change lies is the split with the least absolute deviations from the two medians (Bai
/// 1995, deviations cut off at six robust standard deviations so that an outlier at the edge does
/// not move it), and it has to fit better than a resistant line (Tukey 1977). The interval spans all
/// splits whose deviations exceed the least by no more than those of the true split do in
/// resamples of the residuals (the likelihood-ratio region of Siegmund 1988, calibrated by the
/// bootstrap). Places are whole numbers, so it may cover more often than it says.
///
/// # Errors
/// [`Reason`] if there is no one change.
///
/// ```
/// use fathom_stats::change_point::{find, Options};
/// use rand::SeedableRng;
/// let values: Vec<f64> = (0..60).map(|i| if i < 40 { 10.0 } else { 50.0 } + f64::from(i % 3)).collect();
/// let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
/// let change = find(&values, &Options::default(), &mut rng).unwrap();
/// assert_eq!((change.position, change.before.round(), change.after.round()), (40, 11.0, 51.0));
/// ```
pub fn find(values: &[f64], options: &Options, rng: &mut impl Rng) -> Result<ChangePoint, Reason> {
    if values.len() < FEWEST_VALUES {
        return Err(Reason::TooFew);
    }
    if values.iter().any(|value| !value.is_finite()) {
        return Err(Reason::NotFinite);
    }
    let split = best_split(values);
    let p_value = rank_significance(values, variance_inflation(&split.residuals));
    let Split { position, before, after, .. } = split;
    if before == after || p_value > options.significance {
        return Err(Reason::Level);
    }
    if line_cost(values) < step_cost(values, position) {
        return Err(Reason::Slope);
    }
    let interval = place_interval(&split, options, rng);
    Ok(ChangePoint { position, interval, level: options.level, before, after, p_value })
}

/// Below this no ranks are significant enough.
const FEWEST_VALUES: usize = 10;
/// Fewest values on either side of a change: the rank sum of fewer is not near normal.
const FEWEST_ASIDE: f64 = 4.0;

/// A split into two levels.
struct Split {
    /// Index of the first value of the right side.
    position: usize,
    before: f64,
    after: f64,
    /// Cost of each split given the levels; the first is that before index 1.
    costs: Vec<f64>,
    /// What is left of the values without their levels and the slope.
    residuals: Vec<f64>,
}

impl Split {
    /// By how much the split at `place` costs more than the best, in mean absolute residuals.
    fn excess(&self, place: usize) -> f64 {
        let sum: f64 = self.residuals.iter().map(|residual| residual.abs()).sum();
        let more = self.costs[place - 1] - self.costs[self.position - 1];
        if more > 0.0 { more / (sum / self.residuals.len() as f64) } else { 0.0 }
    }
}

/// The split with the least absolute deviations from the medians of its sides; found a first
/// time, then again without the slope that both sides share, then placed by deviations that are
/// cut off.
fn best_split(values: &[f64]) -> Split {
    let first = least_deviations(values);
    let slope = common_slope(values, first);
    let at_split = |i: usize| slope * (i as f64 - first as f64);
    let levelled: Vec<f64> = values.iter().enumerate().map(|(i, v)| v - at_split(i)).collect();
    let second = least_deviations(&levelled);
    let before = quantile::median(&levelled[..second]).unwrap_or(0.0);
    let after = quantile::median(&levelled[second..]).unwrap_or(0.0);
    let costs = bounded_costs(&levelled, before, after, second);
    let position = least(costs.iter().copied()) + 1;
    let residuals =
        (0..values.len()).map(|i| levelled[i] - if i < position { before } else { after }).collect();
    Split { position, before, after, costs, residuals }
}

/// The split with the least absolute deviations from the medians of its sides.
fn least_deviations(values: &[f64]) -> usize {
    let deviations = |values: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
        let mut running = RunningMedian::default();
        values
            .map(|value| {
                running.push(value);
                running.absolute_deviations()
            })
            .collect()
    };
    let left = deviations(&mut values.iter().copied());
    let right = deviations(&mut values.iter().rev().copied());
    least(left.iter().zip(right.iter().rev().skip(1)).map(|(left, right)| left + right)) + 1
}

/// Drift per value within the sides: the slope between the medians of the outer thirds of each
/// side (Tukey's resistant line), the sides weighted by their precision.
fn common_slope(values: &[f64], split: usize) -> f64 {
    let (left, right) = values.split_at(split);
    let (mut weighted, mut weights) = (0.0, 0.0);
    for side in [left, right].into_iter().filter(|side| side.len() >= 6) {
        let weight = (side.len() as f64).powi(3);
        weighted += weight * resistant_slope(side);
        weights += weight;
    }
    if weights > 0.0 { weighted / weights } else { 0.0 }
}

/// Slope per value between the medians of the outer thirds (Tukey 1977); for three values or more.
fn resistant_slope(values: &[f64]) -> f64 {
    let third = values.len() / 3;
    let first = quantile::median(&values[..third]).unwrap_or(0.0);
    let last = quantile::median(&values[values.len() - third..]).unwrap_or(0.0);
    (last - first) / (values.len() - third) as f64
}

/// Index of the least value; 0 if there is none.
fn least(values: impl Iterator<Item = f64>) -> usize {
    values.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(index, _)| index)
}

/// Cost of each split given the levels, where no value costs more than six robust standard
/// deviations. An outlier then costs the same on either side; unbounded it would count as one
/// more value of the level that is nearer to it, and could drag its neighbours along.
fn bounded_costs(values: &[f64], before: f64, after: f64, split: usize) -> Vec<f64> {
    let level = |i: usize| if i < split { before } else { after };
    let mut residuals: Vec<f64> =
        values.iter().enumerate().map(|(i, value)| (value - level(i)).abs()).collect();
    let spread = quantile::median_in_place(&mut residuals).unwrap_or(0.0) * quantile::MAD_TO_SIGMA;
    // Data without spread: any bound below the jump will do.
    let bound = if spread > 0.0 { 6.0 * spread } else { 0.5 * (after - before).abs() };
    let cost = |value: f64, level: f64| (value - level).abs().min(bound);
    let mut total: f64 = values.iter().map(|&value| cost(value, after)).sum();
    values[..values.len() - 1]
        .iter()
        .map(|&value| {
            total += cost(value, before) - cost(value, after);
            total
        })
        .collect()
}

/// Approximate significance of the largest standardised rank sum over all splits that leave at
/// least [`FEWEST_ASIDE`] values on each side, the statistic divided by the square root of
/// `inflation`: the approximation of Miller & Siegmund 1982 ("Maximally selected chi square
/// statistics", Biometrics 38:1011-1016), eq. 8.
fn rank_significance(values: &[f64], inflation: f64) -> f64 {
    let count = values.len() as f64;
    let ranks = ranks(values);
    let middle = 0.5 * (count + 1.0);
    let variance = ranks.iter().map(|rank| (rank - middle).powi(2)).sum::<f64>() / (count - 1.0);
    if variance <= 0.0 {
        return 1.0;
    }
    let mut sum = 0.0;
    let mut largest: f64 = 0.0;
    for (i, rank) in ranks.iter().enumerate() {
        sum += rank - middle;
        let (before, after) = ((i + 1) as f64, count - (i + 1) as f64);
        if before.min(after) >= FEWEST_ASIDE {
            largest = largest.max(sum.abs() / (variance * before * after / count).sqrt());
        }
    }
    let z = (largest / inflation.sqrt()).max(1.0);
    let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    let splits = 2.0 * ((count - FEWEST_ASIDE) / FEWEST_ASIDE).ln();
    (density * (4.0 / z + (z - 1.0 / z) * splits)).min(1.0)
}

/// Ranks from 1 on; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for run in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let mean = first as f64 + 0.5 * (run.len() + 1) as f64;
        run.iter().for_each(|&i| ranks[i] = mean);
        first += run.len();
    }
    ranks
}

/// Long-run variance over variance of a first-order autoregression with the residuals' lag-one
/// rank correlation, which is corrected for the bias that two fitted levels bring (Marriott &
/// Pope 1954) and never taken as negative.
fn variance_inflation(residuals: &[f64]) -> f64 {
    let count = residuals.len() as f64;
    let middle = 0.5 * (count + 1.0);
    let centred: Vec<f64> = ranks(residuals).iter().map(|rank| rank - middle).collect();
    let squares: f64 = centred.iter().map(|c| c * c).sum();
    if squares <= 0.0 {
        return 1.0;
    }
    let products: f64 = centred.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let raw = products / squares;
    let correlation = (raw + 2.0 * (1.0 + 3.0 * raw) / count).clamp(0.0, 0.95);
    (1.0 + correlation) / (1.0 - correlation)
}

/// Absolute deviations from the medians of both sides.
fn step_cost(values: &[f64], position: usize) -> f64 {
    let (left, right) = values.split_at(position);
    let around = |side: &[f64]| {
        let middle = quantile::median(side).unwrap_or(0.0);
        side.iter().map(|value| (value - middle).abs()).sum::<f64>()
    };
    around(left) + around(right)
}

/// Absolute deviations from a resistant line through the medians of the outer thirds.
fn line_cost(values: &[f64]) -> f64 {
    let slope = resistant_slope(values);
    let mut levelled: Vec<f64> =
        values.iter().enumerate().map(|(i, value)| value - slope * i as f64).collect();
    let middle = quantile::median(&levelled).unwrap_or(0.0);
    levelled.iter_mut().map(|value| (*value - middle).abs()).sum()
}

/// All splits whose cost exceeds the least by no more than the cost of the true split does in
/// most of the resamples, excesses counted in units of each sample's own residuals.
fn place_interval(split: &Split, options: &Options, rng: &mut impl Rng) -> Interval {
    let (count, position) = (split.residuals.len(), split.position);
    // Fitted residuals are smaller than the noise: four quantities have been fitted.
    let widened = (count as f64 / (count as f64 - 4.0)).sqrt();
    let mut resample = vec![0.0; count];
    let mut excesses = Vec::with_capacity(options.replicates);
    for _ in 0..options.replicates {
        for (i, slot) in resample.iter_mut().enumerate() {
            let (level, side) =
                if i < position { (split.before, 0..position) } else { (split.after, position..count) };
            *slot = level + widened * split.residuals[rng.random_range(side)];
        }
        excesses.push(best_split(&resample).excess(position));
    }
    let allowed = quantile::quantile(&excesses, options.level).unwrap_or(0.0);
    let allowed = |&place: &usize| split.excess(place) <= allowed;
    let low = (1..count).find(allowed).unwrap_or(position);
    let high = (1..count).rfind(allowed).unwrap_or(position);
    Interval { low: low as f64, high: high as f64 }
}

#[cfg(test)]
mod tests;
