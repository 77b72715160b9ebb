//! How far the server of a file system reads ahead.
//!
//! After some reads in order, past the page cache, a read farther on is fast if the server has read that far, and slow if it
//! has not. A read brings its place into the server's memory, so that each place tells once, and each look takes parts of
//! a file that were never read. A server that still has them in its memory from when they were written tells nothing.

use super::prelude::*;
use super::silence::{Answer, evidence, inconclusive};
use super::{Effort, remembered, truth_of_served};
use crate::inference::ahead::{self, Ahead};
use crate::inference::steps;

pub(super) struct ServerReadahead;

const METHOD: &str = "first_reads_ahead_of_reads_in_order";
const PAGE: u64 = 4096;
const KIB: u64 = 1024;
/// Reads in order before anything is probed.
const RUN: u64 = 16;
/// Where in a region the second read of all is, and where the reads in order begin: at no even distances.
const FOLLOWING_AT: u64 = 2 * PAGE;
const RUN_AT: u64 = 5 * PAGE;
const RUN_END: u64 = RUN_AT + RUN * PAGE;
/// Regions are a multiple of this apart.
const ALIGNED: u64 = 32 * KIB;
/// Distances in KiB from the end of the reads in order. Where all of the first are read ahead, those farther on are probed.
const DISTANCES: [&[u64]; 4] = [
    &[0, 4, 8, 16, 24, 32, 48, 64],
    &[64, 96, 128, 192, 256],
    &[256, 384, 512, 768, 1024],
    &[1024, 1536, 2048],
];
/// Regions of one look, and looks at the same distances where a disturbance hides the answer.
const REGIONS: u64 = 10;
const LOOKS: usize = 3;
/// While the server may still be bringing in what it reads ahead, in ns.
const SETTLE_NS: u64 = 20_000_000;
/// A first read takes so much longer than a later one at least, in ns: less may be the work of a CPU.
const LEAST_NS: f64 = 50e3;
/// All looks together write no more than this, and one of them no more than this share of what may still be written.
const MOST_WRITTEN: u64 = 64 << 20;
const SHARE_OF_BUDGET: u64 = 2;
/// What one look writes takes no longer than this, in ns.
const MOST_FILLING_NS: f64 = 2.5e9;
const FIRST: &str = "first reads";
const FOLLOWING: &str = "reads of what follows";
const IN_ORDER: &str = "reads in order";
const AGAIN: &str = "later reads";
const PROBES: &str = "reads farther on";
const AFTER: &str = "later reads, after the probes";

impl Experiment for ServerReadahead {
    fn about(&self) -> &'static About {
        &About {
            parameter: "server_readahead",
            unit: "bytes",
            question: "How far does the file system's server read ahead?",
            method: "After 64 KiB read in order past the page cache, reads farther on are fast as far as the server has read ahead. Each look takes parts of a file that were never read before; where first reads take no longer than later ones, the server still has in its memory what was written, and nothing is told.",
            source: "KERNEL: page_cache_ra_order, on the server",
            cost: Cost { seconds: 2, write_bytes: MOST_WRITTEN, read_bytes: 8 << 20 },
            nature: Nature::Fixed,
            figure: Figure::Spread,
            asks_server: true,
            not_applicable: "The files are here: there is no server that reads ahead.",
            inconclusive: "How far the server reads ahead could not be determined.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let measured = |([low, high], samples): ([u64; 2], usize)| {
            let value = Evidence::measured(Kind::Timing, METHOD, Value::Whole(low.midpoint(high)));
            value.within(low, high).resting_on(1.0 - steps::MOST_CHANCE, samples)
        };
        evidence(Kind::Timing, METHOD, found(session).map(measured))
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        remembered::declared(declared, "mount_options", |_| None)
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        truth_of_served(case, |served| match served.cold.is_zero() {
            true => Truth::NotApplicable { basis: Basis::Memory },
            false => Truth::known(served.ahead, Basis::Set),
        })
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let most = finding.interval.map_or(finding.whole()?, |[_, high]| high as u64);
        Some(match most {
            0 => {
                "The server reads nothing ahead: each request waits until it has read what it was asked for."
                    .to_owned()
            }
            _ => format!(
                "After {} read in order the server has read {} ahead: requests up to there do not wait for it to read.",
                Bytes(RUN * PAGE),
                finding.value.as_ref()?.in_words("bytes"),
            ),
        })
    }
}

/// What was written and read for the answer so far.
#[derive(Default)]
struct Spent {
    written: u64,
    reads: usize,
    filling_ns_per_byte: f64,
}

/// The least and the most that is read ahead, and the reads that this rests on.
fn found(session: &mut Session<'_>) -> Answer<([u64; 2], usize)> {
    remembered::round_trip(session)?;
    let mut spent = Spent::default();
    for (nearer, kib) in DISTANCES.into_iter().enumerate() {
        let distances: Vec<u64> = kib.iter().map(|kib| kib * KIB).collect();
        match looked_at(session, &mut spent, &distances)? {
            Ahead::All => {}
            Ahead::Nothing => return Ok(([0, 0], spent.reads)),
            Ahead::Until(read, unread) => {
                return Ok(([distances[read - 1] + PAGE, distances[unread]], spent.reads));
            }
            Ahead::NoDifference if nearer > 0 => {
                return inconclusive("first reads took longer than later ones at first, and then no longer");
            }
            Ahead::NoDifference => {
                return inconclusive(
                    "the server still has in its memory what was just written, or keeps nothing there: reading a place for the first time takes no longer than again",
                );
            }
            Ahead::AfterAnyRead => {
                return inconclusive(
                    "any read also brings in what follows it, whether reads are in order or not",
                );
            }
            Ahead::Unclear(reason) => return inconclusive(reason),
        }
    }
    inconclusive("the server has read 2 MiB ahead and more: no end was found")
}

/// Looks at fresh regions until they tell something, or often enough.
fn looked_at(session: &mut Session<'_>, spent: &mut Spent, distances: &[u64]) -> Answer<Ahead> {
    let looks = if session.effort() == Effort::Quick { 1 } else { LOOKS };
    let mut regions = Vec::new();
    let mut seen = Ahead::NoDifference;
    for _ in 0..looks {
        let wanted = REGIONS * size_of_region(distances);
        if wanted > session.write_budget() / SHARE_OF_BUDGET {
            return inconclusive("more would have to be written: raise --max-write");
        }
        if spent.written + wanted > MOST_WRITTEN {
            return inconclusive(format!(
                "{} were written, and what they show is not clear",
                Bytes(spent.written)
            ));
        }
        if spent.filling_ns_per_byte * wanted as f64 > MOST_FILLING_NS {
            return inconclusive(format!(
                "writing enough to look {} ahead takes too long here",
                Bytes(distances.iter().copied().fold(0, u64::max))
            ));
        }
        let before = session.time_left();
        let samples = match session.observe(workload(spent.written, distances)) {
            Err(Fault::System(error)) if !error.is_full() && !error.is_read_only() => {
                return inconclusive(format!("reads past the page cache fail here: {error}"));
            }
            Err(Fault::OutOfTime) => return inconclusive("time ran out"),
            samples => samples?,
        };
        let running = samples.elapsed_ns as f64;
        regions.extend(regions_of(samples, distances.len()));
        spent.reads += samples.readings.len();
        spent.written += wanted;
        let took = before.saturating_sub(session.time_left()).as_nanos() as f64;
        spent.filling_ns_per_byte = (took - running).max(0.0) / wanted as f64;
        seen = ahead::judged(&regions, LEAST_NS);
        if !matches!(seen, Ahead::Unclear(_)) {
            break;
        }
    }
    Ok(seen)
}

fn size_of_region(distances: &[u64]) -> u64 {
    let farthest = distances.iter().copied().fold(0, u64::max);
    (RUN_END + farthest + PAGE).next_multiple_of(ALIGNED)
}

/// A look at regions of a file from `from` on, none of which was read before.
fn workload(from: u64, distances: &[u64]) -> Workload {
    let size = size_of_region(distances);
    let file = ScratchFile::filled("server-readahead", from + REGIONS * size);
    let workload = Workload::new(vec![file]).pass(Pass::untimed(0, &[CallKind::OpenDirect]));
    // What is read ahead beyond the end of a region is in one that was read already.
    let regions = (0..REGIONS).rev().map(|region| from + region * size);
    let read = regions.fold(workload, |workload, at| {
        let read = |offset: u64, step: u64, count: u64, label| {
            Pass::timed(0, &[CallKind::Pread], Region { offset: at + offset, size: PAGE, step, count })
                .label(label)
        };
        let workload = workload
            .pass(read(0, 0, 1, FIRST))
            .pass(read(FOLLOWING_AT, 0, 1, FOLLOWING))
            .pass(read(RUN_AT, PAGE, RUN, IN_ORDER))
            .pass(Pass::pause(SETTLE_NS))
            // The first of them wakes what has slept.
            .pass(read(0, 0, 3, AGAIN));
        // From far to near, so that no probe makes the next one look like a read in order.
        let probes = distances.iter().rev();
        let workload =
            probes.fold(workload, |workload, distance| workload.pass(read(RUN_END + distance, 0, 1, PROBES)));
        workload.pass(read(0, 0, 1, AFTER))
    });
    read.pass(Pass::untimed(0, &[CallKind::Open]))
}

/// The readings of each region, in ns.
fn regions_of(samples: &Samples, probes: usize) -> Vec<ahead::Region> {
    let of = |label: &str| -> Vec<Vec<f64>> {
        let ns = |ticks: Vec<f64>| ticks.into_iter().map(|ticks| samples.nanoseconds(ticks)).collect();
        samples.labelled(label).map(|pass| ns(samples.matrix(pass, 0))).collect()
    };
    let [first, following, in_order, again, after] = [FIRST, FOLLOWING, IN_ORDER, AGAIN, AFTER].map(of);
    let far_to_near = of(PROBES).concat();
    let region = |(at, probes): (usize, &[f64])| {
        let &[_, before, again] = again.get(at)?.as_slice() else { return None };
        Some(ahead::Region {
            first: *first.get(at)?.first()?,
            following: *following.get(at)?.first()?,
            last: *in_order.get(at)?.last()?,
            again: [before, again, *after.get(at)?.first()?],
            probes: probes.iter().rev().copied().collect(),
        })
    };
    far_to_near.chunks_exact(probes.max(1)).enumerate().filter_map(region).collect()
}
