//! Intervals of the median by order statistics.

use crate::distribution::ln_choose;
use crate::quantile;

/// A closed interval; `low <= high`, in the unit of what it bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies in the interval, its ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// `high - low`.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// The interval of `function` of the quantity, for an increasing `function`.
    pub fn map(&self, function: impl Fn(f64) -> f64) -> Self {
        Self { low: function(self.low), high: function(self.high) }
    }
}

/// A value with the interval that is to hold the truth at the stated confidence level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// Where the truth lies with probability [`level`](Self::level).
    pub interval: Interval,
    /// The confidence level, between 0 and 1.
    pub level: f64,
}

impl Estimate {
    /// The estimate of `function` of the quantity, for an increasing `function`.
    pub fn map(&self, function: impl Fn(f64) -> f64) -> Self {
        Self { value: function(self.value), interval: self.interval.map(&function), level: self.level }
    }
}

/// The median of independent `samples` with a distribution-free interval at `level`.
///
/// The interval runs between order statistics whose coverage follows from the binomial
/// distribution, interpolated between the two neighbouring pairs so that the coverage comes
/// close to `level` rather than above it. `None` if there are too few samples for the level
/// (fewer than 6 for 0.95), or if `level` is not between 0 and 1.
///
/// Source: Hettmansperger & Sheather 1986, "Confidence intervals based on interpolated order
/// statistics", Statistics & Probability Letters 4:75-79.
///
/// ```
/// use fathom_stats::interval::median_interval;
/// let samples: Vec<f64> = (1..=11).map(f64::from).collect();
/// let estimate = median_interval(&samples, 0.95).unwrap();
/// assert_eq!(estimate.value, 6.0);
/// assert!(estimate.interval.low > 2.0 && estimate.interval.high < 10.0);
/// assert!(median_interval(&samples[..5], 0.95).is_none());
/// ```
pub fn median_interval(samples: &[f64], level: f64) -> Option<Estimate> {
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let ascending = quantile::sorted(samples);
    let count = ascending.len();
    // The innermost pair [x(depth), x(n+1-depth)], counted from 1, that still covers; the coverage
    // falls as the pair moves towards the middle.
    let coverages = pair_coverages(count);
    let depth = coverages.iter().take_while(|&&coverage| coverage >= level).count();
    if depth == 0 {
        return None;
    }
    let (low, high) = if depth == count / 2 {
        (ascending[depth - 1], ascending[count - depth])
    } else {
        let (outer, inner) = (coverages[depth - 1], coverages[depth]);
        let share = (outer - level) / (outer - inner);
        let (n, d) = (count as f64, depth as f64);
        let weight = (n - d) * share / (d + (n - 2.0 * d) * share);
        let blend = |far: f64, near: f64| far + weight * (near - far);
        (
            blend(ascending[depth - 1], ascending[depth]),
            blend(ascending[count - depth], ascending[count - depth - 1]),
        )
    };
    let value = quantile::quantile_sorted(&ascending, 0.5)?;
    Some(Estimate { value, interval: Interval { low, high }, level })
}

/// Coverage of the median by each pair of order statistics [x(d), x(n+1-d)], d = 1, 2, ... n/2:
/// 1 - 2 P(B < d) for B binomial with n trials of probability one half.
pub(crate) fn pair_coverages(count: usize) -> Vec<f64> {
    let log_all = count as f64 * std::f64::consts::LN_2;
    let mut below = 0.0;
    (0..count / 2)
        .map(|d| {
            below += (ln_choose(count, d) - log_all).exp();
            1.0 - 2.0 * below
        })
        .collect()
}

#[cfg(test)]
mod tests;
