//! Files that are read once, and which part of them stays in memory: for all that is asked of the cache.
//!
//! The files are all hole: holes take memory as data do, and no byte has to be written. A probe asks for
//! pages to be prefetched, which is done at once where they are there, and takes making them where not: 20
//! times as long. A read would differ less, because it copies besides.

use std::time::Duration;

use super::prelude::*;
use crate::inference::survivors::{self, Part, Survivors};

/// Probes in one file. A step between them is known to within half of their distance.
const PROBES: u64 = 256;
/// Bytes of a probe.
const PROBE: u64 = 32 << 10;
/// Sizes of files are multiples of this, so that probes stand at whole pages' distances.
const UNIT: u64 = 1 << 20;
const SMALLEST: u64 = 32 << 20;
/// Beyond this no file system here holds a file.
const LARGEST: u64 = 1 << 44;
/// Bytes that are read in a second, at the least, where they need not come from a device.
const READING_RATE: u64 = 2 << 30;

/// What it takes to read as much as fits into memory `times` over.
pub(super) fn demands(declared: &Declared, times: u64) -> Demands {
    if declared.is_memory_only() {
        return Demands::default();
    }
    let others = "it fills the page cache, so that what other programs have there is dropped";
    let memory = &declared.memory;
    Demands {
        effects: if memory.limited { Vec::new() } else { vec![others.to_owned()] },
        time: Duration::from_secs(memory.bytes * times / READING_RATE),
        ..Demands::default()
    }
}

/// A quarter more than `bytes`, for a file that does not fit where these do.
pub(super) fn too_long(bytes: u64) -> u64 {
    (bytes * 5 / 4).next_multiple_of(UNIT)
}

/// What one file says of the capacity, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) capacity: u64,
    pub(super) interval: [u64; 2],
    /// The distance of the probes.
    pub(super) stride: u64,
    pub(super) part: Part,
}

/// What files of growing size say.
#[derive(Debug, Clone)]
pub(super) struct Grown {
    /// One end of the first one that does not fit, or why that can't be told.
    pub(super) found: Result<Found, String>,
    /// What is left of that file, wherever it lies, in bytes; `None` where none was too large.
    pub(super) left: Option<u64>,
}

impl Found {
    pub(super) fn of(length: u64, part: Part) -> Self {
        let stride = length / PROBES;
        let bytes = |kept: usize| kept as u64 * stride;
        // The step lies between two probes, half a stride on either side of this.
        let interval =
            [bytes(part.interval[0]).saturating_sub(stride / 2), bytes(part.interval[1]) + stride / 2];
        Self { capacity: bytes(part.kept), interval, stride, part }
    }
}

/// Files of doubling sizes until one does not fit.
pub(super) fn grown(session: &mut Session<'_>) -> Result<Grown, Fault> {
    session.recall(|session| {
        let mut length = SMALLEST;
        let mut unclear = Vec::new();
        let mut left = None;
        while length <= LARGEST && unclear.len() < 2 {
            let (survivors, share) = survivors_of(session, length)?;
            left = share.map(|share| (share * length as f64) as u64);
            match survivors {
                Survivors::Part(part) => return Ok(Grown { found: Ok(Found::of(length, part)), left }),
                Survivors::All => unclear.clear(),
                // Of a file that is only just too large, too little is missing; of the next one more is.
                Survivors::Unclear(reason) => unclear.push(reason),
            }
            length *= 2;
        }
        let reason = unclear.pop().unwrap_or_else(|| format!("a file of {} still fits", Bytes(LARGEST)));
        Ok(Grown { found: Err(reason), left: left.filter(|_| length <= LARGEST) })
    })
}

/// What survives of a file of `length` bytes, and the share of it that does.
pub(super) fn survivors_of(
    session: &mut Session<'_>,
    length: u64,
) -> Result<(Survivors, Option<f64>), Fault> {
    let rounds = session.rounds(7, 5);
    let samples = session.observe(workload(length, rounds))?;
    let share = survivors::hits(samples, samples.labelled(survivors::PROBES)).ok().map(|hits| {
        let all = hits.concat();
        all.iter().filter(|&&hit| hit).count() as f64 / all.len().max(1) as f64
    });
    Ok((survivors::find(samples), share))
}

fn workload(length: u64, rounds: u32) -> Workload {
    let stride = length / PROBES;
    let all = Region { offset: 0, size: UNIT, step: UNIT, count: length / UNIT };
    // Some pages at once, and none of them copied: that would take as long as to make them.
    let probes = Region { offset: 0, size: PROBE, step: stride, count: PROBES };
    let empty = || Pass::untimed(0, &[CallKind::Evict, CallKind::Close, CallKind::Open]);
    // Backward: the end that was read last comes first, and only misses change what is cached.
    let probing =
        |label| Pass::timed(0, &[CallKind::Prefetch], probes).direction(Traversal::Backward).label(label);
    Workload::new(vec![ScratchFile::sparse(&format!("hole-{length}"), length)])
        .pass(empty())
        .pass(Pass::priming(0, &[CallKind::Pread], all))
        .pass(probing(survivors::PROBES))
        .pass(probing(survivors::HITS))
        .pass(empty())
        .pass(probing(survivors::MISSES))
        .pass(empty())
        .rounds(rounds)
}

/// Reads a file of `length` bytes of hole once, forward; how many bytes of it are in the cache then. `None` where that
/// can't be seen.
pub(super) fn survives_reading(witness: &mut dyn Witness, length: u64) -> Result<Option<u64>, Fault> {
    let file = ScratchFile::sparse("witness-hole", length);
    witness.provide(&file)?;
    if witness.cached(&file.name, Duration::ZERO)?.is_none() {
        return Ok(None);
    }
    for offset in (0..length).step_by(UNIT as usize) {
        witness.read(&file.name, offset..length.min(offset + UNIT))?;
    }
    let cached = witness.cached(&file.name, Duration::ZERO)?;
    witness.evict(&file.name)?;
    Ok(cached)
}
