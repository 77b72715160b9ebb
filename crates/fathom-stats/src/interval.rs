//! Intervals: of the median by order statistics, of any statistic by the bootstrap.

use crate::distribution::{ln_choose, normal_cdf, normal_quantile};
use crate::quantile;
use rand::{Rng, RngExt};

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

/// How [`bootstrap`] turns replicates into an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Quantiles of the replicates (Efron 1979).
    Percentile,
    /// Bias-corrected and accelerated quantiles of the replicates (Efron 1987, "Better bootstrap
    /// confidence intervals", JASA 82:171-185). For smooth statistics; the jackknife behind the
    /// acceleration fails for a median, so use [`Method::Percentile`] or [`median_interval`] there.
    Bca,
}

/// A bootstrap interval of `statistic` over independent `samples`.
///
/// `statistic` gets samples in no particular order and returns a finite number in whatever unit
/// the estimate is to have. `replicates` of 1,000 or more are usual for a level of 0.95. `None`
/// for fewer than two samples, no replicates, a level outside 0..1, or a statistic that is not
/// finite on the samples or on any resample.
///
/// ```
/// use fathom_stats::interval::{bootstrap, Method};
/// use rand::SeedableRng;
/// let samples: Vec<f64> = (0..50).map(|i| f64::from(i % 10)).collect();
/// let mean = |s: &[f64]| s.iter().sum::<f64>() / s.len() as f64;
/// let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
/// let estimate = bootstrap(&samples, mean, 0.95, 1000, Method::Bca, &mut rng).unwrap();
/// assert_eq!(estimate.value, 4.5);
/// assert!(estimate.interval.contains(4.5));
/// ```
pub fn bootstrap(
    samples: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    level: f64,
    replicates: usize,
    method: Method,
    rng: &mut impl Rng,
) -> Option<Estimate> {
    if samples.len() < 2 || replicates == 0 || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let value = statistic(samples);
    let mut resample = samples.to_vec();
    let mut replicated = Vec::with_capacity(replicates);
    for _ in 0..replicates {
        for slot in &mut resample {
            *slot = samples[rng.random_range(0..samples.len())];
        }
        replicated.push(statistic(&resample));
    }
    if !value.is_finite() || replicated.iter().any(|v| !v.is_finite()) {
        return None;
    }
    replicated.sort_unstable_by(f64::total_cmp);
    let tail = 0.5 * (1.0 - level);
    let (low_p, high_p) = match method {
        Method::Percentile => (tail, 1.0 - tail),
        Method::Bca => bca_levels(samples, &statistic, value, &replicated, tail)?,
    };
    let low = quantile::quantile_sorted(&replicated, low_p)?;
    let high = quantile::quantile_sorted(&replicated, high_p)?;
    Some(Estimate { value, interval: Interval { low, high }, level })
}

/// The two levels at which BCa reads the distribution of the replicates (Efron 1987, eq. 6.8).
fn bca_levels(
    samples: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    value: f64,
    replicated: &[f64],
    tail: f64,
) -> Option<(f64, f64)> {
    let count = replicated.len() as f64;
    let below = replicated.iter().filter(|&&v| v < value).count() as f64;
    let equal = replicated.iter().filter(|&&v| v == value).count() as f64;
    // Half of the ties count as below: a discrete statistic would otherwise look biased. The
    // clamp keeps the quantile finite when the value lies outside all replicates.
    let share = ((below + 0.5 * equal) / count).clamp(0.5 / count, 1.0 - 0.5 / count);
    let bias = normal_quantile(share);
    let acceleration = jackknife_acceleration(samples, statistic)?;
    let adjusted = |p: f64| {
        let z = bias + normal_quantile(p);
        normal_cdf(bias + z / (1.0 - acceleration * z))
    };
    Some((adjusted(tail), adjusted(1.0 - tail)))
}

/// Skewness of the influence of single samples, by leaving each out in turn.
fn jackknife_acceleration(samples: &[f64], statistic: impl Fn(&[f64]) -> f64) -> Option<f64> {
    let mut rest = samples[1..].to_vec();
    let mut left_out = vec![statistic(&rest)];
    for i in 0..rest.len() {
        rest[i] = samples[i];
        left_out.push(statistic(&rest));
    }
    if left_out.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mean = left_out.iter().sum::<f64>() / left_out.len() as f64;
    let moment = |power: i32| left_out.iter().map(|v| (mean - v).powi(power)).sum::<f64>();
    let spread = moment(2).powf(1.5);
    Some(if spread > 0.0 { moment(3) / (6.0 * spread) } else { 0.0 })
}

#[cfg(test)]
mod tests;
