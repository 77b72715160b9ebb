//! How much file data the kernel keeps in memory.
//!
//! A file of nothing but hole is read once, forward, and then a few hundred probes in it tell which part
//! is still there. The file doubles until it does not fit; the end of it that survives is the capacity. A
//! second file of another size, a quarter larger than that, must say the same. Papers A, C and D grew a
//! working set step by step and read all of it twice.

use std::time::Duration;

use super::in_memory;
use super::prelude::*;
use super::silence::{Answer, evidence, inconclusive};
use super::working_set::{self, Found, survives_reading, too_long};
use crate::inference::survivors::Survivors;

pub(super) struct PageCacheCapacity;

const METHOD: &str = "prefetch_after_one_reading";
/// What the three passes over the same positions are.
const PASSES: [&str; 3] =
    ["as reading the file left it", "again at once: known hits", "after dropping it: known misses"];
const FIRST_PART: &str = "it is the first part of a file that stays, not the last";
const WITNESS: &str = "cachestat_after_one_reading";
/// Two files must agree on the capacity to within this share of it, in addition to the distance of their probes.
const AGREE_WITHIN: f64 = 0.02;
/// Below this it is no question of time.
const MOMENTS: Duration = Duration::from_secs(10);

impl Experiment for PageCacheCapacity {
    fn about(&self) -> &'static About {
        &About {
            parameter: "page_cache_capacity",
            unit: "bytes",
            question: "How much file data can the kernel keep in memory?",
            method: "A sparse file is read once, and a few later reads tell which of its ends is still in memory. Its size is doubled until it does not fit; a second size must give the same answer.",
            source: "papers A, C and D",
            privileges: About::WHOLE_CACHE,
            cost: Cost { seconds: 5, write_bytes: 0, read_bytes: 16 << 30 },
            nature: Nature::Drifting,
            figure: Figure::Sweep { passes: &PASSES },
            recipes: &["paper-a-cache", "paper-c-cache", "paper-d-cache"],
            not_applicable: "Files live in memory here, so nothing of them is cached.",
            inconclusive: "How much of a file stays in memory after a read could not be determined.",
            ..About::USUAL
        }
    }

    fn demands(&self, declared: &Declared) -> Demands {
        // Every size up to twice the capacity, several times over, then once more.
        let demands = working_set::demands(declared, 5 * 5);
        let time = if demands.time > MOMENTS { demands.time } else { Duration::ZERO };
        Demands { time, ..demands }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        evidence(Kind::Timing, METHOD, by_timing(session))
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        let declared = witness.declared();
        if declared.is_memory_only() {
            return Ok(vec![in_memory(Kind::Witness, WITNESS)]);
        }
        let length = too_long(declared.memory.bytes);
        Ok(vec![match survives_reading(witness, length)? {
            Some(bytes) if bytes < length => Evidence::measured(Kind::Witness, WITNESS, Value::Whole(bytes)),
            Some(_) => Evidence::inconclusive(Kind::Witness, WITNESS, "the whole file fits"),
            None => Evidence::inconclusive(Kind::Witness, WITNESS, "the kernel does not show what is cached"),
        }])
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        let memory = &declared.memory;
        if declared.is_memory_only() {
            return vec![in_memory(Kind::Declared, &memory.source)];
        }
        // The limit is on everything that is kept for the programs, file data and their own memory alike.
        vec![
            Evidence::measured(Kind::Declared, &memory.source, Value::Whole(memory.bytes))
                .within(0, memory.bytes),
        ]
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        case.conditions.memory.is_some()
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        // The process's own memory and the kernel's are charged to the same limit.
        let limit = case.conditions.memory.map(|limit| limit as f64);
        limit.map_or(Truth::Unknown, |limit| Truth::within([0.95 * limit, limit]))
    }

    fn along(&self, value: &Value, finding: &Finding, _: &Others<'_>) -> Option<Along> {
        let is_first = finding.caveats.iter().any(|caveat| caveat == FIRST_PART);
        value.as_number().map(if is_first { Along::At } else { Along::FromEnd })
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        Some(format!(
            "Of a larger file that is read once, {} stay in memory; what else is charged to the same memory takes the rest.",
            Bytes(finding.whole()?)
        ))
    }
}

/// What two files say.
fn by_timing(session: &mut Session<'_>) -> Answer<Evidence> {
    let first = working_set::grown(session)?.found?;
    let length = too_long(first.capacity);
    let second = match working_set::survivors_of(session, length)?.0 {
        Survivors::Part(part) => Found::of(length, part),
        Survivors::All => return inconclusive("a larger file fits and a smaller one does not"),
        Survivors::Unclear(reason) => return inconclusive(reason),
    };
    let [one, other] = [first.capacity, second.capacity].map(Bytes);
    let unlike = || format!("of one file {one} stay in memory and of another {other}");
    Ok(agreed(&first, &second).ok_or_else(unlike)?)
}

/// The evidence of two files that say the same.
fn agreed(first: &Found, second: &Found) -> Option<Evidence> {
    let room = AGREE_WITHIN * second.capacity as f64 + (first.stride + second.stride) as f64;
    if first.capacity.abs_diff(second.capacity) as f64 > room || first.part.last != second.part.last {
        return None;
    }
    // The finer one gives the value; the interval spans what either allows.
    let low = first.interval[0].min(second.interval[0]);
    let high = first.interval[1].max(second.interval[1]);
    let confidence = first.part.level.min(second.part.level);
    let samples = first.part.samples + second.part.samples;
    let evidence = Evidence::measured(Kind::Timing, METHOD, Value::Whole(second.capacity))
        .within(low, high)
        .resting_on(confidence, samples);
    Some(match second.part.last {
        true => evidence,
        false => evidence.caveat(FIRST_PART),
    })
}
