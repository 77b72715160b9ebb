//! By which rule file data leave memory when there is too much of them.
//!
//! The answer is one of seven words:
//!
//! | word | what goes first |
//! |---|---|
//! | `lru` | what was used least recently |
//! | `fifo` | what came first |
//! | `clock` | what came first, unless it was used since the last look at it |
//! | `two_lists` | what came first of what was used once; a second use, or a first soon after it left, protects |
//! | `segmented` | what was used least recently of what was used once; a second use protects |
//! | `random` | anything |
//! | `generations` | what came first, unless it was used many times |

mod overflows;

use std::time::Duration;

use self::overflows::{Group, Overflow, Shares};
use super::in_memory;
use super::prelude::*;
use super::silence::{Answer, evidence, inconclusive};
use super::working_set::{self, survives_reading, too_long};
use crate::inference::replacement::Policy;
use crate::inference::survivors;

pub(super) struct PageCachePolicy;

const METHOD: &str = "prefetch_after_overflow";
const WITNESS: &str = "mincore_after_overflow";
const DECLARED: &str = "lru_gen_enabled";
/// Timing goes through all overflows so many times, and the witness once.
const SETS: usize = 2;

impl Experiment for PageCachePolicy {
    fn about(&self) -> &'static About {
        &About {
            parameter: "page_cache_policy",
            unit: "word",
            question: "Which file data does the kernel drop first when memory is full?",
            method: "Sparse files are read in known orders, once or more, until the cache overflows; what is left tells whether order, recency, frequency or an earlier stay decided. Measured twice; a policy is named only if all results fit it.",
            source: "Burnett, Bent, Arpaci-Dusseau & Arpaci-Dusseau, USENIX 2002",
            privileges: About::WHOLE_CACHE,
            cost: Cost { seconds: 40, write_bytes: 0, read_bytes: 24 << 30 },
            not_applicable: "Files live in memory here, so nothing of them is dropped.",
            inconclusive: "Which data the kernel drops first could not be determined.",
            ..About::USUAL
        }
    }

    fn demands(&self, declared: &Declared) -> Demands {
        // What finds the capacity comes on top.
        let demands = working_set::demands(declared, (SETS as u64 + 1) * overflows::VOLUME + 10);
        let waiting = Duration::from_nanos((SETS as u64 + 1) * overflows::WAITING_NS);
        let time = if declared.is_memory_only() { Duration::ZERO } else { demands.time + waiting };
        Demands { time, ..demands }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        evidence(Kind::Timing, METHOD, by_timing(session))
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        let silent = |reason: &str| vec![Evidence::inconclusive(Kind::Witness, WITNESS, reason)];
        let declared = witness.declared();
        if declared.is_memory_only() {
            return Ok(vec![in_memory(Kind::Witness, WITNESS)]);
        }
        let length = too_long(declared.memory.bytes);
        let unseen = "the kernel does not show what is cached";
        let Some(capacity) = survives_reading(witness, length)? else { return Ok(silent(unseen)) };
        let mut shares = Shares::default();
        for (share, overflow) in shares.iter_mut().zip(overflows::all(capacity)) {
            let Some(cached) = cached(witness, &overflow.workload)? else { return Ok(silent(unseen)) };
            *share = overflow.shares(|pass| cached[pass].clone());
        }
        Ok(match overflows::remains(&shares).policy() {
            Ok((policy, _)) => vec![Evidence::measured(Kind::Witness, WITNESS, word(policy))],
            Err(reason) => silent(&reason),
        })
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        if declared.is_memory_only() {
            return vec![in_memory(Kind::Declared, DECLARED)];
        }
        let policy = if declared.generations { Policy::Generations } else { Policy::TwoLists };
        vec![Evidence::measured(Kind::Declared, DECLARED, word(policy))]
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        case.conditions.memory.is_some()
    }

    fn truth(&self, _: &Case, kernel: &Kernel) -> Truth {
        let policy = if kernel.generations { Policy::Generations } else { Policy::TwoLists };
        Truth::word(policy.word(), Basis::Rule)
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let words = match finding.word()? {
            "lru" => "What was used least recently goes first: one long reading takes the place of all else.",
            "fifo" => "What came first goes first, however often it was used since.",
            "clock" => "What came first goes first, unless it was used since the last look at it.",
            "two_lists" => {
                "What was read once goes in order of its coming; what is read a second time, or comes back soon after it left, stays through long readings of other data, and goes in order of that second time."
            }
            "segmented" => {
                "What was read once goes first; what is read a second time is protected, and goes in order of its last use."
            }
            "generations" => {
                "What came first goes first, unless it was used five times or more: that stays through long readings."
            }
            _ => "Anything may go, whatever its use.",
        };
        Some(words.to_owned())
    }
}

impl Overflow {
    /// The share of hits in each group; `hits` gives those of a pass.
    fn shares(&self, hits: impl Fn(usize) -> Vec<bool>) -> Vec<f64> {
        let share = |group: &Group| {
            let mine = |&pass: &usize| hits(pass).into_iter().skip(group.first).step_by(group.every);
            let all: Vec<bool> = group.passes.iter().flat_map(mine).collect();
            all.iter().filter(|&&hit| hit).count() as f64 / all.len().max(1) as f64
        };
        self.groups.iter().map(share).collect()
    }
}

/// Does what one round of a workload does where nothing is timed; instead of each timed pass, looks which of its
/// positions are in the cache. `None` where that can't be seen.
fn cached(witness: &mut dyn Witness, workload: &Workload) -> Result<Option<Vec<Vec<bool>>>, Fault> {
    for file in &workload.files {
        witness.provide(file)?;
    }
    let mut seen = Vec::with_capacity(workload.passes.len());
    for (index, pass) in workload.passes.iter().enumerate() {
        if !pass.timed {
            witness.perform(workload, index)?;
            seen.push(Vec::new());
            continue;
        }
        let Some(cached) = witness.cached_at(&workload.files[pass.file].name, pass.region)? else {
            return Ok(None);
        };
        seen.push(cached);
    }
    Ok(Some(seen))
}

/// The policy that one set of overflows speaks for.
struct Fit {
    policy: Policy,
    /// How far all numbers are inside of their bounds.
    margin: f64,
    /// Timed operations.
    samples: usize,
}

/// The policy that all sets of overflows speak for.
fn by_timing(session: &mut Session<'_>) -> Answer<Evidence> {
    let grown = working_set::grown(session)?;
    // Of the file that does not fit as much stays as fits, whatever the policy.
    let capacity = match grown.left {
        Some(left) => left,
        None => grown.found?.capacity,
    };
    let fits = (0..SETS).map(|_| fitting(session, capacity)).collect::<Answer<Vec<Fit>>>()?;
    let policy = fits[0].policy;
    if let Some(other) = fits.iter().find(|fit| fit.policy != policy) {
        let (first, other) = (policy.word(), other.policy.word());
        return inconclusive(format!("it looks like {first} once and like {other} another time"));
    }
    let margin = fits.iter().map(|fit| fit.margin).fold(1.0, f64::min);
    let samples = fits.iter().map(|fit| fit.samples).sum();
    Ok(Evidence::measured(Kind::Timing, METHOD, word(policy)).resting_on(confidence(margin), samples))
}

/// Goes through all overflows and judges what is left by the latency of probes.
fn fitting(session: &mut Session<'_>, capacity: u64) -> Answer<Fit> {
    let mut shares = Shares::default();
    let mut timed = 0;
    for (share, overflow) in shares.iter_mut().zip(overflows::all(capacity)) {
        let samples = session.observe(overflow.workload.clone())?;
        let hits = survivors::hits(samples, 0..overflow.workload.passes.len())?;
        timed += samples.readings.len();
        *share = overflow.shares(|pass| hits[pass].clone());
    }
    let (policy, margin) = overflows::remains(&shares).policy()?;
    Ok(Fit { policy, margin, samples: timed })
}

/// The probability that no number left its bounds by chance alone, as far as each rests on 32 probes or
/// more in each set. Source: Hoeffding 1963, "Probability inequalities for sums of bounded random variables".
fn confidence(margin: f64) -> f64 {
    let probes = 32.0 * SETS as f64;
    1.0 - (-2.0 * probes * margin * margin).exp()
}

fn word(policy: Policy) -> Value {
    Value::Word(policy.word().to_owned())
}
