//! The ratio of two sides' medians.

use fathom_stats::quantile::{median, quantile_sorted};
use fathom_stats::{Estimate, Interval};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

const RESAMPLES: usize = 2000;
const LEVEL: f64 = 0.95;

/// The ratio of the medians of figures that were taken in turns. The interval is the percentile bootstrap (Efron 1979) over
/// whole turns, since both sides of a turn share their noise.
pub(crate) fn ratio(ours: &[f64], theirs: &[f64], generator: &mut Pcg64Mcg) -> Result<Estimate, String> {
    let all: Vec<usize> = (0..ours.len()).collect();
    let middle = |side: &[f64], turns: &[usize]| {
        median(&turns.iter().map(|&turn| side[turn]).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let of = |turns: &[usize]| middle(ours, turns) / middle(theirs, turns);
    let resampled = |_| {
        let drawn: Vec<usize> = all.iter().map(|_| generator.random_range(0..all.len())).collect();
        of(&drawn)
    };
    let mut ratios: Vec<f64> = (0..RESAMPLES).map(resampled).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let end = |share| quantile_sorted(&ratios, share).filter(|ratio| ratio.is_finite());
    let ends = end(0.5 * (1.0 - LEVEL)).zip(end(0.5 * (1.0 + LEVEL)));
    let (low, high) = ends.ok_or("there is no interval")?;
    Ok(Estimate { value: of(&all), interval: Interval { low, high }, level: LEVEL })
}
