//! How many dirty data there may be before writers have to wait for the device.
//!
//! New files are written without a pause. As long as the kernel lets dirty data pile up, a write takes as
//! long as a copy; from some point on it takes as long as the device. What was written by then, less
//! what the device has taken away meanwhile, is the point. Linux begins to wait at the mean of its
//! background threshold and its limit (`balance_dirty_pages`).

use std::time::Duration;

use super::{About, Cost, Demands, Experiment, Session};
use crate::finding::{Evidence, Finding, Kind, Status, Value};
use crate::inference::throttle::{self, Waiting};
use crate::machine::Fault;
use crate::units::Bytes;
use crate::witness::{Declared, Witness};
use crate::workload::{Op, Pass, Region, ScratchFile, Workload};

pub(super) struct DirtyThrottlePoint;

const METHOD: &str = "pace_of_sustained_writes";
const WITNESS: &str = "vmstat_dirty_thresholds";
const WRITE: u64 = 1 << 20;
const SMALLEST: u64 = 32 << 20;
/// Files of each size in which writers wait.
const FILES: u64 = 2;
/// Bytes in a second that most devices write.
const USUAL_RATE: u64 = 100 << 20;
const MOMENTS: Duration = Duration::from_secs(10);

impl Experiment for DirtyThrottlePoint {
    fn about(&self) -> &'static About {
        &About {
            parameter: "dirty_throttle_point",
            unit: "bytes",
            question: "How much may be written before writers wait for the device?",
            method: "Sustained 1 MiB writes to new files of doubling sizes, until their pace falls to that of the device; the thresholds that the kernel shows then say where.",
            source: "paper E; KERNEL: balance_dirty_pages",
            privileges: "--intrusive: meanwhile all writers of the machine wait",
            cost: Cost { seconds: 10, write_bytes: 3 << 30, read_bytes: 0 },
        }
    }

    fn demands(&self, declared: &Declared) -> Demands {
        if declared.is_memory_only() {
            return Demands::default();
        }
        let point = declared.dirty_thresholds.map_or(0, mean);
        let mut largest = SMALLEST;
        while largest < point * 5 / 4 {
            largest *= 2;
        }
        // All sizes up to the largest, and that one again and again.
        let write_bytes = (FILES + 1) * largest;
        let time = Duration::from_secs(write_bytes / USUAL_RATE);
        Demands {
            effects: vec!["it makes dirty data until all writers of the machine have to wait".to_owned()],
            write_bytes,
            time: if time > MOMENTS { time } else { Duration::ZERO },
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let silent = |reason: String| Evidence::silent(Kind::Timing, METHOD, Status::Inconclusive, reason);
        let mut length = SMALLEST;
        loop {
            if FILES * length > session.write_budget() {
                let most = Bytes(length);
                return Ok(silent(format!(
                    "{FILES} files of {most} are too much for what may be written: raise --max-write"
                )));
            }
            if let Some(evidence) = seen_by(session, length)? {
                return Ok(evidence);
            }
            length *= 2;
        }
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        if witness.declared().is_memory_only() {
            return Ok(vec![senseless(Kind::Witness, WITNESS)]);
        }
        Ok(vec![match witness.dirty_thresholds()? {
            Some(thresholds) => Evidence::measured(Kind::Witness, WITNESS, Value::Whole(mean(thresholds))),
            None => Evidence::silent(
                Kind::Witness,
                WITNESS,
                Status::Inconclusive,
                "/proc/vmstat shows no thresholds",
            ),
        }])
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        const METHOD: &str = "vm_dirty_settings";
        if declared.is_memory_only() {
            return vec![senseless(Kind::Declared, METHOD)];
        }
        let known = declared.dirty_thresholds.map(mean);
        known
            .map(|point| Evidence::measured(Kind::Declared, METHOD, Value::Whole(point)))
            .into_iter()
            .collect()
    }

    fn explain(&self, finding: &Finding) -> String {
        match (&finding.value, finding.status) {
            (Some(Value::Whole(bytes)), _) => format!(
                "Writers wait once {} are dirty, halfway between the background threshold and the limit; dirty data of all programs count.",
                Bytes(*bytes)
            ),
            (_, Status::NotApplicable) => {
                "Files live in memory here: what is written stays where it is.".to_owned()
            }
            _ => "The writes that were made never had to wait for a device, or always.".to_owned(),
        }
    }
}

fn mean([background, limit]: [u64; 2]) -> u64 {
    background.midpoint(limit)
}

fn senseless(kind: Kind, method: &str) -> Evidence {
    Evidence::silent(kind, method, Status::NotApplicable, "files live in memory alone")
}

/// Where writers were seen to wait, if files of this size show it.
///
/// It is no answer. The kernel forgives a writer whose last pace was high some of its first waits, so that
/// the onset shows late, by up to a third of the point: `dirty_ratelimit` follows the device only every
/// 200 ms, and there are fewer between the first write and the last one that is free. Memory that was never
/// used before, on the other hand, slows a writer that does not wait.
fn seen_by(session: &mut Session<'_>, length: u64) -> Result<Option<Evidence>, Fault> {
    let (Waiting::From(first), Waiting::From(second)) = (onset(session, length)?, onset(session, length)?)
    else {
        return Ok(None);
    };
    let [one, other] = [first, second].map(|onset| Bytes(onset.position as u64 * WRITE));
    let reason = format!(
        "writers wait after {one} or {other}: the kernel forgives first waits, so where they begin can't be told"
    );
    Ok(Some(Evidence::silent(Kind::Timing, METHOD, Status::Inconclusive, reason)))
}

fn onset(session: &mut Session<'_>, length: u64) -> Result<Waiting, Fault> {
    let region = Region { offset: 0, size: WRITE, step: WRITE, count: length / WRITE };
    let workload = Workload::new(vec![ScratchFile::empty("dirty")])
        .pass(Pass::untimed(0, &[Op::Create]))
        .pass(Pass::timed(0, &[Op::Write], region))
        .pass(Pass::untimed(0, &[Op::Fsync]));
    Ok(throttle::find(session.observe(workload)?, 1))
}
