//! Which part of a file that was read once is still in memory, from the latency of probes in it.

use fathom_stats::boundary::{self, Boundary, Reason};
use fathom_stats::{Rounds, quantile};

use fathom_run::samples::Samples;

/// The label of the pass of probes, which may hit or miss. All passes visit the same positions.
pub const PROBES: &str = "probes";
/// The label of the pass that repeats the probes at once: known hits.
pub const HITS: &str = "known hits";
/// The label of the pass that repeats the probes after everything was dropped: known misses.
pub const MISSES: &str = "known misses";

/// A part of a file that is still in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// The number of positions that are still there.
    pub kept: usize,
    /// The fewest and the most that the samples allow, at the stated level, and that were there in any
    /// one round: how much stays differs a little from one reading to the next.
    pub interval: [usize; 2],
    /// The confidence level of the interval.
    pub level: f64,
    /// Whether it is the last part of the file and not the first.
    pub last: bool,
    /// The number of timed operations behind the result.
    pub samples: usize,
}

/// Which positions survived.
#[derive(Debug, Clone, PartialEq)]
pub enum Survivors {
    /// All positions: the file fits.
    All,
    /// The positions at one end of the file.
    Part(Part),
    /// The samples do not decide; the reason.
    Unclear(String),
}

/// A known miss must take so many times as long as a known hit: hits of data that have left the
/// processor's caches take three times as long as others.
const TELLING_TIMES: f64 = 4.0;

/// The middles of known hits and of known misses, on a log scale.
fn levels(samples: &Samples) -> Result<[f64; 2], String> {
    let level = |label| quantile::median(&samples.latencies(label, 0)).unwrap_or(1.0).max(1.0).ln();
    let (hit, miss) = (level(HITS), level(MISSES));
    match miss - hit < TELLING_TIMES.ln() {
        true => Err("what is not in memory is there as fast as what is".to_owned()),
        false => Ok([hit, miss]),
    }
}

/// Which probes of some passes hit, round by round and by position: those nearer to a known hit than to a
/// known miss, on a log scale.
///
/// # Errors
/// One sentence where hits and misses can't be told apart.
pub fn hits(samples: &Samples, probes: impl Iterator<Item = usize>) -> Result<Vec<Vec<bool>>, String> {
    let [hit, miss] = levels(samples)?;
    let is_hit = |latency: &f64| latency.max(1.0).ln() < (hit + miss) / 2.0;
    Ok(probes.map(|pass| samples.matrix(pass, 0).iter().map(is_hit).collect()).collect())
}

/// Finds the step from hits to misses, seen from either end of the file.
pub fn find(samples: &Samples) -> Survivors {
    let [hit, miss] = match levels(samples) {
        Ok(levels) => levels,
        Err(reason) => return Survivors::Unclear(reason),
    };
    let (probes, hits) = (samples.latencies(PROBES, 0), samples.latencies(HITS, 0));
    let positions = samples.positions(PROBES);
    // The last position is visited first, and the first call after a pause is slow wherever it goes.
    let probes: Vec<f64> = probes.chunks(positions).flat_map(|row| row[..positions - 1].to_vec()).collect();
    let positions = positions - 1;
    let backward: Vec<f64> = probes.chunks(positions).flat_map(|row| row.iter().rev().copied()).collect();
    let step = |latencies: &[f64]| -> Result<Boundary, String> {
        let rounds = Rounds::new(latencies, positions)?;
        boundary::find(&rounds, Some(&hits), LEVEL).map_err(|reason| match reason {
            Reason::NoStall => String::new(),
            other => other.to_string(),
        })
    };
    let between = f64::midpoint(hit, miss).exp();
    let part = |found: Boundary, last| {
        let end = |end: f64| (end.max(0.0) as usize).min(positions);
        let seen = if last { &backward } else { &probes };
        let steps: Vec<usize> = seen.chunks(positions).map(|row| step_of(row, between)).collect();
        let low = steps.iter().copied().fold(end(found.interval.low), usize::min);
        let high = steps.iter().copied().fold(end(found.interval.high), usize::max);
        Survivors::Part(Part {
            kept: found.position + usize::from(last),
            interval: [low, high].map(|end| end + usize::from(last)),
            level: found.level,
            last,
            samples: samples.readings.len(),
        })
    };
    match (step(&backward), step(&probes)) {
        (Ok(found), _) if found.position > 0 => part(found, true),
        (_, Ok(found)) if found.position > 0 => part(found, false),
        (Err(reason), _) if reason.is_empty() => Survivors::All,
        (Ok(_), _) | (_, Ok(_)) => Survivors::Unclear("nothing of the file is still in memory".to_owned()),
        (Err(reason), _) => Survivors::Unclear(reason),
    }
}

const LEVEL: f64 = 0.95;

/// How many of the first latencies of one round are hits, where single ones may be on the wrong side.
fn step_of(row: &[f64], between: f64) -> usize {
    let is_miss = |latency: &f64| *latency > between;
    // With the step before all of them each hit is on the wrong side.
    let mut wrong = row.iter().filter(|latency| !is_miss(latency)).count() as i64;
    let mut best = (wrong, 0);
    for (at, latency) in row.iter().enumerate() {
        wrong += if is_miss(latency) { 1 } else { -1 };
        best = best.min((wrong, at + 1));
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_in_one_round_is_where_fewest_are_on_the_wrong_side() {
        let hits_then_misses = [1.0, 1.0, 50.0, 1.0, 1.0, 20.0, 20.0, 1.0, 20.0, 20.0];
        assert_eq!(step_of(&hits_then_misses, 5.0), 5);
        assert_eq!(step_of(&[1.0; 6], 5.0), 6);
        assert_eq!(step_of(&[20.0; 6], 5.0), 0);
    }
}
