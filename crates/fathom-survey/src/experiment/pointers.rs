//! Blocks of pointers: what `direct_pointers`, `pointers_per_indirect` and `allocation_scheme` share.
//!
//! Writing to a block that no block of pointers leads to yet costs one block more: in time, and in
//! `st_blocks`. Both are asked with holes: which pointers lead to a block is decided by its place in
//! the file, whatever else is written, so that a hundred writes reach the third block of pointers
//! where papers C and D would need two thousand.

use std::ops::Range;
use std::slice;

use super::layouts::{self, INDIRECT, MEMORY, last_where, scheme_of};
use super::prelude::*;
use super::silence::{Answer, answer_or_silence, evidence, inconclusive, recalled};
use crate::inference::pointers::{Pointers, Sweep, Window, at, peaks, pointers};

/// The name of the method that times writes.
pub(super) const TIMED: &str = "sparse_write_peaks";
/// The name of the method that counts blocks.
pub(super) const COUNTED: &str = "st_blocks_growth";

/// What timing found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Timed {
    /// The pointers.
    pub(super) pointers: Pointers,
    /// The probability that chance did not make it.
    pub(super) confidence: f64,
    /// Timed writes.
    pub(super) samples: usize,
}

/// The passes of writes, one for each range.
const WRITES: &str = "writes";
/// Bytes of a write, and the unit in which places are told apart: the smallest block there is.
const WRITE: u64 = 1024;
/// Bytes from one write to the next: a block and a page of their own for each, so that all are alike.
const STEP: u64 = 4096;
/// Bytes from the start of a file in which the first block of pointers is looked for.
const HEAD: u64 = 128 << 10;
/// Writes on either side of a place where another is looked for.
const SIDE: u64 = 4;
/// How far behind the first one another may be needed, in KiB: what a block of pointers leads to with
/// blocks of 1, 2 and 4 KiB and pointers of 8 and of 4 bytes, and two or three times that.
const DISTANCES_KIB: [u64; 13] = [128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288];
/// Half of the least of them: what comes again so soon is nothing of pointers, and comes at that distance, too.
const TOO_SOON: u64 = 64 << 10;
/// Pages written to another file before each sweep.
///
/// Every so many new pages the kernel puts a batch of them on its lists (`folio_add_lru`), round after
/// round at the same place. What belongs to a place in the file stays where the count of pages before
/// it changes; that does not.
const PADS: [u64; 4] = [3, 10, 17, 24];

/// What timing tells, once in a survey.
pub(super) fn by_timing(session: &mut Session<'_>) -> Answer<Timed> {
    recalled(session, look_for_peaks)
}

/// One number of what timing told, as evidence.
pub(super) fn timed(session: &mut Session<'_>, number: impl Fn(&Pointers) -> u64) -> Result<Evidence, Fault> {
    let measured = |found: Timed| {
        let number = number(&found.pointers);
        Evidence::measured(Kind::Timing, TIMED, Value::Whole(number))
            .within(number, number)
            .resting_on(found.confidence, found.samples)
    };
    evidence(Kind::Timing, TIMED, by_timing(session).map(measured))
}

/// How often samples are added before there is no answer.
const ATTEMPTS: usize = 3;

fn look_for_peaks(session: &mut Session<'_>) -> Answer<Timed> {
    let start = 0..HEAD + SIDE * STEP;
    let mut head = observe(session, slice::from_ref(&start))?;
    if peaks(&head[0], WRITE, STEP, HEAD).len() > 1 {
        add(&mut head, observe(session, slice::from_ref(&start))?);
    }
    let first = match peaks(&head[0], WRITE, STEP, HEAD)[..] {
        [only] => only,
        [] => {
            let reason = format!("no write to the first {} is slower than those around it", Bytes(HEAD));
            return inconclusive(reason);
        }
        _ => return inconclusive("writes near the start of a file are slower at several places"),
    };
    // A second set of samples decides: it knows the first place and nothing else of the head.
    let places: Vec<Range<u64>> =
        [0].iter().chain(&DISTANCES_KIB).map(|kib| around(first + (kib << 10))).collect();
    let mut sweeps = vec![Vec::new(); places.len()];
    let mut found = Err("");
    for _ in 0..ATTEMPTS {
        let newest = observe(session, &places)?;
        add(&mut sweeps, newest.clone());
        // In the first set something may be read from the disk that stays in memory from then on, such as the bitmap
        // of a group of blocks: then a later set tells by itself.
        found = judge(first, &sweeps).or_else(|_| judge(first, &newest));
        if found.is_ok() {
            break;
        }
    }
    if let Ok(Pointers { direct, per_block }) = found
        && first / direct * per_block == 2 * TOO_SOON
    {
        // XFS with blocks of 64 KiB may have one slower write in each.
        let sooner = first + TOO_SOON;
        sweeps.extend(observe(session, slice::from_ref(&around(sooner)))?);
        if at(&sweeps[places.len()], sooner).stands_out() {
            found = Err("writes are slower more often than blocks of pointers make them");
        }
    }
    let samples = head.iter().chain(&sweeps).flatten().map(Sweep::samples).sum();
    let chance = (HEAD / WRITE) as f64 * at(&head[0], first).chance();
    match found {
        Ok(pointers) => Ok(Timed { pointers, confidence: 1.0 - chance.min(1.0), samples }),
        Err(reason) => inconclusive(reason),
    }
}

/// The pointers that the writes around the first place, and around those that may follow it, tell of.
fn judge(first: u64, sweeps: &[Vec<Sweep>]) -> Result<Pointers, &'static str> {
    if peaks(&sweeps[0], WRITE, STEP, first + STEP) != [first] {
        return Err("a write that was slower than others is not so clearly the next time");
    }
    let window = |(sweeps, kib): (&Vec<Sweep>, u64)| Window {
        distance: kib << 10,
        stands_out: at(sweeps, first + (kib << 10)).stands_out(),
    };
    let windows: Vec<Window> = sweeps[1..].iter().zip(DISTANCES_KIB).map(window).collect();
    pointers(first, &windows)
}

/// The bytes around a place that a few writes on either side lie in.
fn around(place: u64) -> Range<u64> {
    place.saturating_sub(SIDE * STEP)..place + (SIDE + 1) * STEP
}

fn add(sweeps: &mut [Vec<Sweep>], more: Vec<Vec<Sweep>>) {
    sweeps.iter_mut().zip(more).for_each(|(all, more)| all.extend(more));
}

/// Writes to some ranges of ever new files: for each range, one sweep per pad and start.
fn observe(session: &mut Session<'_>, ranges: &[Range<u64>]) -> Result<Vec<Vec<Sweep>>, Fault> {
    let mut sweeps = vec![Vec::new(); ranges.len()];
    let rounds = session.rounds(8, 4);
    // Each begins another unit later, so that together they tell where within a step a block begins.
    for (start, pad) in (0..STEP / WRITE).zip(PADS) {
        let pad = Region { offset: 0, size: STEP, step: STEP, count: pad };
        let mut workload = Workload::new(vec![ScratchFile::empty("pad"), ScratchFile::empty("pointers")])
            .pass(Pass::untimed(0, &[CallKind::Create]))
            .pass(Pass::untimed(1, &[CallKind::Create]))
            .pass(Pass::priming(0, &[CallKind::Pwrite], pad))
            .rounds(rounds)
            .warmup(1);
        for range in ranges {
            let offset = range.start + start * WRITE;
            let count = (range.end - range.start) / STEP;
            let region = Region { offset, size: WRITE, step: STEP, count };
            workload = workload.pass(Pass::timed(1, &[CallKind::Pwrite], region).label(WRITES));
        }
        let samples = session.observe(workload)?;
        for (sweeps, pass) in sweeps.iter_mut().zip(samples.labelled(WRITES)) {
            sweeps.push(Sweep::of(samples, pass));
        }
    }
    Ok(sweeps)
}

/// What the count of a file's blocks shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shown {
    /// Blocks of pointers are counted with a file; the block in bytes.
    Pointers { block: u64 },
    /// None are.
    Nothing,
    /// It can't be told; why.
    Unclear(String),
}

/// A block so far from the start that no inode points to it: files may have holes up to there.
const FAR: u64 = 1 << 20;
/// Blocks of pointers that lead one to the other, at most.
const MOST_LEVELS: u64 = 4;

/// Whether a block far from the start of a file takes more than itself.
pub(super) fn shown(witness: &mut dyn Witness) -> Result<Shown, Fault> {
    let block = match answer_or_silence(layouts::unit(witness, |layout| layout.allocated))? {
        Ok(block) => block,
        Err(silence) => return Ok(Shown::Unclear(format!("st_blocks: {}", silence.reason))),
    };
    let (more, is_mapped) = extra(witness, block, &[FAR])?;
    Ok(match more {
        0 if is_mapped => Shown::Nothing,
        1..=MOST_LEVELS => Shown::Pointers { block },
        _ => Shown::Unclear(format!(
            "a block far from the start takes {more} more, and there is no map of extents: whether st_blocks counts blocks of pointers is not shown"
        )),
    })
}

/// Pointers in the inode and in a block of pointers, by counting blocks of ever new files.
pub(super) fn counted(witness: &mut dyn Witness, block: u64) -> Result<[u64; 2], Fault> {
    let mut takes = |blocks: &[u64]| extra(witness, block, blocks).map(|(more, _)| more);
    let direct = last_where(0..FAR, |place| Ok(takes(&[place])? == 0))? + 1;
    let first = takes(&[direct])?;
    let last = last_where(direct..FAR, |place| Ok(takes(&[direct, place])? == first))?;
    Ok([direct, last + 1 - direct])
}

/// Blocks that a file takes beyond those that are written, and whether there is a map of its extents.
fn extra(witness: &mut dyn Witness, block: u64, written: &[u64]) -> Result<(u64, bool), Fault> {
    let ranges: Vec<Range<u64>> = written.iter().map(|place| place * block..(place + 1) * block).collect();
    let layouts = layouts::written(witness, (FAR + 2) * block, &[&[], &ranges])?;
    let taken = layouts[1].allocated.saturating_sub(layouts[0].allocated) / block;
    Ok((taken.saturating_sub(written.len() as u64), layouts[1].extents.is_some()))
}

/// One number of what counting shows, as evidence.
pub(super) fn witnessed(
    witness: &mut dyn Witness,
    number: impl Fn([u64; 2]) -> u64,
) -> Result<Vec<Evidence>, Fault> {
    let silent = |status, reason: &str| Evidence::silent(Kind::Witness, COUNTED, status, reason);
    if witness.declared().is_memory_only() {
        let reason = "files live in the page cache: nothing points to blocks";
        return Ok(vec![silent(Status::NotApplicable, reason)]);
    }
    Ok(vec![match shown(witness)? {
        Shown::Pointers { block } => {
            let number = number(counted(witness, block)?);
            Evidence::measured(Kind::Witness, COUNTED, Value::Whole(number))
        }
        Shown::Nothing => silent(
            Status::NotApplicable,
            "no blocks of pointers are counted with a file: it is made of extents",
        ),
        Shown::Unclear(reason) => silent(Status::Inconclusive, &reason),
    }])
}

/// The right number of pointers in a case of the lab whose blocks have pointers.
pub(super) fn truth(case: &Case, number: Option<u64>) -> Truth {
    match (scheme_of(case), number) {
        (None, _) => Truth::Unknown,
        (Some(INDIRECT), Some(number)) => Truth::known(number, Basis::Format),
        (Some(MEMORY), _) => Truth::NotApplicable { basis: Basis::Memory },
        _ => Truth::NotApplicable { basis: Basis::Format },
    }
}
