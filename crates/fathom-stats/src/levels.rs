//! Hits and stalls: two levels of latency, told apart without knowing either beforehand.
//!
//! A paced read that finds its page in memory takes about the same time everywhere (the floor).
//! One that has to wait for the device takes many times as long. How many times depends on the
//! device, and on a busy machine single hits take 5 to 10 times the floor as well, so no fixed
//! factor tells the two apart. [`split`] uses what does: a stall recurs in every round, noise does
//! not; and between the two classes there is a gap.

use crate::matrix::Rounds;
use crate::quantile::{self, MAD_TO_SIGMA};

/// The two levels of a sequence and the class of each position.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// Latencies above this are stalls; in the unit of the latencies.
    pub threshold: f64,
    /// Per position: whether more than half of its rounds stalled.
    pub stalls: Vec<bool>,
}

/// Why latencies do not fall into two levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
pub enum Reason {
    /// Fewer than two positions and no reference to compare with.
    #[strum(to_string = "too few positions to tell two levels apart")]
    TooFewPositions,
    /// The latencies are of one level, as far as can be told: none stands clearly apart from the
    /// rest. Without a reference this does not say whether all are hits or all are stalls.
    #[strum(to_string = "all latencies are of one level")]
    OneLevel,
    /// There are slow positions, but no clear gap between them and the others.
    #[strum(to_string = "no clear gap between fast and slow")]
    NoGap,
}

/// Splits `latencies` (rounds by positions, any unit) into hits and stalls.
///
/// `reference` holds latencies of the same operation known to be hits; with it a sequence in which
/// every position stalls is recognised, and one in which none does is a `Levels` without stalls.
///
/// Works on logs. Each position is first judged by the lower quartile of its rounds, which noise
/// cannot raise unless it strikes more than three rounds of four. The best split of those into two classes by
/// least squares (Otsu 1979, "A threshold selection method from gray-level histograms") gives a
/// typical stall, the median of the slow class. The threshold then is the middle of the widest
/// gap, as far as it lies within one sixteenth to one half of the typical stall (a gap counts no
/// more than three times that part): a few positions of noise that recurs make gaps lower down. The split is accepted if the whole gap is at least a factor of 2 and at
/// least 4 robust standard deviations of the floor wide, the typical stall takes at least 4 times
/// the floor, and hardly any position that recurs at 4 times the floor is left below the threshold.
///
/// Meant for ten stalls or more, in three rounds or more. Fewer stalls of very different heights
/// may hold a gap of their own (in 3 of 1,000 trials with six stalls over a range of 14 to 1), and
/// in one or two rounds noise recurs.
///
/// # Errors
/// [`Reason`] if there are not two levels.
///
/// ```
/// use fathom_stats::{levels, Rounds};
/// let latencies = [90_000.0, 2_000.0, 2_100.0, 1_900.0, 85_000.0, 2_000.0, 70_000.0, 2_050.0];
/// let levels = levels::split(&Rounds::new(&latencies, 4).unwrap(), None).unwrap();
/// assert_eq!(levels.stalls, [true, false, false, false]);
/// ```
pub fn split(latencies: &Rounds, reference: Option<&[f64]>) -> Result<Levels, Reason> {
    let reference: Vec<f64> =
        reference.unwrap_or(&[]).iter().filter(|l| l.is_finite()).map(|l| log(*l)).collect();
    let lows = low_quartiles(latencies);
    if lows.len() < 2 && reference.is_empty() {
        return Err(Reason::TooFewPositions);
    }
    let mut ascending = quantile::sorted(&lows);
    // The reference counts as one more position, and weighs like all of them together.
    let known_hit = quantile::median(&reference);
    if let Some(hit) = known_hit {
        let place = ascending.partition_point(|&low| low < hit);
        ascending.insert(place, hit);
    }
    let weight = |value: f64| {
        if Some(value) == known_hit { lows.len() as f64 } else { 1.0 }
    };
    let cut = otsu_cut(&ascending, weight);
    let fast = &ascending[..cut];
    let typical_stall = quantile::quantile_sorted(&ascending[cut..], 0.5).unwrap_or(f64::NAN);
    let floor = known_hit.or(quantile::quantile_sorted(fast, 0.5)).unwrap_or(typical_stall);
    let judged = if typical_stall - floor >= FEWEST_TIMES.ln() {
        let spread_of = if reference.len() >= fast.len() { &reference[..] } else { fast };
        let spread = quantile::mad(spread_of).unwrap_or(0.0) * MAD_TO_SIGMA;
        gap_threshold(&ascending, typical_stall, spread)
            .filter(|&threshold| parts_cleanly(&ascending, floor, threshold))
            .ok_or(Reason::NoGap)
    } else {
        Err(Reason::OneLevel)
    };
    match (judged, known_hit) {
        (Ok(threshold), _) => Ok(classify(latencies, threshold)),
        // Everything is near the known hits: hits throughout.
        (Err(Reason::OneLevel), Some(_)) => Ok(classify(latencies, floor + FEWEST_TIMES.ln())),
        (Err(reason), _) => Err(reason),
    }
}

/// How many times the floor a typical stall takes at the least.
const FEWEST_TIMES: f64 = 4.0;
/// Smallest width of the gap, as a factor.
const NARROWEST_GAP: f64 = 2.0;
/// Smallest width of the gap in robust standard deviations of the floor.
const NARROWEST_GAP_SPREADS: f64 = 4.0;
/// The threshold's range, in parts of a typical stall.
const THRESHOLD_PARTS: (f64, f64) = (16.0, 2.0);

/// Log of a latency; what is below one unit of the clock counts as one.
fn log(latency: f64) -> f64 {
    latency.max(1.0).ln()
}

/// Per position the log latency of the round a quarter up from the fastest. Not interpolated: of
/// three rounds that is the fastest, where a mean of two would let one slow round through.
fn low_quartiles(latencies: &Rounds) -> Vec<f64> {
    (0..latencies.positions())
        .map(|position| {
            let mut column: Vec<f64> = latencies.position(position).map(log).collect();
            let quarter = (column.len() - 1) / 4;
            *column.select_nth_unstable_by(quarter, f64::total_cmp).1
        })
        .collect()
}

/// Where to cut ascending values in two so that the squares within the parts are least: the
/// index of the first value of the upper part, at least 1.
fn otsu_cut(ascending: &[f64], weight: impl Fn(f64) -> f64) -> usize {
    let all: f64 = ascending.iter().map(|&v| weight(v)).sum();
    let sum: f64 = ascending.iter().map(|&v| weight(v) * v).sum();
    let (mut below, mut sum_below) = (0.0, 0.0);
    let (mut best, mut best_cut) = (f64::NEG_INFINITY, 1);
    for (i, &value) in ascending.iter().enumerate().take(ascending.len().saturating_sub(1)) {
        below += weight(value);
        sum_below += weight(value) * value;
        let above = all - below;
        let apart = sum_below / below - (sum - sum_below) / above;
        let between = below * above * apart * apart;
        if between > best {
            (best, best_cut) = (between, i + 1);
        }
    }
    best_cut
}

/// The log threshold within the widest clear gap near the typical stall.
fn gap_threshold(ascending: &[f64], typical_stall: f64, spread: f64) -> Option<f64> {
    let range = (typical_stall - THRESHOLD_PARTS.0.ln(), typical_stall - THRESHOLD_PARTS.1.ln());
    let narrowest = NARROWEST_GAP.ln().max(NARROWEST_GAP_SPREADS * spread);
    let within = |pair: &[f64]| (pair[0].max(range.0), pair[1].min(range.1));
    // Most of a gap may lie below the range, but not nearly all of it.
    let worth = |pair: &[f64]| {
        let (low, high) = within(pair);
        (pair[1] - pair[0]).min(3.0 * (high - low))
    };
    let best = ascending.windows(2).max_by(|a, b| worth(a).total_cmp(&worth(b)))?;
    let (low, high) = within(best);
    (high > low && best[1] - best[0] >= narrowest).then_some(0.5 * (low + high))
}

/// Whether few positions lie between the classes: below the threshold, and yet as far from the
/// floor as a stall has to be. Many of them may be stalls of a faster kind.
fn parts_cleanly(ascending: &[f64], floor: f64, threshold: f64) -> bool {
    let below = |bound: f64| ascending.partition_point(|&low| low <= bound);
    let stalls = ascending.len() - below(threshold);
    let between = below(threshold).saturating_sub(below(floor + FEWEST_TIMES.ln()));
    between <= stalls / 4
}

/// Classes of the positions by how many of their rounds are above the log threshold.
fn classify(latencies: &Rounds, threshold: f64) -> Levels {
    let stalled = |position| latencies.position(position).filter(|&l| log(l) > threshold).count();
    let stalls = (0..latencies.positions()).map(|position| 2 * stalled(position) > latencies.rounds());
    Levels { threshold: threshold.exp(), stalls: stalls.collect() }
}

#[cfg(test)]
mod tests;
