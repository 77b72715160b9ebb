//! The choice of a method by evidence: a cached file by a contest while it is read; otherwise each way is tried on
//! parts of the file, which count, and the fastest reads the rest.

use std::ops::Range;

use super::contest::{Candidate, Contest};
use super::source::Whole;
use super::sweep::{GRAIN, Sweeper, Swept};
use super::{Folding, Method};
use fathom_run::fault::Fault;
use fathom_run::watch::Watch;

/// Above that share of pages in the cache a file counts as cached, below the rest as cold.
const CACHED: f64 = 0.95;
/// All trials together may take one part of the file in so many.
const PARTS: u64 = 8;
/// The longest trial: devices need some time to get up to speed.
const LONGEST: u64 = 32 << 20;
/// Of a cached file that is smaller there is nothing to choose: each method has its pieces twice.
const SMALLEST: u64 = 4 * GRAIN;

pub(super) fn fold(
    whole: &Whole,
    threads: Option<usize>,
    cpus: usize,
    watch: &Watch,
) -> Result<Folding, Fault> {
    let cached_share = whole.cached_share();
    let is_cached = cached_share.is_some_and(|share| share >= CACHED);
    let mut sweeper = Sweeper::new(whole, watch);
    if !is_cached && part(whole, methods(cached_share).1) > 0 {
        let threads = |method: Method| threads.unwrap_or_else(|| method.usual_threads(cpus));
        return by_trials(&mut sweeper, whole, cached_share, threads);
    }
    let threads = threads.unwrap_or(cpus);
    let (done, method, reason, trials) = if is_cached && whole.size >= SMALLEST {
        let contest = Contest::new();
        let done = sweeper.contest(&contest, threads)?;
        let (method, why, trials) = contest.outcome();
        (done, method, format!("the file is cached, and {why}"), trials)
    } else {
        let done = sweeper.sweep(Method::Read, threads, 0..whole.size)?;
        (done, Method::Read, "it is too small to try anything out".to_owned(), Vec::new())
    };
    let Swept { word, threads, .. } = done;
    Ok(Folding { word, bytes: whole.size, method, threads, reason, cached_share, trials })
}

/// How a file that is not cached, or not known to be, is called and may be read.
fn methods(cached_share: Option<f64>) -> (&'static str, &'static [Method]) {
    match cached_share {
        Some(share) if share <= 1.0 - CACHED => ("not cached", &[Method::Direct, Method::Read]),
        Some(_) => ("partly cached", &[Method::Mmap, Method::Read, Method::Direct]),
        None => ("cached or not", &[Method::Mmap, Method::Read, Method::Direct]),
    }
}

/// Bytes of a trial: each method has two.
fn part(whole: &Whole, methods: &[Method]) -> u64 {
    (whole.size / PARTS / (2 * methods.len() as u64)).min(LONGEST) / GRAIN * GRAIN
}

fn by_trials(
    sweeper: &mut Sweeper<'_>,
    whole: &Whole,
    cached_share: Option<f64>,
    threads: impl Fn(Method) -> usize,
) -> Result<Folding, Fault> {
    let (state, methods) = methods(cached_share);
    let mut candidates: Vec<Candidate> =
        methods.iter().map(|&method| Candidate::new(method, threads(method))).collect();
    let (tried, word) = try_out(sweeper, &mut candidates, part(whole, methods))?;
    // The last candidate is never dropped.
    let (method, threads) =
        Candidate::fastest(&candidates).map_or((Method::Read, 1), |best| (best.method, best.threads));
    let rest = sweeper.sweep(method, threads, tried..whole.size)?;
    Ok(Folding {
        word: word ^ rest.word,
        bytes: whole.size,
        method,
        threads: rest.threads,
        reason: format!("the file is {state}, and {method} was the fastest on parts of it"),
        cached_share,
        trials: candidates.iter().filter_map(Candidate::trial).collect(),
    })
}

/// Each candidate forward and then backward, so that drift meets all alike. A candidate that the file does
/// not allow is dropped. Gives where the trials ended and the XOR up to there.
fn try_out(
    sweeper: &mut Sweeper<'_>,
    candidates: &mut Vec<Candidate>,
    part: u64,
) -> Result<(u64, u64), Fault> {
    let forward: Vec<Method> = candidates.iter().map(|candidate| candidate.method).collect();
    let (mut at, mut word) = (0, 0);
    for &method in forward.iter().chain(forward.iter().rev()) {
        let Some(index) = candidates.iter().position(|candidate| candidate.method == method) else {
            continue;
        };
        let range: Range<u64> = at..at + part;
        match sweeper.sweep(method, candidates[index].threads, range) {
            Ok(done) => {
                candidates[index].note(part, done.duration_ns);
                word ^= done.word;
                at += part;
            }
            Err(Fault::Interrupted) => return Err(Fault::Interrupted),
            Err(fault) if candidates.len() == 1 => return Err(fault),
            Err(_) => drop(candidates.remove(index)),
        }
    }
    Ok((at, word))
}
