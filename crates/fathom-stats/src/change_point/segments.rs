//! Several changes of level.

use super::running_median::RunningMedian;
use super::{bounded_costs, least};
use crate::quantile::{self, MAD_TO_SIGMA};

/// How [`segments`] decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SegmentOptions {
    /// Fewest values in a segment. Default 5: the median of 5 forgives two outliers.
    pub min_length: usize,
    /// Penalty for a segment, in units of the noise's standard deviation times ln(n). Default 4.
    pub penalty: f64,
    /// Neighbours whose levels differ by less than this are one segment, in the unit of the
    /// values. Default 0.25, meant for logs: a slow drift would otherwise come out as stairs.
    pub min_change: f64,
}

impl Default for SegmentOptions {
    fn default() -> Self {
        Self { min_length: 5, penalty: 4.0, min_change: 0.25 }
    }
}

/// A run of values of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Index of its first value.
    pub start: usize,
    /// Index after its last value.
    pub end: usize,
    /// Median of its values, in their unit.
    pub level: f64,
}

/// Cuts `values` (any unit, equally spaced; of one spread throughout, so pass the logs of
/// latencies) into segments of one level each.
///
/// Minimises the absolute deviations from the segments' medians plus a penalty per segment, by
/// the pruned exact search PELT (Killick, Fearnhead & Eckley 2012, "Optimal detection of
/// changepoints with a linear computational cost", JASA 107:1590-1598), then places each
/// boundary between its neighbours as [`find`](super::find) does. The noise's standard
/// deviation behind the penalty is taken from the differences of neighbours, and inflated by
/// their autocorrelation. Values that are not finite, or an empty slice, give no segments; a
/// sequence without changes gives one.
///
/// ```
/// use fathom_stats::change_point::{segments, SegmentOptions};
/// let values: Vec<f64> =
///     (0..90).map(|i| ([1000.0, 4000.0, 2000.0][i / 30] + 50.0 * (i % 4) as f64).ln()).collect();
/// let starts: Vec<usize> =
///     segments(&values, &SegmentOptions::default()).iter().map(|segment| segment.start).collect();
/// assert_eq!(starts, [0, 30, 60]);
/// ```
pub fn segments(values: &[f64], options: &SegmentOptions) -> Vec<Segment> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let penalty = options.penalty * noise(values) * (values.len() as f64).ln();
    let min_length = options.min_length.max(1);
    let mut ends = optimal_ends(values, penalty, min_length);
    merge_alike(values, &mut ends, options.min_change);
    place_again(values, &mut ends);
    let mut start = 0;
    ends.into_iter()
        .map(|end| {
            let segment = segment(values, start, end);
            start = end;
            segment
        })
        .collect()
}

fn segment(values: &[f64], start: usize, end: usize) -> Segment {
    Segment { start, end, level: quantile::median(&values[start..end]).unwrap_or(0.0) }
}

/// Long-run standard deviation of the noise, from differences of neighbours: changes of level
/// touch few of them.
fn noise(values: &[f64]) -> f64 {
    let differences = |lag: usize| (lag..values.len()).map(move |i| (values[i] - values[i - lag]).abs());
    let near = quantile::median_in_place(&mut differences(1).collect::<Vec<_>>()).unwrap_or(0.0);
    if near == 0.0 {
        return 0.0;
    }
    // Cut off, means are as safe from outliers and changes as medians, and err less.
    let spread = |lag: usize| {
        let cut: f64 = differences(lag).map(|difference| difference.min(4.0 * near)).sum();
        cut / (values.len() - lag) as f64
    };
    let times = |lag: usize| {
        if values.len() > lag { (spread(lag) / spread(1)).powi(2) } else { 1.0 }
    };
    // For a first-order autoregression with correlation c the squares of the spreads at lags 1, 2
    // and 3 are as 1 to 1 + c to 1 + c + c². The mean of two estimates errs less wildly than one.
    let from_second = times(2) - 1.0;
    let from_third = 0.5 * ((4.0 * times(3) - 3.0).max(0.0).sqrt() - 1.0);
    let correlation = (0.5 * (from_second + from_third)).clamp(0.0, 0.9);
    let sigma = near * MAD_TO_SIGMA / (2.0 * (1.0 - correlation)).sqrt();
    sigma * ((1.0 + correlation) / (1.0 - correlation)).sqrt()
}

/// A start of a last segment that is still worth trying.
struct Start {
    at: usize,
    /// Least cost of everything before it.
    cost_before: f64,
    running: RunningMedian,
    /// When it first was no better than starting later; it may be dropped once that later
    /// segment can be long enough.
    beaten_at: Option<usize>,
}

/// Ends of the segments of least penalised cost, ascending; the last is the number of values.
pub(super) fn optimal_ends(values: &[f64], penalty: f64, min_length: usize) -> Vec<usize> {
    let count = values.len();
    let mut best_cost = vec![f64::INFINITY; count + 1];
    let mut previous = vec![0; count + 1];
    best_cost[0] = -penalty;
    let mut starts: Vec<Start> = Vec::new();
    for end in 1..=count {
        if best_cost[end - 1].is_finite() {
            starts.push(Start {
                at: end - 1,
                cost_before: best_cost[end - 1],
                running: RunningMedian::default(),
                beaten_at: None,
            });
        }
        for start in &mut starts {
            start.running.push(values[end - 1]);
            let cost = start.cost_before + start.running.absolute_deviations() + penalty;
            if end - start.at >= min_length && cost < best_cost[end] {
                (best_cost[end], previous[end]) = (cost, start.at);
            }
        }
        for start in &mut starts {
            let kept = start.cost_before + start.running.absolute_deviations();
            if kept >= best_cost[end] && start.beaten_at.is_none() {
                start.beaten_at = Some(end);
            }
        }
        starts.retain(|start| start.beaten_at.is_none_or(|at| end < at + min_length));
    }
    let mut ends = vec![count];
    let mut end = previous[count];
    while end > 0 {
        ends.push(end);
        end = previous[end];
    }
    ends.reverse();
    ends
}

/// Joins neighbours of nearly one level, the most alike first.
fn merge_alike(values: &[f64], ends: &mut Vec<usize>, min_change: f64) {
    while ends.len() > 1 {
        let mut start = 0;
        let levels: Vec<f64> =
            ends.iter().map(|&end| segment(values, std::mem::replace(&mut start, end), end).level).collect();
        let change = |pair: &[f64]| (pair[0] - pair[1]).abs();
        let changes = levels.windows(2).map(change).enumerate();
        match changes.min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((left, change)) if change < min_change => ends.remove(left),
            _ => break,
        };
    }
}

/// Moves each boundary to where deviations from its neighbours' levels, cut off, are least.
fn place_again(values: &[f64], ends: &mut [usize]) {
    for i in 1..ends.len() {
        let (start, end) = (if i > 1 { ends[i - 2] } else { 0 }, ends[i]);
        let split = ends[i - 1];
        let before = segment(values, start, split).level;
        let after = segment(values, split, end).level;
        let costs = bounded_costs(&values[start..end], before, after, split - start);
        ends[i - 1] = start + least(costs.into_iter()) + 1;
    }
}
