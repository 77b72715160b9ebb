//! Nested periods in the latencies of small equal operations.

use fathom_stats::Rounds;
use fathom_stats::comb::{self, Comb, NoComb};

use crate::samples::Samples;

/// The combs of a sequence, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Combs {
    /// The smallest period.
    pub fundamental: Tooth,
    /// The period of taller teeth among those, where there is one.
    pub taller: Option<Tooth>,
    /// Timed operations that the answer rests on.
    pub samples: usize,
}

/// One comb.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tooth {
    /// The distance between teeth in bytes.
    pub period: u64,
    /// What a tooth costs, as a multiple of an operation between teeth.
    pub height: f64,
    /// The probability that chance did not make it.
    pub confidence: f64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum NoAnswer {
    /// No comb with a period up to this many bytes.
    Absent(u64),
    /// More rounds may help; why.
    Unclear(String),
}

/// Finds the combs in a pass whose operations stand `step` bytes apart.
///
/// # Errors
/// [`NoAnswer`]: there is no comb within reach, or the samples do not tell.
pub fn find(samples: &Samples, pass: usize, step: u64) -> Result<Combs, NoAnswer> {
    let latencies = samples.matrix(pass, 0);
    let positions = samples.workload.passes[pass].region.count as usize;
    let unclear = |reason: String| NoAnswer::Unclear(reason);
    let rounds = Rounds::new(&latencies, positions).map_err(|error| unclear(error.to_string()))?;
    let combs = comb::find(&rounds, &comb::Options::default()).map_err(|reason| match reason {
        NoComb::Absent { largest_period } => NoAnswer::Absent(largest_period as u64 * step),
        NoComb::Inconsistent { period } => {
            let bytes = crate::units::Bytes(period as u64 * step);
            unclear(format!("something recurs every {bytes}, but not regularly"))
        }
        other => unclear(other.to_string()),
    })?;
    let tooth = |comb: &Comb| Tooth {
        period: comb.period as u64 * step,
        height: comb.height_ratio.value,
        confidence: comb.confidence(),
    };
    Ok(Combs {
        fundamental: tooth(&combs.fundamental),
        taller: combs.taller.as_ref().ok().map(tooth),
        samples: latencies.len(),
    })
}
