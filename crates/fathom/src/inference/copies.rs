//! The cost of copies over the size of the buffer, out of passes that read the same bytes with each size.

pub use fathom_stats::knee::{Knee, LEVEL, Misses, NEGLIGIBLE, Verdict};
use fathom_stats::{knee, quantile};

use crate::samples::Samples;

/// What a read takes in ns in each of the passes from `first` on: for each position the median over the rounds,
/// and the mean of those.
///
/// A file's pages don't all cost the same, as they lie here and there in memory. The median is taken of one place
/// alone, so that every size is charged for all of them.
pub fn curve(samples: &Samples, first: usize) -> Option<Vec<f64>> {
    let cost = |pass: usize| {
        let matrix = samples.matrix(pass, 0);
        let count = samples.workload.passes[pass].region.count as usize;
        let typical = |position: usize| {
            let rounds: Vec<f64> = matrix.iter().skip(position).step_by(count).copied().collect();
            quantile::median(&rounds)
        };
        let sum: f64 = (0..count).map(typical).sum::<Option<f64>>()?;
        Some(samples.nanoseconds(sum / count as f64))
    };
    (first..samples.workload.passes.len()).map(cost).collect()
}

/// Looks for a knee in two sets of curves over ascending `sizes`, measured independently.
pub fn knee(sizes: &[f64], sets: [&[Vec<f64>]; 2]) -> Verdict {
    knee::find(sizes, sets)
}
