//! The law itself: a fixed cost and a cost per byte for each range of sizes, fitted on a log scale.

use super::{MIN_SIZES, WOBBLE};

/// A median time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed {
    pub(super) size: f64,
    /// Log of the median time.
    pub(super) log_time: f64,
    /// Its standard error.
    pub(super) error: f64,
}

impl Observed {
    /// How far it may stand off a law by chance, squared.
    fn variance(&self) -> f64 {
        self.error.powi(2) + WOBBLE.powi(2)
    }
}

/// `time = fixed + per_unit[piece] * size`.
#[derive(Debug, Clone)]
pub(super) struct Law {
    pub(super) fixed: f64,
    /// Index of the first size of each piece; the first is 0.
    pub(super) starts: Vec<usize>,
    pub(super) per_unit: Vec<f64>,
}

/// Fixed costs that are tried, as shares of the shortest time: from nearly nothing to nearly all of it.
const SHARES: usize = 12;

impl Law {
    /// The law of least squares with pieces from these starts.
    pub(super) fn fit(points: &[Observed], starts: &[usize]) -> Self {
        let of = |fixed: f64| {
            let mut loss = 0.0;
            let ends = starts.iter().skip(1).copied().chain([points.len()]);
            let per_unit = starts.iter().zip(ends).map(|(&start, end)| {
                let (per_unit, part) = fit_piece(&points[start..end], fixed);
                loss += part;
                per_unit
            });
            let per_unit = per_unit.collect();
            (loss, Self { fixed, starts: starts.to_vec(), per_unit })
        };
        let shortest = shortest(points);
        let share = least(|share| of(share * shortest).0);
        of(share * shortest).1
    }

    pub(super) fn log_time(&self, index: usize, size: f64) -> f64 {
        let piece = self.starts.partition_point(|&start| start <= index) - 1;
        (self.fixed + self.per_unit[piece] * size).ln()
    }

    /// Log of what was observed over what the law says.
    pub(super) fn residual(&self, index: usize, point: &Observed) -> f64 {
        point.log_time - self.log_time(index, point.size)
    }

    /// Log of the ratio of the cost per unit in `piece` to the cost in the piece before it.
    pub(super) fn change(&self, piece: usize) -> f64 {
        (self.per_unit[piece] / self.per_unit[piece - 1]).ln()
    }

    /// The change of the cost per unit at the start of `piece`, in standard errors.
    pub(super) fn change_score(&self, points: &[Observed], piece: usize) -> f64 {
        let variance = |piece: usize| {
            let end = self.starts.get(piece + 1).copied().unwrap_or(points.len());
            let weights = points[self.starts[piece]..end].iter().map(|point| {
                let bytes = self.per_unit[piece] * point.size;
                (bytes / (self.fixed + bytes)).powi(2) / point.variance()
            });
            1.0 / weights.sum::<f64>()
        };
        self.change(piece).abs() / (variance(piece) + variance(piece - 1)).sqrt()
    }
}

/// The starts of the pieces of the law that pays for its pieces.
///
/// A further piece must lower the squared deviations, in variances, by what the best of all places
/// would by chance do once in a hundred times.
pub(super) fn search(points: &[Observed]) -> Vec<usize> {
    let shortest = shortest(points);
    let penalty = 2.0 * (100.0 * points.len() as f64).ln();
    let candidates = (0..=SHARES).map(|step| {
        let fixed = shortest * step as f64 / (SHARES as f64 + 0.5);
        partition(points, fixed, penalty)
    });
    candidates.min_by(|a, b| a.0.total_cmp(&b.0)).map_or_else(|| vec![0], |(_, starts)| starts)
}

/// The least penalised loss at one fixed cost, and the starts of its pieces, by dynamic programming.
fn partition(points: &[Observed], fixed: f64, penalty: f64) -> (f64, Vec<usize>) {
    let count = points.len();
    let mut best = vec![(f64::INFINITY, 0); count + 1];
    best[0] = (0.0, 0);
    for end in MIN_SIZES..=count {
        for start in 0..=end - MIN_SIZES {
            let (_, part) = fit_piece(&points[start..end], fixed);
            let loss = best[start].0 + part + penalty;
            if loss < best[end].0 {
                best[end] = (loss, start);
            }
        }
    }
    let mut starts = Vec::new();
    let mut end = count;
    while end > 0 {
        end = best[end].1;
        starts.push(end);
    }
    starts.reverse();
    (best[count].0, starts)
}

/// The cost per unit of one piece by least squares, and the squared deviations that it leaves, in variances.
fn fit_piece(points: &[Observed], fixed: f64) -> (f64, f64) {
    let weight = |point: &Observed| 1.0 / point.variance();
    // The largest size shows the cost per unit best.
    let start = points.last().map_or(1.0, |point| (point.log_time.exp() - fixed) / point.size);
    let mut log_per_unit = start.max(f64::MIN_POSITIVE).ln();
    let mut loss = 0.0;
    for _ in 0..6 {
        // Gauss and Newton: the log of the time grows with the log of the cost per unit by the bytes' share.
        let (mut slope, mut curvature) = (0.0, 0.0);
        loss = 0.0;
        for point in points {
            let bytes = log_per_unit.exp() * point.size;
            let share = bytes / (fixed + bytes);
            let residual = point.log_time - (fixed + bytes).ln();
            loss += weight(point) * residual * residual;
            slope += weight(point) * share * residual;
            curvature += weight(point) * share * share;
        }
        if curvature <= 0.0 {
            break;
        }
        // A step of more than a factor of e^2 leaves the range in which the share says anything.
        let step = (slope / curvature).clamp(-2.0, 2.0);
        if step.abs() < 1e-6 {
            break;
        }
        log_per_unit += step;
    }
    (log_per_unit.exp(), loss)
}

fn shortest(points: &[Observed]) -> f64 {
    points.iter().map(|point| point.log_time).fold(f64::INFINITY, f64::min).exp()
}

/// The share between 0 and 1.2 at which `cost` is least: a grid, then golden sections around its best.
fn least(loss: impl Fn(f64) -> f64) -> f64 {
    // Noise may put the shortest time below the fixed cost.
    let grid = |step: usize| 1.2 * step as f64 / SHARES as f64;
    let best = (0..=SHARES).min_by(|&a, &b| loss(grid(a)).total_cmp(&loss(grid(b)))).unwrap_or(0);
    let (mut low, mut high) = (grid(best.saturating_sub(1)), grid((best + 1).min(SHARES)));
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_left, mut at_right) = (loss(left), loss(right));
    for _ in 0..16 {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = loss(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = loss(right);
        }
    }
    0.5 * (low + high)
}
