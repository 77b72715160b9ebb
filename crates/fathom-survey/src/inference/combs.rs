//! Nested periods in the latencies of small equal operations.

use fathom_program::units::Bytes;
use fathom_stats::Rounds;
use fathom_stats::comb::{self, Comb, NoComb};

/// The periods with which latencies rise along a sequence, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Combs {
    /// The comb with the smallest period.
    pub fundamental: Tooth,
    /// The comb of taller teeth among those of the smallest.
    pub taller: Taller,
    /// Timed operations that the answer rests on.
    pub samples: usize,
}

/// Whether some teeth of the smallest comb are taller than the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Taller {
    /// Taller teeth come with a period of their own.
    Comb(Tooth),
    /// No period of up to this many bytes has taller teeth.
    Absent(u64),
    /// The samples do not decide.
    Unclear,
}

/// A comb: teeth of one height at equal distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tooth {
    /// The distance between teeth in bytes.
    pub period: u64,
    /// The cost of a tooth, as a multiple of an operation between teeth.
    pub height: f64,
    /// The probability that the comb is not due to chance.
    pub confidence: f64,
}

/// Which combs to look for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    /// The smallest period to look for, in bytes.
    pub smallest: u64,
    /// How much slower, as a share of an operation, the teeth of a finer comb could be at most
    /// without being seen.
    pub negligible: f64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum NoAnswer {
    /// There is no comb with a period up to this many bytes.
    Absent(u64),
    /// The reason; more rounds may help.
    Unclear(String),
    /// The reason; more rounds will not help.
    TooLow(String),
}

/// Finds the combs in latencies, rounds by `positions`, of operations that stand `step` bytes apart.
///
/// # Errors
/// [`NoAnswer`]: there is no comb within reach, or the samples do not tell.
pub fn find(latencies: &[f64], positions: usize, step: u64, wanted: Wanted) -> Result<Combs, NoAnswer> {
    let unclear = |reason: String| NoAnswer::Unclear(reason);
    let rounds = Rounds::new(latencies, positions).map_err(unclear)?;
    let options = comb::Options {
        min_period: wanted.smallest.div_ceil(step) as usize,
        negligible_height: wanted.negligible,
    };
    let bytes = |period: usize| Bytes(period as u64 * step);
    let combs = comb::find(&rounds, &options).map_err(|reason| match reason {
        NoComb::Absent { largest_period } => NoAnswer::Absent(largest_period as u64 * step),
        NoComb::Inconsistent { period } => {
            unclear(format!("something recurs every {}, but not regularly", bytes(period)))
        }
        NoComb::TooLow { period } => NoAnswer::TooLow(format!(
            "what recurs every {} is too little of what each call takes",
            bytes(period)
        )),
        other => unclear(other.to_string()),
    })?;
    let tooth = |comb: &Comb| Tooth {
        period: comb.period as u64 * step,
        height: comb.height_ratio.value,
        confidence: comb.confidence(),
    };
    Ok(Combs {
        fundamental: tooth(&combs.fundamental),
        taller: match combs.taller {
            Ok(comb) => Taller::Comb(tooth(&comb)),
            Err(NoComb::Absent { largest_period }) => Taller::Absent(largest_period as u64 * step),
            Err(_) => Taller::Unclear,
        },
        samples: latencies.len(),
    })
}
