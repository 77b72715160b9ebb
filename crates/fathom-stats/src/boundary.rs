//! Up to which position probes are hits.
//!
//! After one read of a cold file some pages behind it are in memory: probing each of them tells
//! how many. Hits below the boundary, stalls from it on.

use crate::distribution::hypergeometric_upper_tail;
use crate::interval::Interval;
use crate::levels;
use crate::matrix::Rounds;

/// A clean step from hits to stalls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Boundary {
    /// The first position that stalls: hits stand at `0..position`.
    pub position: usize,
    /// Order statistics of the positions at which single rounds place the step.
    pub interval: Interval,
    /// Confidence level that the interval reaches (the binomial coverage of its order
    /// statistics), at most what was asked for if there are few rounds.
    pub level: f64,
}

/// Why there is no boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
pub enum Reason {
    /// The latencies do not fall into hits and stalls.
    #[strum(to_string = "{0}")]
    Levels(levels::Reason),
    /// Every position is a hit: probe further.
    #[strum(to_string = "every position is a hit: probe further")]
    NoStall,
    /// Hits and stalls are mixed, or too few positions stall to be told from noise.
    #[strum(to_string = "hits and stalls cannot be separated clearly")]
    NoCleanStep,
}

/// Fewest positions that have to stall behind the boundary: one or two may be noise that recurs.
pub const FEWEST_STALLS: usize = 3;

/// Finds the boundary in `latencies` (rounds by positions, any unit), with an interval at `level`.
///
/// The columns are in order of position in the file, in whatever order they were probed.
/// `reference` holds latencies known to be hits (see [`levels::split`]); without it a sequence
/// that stalls from position 0 on gives no answer. A clean step has at most one stall before it,
/// at most one hit in ten behind it, and at least [`FEWEST_STALLS`] stalls, and is improbable
/// (below 0.001, corrected for the places tried) if each sample stalled at random.
///
/// # Errors
/// [`Reason`] if there is no clean step.
///
/// ```
/// use fathom_stats::{boundary, Rounds};
/// let round = [2.0e3, 2.1e3, 2.0e3, 1.9e3, 8.0e4, 9.0e4, 7.0e4, 8.0e4];
/// let latencies = round.repeat(10);
/// let found = boundary::find(&Rounds::new(&latencies, 8).unwrap(), None, 0.95).unwrap();
/// assert_eq!(found.position, 4);
/// ```
pub fn find(latencies: &Rounds, reference: Option<&[f64]>, level: f64) -> Result<Boundary, Reason> {
    let levels = levels::split(latencies, reference).map_err(Reason::Levels)?;
    if !levels.stalls.contains(&true) {
        return Err(Reason::NoStall);
    }
    let position = step(&levels.stalls);
    let stalls_before = levels.stalls[..position].iter().filter(|&&stall| stall).count();
    let behind = &levels.stalls[position..];
    let hits_behind = behind.iter().filter(|&&stall| !stall).count();
    let unclean =
        stalls_before > 1 || 10 * hits_behind > behind.len() || behind.len() - hits_behind < FEWEST_STALLS;
    if unclean || chance(latencies, levels.threshold, position) > 1e-3 {
        return Err(Reason::NoCleanStep);
    }
    let mut steps: Vec<usize> = (0..latencies.rounds())
        .map(|round| {
            let row = latencies.round(round);
            step(&row.iter().map(|&l| l > levels.threshold).collect::<Vec<_>>())
        })
        .collect();
    steps.sort_unstable();
    let (interval, level) = order_interval(&steps, level);
    Ok(Boundary { position, interval, level })
}

/// The place of the step with the fewest positions on its wrong side. Of equally good places the one
/// furthest along wins: a stall at the edge of the hits is then an isolated one.
fn step(stalls: &[bool]) -> usize {
    let mut misfits = stalls.iter().filter(|&&stall| !stall).count();
    let mut best = (0, misfits);
    for (i, &stall) in stalls.iter().enumerate() {
        if stall {
            misfits += 1;
        } else {
            misfits -= 1;
        }
        if misfits <= best.1 {
            best = (i + 1, misfits);
        }
    }
    best.0
}

/// Probability, times the number of places, that so many of the stalled samples lie behind the
/// step if stalls fell on any sample.
fn chance(latencies: &Rounds, threshold: f64, position: usize) -> f64 {
    if position == 0 {
        // All stall: nothing to compare with but the reference, which has been used already.
        return 0.0;
    }
    let (mut before, mut behind) = (0, 0);
    for round in 0..latencies.rounds() {
        for (i, &latency) in latencies.round(round).iter().enumerate() {
            let stall = usize::from(latency > threshold);
            if i < position { before += stall } else { behind += stall }
        }
    }
    let positions = latencies.positions();
    let total = positions * latencies.rounds();
    let drawn = (positions - position) * latencies.rounds();
    let tail = hypergeometric_upper_tail(total, before + behind, drawn, behind);
    tail * positions as f64
}

/// The innermost pair of order statistics that covers the median at `level`, or the outermost if
/// none does, with the coverage it has.
fn order_interval(ascending: &[usize], level: f64) -> (Interval, f64) {
    let coverages = crate::interval::pair_coverages(ascending.len());
    let depth = coverages.iter().take_while(|&&coverage| coverage >= level).count().max(1);
    let low = ascending[depth - 1] as f64;
    let high = ascending[ascending.len() - depth] as f64;
    let reached = coverages.get(depth - 1).copied().unwrap_or(0.0);
    (Interval { low, high }, reached.min(level))
}

#[cfg(test)]
mod tests;
