//! From which buffer size on a byte of a cached read costs clearly more.
//!
//! Paper E saw copies out of the page cache slow down once a block was larger than an eighth of the
//! L2 cache, and modelled it by t(x). Here a cached file is read from its first byte to its last with
//! buffers of 16 KiB to 16 MiB. Every size divides the file, so that each reads the very same bytes: what
//! a page costs depends on where it lies in memory and in what folio, and a size that read others would be
//! charged for the difference.
//!
//! Each pass has a buffer of its own, and looks take turns between two files, so that what looks differ by
//! holds what memory they were given as well as what the machine's neighbours did meanwhile.

use std::time::Duration;

use super::batches::Batches;
use super::prelude::*;
use crate::inference::copies::{self, CLEAR, Knee, LEVEL, Misses, NEGLIGIBLE, Verdict};

pub(super) struct CopyKnee;

const METHOD: &str = "cost_over_buffer_size";
const DECLARED: &str = "sysfs_cpu_caches";
const FILES: [&str; 2] = ["copied", "copied-again"];
/// The sizes: powers of two up to the whole file.
const SMALLEST: u64 = 16 << 10;
const LARGEST: u64 = 16 << 20;
/// One reading in a hundred is an outlier: the median of three is none but once in 3,000. What lasts longer than a
/// look makes looks differ by more, so that more looks tell more than more rounds.
const ROUNDS: u32 = 3;
/// Student's t is hardly wider than the normal from here on.
const LOOKS: u32 = 12;
/// With one round in ten interrupted the median of three is in one look of 36.
const MOST_INTERRUPTED: f64 = 0.1;

impl Experiment for CopyKnee {
    fn about(&self) -> &'static About {
        &About {
            parameter: "copy_knee",
            unit: "bytes",
            question: "From which buffer size on does a cached read take clearly longer per byte?",
            method: "A cached file is read whole with buffers of 16 KiB to 16 MiB, a dozen times. The answer lies between the last size at which a byte takes hardly longer than with any smaller buffer, and the first at which it takes clearly longer. A straight line, paper E's t(x) and a ramp are then compared by readings that they were not fitted to.",
            source: "paper E, sections 4.3 and 5.5",
            cost: Cost { seconds: 4, write_bytes: 2 * LARGEST, read_bytes: 7 << 30 },
            figure: Figure::Rates,
            recipes: &["paper-e-copy"],
            inconclusive: "Whether a byte takes clearly longer from some buffer size on could not be determined.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let Seen { looks, samples, cold, rounds, interrupted } = look(session)?;
        let silent = |reason: String| Evidence::inconclusive(Kind::Timing, METHOD, reason);
        if cold > 0 {
            return Ok(silent(format!("{cold} reads were not cached when they should have been")));
        }
        if interrupted as f64 > MOST_INTERRUPTED * rounds as f64 {
            return Ok(silent(format!(
                "reads were interrupted for long in {interrupted} of {rounds} rounds, as where other programs take turns on the CPU, and a long read costs more for that alone"
            )));
        }
        let measured = |value| Evidence::measured(Kind::Timing, METHOD, value).resting_on(LEVEL, samples);
        let sizes: Vec<f64> = sizes().map(|size| size as f64).collect();
        Ok(match copies::find(&sizes, &looks) {
            Verdict::Knee(knee) => {
                let [level, clear] = knee.interval.map(|size| size as u64);
                let evidence =
                    measured(Value::Whole(knee.at as u64)).within(level, clear).caveat(bracket(&knee));
                knee.misses.iter().map(in_words).fold(evidence, Evidence::caveat)
            }
            Verdict::None(most) => measured(Value::Word("none".to_owned())).caveat(format!(
                "between {} and {} a byte costs at no size {:.0} % more than at a smaller one; up to {:.0} % counts as none",
                Bytes(SMALLEST),
                Bytes(LARGEST),
                (100.0 * most).ceil(),
                100.0 * NEGLIGIBLE
            )),
            Verdict::Open { level_until, rise: [low, high] } => silent(format!(
                "{}, and with {} between {:.0} and {:.0} % more than at the fastest size: neither none nor clearly more, which is {:.0} %",
                level(level_until),
                Bytes(LARGEST),
                100.0 * low,
                100.0 * high,
                100.0 * CLEAR
            )),
            Verdict::Unfit(reason) => silent(reason.to_owned()),
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
        vec![Evidence::inconclusive(Kind::Declared, DECLARED, reason)]
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let caches = finding.by(DECLARED).and_then(|piece| piece.caveats.first());
        let caches = caches.map(|text| format!(" ({text})")).unwrap_or_default();
        Some(match finding.value.as_ref()? {
            Value::Whole(knee) => format!(
                "Cached reads cost clearly more per byte with buffers of more than about {}{caches}.",
                Bytes(*knee)
            ),
            _ => format!("No buffer makes a byte cost noticeably more than a smaller one does{caches}."),
        })
    }
}

/// What was seen of both files.
#[derive(Default)]
struct Seen {
    looks: Vec<Vec<f64>>,
    samples: usize,
    /// Reads that were not cached.
    cold: usize,
    rounds: usize,
    /// Rounds in which a short read took long.
    interrupted: usize,
}

fn look(session: &mut Session<'_>) -> Result<Seen, Fault> {
    let mut seen = Seen::default();
    let most = session.rounds(LOOKS, 8);
    Batches { fewest: most, most, enough: Duration::ZERO }.run(
        session,
        |batch| workload(FILES[batch as usize % FILES.len()]),
        |run| {
            seen.looks.extend(copies::look(run));
            seen.samples += run.readings.len();
            seen.cold += run.wrong_state();
            seen.rounds += run.rounds() as usize;
            seen.interrupted += copies::interrupted(run);
        },
    )?;
    Ok(seen)
}

fn level(until: f64) -> String {
    format!(
        "up to {} a byte costs at most {:.0} % more than with any smaller buffer",
        Bytes(until as u64),
        100.0 * NEGLIGIBLE
    )
}

fn bracket(knee: &Knee) -> String {
    let [until, from] = knee.interval;
    format!(
        "{}, from {} on at least {:.0} % more than at the fastest size, and with {} {:.0} %",
        level(until),
        Bytes(from as u64),
        100.0 * CLEAR,
        Bytes(LARGEST),
        100.0 * knee.rise
    )
}

/// Which law the other looks speak for.
fn in_words(misses: &Misses) -> String {
    format!(
        "{} fits better: on readings that were not used for the fit a straight line is off by {:.1} %, paper E's law by {:.1} %, a ramp by {:.1} %",
        if misses.paper_e <= misses.ramp { "paper E's law" } else { "the ramp" },
        100.0 * misses.line,
        100.0 * misses.paper_e,
        100.0 * misses.ramp
    )
}

fn sizes() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(SMALLEST), |size| Some(2 * size)).take_while(|&size| size <= LARGEST)
}

fn workload(file: &str) -> Workload {
    let whole = |size: u64| Region { offset: 0, size, step: size, count: LARGEST / size };
    let workload = Workload::new(vec![ScratchFile::filled(file, LARGEST)])
        .pass(Pass::priming(0, &[CallKind::Pread], whole(1 << 20)))
        .rounds(ROUNDS);
    sizes().fold(workload, |workload, size| {
        workload.pass(
            Pass::timed(0, &[CallKind::Pread], whole(size)).needs(CacheState::Cached).label(copies::READS),
        )
    })
}
