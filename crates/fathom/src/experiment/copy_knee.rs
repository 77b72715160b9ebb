//! Whether the cost of copying a byte grows once the reader's buffer is larger than something.
//!
//! Paper E saw copies out of the page cache slow down once a block was larger than an eighth of the
//! L2 cache, and modelled it by t(x). Here one large cached file is read with buffers of 16 KiB to
//! 8 MiB, each touched before, and three laws are held against each other: a straight line, paper
//! E's, and a ramp. They are judged by samples that they were not fitted to.

use std::time::Duration;

use super::batches::Batches;
use super::{About, Cost, Experiment, Session};
use crate::finding::{Evidence, Finding, Kind, Status, Value};
use crate::inference::copies::{self, LEAST_DEPARTURE, Misses, Verdict};
use crate::machine::Fault;
use crate::units::Bytes;
use crate::witness::Declared;
use crate::workload::{CacheState, Op, Pass, Region, ScratchFile, Workload};

pub(super) struct CopyKnee;

const METHOD: &str = "cost_laws_over_buffer_size";
const DECLARED: &str = "sysfs_cpu_caches";
/// The cached file, and the sizes: two in each doubling, whole pages.
const BYTES: u64 = 16 << 20;
const SMALLEST: u64 = 16 << 10;
const PAGE: u64 = 4096;
const LARGEST: u64 = 8 << 20;
/// What is read with one size in a round, unless that are too few reads or too many.
const WALK: u64 = 2 << 20;

impl Experiment for CopyKnee {
    fn about(&self) -> &'static About {
        &About {
            parameter: "copy_knee",
            unit: "bytes",
            question: "From which buffer size on does a cached read cost more per byte?",
            method: "Cached reads with buffers of 16 KiB to 8 MiB; a straight line, paper E's t(x) and a ramp, judged by samples that they were not fitted to.",
            source: "paper E, sections 4.3 and 5.5",
            privileges: "none",
            cost: Cost { seconds: 3, write_bytes: BYTES, read_bytes: 4 << 30 },
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let most = session.rounds(12, 4);
        let batches = Batches { fewest: 2, most, enough: Duration::from_millis(1500) };
        let (mut rounds, mut samples, mut cold) = (Vec::new(), 0, 0);
        batches.run(
            session,
            |_| workload(),
            |run| {
                rounds.extend(copies::rounds(run, 1));
                samples += run.readings.len();
                cold += run.wrong_state();
            },
        )?;
        let silent = |reason: String| Evidence::silent(Kind::Timing, METHOD, Status::Inconclusive, reason);
        if cold > 0 {
            return Ok(silent(format!("{cold} reads were not cached when they should have been")));
        }
        let sizes: Vec<f64> = sizes().into_iter().map(|size| size as f64).collect();
        let measured = |value| Evidence::measured(Kind::Timing, METHOD, value).resting_on(0.95, samples);
        Ok(match copies::knee(&sizes, &rounds) {
            Verdict::Knee(knee) => measured(Value::Whole(knee.at as u64))
                .within(knee.interval[0] as u64, knee.interval[1] as u64)
                .caveat(format!(
                    "a byte costs {:.0} % more at {}; {}; {} fits better",
                    100.0 * knee.rise,
                    Bytes(LARGEST),
                    told(&knee.misses),
                    if knee.is_paper_e { "paper E's law" } else { "the ramp" }
                )),
            Verdict::None(misses) => measured(Value::Word("none".to_owned())).caveat(format!(
                "no bend departs by {:.0} % from a straight line up to {}; {}",
                100.0 * LEAST_DEPARTURE,
                Bytes(LARGEST),
                told(&misses)
            )),
            Verdict::Unclear(reason) => silent(reason.to_owned()),
        })
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        // Caches say where a knee can be, not whether there is one, so that they have no vote.
        let sizes: Vec<String> =
            declared.cpu_caches.iter().map(|(level, bytes)| format!("L{level} {}", Bytes(*bytes))).collect();
        let reason = match sizes.is_empty() {
            true => "sysfs declares no caches".to_owned(),
            false => format!("a knee is declared nowhere; the caches are {}", sizes.join(", ")),
        };
        vec![Evidence::silent(Kind::Declared, DECLARED, Status::Inconclusive, reason)]
    }

    fn explain(&self, finding: &Finding) -> String {
        let caches = finding.by(DECLARED).and_then(|piece| piece.caveats.first());
        let caches = caches.map(|text| format!(" ({text})")).unwrap_or_default();
        match &finding.value {
            Some(Value::Whole(knee)) => {
                format!(
                    "Cached reads cost more per byte once the buffer is larger than {}{caches}.",
                    Bytes(*knee)
                )
            }
            Some(_) => format!("The cost of a byte does not depend on the size of the buffer{caches}."),
            None => "No law describes the cost of a byte well enough to say where it grows.".to_owned(),
        }
    }
}

fn told(misses: &Misses) -> String {
    format!(
        "of samples it was not fitted to a straight line misses {:.1} %, paper E's law {:.1} %, a ramp {:.1} %",
        100.0 * misses.line,
        100.0 * misses.paper_e,
        100.0 * misses.ramp
    )
}

fn sizes() -> Vec<u64> {
    let halves = 2 * (LARGEST / SMALLEST).ilog2();
    let size = |half: u32| (SMALLEST as f64 * 2_f64.powf(f64::from(half) / 2.0)).round() as u64;
    let mut sizes: Vec<u64> = (0..=halves).map(|half| size(half).next_multiple_of(PAGE)).collect();
    sizes.dedup();
    sizes
}

fn workload() -> Workload {
    let all = Region { offset: 0, size: 1 << 20, step: 1 << 20, count: BYTES >> 20 };
    let mut workload =
        Workload::new(vec![ScratchFile::filled("copied", BYTES)]).pass(Pass::priming(0, &[Op::Pread], all));
    for (index, size) in (0..).zip(sizes()) {
        // In sequence, as paper E read, and where the size before has not been: the data must come from
        // where no small cache holds them, whatever the size.
        let count = (WALK / size).clamp(4, 64).min(BYTES / size);
        let offset = (index * 5 % 8 * (BYTES / 8)).min(BYTES - count * size);
        let reads = Region { offset, size, step: size, count };
        workload = workload.pass(Pass::timed(0, &[Op::Pread], reads).needs(CacheState::Cached));
    }
    workload.rounds(4)
}
