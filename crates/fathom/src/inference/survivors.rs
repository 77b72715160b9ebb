//! Which part of a file that was read once is still in memory, from the latency of probes in it.

use fathom_stats::boundary::{self, Boundary, Reason};
use fathom_stats::{Rounds, quantile};

use crate::samples::Samples;

/// Where the passes stand in their workload. All of them visit the same positions.
#[derive(Debug, Clone, Copy)]
pub struct Passes {
    /// Probes of what may be in memory or not.
    pub probes: usize,
    /// The same again: known hits.
    pub hits: usize,
    /// The same after everything was dropped: known misses.
    pub misses: usize,
}

/// What the probes say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// How many of the positions are still there.
    pub kept: usize,
    /// The fewest and the most that the samples allow, at the stated level.
    pub interval: [usize; 2],
    /// The confidence level of the interval.
    pub level: f64,
    /// Whether they are the last of the file and not the first.
    pub last: bool,
    /// Timed operations that this rests on.
    pub samples: usize,
}

/// Which positions survived.
#[derive(Debug, Clone, PartialEq)]
pub enum Survivors {
    /// All of them: the file fits.
    All,
    /// One end of the file.
    Part(Part),
    /// The samples do not tell; why.
    Unclear(String),
}

/// A known miss must take so many times as long as a known hit: hits of data that have left the
/// processor's caches take three times as long as others.
const TELLING_TIMES: f64 = 4.0;

/// Finds the step from hits to misses, seen from either end of the file.
pub fn find(samples: &Samples, passes: Passes) -> Survivors {
    let (probes, hits) = (samples.matrix(passes.probes, 0), samples.matrix(passes.hits, 0));
    let level = |latencies: &[f64]| quantile::median(latencies).unwrap_or(1.0).max(1.0).ln();
    let (hit, miss) = (level(&hits), level(&samples.matrix(passes.misses, 0)));
    if miss - hit < TELLING_TIMES.ln() {
        return Survivors::Unclear("what is not in memory is there as fast as what is".to_owned());
    }
    let positions = samples.workload.passes[passes.probes].region.count as usize;
    // The last position is visited first, and the first call after a pause is slow wherever it goes.
    let probes: Vec<f64> = probes.chunks(positions).flat_map(|row| row[..positions - 1].to_vec()).collect();
    let positions = positions - 1;
    let backward: Vec<f64> = probes.chunks(positions).flat_map(|row| row.iter().rev().copied()).collect();
    let step = |latencies: &[f64]| -> Result<Boundary, String> {
        let rounds = Rounds::new(latencies, positions).map_err(|error| error.to_string())?;
        boundary::find(&rounds, Some(&hits), LEVEL).map_err(|reason| match reason {
            Reason::NoStall => String::new(),
            other => other.to_string(),
        })
    };
    let part = |found: Boundary, last| {
        let end = |end: f64| (end.max(0.0) as usize).min(positions);
        Survivors::Part(Part {
            kept: found.position + usize::from(last),
            interval: [end(found.interval.low), end(found.interval.high)].map(|end| end + usize::from(last)),
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
