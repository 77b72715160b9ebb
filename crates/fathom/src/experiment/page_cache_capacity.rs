//! How much file data the kernel keeps in memory.
//!
//! A file of nothing but hole is read once, forward, and then a few hundred probes in it tell which part
//! is still there: holes take memory as data do, and no byte has to be written. A probe asks for pages to
//! be prefetched, which is done at once where they are there, and takes making them where not: 20 times
//! as long. A read would differ less, because it copies besides. The file doubles
//! until it does not fit; the end of it that survives is the capacity. A second file of another size,
//! a quarter larger than that, must say the same. Papers A, C and D grew a working set step by step and
//! read all of it twice.

use std::time::Duration;

use super::{About, Cost, Demands, Experiment, Session};
use crate::finding::{Evidence, Finding, Kind, Status, Value};
use crate::inference::survivors::{self, Part, Passes, Survivors};
use crate::machine::Fault;
use crate::units::Bytes;
use crate::witness::{Declared, Witness};
use crate::workload::{Direction, Op, Pass, Region, ScratchFile, Workload};

pub(super) struct PageCacheCapacity;

const METHOD: &str = "prefetch_after_one_reading";
const WITNESS: &str = "cachestat_after_one_reading";
/// Probes in one file. A step between them is known to within half of their distance.
const PROBES: u64 = 256;
/// Bytes of a probe.
const PROBE: u64 = 32 << 10;
/// Sizes of files are multiples of this, so that probes stand at whole pages' distances.
const UNIT: u64 = 1 << 20;
const SMALLEST: u64 = 32 << 20;
/// Beyond this no file system here holds a file.
const LARGEST: u64 = 1 << 44;
/// Two files must agree on the capacity to within this share of it, beside the distance of their probes.
const AGREE_WITHIN: f64 = 0.02;
/// Bytes that are read in a second, at the least, where they need not come from a device.
const READING_RATE: u64 = 2 << 30;
/// Below this it is no question of time.
const MOMENTS: Duration = Duration::from_secs(10);

impl Experiment for PageCacheCapacity {
    fn about(&self) -> &'static About {
        &About {
            parameter: "page_cache_capacity",
            unit: "bytes",
            question: "How much file data does the kernel keep in memory?",
            method: "A file of hole is read once; probes in it tell which end is still in memory. It doubles until it does not fit, and a second size must say the same.",
            source: "papers A, C and D",
            privileges: "none in a memory cgroup; --intrusive elsewhere, because it takes the cache of all programs",
            cost: Cost { seconds: 5, write_bytes: 0, read_bytes: 16 << 30 },
        }
    }

    fn demands(&self, declared: &Declared) -> Demands {
        let memory = &declared.memory;
        // Every size up to twice the capacity, several times over, then once more.
        let time = Duration::from_secs(memory.bytes * 5 * 5 / READING_RATE);
        Demands {
            effects: match memory.limited || declared.is_memory_only() {
                true => Vec::new(),
                false => {
                    vec![
                        "it fills the page cache, so that what other programs have there is dropped"
                            .to_owned(),
                    ]
                }
            },
            time: if time > MOMENTS && !declared.is_memory_only() { time } else { Duration::ZERO },
            ..Demands::default()
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let silent = |reason: String| Evidence::silent(Kind::Timing, METHOD, Status::Inconclusive, reason);
        let first = match grown(session)? {
            Ok(found) => found,
            Err(reason) => return Ok(silent(reason)),
        };
        let length = (first.capacity * 5 / 4).next_multiple_of(UNIT);
        let second = match survivors_of(session, length)? {
            Survivors::Part(part) => Found::of(length, part),
            Survivors::All => return Ok(silent("a larger file fits and a smaller one does not".to_owned())),
            Survivors::Unclear(reason) => return Ok(silent(reason)),
        };
        Ok(agreed(&first, &second).unwrap_or_else(|| {
            silent(format!(
                "of one file {} stay in memory and of another {}",
                Bytes(first.capacity),
                Bytes(second.capacity)
            ))
        }))
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        let declared = witness.declared();
        if declared.is_memory_only() {
            return Ok(vec![senseless(Kind::Witness, WITNESS)]);
        }
        let length = (declared.memory.bytes * 5 / 4).next_multiple_of(UNIT);
        Ok(vec![match witness.survives_reading(length)? {
            Some(bytes) if bytes < length => Evidence::measured(Kind::Witness, WITNESS, Value::Whole(bytes)),
            Some(_) => Evidence::silent(Kind::Witness, WITNESS, Status::Inconclusive, "the whole file fits"),
            None => Evidence::silent(
                Kind::Witness,
                WITNESS,
                Status::Inconclusive,
                "the kernel does not show what is cached",
            ),
        }])
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        let memory = &declared.memory;
        if declared.is_memory_only() {
            return vec![senseless(Kind::Declared, &memory.source)];
        }
        // The limit is on everything that is kept for the programs, file data and their own memory alike.
        vec![
            Evidence::measured(Kind::Declared, &memory.source, Value::Whole(memory.bytes))
                .within(0, memory.bytes),
        ]
    }

    fn explain(&self, finding: &Finding) -> String {
        match (&finding.value, finding.status) {
            (Some(Value::Whole(bytes)), _) => format!(
                "Of a larger file that is read once, {} stay in memory; what else is charged to the same memory takes the rest.",
                Bytes(*bytes)
            ),
            (_, Status::NotApplicable) => {
                "Files live in memory here, so nothing of them is cached.".to_owned()
            }
            _ => "What stays in memory of a file that was read could not be told.".to_owned(),
        }
    }
}

fn senseless(kind: Kind, method: &str) -> Evidence {
    Evidence::silent(kind, method, Status::NotApplicable, "files live in memory alone")
}

/// What one file says of the capacity, in bytes.
#[derive(Debug, Clone, Copy)]
struct Found {
    capacity: u64,
    interval: [u64; 2],
    /// The distance of the probes.
    stride: u64,
    part: Part,
}

impl Found {
    fn of(length: u64, part: Part) -> Self {
        let stride = length / PROBES;
        let bytes = |kept: usize| kept as u64 * stride;
        // The step lies between two probes, half a stride on either side of this.
        let interval =
            [bytes(part.interval[0]).saturating_sub(stride / 2), bytes(part.interval[1]) + stride / 2];
        Self { capacity: bytes(part.kept), interval, stride, part }
    }
}

/// Files of doubling sizes until one does not fit.
fn grown(session: &mut Session<'_>) -> Result<Result<Found, String>, Fault> {
    let mut length = SMALLEST;
    let mut unclear = Vec::new();
    while length <= LARGEST && unclear.len() < 2 {
        match survivors_of(session, length)? {
            Survivors::Part(part) => return Ok(Ok(Found::of(length, part))),
            Survivors::All => unclear.clear(),
            // Of a file that is only just too large, too little is missing; of the next one more is.
            Survivors::Unclear(reason) => unclear.push(reason),
        }
        length *= 2;
    }
    Ok(Err(unclear.pop().unwrap_or_else(|| format!("a file of {} still fits", Bytes(LARGEST)))))
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
        false => evidence.caveat("it is the first part of a file that stays, not the last"),
    })
}

fn survivors_of(session: &mut Session<'_>, length: u64) -> Result<Survivors, Fault> {
    let rounds = session.rounds(7, 5);
    let (workload, passes) = workload(length, rounds);
    Ok(survivors::find(session.observe(workload)?, passes))
}

fn workload(length: u64, rounds: u32) -> (Workload, Passes) {
    let stride = length / PROBES;
    let all = Region { offset: 0, size: UNIT, step: UNIT, count: length / UNIT };
    // Some pages at once, and none of them copied: that would take as long as to make them.
    let probes = Region { offset: 0, size: PROBE, step: stride, count: PROBES };
    let empty = || Pass::untimed(0, &[Op::Evict, Op::Close, Op::Open]);
    // Backward: the end that was read last comes first, and only misses change what is cached.
    let probing = || Pass::timed(0, &[Op::Prefetch], probes).direction(Direction::Backward);
    let workload = Workload::new(vec![ScratchFile::sparse(&format!("hole-{length}"), length)])
        .pass(empty())
        .pass(Pass::priming(0, &[Op::Pread], all))
        .pass(probing())
        .pass(probing())
        .pass(empty())
        .pass(probing())
        .pass(empty())
        .rounds(rounds);
    (workload, Passes { probes: 2, hits: 3, misses: 5 })
}
