//! How long one kind of operation takes: its median with an interval, and how it spreads.

use fathom_stats::interval::{Estimate, Interval, median_interval};
use fathom_stats::quantile;

/// The confidence level of every interval in this module.
pub const LEVEL: f64 = 0.95;
/// Fewest rounds in each half of a run: order statistics give no interval at [`LEVEL`] below that.
const FEWEST: usize = 6;
/// Two halves of a run whose medians differ by more than this factor have no common one.
pub const MOST_CHANGE: f64 = 2.0;

/// The median latency of rounds, given one value for each in order of time, in any unit.
///
/// Rounds count, not operations: neighbours in time resemble each other, and an interval that took
/// them for independent would be too narrow. The first and the second half of the run confirm one
/// another: where their medians lie outside the interval, it is widened to hold them, and where they
/// differ by a factor there is no answer.
///
/// # Errors
/// One sentence: too few rounds, or a latency that changed meanwhile.
pub fn settled(rounds: &[f64]) -> Result<Estimate, String> {
    settled_above(0.0, rounds)
}

/// As [`settled`], where a latency may change to whatever it likes up to `short`: the interval holds both.
///
/// # Errors
/// As [`settled`].
pub fn settled_above(short: f64, rounds: &[f64]) -> Result<Estimate, String> {
    let too_few =
        || format!("{} rounds are too few for an interval: {} are needed", rounds.len(), 2 * FEWEST);
    let (early, late) = rounds.split_at(rounds.len() / 2);
    if early.len() < FEWEST {
        return Err(too_few());
    }
    let all = median_interval(rounds, LEVEL).ok_or_else(too_few)?;
    let halves = [early, late].map(|half| quantile::median(half).unwrap_or(all.value));
    let (low, high) = (halves[0].min(halves[1]), halves[0].max(halves[1]));
    if high > short && high > MOST_CHANGE * low {
        return Err("it changed to a multiple while it was measured".to_owned());
    }
    let interval = Interval { low: all.interval.low.min(low), high: all.interval.high.max(high) };
    Ok(Estimate { interval, ..all })
}

/// The median of each round of a matrix of rounds by `positions`.
pub fn round_medians(matrix: &[f64], positions: usize) -> Vec<f64> {
    matrix.chunks_exact(positions.max(1)).filter_map(quantile::median).collect()
}

/// Whether `slow` operations took clearly longer than the `fast` ones made right before or after them, pair by pair:
/// the typical ratio is at least `factor` in both halves of the run.
///
/// Pairs share whatever else the machine did at that moment, so noise that wanders cancels.
pub fn is_slower(slow: &[f64], fast: &[f64], factor: f64) -> bool {
    let ratios: Vec<f64> = slow.iter().zip(fast).map(|(slow, fast)| slow / fast.max(1.0)).collect();
    let (early, late) = ratios.split_at(ratios.len() / 2);
    early.len() >= FEWEST
        && [early, late].iter().all(|half| quantile::median(half).is_some_and(|typical| typical >= factor))
}

/// Five figures of latencies: the smallest, the median, the 90 % and 99 % quantiles, and the largest.
pub fn five_figures(latencies: &[f64]) -> Option<[f64; 5]> {
    let ascending = quantile::sorted(latencies);
    let at = |share| quantile::quantile_sorted(&ascending, share);
    Some([at(0.0)?, at(0.5)?, at(0.9)?, at(0.99)?, at(1.0)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_that_differ_widen_the_interval_or_end_the_matter() {
        let rounds = |late: f64| [[100.0; 10], [late; 10]].concat();
        let same = settled(&rounds(100.0)).unwrap();
        assert_eq!((same.value, same.interval.width()), (100.0, 0.0));
        let drifted = settled(&rounds(120.0)).unwrap();
        assert!(drifted.interval.contains(100.0) && drifted.interval.contains(120.0));
        assert!(settled(&rounds(300.0)).unwrap_err().contains("changed"));
        let short = settled_above(300.0, &rounds(300.0)).unwrap();
        assert_eq!([short.interval.low, short.interval.high], [100.0, 300.0]);
        assert!(settled_above(299.0, &rounds(300.0)).is_err());
        assert!(settled(&[100.0; 11]).unwrap_err().contains("too few"));
    }

    #[test]
    fn pairs_tell_what_their_common_noise_hides() {
        let noise: Vec<f64> = (0..40).map(|at| 100.0 * f64::from(1 + at * at % 17)).collect();
        let slower: Vec<f64> = noise.iter().map(|latency| 3.0 * latency).collect();
        assert!(is_slower(&slower, &noise, 2.0));
        assert!(!is_slower(&noise, &noise, 2.0));
    }
}
