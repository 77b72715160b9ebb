//! The choice of a method by evidence: of a cached file by how much of it a page fault maps; otherwise each way is
//! tried on parts of the file, which count, and the fastest reads the rest.

use std::ops::Range;

use fathom_sys::usage::Usage;

use super::source::Whole;
use super::sweep::{GRAIN, Sweeper};
use super::{Folding, Method, Trial, narrow, per_second};
use crate::fault::Fault;
use crate::speed::watch::Watch;
use crate::units::Bytes;

/// Above that share of pages in the cache a file counts as cached, below the rest as cold.
const CACHED: f64 = 0.95;
/// All trials together may take one part of the file in so many.
const PARTS: u64 = 8;
/// The longest trial of a device, which needs some time to get up to speed, and of the page cache.
const LONGEST: [u64; 2] = [32 << 20, 16 << 20];

/// A way to read, with what it has done so far.
struct Candidate {
    method: Method,
    threads: usize,
    bytes: u64,
    duration_ns: u64,
    /// Bytes per second of the faster of its parts: what else runs can only make one slower.
    fastest: f64,
}

pub(super) fn fold(
    whole: &Whole,
    threads: Option<usize>,
    cpus: usize,
    watch: &Watch,
) -> Result<Folding, Fault> {
    let cached_share = whole.cached_share();
    let (state, methods): (&str, &[Method]) = match cached_share {
        Some(share) if share >= CACHED => ("cached", &[Method::Mmap, Method::Read]),
        Some(share) if share <= 1.0 - CACHED => ("not cached", &[Method::Direct, Method::Read]),
        Some(_) => ("partly cached", &[Method::Mmap, Method::Read, Method::Direct]),
        None => ("cached or not", &[Method::Mmap, Method::Read, Method::Direct]),
    };
    let candidate = |&method: &Method| {
        let threads = threads.unwrap_or_else(|| method.usual_threads(cpus));
        Candidate { method, threads, bytes: 0, duration_ns: 0, fastest: 0.0 }
    };
    let mut candidates: Vec<Candidate> = methods.iter().map(candidate).collect();
    let longest = LONGEST[usize::from(state == "cached")];
    let rounds = 2 * methods.len() as u64;
    let part = (whole.size() / PARTS / rounds).min(longest) / GRAIN * GRAIN;
    let mut sweeper = Sweeper::new(whole, watch);
    if part == 0 {
        let threads = threads.unwrap_or(cpus);
        let done = sweeper.sweep(Method::Read, threads, 0..whole.size())?;
        let reason = "it is too small to try anything out".to_owned();
        let (word, threads) = (narrow(done.word), done.threads);
        let method = Method::Read;
        return Ok(Folding {
            word,
            bytes: whole.size(),
            method,
            threads,
            reason,
            cached_share,
            trials: Vec::new(),
        });
    }
    let probe = if state == "cached" { probe(&mut sweeper, whole.size())? } else { Probe::default() };
    let (mut at, mut word) = (0, probe.word);
    if probe.is_telling() {
        candidates.retain(|candidate| candidate.method == Method::Mmap);
    } else {
        let (tried, of_trials) = try_out(&mut sweeper, &mut candidates, part)?;
        (at, word) = (tried, word ^ of_trials);
    }
    let best = fastest(&candidates);
    let mut used = 0;
    for range in [at..probe.range.start, probe.range.end.max(at)..whole.size()] {
        if !range.is_empty() {
            let rest = sweeper.sweep(best.method, best.threads, range)?;
            (word, used) = (word ^ rest.word, used.max(rest.threads));
        }
    }
    let why = match probe.bytes_per_fault.filter(|_| probe.is_telling()) {
        Some(bytes) => format!("a page fault maps {} of it, which no copy is as fast as", Bytes(bytes)),
        None => format!("{} was the fastest on parts of it", best.method),
    };
    Ok(Folding {
        word: narrow(word),
        bytes: whole.size(),
        method: best.method,
        threads: used,
        reason: format!("the file is {state}, and {why}"),
        cached_share,
        trials: probe.trial.into_iter().chain(candidates.iter().filter_map(Candidate::trial)).collect(),
    })
}

/// What mapping a part of a cached file shows.
#[derive(Default)]
struct Probe {
    /// Which part; empty where the file can't be mapped.
    range: Range<u64>,
    word: u64,
    bytes_per_fault: Option<u64>,
    trial: Option<Trial>,
}

/// The part that is mapped to see how large folios are: some of them, however they lie.
const PROBED: u64 = 8 << 20;
/// A page fault that maps more than this costs a fraction of copying it. The kernel maps around a fault what is of
/// one folio, and 64 KiB where folios are smaller (`filemap_map_pages`).
const LARGE_FOLIO: u64 = 128 << 10;

impl Probe {
    fn is_telling(&self) -> bool {
        self.bytes_per_fault.is_some_and(|bytes| bytes > LARGE_FOLIO)
    }
}

/// Maps and folds a part in the middle of a file, on this thread alone: at both ends read-ahead makes smaller
/// folios. Trials of a copy would cost a tenth of the time that mapping a whole GiB takes.
fn probe(sweeper: &mut Sweeper<'_>, size: u64) -> Result<Probe, Fault> {
    let start = size / 2 / GRAIN * GRAIN;
    let range = start..start + PROBED;
    let before = Usage::of_this_thread();
    let done = match sweeper.sweep(Method::Mmap, 1, range.clone()) {
        Ok(done) => done,
        Err(Fault::Interrupted) => return Err(Fault::Interrupted),
        Err(_) => return Ok(Probe::default()),
    };
    let faults = Usage::of_this_thread().since(before).minor_faults;
    let duration_ns = done.duration_ns;
    let fastest = per_second(PROBED, duration_ns);
    let candidate = Candidate { method: Method::Mmap, threads: 1, bytes: PROBED, duration_ns, fastest };
    // Where the kernel does not count them there are none at all.
    let bytes_per_fault = (faults > 0).then(|| PROBED / faults);
    Ok(Probe { range, word: done.word, bytes_per_fault, trial: candidate.trial() })
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
                let candidate = &mut candidates[index];
                candidate.bytes += part;
                candidate.duration_ns += done.duration_ns;
                candidate.fastest = candidate.fastest.max(per_second(part, done.duration_ns));
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

fn fastest<'a>(candidates: &'a [Candidate]) -> &'a Candidate {
    let faster =
        |best: &'a Candidate, other: &'a Candidate| if other.fastest > best.fastest { other } else { best };
    candidates[1..].iter().fold(&candidates[0], faster)
}

impl Candidate {
    /// What it did in trials; nothing where it needed none.
    fn trial(&self) -> Option<Trial> {
        (self.bytes > 0).then_some(Trial {
            method: self.method,
            threads: self.threads,
            bytes: self.bytes,
            duration_ns: self.duration_ns,
            bytes_per_second: self.fastest,
        })
    }
}
