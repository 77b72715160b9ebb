//! Where sustained writes begin to wait.

use fathom_stats::change_point::{self, Options, Reason};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::samples::Samples;

/// Where writers begin to wait, by one run of writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Onset {
    /// The write that waits first.
    pub position: usize,
}

/// What a run of writes says.
#[derive(Debug, Clone, PartialEq)]
pub enum Waiting {
    /// Writes wait from a point on.
    From(Onset),
    /// None waits, or too few at the end to tell: write more.
    NotYet,
    /// The samples do not tell; why.
    Unclear(String),
}

/// A writer that waits must take so many times as long, on average: the pace of processors and of memory
/// changes by less.
const TELLING_TIMES: f64 = 3.0;
/// The share of writes that must come after the onset.
const SHARE_AFTER: f64 = 0.15;
/// Writes that are taken together: a writer that waits makes several at full pace and pays for all at once.
const TOGETHER: usize = 2;

/// Finds the one change of pace in the writes of `pass`, from fast to slow.
pub fn find(samples: &Samples, pass: usize) -> Waiting {
    let latencies = samples.matrix(pass, 0);
    let sum = |part: &[f64]| part.iter().sum::<f64>();
    let logs: Vec<f64> = latencies.chunks_exact(TOGETHER).map(|group| sum(group).max(1.0).ln()).collect();
    let mut generator = Pcg64Mcg::seed_from_u64(samples.workload.seed);
    let change = match change_point::find(&logs, &Options::default(), &mut generator) {
        Ok(change) => change,
        Err(Reason::Level | Reason::TooFew) => return Waiting::NotYet,
        Err(reason) => return Waiting::Unclear(reason.to_string()),
    };
    let rough = change.position * TOGETHER;
    let (before, after) = latencies.split_at(rough);
    let (fast, slow) = (sum(before) / before.len() as f64, sum(after) / after.len() as f64);
    if slow < TELLING_TIMES * fast || (after.len() as f64) < SHARE_AFTER * latencies.len() as f64 {
        return Waiting::NotYet;
    }
    // The first write nearby that pays for more than itself.
    let threshold = (fast * slow).sqrt();
    let near = rough.saturating_sub(TOGETHER)..(rough + TOGETHER).min(latencies.len());
    let position = near.into_iter().find(|&at| latencies[at] > threshold).unwrap_or(rough);
    Waiting::From(Onset { position })
}
