//! Whether the cost of copying a byte grows once the reader's buffer is larger than something.
//!
//! Paper E saw copies out of the page cache slow down once a block was larger than an eighth of the
//! L2 cache, and modelled it by t(x). Here a cached file is read from its first byte to its last with
//! buffers of 16 KiB to 6 MiB, each touched before. Every size divides the file, so that each reads the
//! very same bytes: what a page costs depends on where it lies in memory and in what folio, and a size
//! that read others would be charged for the difference. A second file, which lies elsewhere, must
//! confirm whatever the first one shows.

use std::time::Duration;

use super::batches::Batches;
use super::{About, Cost, Experiment, Session};
use crate::finding::{Evidence, Finding, Kind, Status, Value};
use crate::inference::copies::{self, LEVEL, Misses, NEGLIGIBLE, Verdict};
use crate::machine::Fault;
use crate::units::Bytes;
use crate::witness::Declared;
use crate::workload::{CacheState, Op, Pass, Region, ScratchFile, Workload};

pub(super) struct CopyKnee;

const METHOD: &str = "cost_laws_over_buffer_size";
const DECLARED: &str = "sysfs_cpu_caches";
/// Each of two files: three times a power of two.
const BYTES: u64 = 12 << 20;
const FILES: [&str; 2] = ["copied", "copied-again"];
/// The sizes: powers of two, and from the second on the halves between them.
const SMALLEST: u64 = 16 << 10;
const HALVES_FROM: u64 = 64 << 10;
const LARGEST: u64 = 6 << 20;
/// One reading in a hundred is an outlier: the median of five has none but once in 100,000.
const ROUNDS: u32 = 5;
/// Runs that are made before it is asked whether they tell, and again where they leave it open.
const STAGES: [u32; 3] = [12, 12, 16];

impl Experiment for CopyKnee {
    fn about(&self) -> &'static About {
        &About {
            parameter: "copy_knee",
            unit: "bytes",
            question: "From which buffer size on does a cached read cost more per byte?",
            method: "One cached file read whole with buffers of 16 KiB to 6 MiB: does a byte ever cost more than with a smaller one? Then a straight line, paper E's t(x) and a ramp, judged by a second file.",
            source: "paper E, sections 4.3 and 5.5",
            privileges: "none",
            cost: Cost { seconds: 10, write_bytes: 2 * BYTES, read_bytes: 12 << 30 },
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let (mut sets, mut samples, mut cold) = ([Vec::new(), Vec::new()], 0, 0);
        let mut verdict = Verdict::Open("nothing was measured".to_owned());
        for more in STAGES {
            let more = session.rounds(more, 8);
            let batches = Batches { fewest: more, most: more, enough: Duration::ZERO };
            batches.run(
                session,
                |batch| workload(FILES[batch as usize % FILES.len()]),
                |run| {
                    let set = FILES.iter().position(|name| *name == run.workload.files[0].name);
                    sets[set.unwrap_or(0)].extend(copies::curve(run, 1));
                    samples += run.readings.len();
                    cold += run.wrong_state();
                },
            )?;
            let sizes: Vec<f64> = sizes().into_iter().map(|size| size as f64).collect();
            verdict = copies::knee(&sizes, [&sets[0], &sets[1]]);
            if !matches!(verdict, Verdict::Open(_)) {
                break;
            }
        }
        let silent = |reason: String| Evidence::silent(Kind::Timing, METHOD, Status::Inconclusive, reason);
        if cold > 0 {
            return Ok(silent(format!("{cold} reads were not cached when they should have been")));
        }
        let measured = |value| Evidence::measured(Kind::Timing, METHOD, value).resting_on(LEVEL, samples);
        Ok(match verdict {
            Verdict::Knee(knee) => measured(Value::Whole(knee.at as u64))
                .within(knee.interval[0] as u64, knee.interval[1] as u64)
                .caveat(format!("a byte costs {:.0} % more in the end; {}", 100.0 * knee.rise, told(&knee.misses))),
            Verdict::None(most) => measured(Value::Word("none".to_owned())).caveat(format!(
                "between {} and {} a byte costs at no size {:.0} % more than at a smaller one; less than {:.0} % counts as none",
                Bytes(SMALLEST),
                Bytes(LARGEST),
                (100.0 * most).ceil().max(0.0),
                100.0 * NEGLIGIBLE
            )),
            Verdict::Open(reason) | Verdict::Unclear(reason) => silent(reason),
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
            Some(_) => {
                format!("No buffer makes a byte cost noticeably more than a smaller one does{caches}.")
            }
            None => "Whether a byte costs more from some size on could not be told.".to_owned(),
        }
    }
}

/// Which law the other set of samples speaks for.
fn told(misses: &Misses) -> String {
    format!(
        "{} fits better: of samples it was not fitted to a straight line misses {:.1} %, paper E's law {:.1} %, a ramp {:.1} %",
        if misses.paper_e <= misses.ramp { "paper E's law" } else { "the ramp" },
        100.0 * misses.line,
        100.0 * misses.paper_e,
        100.0 * misses.ramp
    )
}

fn sizes() -> Vec<u64> {
    let powers = std::iter::successors(Some(SMALLEST), |size| Some(2 * size));
    let with_halves = powers.flat_map(|size| [Some(size), (size >= HALVES_FROM).then_some(size / 2 * 3)]);
    with_halves.flatten().take_while(|&size| size <= LARGEST).collect()
}

fn workload(file: &str) -> Workload {
    let all = Region { offset: 0, size: 1 << 20, step: 1 << 20, count: BYTES >> 20 };
    let mut workload =
        Workload::new(vec![ScratchFile::filled(file, BYTES)]).pass(Pass::priming(0, &[Op::Pread], all));
    for size in sizes() {
        let reads = Region { offset: 0, size, step: size, count: BYTES / size };
        workload = workload.pass(Pass::timed(0, &[Op::Pread], reads).needs(CacheState::Cached));
    }
    workload.rounds(ROUNDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_reads_the_same_bytes() {
        let sizes = sizes();
        assert_eq!((sizes[0], sizes[sizes.len() - 1], sizes.len()), (SMALLEST, LARGEST, 16));
        assert!(sizes.is_sorted() && sizes.iter().all(|size| BYTES.is_multiple_of(*size)), "{sizes:?}");
    }
}
