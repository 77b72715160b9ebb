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
/// place).
///
/// Whether there is a change is decided by Pettitt's rank test (Pettitt 1979, "A non-parametric
/// approach to the change-point problem", Applied Statistics 28:126-135), its statistic scaled
/// down by the variance inflation of the residuals' lag-one rank correlation: noise that wanders
/// would otherwise pass for a change. Where it lies is the split with the least absolute
/// deviations from the two medians (Bai 1995), and it has to fit better than a resistant line
/// (Tukey 1977). The interval is the basic bootstrap of the place, residuals resampled within
/// each side (Antoch, Hušková & Veraverbeke 1995). Places are whole numbers, so it covers at
/// least as often as it says.
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
/// assert_eq!((change.position, change.before, change.after), (40, 11.0, 51.0));
/// ```
pub fn find(values: &[f64], options: &Options, rng: &mut impl Rng) -> Result<ChangePoint, Reason> {
    if values.len() < FEWEST_VALUES {
        return Err(Reason::TooFew);
    }
    if values.iter().any(|value| !value.is_finite()) {
        return Err(Reason::NotFinite);
    }
    let (position, cost) = best_split(values);
    let (left, right) = values.split_at(position);
    let (before, after) = (quantile::median(left).unwrap_or(0.0), quantile::median(right).unwrap_or(0.0));
    let residuals: Vec<f64> =
        left.iter().map(|v| v - before).chain(right.iter().map(|v| v - after)).collect();
    let p_value = pettitt(values, variance_inflation(&residuals));
    if before == after || p_value > options.significance {
        return Err(Reason::Level);
    }
    if line_cost(values) < cost {
        return Err(Reason::Slope);
    }
    let interval = bootstrap_place(&residuals, position, (before, after), options, rng);
    Ok(ChangePoint { position, interval, level: options.level, before, after, p_value })
}

/// Below this Pettitt's p-value cannot reach any useful significance.
const FEWEST_VALUES: usize = 10;

/// The split with the least absolute deviations from the medians of its sides, as the index of
/// the first value of the right side, and those deviations.
fn best_split(values: &[f64]) -> (usize, f64) {
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
    (1..values.len())
        .map(|split| (split, left[split - 1] + right[values.len() - split - 1]))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or((0, 0.0))
}

/// Approximate significance of Pettitt's statistic, which is divided by the square root of
/// `inflation`.
fn pettitt(values: &[f64], inflation: f64) -> f64 {
    let count = values.len() as f64;
    let mut sum = 0.0;
    let mut largest: f64 = 0.0;
    for (i, rank) in ranks(values).iter().enumerate() {
        sum += rank;
        largest = largest.max((2.0 * sum - (i + 1) as f64 * (count + 1.0)).abs());
    }
    let scaled = 6.0 * largest * largest / ((count.powi(3) + count.powi(2)) * inflation);
    (2.0 * (-scaled).exp()).min(1.0)
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

/// Absolute deviations from a resistant line through the medians of the outer thirds.
fn line_cost(values: &[f64]) -> f64 {
    let third = values.len() / 3;
    let first = quantile::median(&values[..third]).unwrap_or(0.0);
    let last = quantile::median(&values[values.len() - third..]).unwrap_or(0.0);
    let slope = (last - first) / (values.len() - third) as f64;
    let mut levelled: Vec<f64> =
        values.iter().enumerate().map(|(i, value)| value - slope * i as f64).collect();
    let middle = quantile::median(&levelled).unwrap_or(0.0);
    levelled.iter_mut().map(|value| (*value - middle).abs()).sum()
}

fn bootstrap_place(
    residuals: &[f64],
    position: usize,
    (before, after): (f64, f64),
    options: &Options,
    rng: &mut impl Rng,
) -> Interval {
    let count = residuals.len();
    let mut resample = vec![0.0; count];
    let mut places = Vec::with_capacity(options.replicates);
    for _ in 0..options.replicates {
        for (i, slot) in resample.iter_mut().enumerate() {
            *slot = if i < position {
                before + residuals[rng.random_range(0..position)]
            } else {
                after + residuals[rng.random_range(position..count)]
            };
        }
        places.push(best_split(&resample).0 as f64);
    }
    places.sort_unstable_by(f64::total_cmp);
    let tail = 0.5 * (1.0 - options.level);
    let centre = position as f64;
    let reflected = |p: f64| {
        let place = quantile::quantile_sorted(&places, p).unwrap_or(centre);
        (2.0 * centre - place).clamp(1.0, count as f64 - 1.0)
    };
    Interval { low: reflected(1.0 - tail).floor(), high: reflected(tail).ceil() }
}

#[cfg(test)]
mod tests;
