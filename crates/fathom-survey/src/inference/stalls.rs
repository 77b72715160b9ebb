//! Which paced reads of a cold file waited, and how regularly.

use fathom_stats::steady::{self, Reason, Steady};
use fathom_stats::{Rounds, quantile};

/// The reads of one sequential pass that waited for the device.
#[derive(Debug, Clone, PartialEq)]
pub struct Waits {
    /// For each of several thresholds, from low to high, the positions that were slower.
    pub levels: Vec<Vec<usize>>,
    /// The number of positions of the pass.
    pub count: usize,
    /// Whether reads are as slow as known misses wherever they are.
    pub every_read: bool,
    /// The number of timed operations behind this.
    pub samples: usize,
}

/// The read-ahead window that the waits show.
#[derive(Debug, Clone, PartialEq)]
pub enum Regularity {
    /// The waits end in a steady period: the candidates, starting with the one that most thresholds show.
    Steady(Vec<Steady>),
    /// Every read waited: nothing is read ahead.
    EveryRead,
    /// There are too few waits.
    TooShort {
        /// How many positions the sequence should have.
        enough: usize,
    },
    /// The samples do not decide; the reason.
    Unclear(String),
}

/// Thresholds that are tried, and how far above the floor the lowest is.
const LEVELS: u32 = 14;
const LOWEST: f64 = 3.0;
/// The highest position must stand so far above the floor for there to be waits at all.
const CLEAR: f64 = 4.0;

/// Finds the positions that are slow in round after round, at several thresholds. `latencies` are those of the
/// sequence, rounds by `count` positions; known hits and known misses stand next to it.
///
/// A wait costs 10 to 1,000 times a hit, but noise that recurs can cost ten times a hit as well, so
/// that no single threshold is right everywhere. What is real shows at several of them.
///
/// Each latency is first taken from the floor of its neighbourhood in its own round, because the
/// floor itself moves: on a virtual machine whole stretches of a file land in memory that the host
/// has not backed yet, and every first touch there costs ten times a hit elsewhere.
///
/// # Errors
/// One sentence where no round was completed.
pub fn find(latencies: &[f64], count: usize, hits: &[f64], misses: &[f64]) -> Result<Waits, String> {
    let rounds = Rounds::new(latencies, count)?;
    let level: Vec<f64> = (0..rounds.rounds()).flat_map(|round| on_one_floor(rounds.round(round))).collect();
    let lasting = lower_quartiles(&level, count);
    // With a window of two reads every other one is a wait: the median would be one of them.
    let floor = quantile::quantile(&lasting, 0.25).unwrap_or(1.0).max(1.0);
    let highest = lasting.iter().copied().fold(0.0, f64::max);
    let above = |threshold: f64| (0..count).filter(|&at| lasting[at] > threshold).collect::<Vec<usize>>();
    let mut levels = Vec::new();
    if highest >= CLEAR * floor {
        let span = highest / (LOWEST * floor);
        let share = |level: u32| f64::from(level) / f64::from(LEVELS);
        levels.extend((0..LEVELS).map(|level| above(LOWEST * floor * span.powf(share(level)))));
    }
    Ok(Waits {
        levels,
        count,
        every_read: is_all_misses(latencies, misses, hits),
        samples: latencies.len() + hits.len() + misses.len(),
    })
}

/// Looks for the periods in which the waits end.
///
/// Low thresholds let noise in and high ones lose teeth, so that several periods may show; which of
/// them is a window is for probes to tell.
pub fn regularity(waits: &Waits) -> Regularity {
    let seen: Vec<_> = waits.levels.iter().map(|stalls| steady_to_the_end(waits.count, stalls)).collect();
    let mut candidates: Vec<(usize, Steady)> = Vec::new();
    for steady in seen.iter().filter_map(|found| found.ok()) {
        match candidates.iter_mut().find(|(_, known)| known.period == steady.period) {
            Some((votes, known)) => {
                *votes += 1;
                // The cleanest of them tells best where the period sets in.
                if (steady.extras, steady.teeth - steady.present)
                    < (known.extras, known.teeth - known.present)
                {
                    *known = steady;
                }
            }
            None => candidates.push((1, steady)),
        }
    }
    if candidates.is_empty() {
        return without_period(waits, &seen);
    }
    candidates.sort_by_key(|&(votes, _)| std::cmp::Reverse(votes));
    Regularity::Steady(candidates.into_iter().map(|(_, steady)| steady).collect())
}

/// The steady period of `stalls`, whose last tooth may be missing: a window that would begin at the
/// end of the file is never fetched, so nothing is set off where its turn would be.
fn steady_to_the_end(count: usize, stalls: &[usize]) -> Result<Steady, Reason> {
    let Some(&last) = stalls.last() else { return Err(Reason::NoStalls) };
    let steady = steady::find(last + 1, stalls)?;
    if count - last > 2 * steady.period {
        return Err(Reason::Irregular);
    }
    Ok(steady)
}

fn without_period(waits: &Waits, seen: &[Result<Steady, Reason>]) -> Regularity {
    if waits.every_read {
        return Regularity::EveryRead;
    }
    if waits.levels.is_empty() {
        return Regularity::Unclear("no read of the cold file waits longer than the others".to_owned());
    }
    let enough = |(found, stalls): (&Result<Steady, Reason>, &Vec<usize>)| match found {
        // The last distance may double once more, and five of that are an answer; some are lost at the end.
        Err(Reason::TooFewPeriods { last_distance }) => stalls.last().map(|last| last + 16 * last_distance),
        _ => None,
    };
    let lengths: Vec<usize> = seen.iter().zip(&waits.levels).filter_map(enough).collect();
    if lengths.len() >= 2 {
        return Regularity::TooShort { enough: lengths[lengths.len() / 2] };
    }
    Regularity::Unclear("the waits keep to no period".to_owned())
}

fn lower_quartiles(matrix: &[f64], positions: usize) -> Vec<f64> {
    let column = |at: usize| matrix.iter().skip(at).step_by(positions).copied().collect::<Vec<f64>>();
    (0..positions).map(|at| quantile::quantile(&column(at), 0.25).unwrap_or(0.0)).collect()
}

/// Whether a typical read of the sequence is nearer to a known miss than to a known hit, on a log scale.
fn is_all_misses(sequence: &[f64], misses: &[f64], hits: &[f64]) -> bool {
    let low = |values: &[f64], p: f64| quantile::quantile(values, p).map(f64::ln);
    match (low(sequence, 0.1), low(misses, 0.5), low(hits, 0.5)) {
        (Some(typical), Some(miss), Some(hit)) => {
            miss - hit > 4_f64.ln() && typical > (miss * 2.0 + hit) / 3.0
        }
        _ => false,
    }
}

/// Positions on either side that make up a neighbourhood.
const NEIGHBOURS: usize = 24;

/// Each latency with the floor of its neighbourhood, the lower quartile, brought to that of the round.
///
/// A wait adds to the floor, wherever that is, so floors are subtracted. Right as long as fewer than
/// three quarters of the neighbours are stalls.
fn on_one_floor(round: &[f64]) -> Vec<f64> {
    let common = quantile::quantile(round, 0.25).unwrap_or(1.0).max(1.0);
    // Kept sorted while it slides: sorting each neighbourhood anew would take ten times as long.
    let mut neighbourhood = quantile::sorted(&round[..round.len().min(NEIGHBOURS)]);
    let place = |sorted: &[f64], value: f64| sorted.partition_point(|&other| other < value);
    let level = |(position, &latency): (usize, &f64)| {
        if let Some(&entering) = round.get(position + NEIGHBOURS) {
            neighbourhood.insert(place(&neighbourhood, entering), entering);
        }
        if let Some(leaving) = position.checked_sub(NEIGHBOURS + 1) {
            neighbourhood.remove(place(&neighbourhood, round[leaving]));
        }
        let floor = quantile::quantile_sorted(&neighbourhood, 0.25).unwrap_or(1.0).max(1.0);
        (latency - floor + common).max(common / 2.0)
    };
    round.iter().enumerate().map(level).collect()
}
