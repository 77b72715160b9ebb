//! The cost of copies over the size of the buffer, out of passes of cached reads.

pub use fathom_stats::knee::{Knee, LEAST_DEPARTURE, Misses, Verdict};
use fathom_stats::{knee, quantile};

use crate::samples::Samples;

/// For each round the median latency in ns of each of the passes from `first` on.
pub fn rounds(samples: &Samples, first: usize) -> Vec<Vec<f64>> {
    let passes = samples.workload.passes.len();
    let matrices: Vec<(Vec<f64>, usize)> = (first..passes)
        .map(|pass| (samples.matrix(pass, 0), samples.workload.passes[pass].region.count as usize))
        .collect();
    let typical = |round: usize, (matrix, count): &(Vec<f64>, usize)| {
        let row = matrix.get(round * count..(round + 1) * count)?;
        quantile::median(row).map(|ticks| samples.nanoseconds(ticks))
    };
    (0..samples.rounds() as usize)
        .filter_map(|round| matrices.iter().map(|one| typical(round, one)).collect())
        .collect()
}

/// Looks for a knee in `rounds` of latencies of reads of ascending `sizes`.
pub fn knee(sizes: &[f64], rounds: &[Vec<f64>]) -> Verdict {
    knee::find(sizes, rounds)
}
