//! The cost of copies over the size of the buffer, out of passes that read the same bytes with each size.

pub use fathom_stats::knee::{CLEAR, Knee, LEVEL, Misses, NEGLIGIBLE, Verdict, find};
use fathom_stats::quantile;

use fathom_run::samples::Samples;

/// No place in a file costs more than this many times the typical place.
const DEAREST: f64 = 8.0;

/// The passes, one for each size of the buffer, the smallest first.
pub const READS: &str = "reads";

/// What a read takes in ns in each of the passes: for each position the median over the rounds,
/// and the mean of those.
///
/// A file's pages don't all cost the same, as they lie here and there in memory. The median is taken of one place
/// alone, so that every size is charged for all of them. Where most rounds of one place are outliers, it counts for
/// eight times the typical place.
pub fn look(samples: &Samples) -> Option<Vec<f64>> {
    let cost = |pass: usize| {
        let matrix = samples.matrix(pass, 0);
        let count = samples.workload.passes[pass].region.count as usize;
        let place = |position: usize| {
            let rounds: Vec<f64> = matrix.iter().skip(position).step_by(count).copied().collect();
            quantile::median(&rounds)
        };
        let places = (0..count).map(place).collect::<Option<Vec<f64>>>()?;
        let most = DEAREST * quantile::median(&places)?;
        let sum: f64 = places.iter().map(|cost| cost.min(most)).sum();
        Some(samples.nanoseconds(sum / count as f64))
    };
    samples.labelled(READS).map(cost).collect()
}

/// A read that takes this share of what the longest one takes was interrupted on the way; one that is merely fifty
/// times too slow, a thousandth of the longest in size, takes a fifth of that.
const INTERRUPTION: f64 = 0.25;

/// In how many rounds of the pass with the smallest buffer some read was interrupted for long.
///
/// That reads as long as a whole pass are interrupted as often: their medians tell of it, those of short ones don't.
pub fn interrupted(samples: &Samples) -> usize {
    let count = samples.positions(READS);
    let last = samples.labelled(READS).last().map(|pass| samples.matrix(pass, 0));
    let longest = last.and_then(|last| quantile::median(&last)).unwrap_or(0.0);
    let is_long = |round: &&[f64]| round.iter().any(|&latency| latency > INTERRUPTION * longest);
    samples.latencies(READS, 0).chunks(count.max(1)).filter(is_long).count()
}
