//! What a program waits for when it wants its data to be safe.
//!
//! The answer is one figure of many: the median of fsync after 4 KiB were appended, which is what a
//! log or a database does. Overwrites and new files, and fdatasync, stand next to it as distributions.
//! Where a sync takes no longer than a call that does nothing, nothing was waited for, and there is no
//! latency to tell; on a file system whose files live in memory alone the question makes no sense.

use std::time::Duration;

use super::batches::Batches;
use super::prelude::*;
use super::truth_in_memory;
use crate::inference::latency;

pub(super) struct SyncLatency;

const METHOD: &str = "fsync_after_append";
const SIZE: u64 = 4096;
/// Syncs of one kind in a round, and bytes of the file that is overwritten.
const VISITS: u64 = 3;
const OLD_BYTES: u64 = 64 << 10;
/// The files, by their place in the workload.
const OLD: usize = 0;
const NEW: usize = 1;
/// A sync that takes less than this many times an empty call has waited for nothing.
const FEWEST_CALLS: f64 = 4.0;

/// The kinds of sync, by which their passes are labelled, and which operation of a visit is the sync. Each visit ends
/// with an empty call to compare.
const CASES: [(&str, usize); 6] = [
    ("fsync after append", 1),
    ("fdatasync after append", 1),
    ("fsync after overwrite", 1),
    ("fdatasync after overwrite", 1),
    ("fsync of a new file", 2),
    ("fdatasync of a new file", 2),
];

impl Experiment for SyncLatency {
    fn about(&self) -> &'static About {
        &About {
            parameter: "sync_latency",
            unit: "ns",
            question: "How long does a program wait for fsync after it has appended 4 KiB?",
            method: "fsync and fdatasync are timed after an append, after an overwrite and in a new file. The answer is the median of fsync after an append.",
            source: "papers A and C (fsync after each write)",
            cost: Cost { seconds: 3, write_bytes: 12 << 20, read_bytes: 0 },
            nature: Nature::Unsteady,
            figure: Figure::Spread,
            recipes: &["paper-c-inode-sync", "paper-a-extents"],
            not_applicable: "Files live in memory here, and fsync returns at once.",
            inconclusive: "The latency of fsync could not be determined.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let most = session.rounds(40, 14);
        let batches = Batches { fewest: 3, most, enough: Duration::from_millis(900) };
        let mut cases: [Syncs; CASES.len()] = Default::default();
        let mut in_memory = false;
        batches.run(
            session,
            |_| workload(),
            |samples| {
                in_memory |= samples.readings.iter().any(|one| one.cache == Some(CacheState::Cached));
                for (case, &(label, step)) in cases.iter_mut().zip(&CASES) {
                    case.add(samples, label, step);
                }
            },
        )?;
        Ok(judged(&cases, in_memory))
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        let reason = "files live in memory alone, so there is nothing to write them to";
        let silent = || Evidence::not_applicable(Kind::Declared, "fs_type", reason);
        declared.is_memory_only().then(silent).into_iter().collect()
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        truth_in_memory(case)
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let median = finding.number()?;
        let spread = finding.by(METHOD).map_or(&[][..], |timed| &timed.distributions);
        let slowest = spread.iter().map(|case| case.p99_ns).fold(median, f64::max);
        Some(format!(
            "After an append of 4 KiB fsync takes {}; of all kinds of sync 1 in 100 takes {} or more.",
            Nanos(median),
            Nanos(slowest)
        ))
    }
}

/// The latencies of one kind of sync in ns: of each, of the empty calls after them, and by rounds.
#[derive(Default)]
struct Syncs {
    syncs: Vec<f64>,
    empty: Vec<f64>,
    rounds: Vec<f64>,
}

impl Syncs {
    fn add(&mut self, samples: &Samples, label: &str, step: usize) {
        let ns = |step| samples.latencies(label, step).into_iter().map(|ticks| samples.nanoseconds(ticks));
        let syncs: Vec<f64> = ns(step).collect();
        self.rounds.extend(latency::round_medians(&syncs, VISITS as usize));
        self.syncs.extend(syncs);
        self.empty.extend(ns(step + 1));
    }
}

fn judged(cases: &[Syncs; CASES.len()], in_memory: bool) -> Evidence {
    let silent = |status, reason: String| Evidence::silent(Kind::Timing, METHOD, status, reason);
    let [append, ..] = cases;
    let waited = latency::is_slower(&append.syncs, &append.empty, FEWEST_CALLS);
    if !waited && in_memory {
        let reason = "pages stay in the cache when they are to be dropped, and a sync waits for nothing";
        return silent(Status::NotApplicable, reason.to_owned());
    }
    if !waited {
        let reason = "a sync after a write takes hardly longer than an empty call: nothing is waited for";
        return silent(Status::Inconclusive, reason.to_owned());
    }
    match latency::settled(&append.rounds) {
        Ok(median) => Evidence::measured(Kind::Timing, METHOD, Value::Real(median.value))
            .within_real([median.interval.low, median.interval.high])
            .resting_on(median.level, append.syncs.len())
            .spread(
                cases.iter().zip(CASES).filter_map(|(case, (name, _))| spread(name, &case.syncs)).collect(),
            ),
        Err(reason) => silent(Status::Inconclusive, reason),
    }
}

/// How latencies in ns spread.
pub(super) fn spread(case: &str, latencies: &[f64]) -> Option<Distribution> {
    let [shortest_ns, median_ns, p90_ns, p99_ns, longest_ns] = latency::five_figures(latencies)?;
    let samples = latencies.len() as u64;
    Some(Distribution {
        case: case.to_owned(),
        samples,
        shortest_ns,
        median_ns,
        median_interval_ns: None,
        p90_ns,
        p99_ns,
        longest_ns,
    })
}

fn workload() -> Workload {
    let blocks = |first: u64| Region { offset: first * SIZE, size: SIZE, step: SIZE, count: VISITS };
    let here = Region { offset: 0, size: SIZE, step: 0, count: VISITS };
    let all = Region { offset: 0, size: OLD_BYTES, step: 0, count: 1 };
    let timed =
        |case: usize, file, ops: &[CallKind], region| Pass::timed(file, ops, region).label(CASES[case].0);
    Workload::new(vec![ScratchFile::filled("synced", OLD_BYTES), ScratchFile::empty("sync")])
        .pass(Pass::untimed(NEW, &[CallKind::Create]))
        .pass(Pass::priming(NEW, &[CallKind::Write, CallKind::Fsync], Region { count: 1, ..blocks(0) }))
        .pass(timed(0, NEW, &[CallKind::Write, CallKind::Fsync, CallKind::Seek], blocks(1)))
        .pass(timed(1, NEW, &[CallKind::Write, CallKind::Fdatasync, CallKind::Seek], blocks(1 + VISITS)))
        .pass(timed(2, OLD, &[CallKind::Write, CallKind::Fsync, CallKind::Seek], blocks(0)))
        .pass(timed(3, OLD, &[CallKind::Write, CallKind::Fdatasync, CallKind::Seek], blocks(VISITS)))
        .pass(timed(4, NEW, &[CallKind::Create, CallKind::Write, CallKind::Fsync, CallKind::Seek], here))
        .pass(timed(5, NEW, &[CallKind::Create, CallKind::Write, CallKind::Fdatasync, CallKind::Seek], here))
        .pass(Pass::untimed(OLD, &[CallKind::Evict]))
        .pass(Pass::timed(OLD, &[CallKind::Pause], all).needs(CacheState::Cold))
        .rounds(4)
}
