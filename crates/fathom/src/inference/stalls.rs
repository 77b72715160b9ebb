//! Which paced reads of a cold file waited for the device, and how regularly.

use fathom_stats::levels::{self, Levels};
use fathom_stats::steady::{self, Reason, Steady};
use fathom_stats::{Rounds, quantile};

use crate::samples::Samples;

/// The stalls of one sequential pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Stalls {
    /// Positions that stalled, ascending.
    pub positions: Vec<usize>,
    /// Positions whose rounds disagree.
    pub ambiguous: Vec<usize>,
    /// How many times as long as a hit each position takes: the median over rounds.
    pub times: Vec<f64>,
    /// How many positions the pass has.
    pub count: usize,
    /// Timed operations that this rests on.
    pub samples: usize,
}

/// What the stalls say of the read-ahead window.
#[derive(Debug, Clone, PartialEq)]
pub enum Regularity {
    /// They end in a steady period.
    Steady(Steady),
    /// Every read waited: nothing is read ahead.
    EveryRead,
    /// There are too few: the sequence should be longer.
    TooShort,
    /// Reads that are no stalls are slow at a fraction of their period: the pace should be slower.
    TooFast,
    /// The samples do not tell; why.
    Unclear(String),
}

/// Tells stalls from hits in pass `sequence`, with the hits of pass `reference` to compare.
///
/// # Errors
/// One sentence where the latencies do not fall into two levels.
pub fn find(samples: &Samples, sequence: usize, reference: usize) -> Result<Stalls, String> {
    let latencies = samples.matrix(sequence, 0);
    let count = samples.workload.passes[sequence].region.count as usize;
    let rounds = Rounds::new(&latencies, count).map_err(|error| error.to_string())?;
    let hits = per_position(samples, reference)?;
    let levels: Levels = levels::split(&rounds, Some(&hits)).map_err(|reason| reason.to_string())?;
    Ok(Stalls {
        positions: levels.stall_positions(),
        times: per_position(samples, sequence)?.iter().map(|&latency| latency / levels.floor).collect(),
        ambiguous: levels.ambiguous,
        count,
        samples: latencies.len() + hits.len(),
    })
}

/// Looks for the period in which the stalls end.
pub fn regularity(stalls: &Stalls) -> Regularity {
    if stalls.positions.is_empty() {
        return Regularity::Unclear("no read of the cold file took longer than a cached one".to_owned());
    }
    match steady::find(stalls.count, &stalls.positions, &steady::Options::default()) {
        Ok(steady) if hides_fraction(stalls, &steady) => Regularity::TooFast,
        Ok(steady) => Regularity::Steady(steady),
        Err(Reason::Saturated) => Regularity::EveryRead,
        Err(Reason::TooFewPeriods { .. }) => Regularity::TooShort,
        Err(reason) => Regularity::Unclear(reason.to_string()),
    }
}

/// Past so many times a hit a read does something that other hits do not.
pub const ELEVATED_TIMES: f64 = 3.0;

/// Whether every window start at a fraction of the period is slower than a hit.
///
/// A reader that is faster than the device waits for one window and then finds the next one there,
/// in turns; only the first of the two is a stall. But the other one, too, hands a window to the device.
fn hides_fraction(stalls: &Stalls, steady: &Steady) -> bool {
    let Steady { period, onset, .. } = *steady;
    let times_at = |phase: usize| {
        let mut times: Vec<f64> = stalls.times.iter().skip(onset + phase).step_by(period).copied().collect();
        quantile::median_in_place(&mut times).unwrap_or(1.0)
    };
    let elevated: Vec<bool> = (0..period).map(|phase| times_at(phase) >= ELEVATED_TIMES).collect();
    (1..period)
        .filter(|fraction| period.is_multiple_of(*fraction))
        .any(|fraction| elevated.iter().step_by(fraction).all(|&elevated| elevated))
}

/// The median over rounds of each position's latency.
fn per_position(samples: &Samples, pass: usize) -> Result<Vec<f64>, String> {
    let latencies = samples.matrix(pass, 0);
    let count = samples.workload.passes[pass].region.count as usize;
    let rounds = Rounds::new(&latencies, count).map_err(|error| error.to_string())?;
    let median = |position| {
        let mut values: Vec<f64> = rounds.position(position).collect();
        quantile::median_in_place(&mut values).unwrap_or(0.0)
    };
    Ok((0..count).map(median).collect())
}
