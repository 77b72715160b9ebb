//! How much data there may be dirty before writers have to wait for the device.
//!
//! A file that is in memory is written over as fast as memory allows, in a burst that begins with nothing
//! dirty on the whole machine. As long as the kernel lets dirty data pile up, a write takes as long as a
//! copy; from some point on it takes as long as the device. What was written by then is the point, less the
//! little that the device has taken away meanwhile. Bursts grow until one shows it; then sets of three follow, twice as
//! long as what it showed, until four bursts whose writer nothing held up agree. Linux begins to wait at the mean of its background threshold and its limit
//! (`balance_dirty_pages`).

use std::time::Duration;

use super::prelude::*;
use super::silence::{Answer, answer_or_silence, evidence, inconclusive};
use super::{dirty_data, in_memory};
use crate::inference::throttle::{self, DRAINS_ALONG, Onset, SOME_WAIT, Waiting};
use fathom_run::witness::Counter;

pub(super) struct DirtyThrottlePoint;

const METHOD: &str = "pace_of_bursts";
const WITNESS: &str = "vmstat_dirty_thresholds";
const WRITE: u64 = 256 << 10;
const SMALLEST: u64 = 32 << 20;
/// Bursts in a set.
const SET: u32 = 3;
/// Sets that there are at least, and at most.
const SETS: [usize; 2] = [2, 10];
/// Bytes in a second that most devices write.
const USUAL_RATE: u64 = 100 << 20;
const MOMENTS: Duration = Duration::from_secs(10);

impl Experiment for DirtyThrottlePoint {
    fn about(&self) -> &'static About {
        &About {
            parameter: "dirty_throttle_point",
            unit: "bytes",
            question: "How much may be written before writers wait for the device?",
            method: "Ever longer bursts of 256 KiB writes over a cached file, each begun with no dirty data. The answer is what was written when a write first waits, less what reached the device meanwhile. Four of at least six longer bursts, in which nothing held the writer up before, must agree.",
            source: "paper E; KERNEL: balance_dirty_pages",
            privileges: "--intrusive: meanwhile all writers of the machine wait",
            cost: Cost { seconds: 30, write_bytes: 3 << 30, read_bytes: 0 },
            nature: Nature::Drifting,
            not_applicable: "No data wait here to be written to a device.",
            inconclusive: "After how much data writes begin to wait could not be determined.",
            ..About::USUAL
        }
    }

    fn demands(&self, declared: &Declared) -> Demands {
        if declared.is_memory_only() {
            return Demands::default();
        }
        let write_bytes = enough_for(declared.dirty_thresholds.map_or(0, mean));
        // More sets may be needed, and a device may be slower.
        let time = Duration::from_secs(2 * write_bytes / USUAL_RATE);
        Demands {
            effects: vec!["it makes dirty data until all writers of the machine have to wait".to_owned()],
            write_bytes,
            time: if time > MOMENTS { time } else { Duration::ZERO },
            spares_witness: true,
            ..Demands::default()
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        evidence(Kind::Timing, METHOD, point(session))
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        if witness.declared().is_memory_only() {
            return Ok(vec![in_memory(Kind::Witness, WITNESS)]);
        }
        if let Err(silence) = answer_or_silence(dirty_data::tried(witness))? {
            return Ok(vec![silence.evidence(Kind::Witness, WITNESS)]);
        }
        if let Some(percent) = witness.declared().strict_share {
            return Ok(vec![Evidence::inconclusive(Kind::Witness, WITNESS, strictly(percent))]);
        }
        Ok(vec![match witness.count(Counter::DirtyBackground).zip(witness.count(Counter::DirtyLimit)) {
            Some((background, limit)) => {
                Evidence::measured(Kind::Witness, WITNESS, Value::Whole(mean([background, limit])))
            }
            None => Evidence::inconclusive(Kind::Witness, WITNESS, "/proc/vmstat shows no thresholds"),
        }])
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        const METHOD: &str = "vm_dirty_settings";
        if declared.is_memory_only() {
            return vec![in_memory(Kind::Declared, METHOD)];
        }
        if let Some(percent) = declared.strict_share {
            return vec![Evidence::inconclusive(Kind::Declared, METHOD, strictly(percent))];
        }
        // A share is one of memory that is taken and given back while one asks.
        let known = declared.dirty_thresholds.map(mean);
        let measured = |point| Evidence::measured(Kind::Declared, METHOD, Value::Whole(point));
        known.map(|point| measured(point).within(point / 100 * 98, point / 100 * 102)).into_iter().collect()
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        case.conditions.dirty.is_some()
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        // `balance_dirty_pages`: no writer waits below the mean of the two.
        case.conditions.dirty.map_or(Truth::Unknown, |thresholds| {
            let point = mean(thresholds) as f64;
            Truth::within([0.85 * point, 1.15 * point])
        })
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        Some(format!(
            "Writers wait once {} are dirty, halfway between the background threshold and the limit; dirty data of all programs count.",
            Bytes(finding.whole()?)
        ))
    }
}

/// The point that longer and longer bursts show.
fn point(session: &mut Session<'_>) -> Answer<Evidence> {
    let (mut length, mut written) = (SMALLEST, 0);
    let mut reason = "the writes that may be made need not wait".to_owned();
    let mut keeps_up = 0;
    // A set must fit into the budget, or nothing could be made of what is seen.
    while written_by(length, SET) <= session.write_budget() {
        match bursts(session, &mut written, length, 1)?[..] {
            [Waiting::From(ref onset)] => {
                match answer_or_silence(confirmed(session, &mut written, twice(onset)))? {
                    Ok(evidence) => return Ok(evidence),
                    Err(silence) if silence.reason == SOME_WAIT => reason = silence.reason,
                    Err(silence) => return inconclusive(silence.reason),
                }
            }
            [Waiting::DrainsAlong] => {
                keeps_up += 1;
                reason = DRAINS_ALONG.to_owned();
            }
            _ => {}
        }
        if keeps_up == SURE {
            return inconclusive(reason);
        }
        length *= 2;
    }
    inconclusive(format!("{reason}; more needs a higher --max-write"))
}

/// Why the thresholds of the machine are not those of a mount with a strict limit: `wb_dirty_limits`.
fn strictly(percent: u64) -> String {
    format!(
        "this mount has a strict limit of its own: at most {percent} % of the machine's, less where it was written to little of late"
    )
}

fn mean([background, limit]: [u64; 2]) -> u64 {
    background.midpoint(limit)
}

/// So many bursts in which the device keeps up are enough: longer ones show it no less.
const SURE: u32 = 3;

/// Bytes that `count` bursts of `length` write, with the file that they need.
fn written_by(length: u64, count: u32) -> u64 {
    length * u64::from(count + 1)
}

/// Bytes of a burst that shows well that writes wait: from the point on the kernel slows a writer down little by
/// little, and is at the device's pace halfway to its limit, at 1.5 times the point at most (`wb_position_ratio`).
fn twice(onset: &Onset) -> u64 {
    (2 * onset.written as u64 / WRITE * WRITE).max(SMALLEST)
}

/// Bytes that are written until bursts show a point of so many bytes, where nothing holds them up.
fn enough_for(point: u64) -> u64 {
    let mut length = SMALLEST;
    // A third must be left to be sure to see that writes wait.
    while point >= length / 3 * 2 {
        length *= 2;
    }
    // All lengths once, of which the shorter ones make one more together, then two sets.
    2 * length + written_by(2 * point, 2 * SET)
}

/// The evidence of bursts that agree, or why they do not.
fn confirmed(session: &mut Session<'_>, written: &mut u64, length: u64) -> Answer<Evidence> {
    let mut made: Vec<Waiting> = Vec::new();
    let mut reason =
        "there is too little left to write for a second set of bursts; more needs a higher --max-write"
            .to_owned();
    for set in 1..=SETS[1] {
        if u64::from(SET) * length > session.write_budget() {
            break;
        }
        made.extend(bursts(session, written, length, SET)?);
        if set < SETS[0] {
            continue;
        }
        match throttle::agreed(&made) {
            Ok(point) => {
                let samples = made.len() * (length / WRITE) as usize;
                return Ok(Evidence::measured(
                    Kind::Timing,
                    METHOD,
                    Value::Whole(point.bytes.round() as u64),
                )
                .within(point.interval[0] as u64, point.interval[1] as u64)
                .resting_on(point.level, samples));
            }
            Err(why) => reason = why,
        }
    }
    inconclusive(reason)
}

/// What bursts of so many bytes say, or why they can't be made; so many bytes of their file were written before.
///
/// What has been dropped from memory, which anyone may ask the kernel to do, is there again once it was
/// written: then they are made once more.
fn bursts(session: &mut Session<'_>, written: &mut u64, length: u64, count: u32) -> Answer<Vec<Waiting>> {
    let file = ScratchFile::sparse("dirty", length);
    if *written < length {
        // In the writes of the bursts, so that none of the kernel's folios holds two of them: where the flusher
        // takes a folio between two writes, the second one makes it dirty anew, and it counts twice.
        let rest = Region { offset: *written, size: WRITE, step: WRITE, count: (length - *written) / WRITE };
        let filled = Workload::new(vec![file.clone()])
            .pass(Pass::priming(0, &[CallKind::Pwrite], rest))
            .pass(Pass::untimed(0, &[CallKind::Fsync]));
        session.observe(filled)?;
        *written = length;
    }
    let region = Region { offset: 0, size: WRITE, step: WRITE, count: length / WRITE };
    // Every burst begins with nothing dirty, of this or of any other program.
    let workload = Workload::new(vec![file])
        .pass(Pass::untimed(0, &[CallKind::Sync]))
        .pass(Pass::timed(0, &[CallKind::Pwrite], region).needs(CacheState::Cached).label(throttle::WRITES))
        .pass(Pass::timed(0, &[CallKind::Fsync], Region { count: 1, ..region }).label(throttle::SYNC))
        .rounds(count);
    for _ in 0..2 {
        let samples = session.observe(workload.clone())?;
        if samples.wrong_state() == 0 {
            return Ok(throttle::waits(samples));
        }
    }
    inconclusive(format!("a file of {} does not stay in memory", Bytes(length)))
}
