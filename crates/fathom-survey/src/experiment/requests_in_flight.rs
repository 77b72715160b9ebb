//! How many requests to the server of a file system are under way at once.
//!
//! Many single pages are asked for ahead, and then read one after the other. Where the client or the server lets only so
//! many requests be under way, their answers come in batches of that many, and between two batches lies as long as a
//! single answer takes.

use super::prelude::*;
use super::silence::{Answer, evidence, inconclusive};
use super::{remembered, truth_of_served};
use crate::inference::{in_flight, steps};
use fathom_stats::quantile;

pub(super) struct RequestsInFlight;

const METHOD: &str = "batches_of_answers";
/// Pages asked for ahead: three batches and the beginning of a fourth must fit.
const COUNTS: [u64; 4] = [12, 40, 136, 320];
const ROUNDS: u32 = 24;
/// Looks at each count, where a disturbance hides the batches.
const LOOKS: usize = 2;
/// Pages are so far apart that none is brought in with another.
const APART: u64 = 256 << 10;
const PAGE: u64 = 4096;
/// Pages read one by one.
const SINGLES: u64 = 4;
/// A shorter answer is work of this machine's own CPUs, and how many of it are under way is how many CPUs there are, in ns.
const LEAST_NS: f64 = 250e3;
/// A call that asks ahead takes this part of an answer's time at most, or it has waited for it.
const ASKING: f64 = 0.5;
const ALONE: &str = "single reads";
const AHEAD: &str = "asking ahead";
const ARRIVALS: &str = "reads of what was asked for";

impl Experiment for RequestsInFlight {
    fn about(&self) -> &'static About {
        &About {
            parameter: "requests_in_flight",
            unit: "count",
            question: "How many requests to the file system's server are under way at once?",
            method: "posix_fadvise(2) asks for pages far from one another, which are then read. They arrive in batches as large as the number of requests under way at once, a round trip apart.",
            source: "KERNEL: flush_bg_queue, xprt_reserve",
            privileges: "none; root to read what a FUSE connection declares",
            cost: Cost { seconds: 2, write_bytes: 0, read_bytes: 48 << 20 },
            nature: Nature::Fixed,
            figure: Figure::Spread,
            asks_server: true,
            not_applicable: "The files are here: no request goes to a server.",
            inconclusive: "How many requests are under way at once could not be determined.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let measured = |(count, samples)| {
            Evidence::measured(Kind::Timing, METHOD, Value::Whole(count))
                .resting_on(1.0 - steps::MOST_CHANCE, samples)
        };
        evidence(Kind::Timing, METHOD, found(session).map(measured))
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        let Some(server) = &declared.server else {
            let reason = "the files are on this machine: no request goes to a server";
            return vec![Evidence::not_applicable(Kind::Declared, "mount_options", reason)];
        };
        // The server may serve fewer at once.
        let known = |(most, name): (u64, String)| {
            Evidence::measured(Kind::Declared, &name, Value::Whole(most)).within(1, most)
        };
        server.in_flight.clone().map(known).into_iter().collect()
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        truth_of_served(case, |served| Truth::known(served.threads.min(served.background).into(), Basis::Set))
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let most = finding.whole()?;
        let timed = finding.by(METHOD).and_then(|timed| timed.value.as_ref());
        Some(match timed {
            Some(Value::Whole(count)) => format!(
                "{count} requests are under way at once: more than that at a time wait for their turn, and throughput grows no further."
            ),
            _ => format!(
                "The kernel sends at most {most} requests at once; how many of them the server works on could not be determined."
            ),
        })
    }
}

/// The number, and the reads that it rests on.
fn found(session: &mut Session<'_>) -> Answer<(u64, usize)> {
    remembered::round_trip(session)?;
    let mut reads = 0;
    for count in COUNTS {
        for _ in 0..LOOKS {
            let samples = match session.observe(workload(count).rounds(ROUNDS).warmup(1)) {
                Err(Fault::OutOfTime) => return inconclusive("time ran out"),
                samples => samples?,
            };
            reads += samples.latencies(ARRIVALS, 0).len();
            if let Some(batch) = in_flight::agreed(&batches(samples)?) {
                return Ok((batch as u64, reads));
            }
        }
    }
    inconclusive("answers to many requests come in no batches of one size")
}

/// Of each round the size of the batches, or why there can't be any.
fn batches(samples: &Samples) -> Result<Vec<Option<usize>>, String> {
    if samples.wrong_state() > 0 {
        return Err("pages could not be dropped from the cache".to_owned());
    }
    let [singles, ahead, arrivals] = [ALONE, AHEAD, ARRIVALS].map(|label| samples.latencies(label, 0));
    let alone = quantile::median(&singles).unwrap_or(f64::NAN);
    // The soonest answer, which a busy machine does not delay.
    let soonest = singles.iter().copied().fold(f64::INFINITY, f64::min);
    if samples.nanoseconds(soonest) < LEAST_NS {
        let reason = "a single answer comes too soon to tell waiting for a turn from work of this machine";
        return Err(reason.to_owned());
    }
    if quantile::median(&ahead).is_none_or(|ahead| ahead > ASKING * alone) {
        return Err(
            "asking ahead waits for each answer here, so that no two requests are under way".to_owned()
        );
    }
    let count = samples.positions(ARRIVALS).max(1);
    let rounds = singles.chunks(SINGLES as usize).zip(ahead.chunks(count)).zip(arrivals.chunks(count));
    let of = |((singles, ahead), arrivals): ((&[f64], &[f64]), &[f64])| {
        let alone = quantile::median(singles)?;
        // Some clients limit the requests under way, and the caller waits to submit; with others the answers come late.
        in_flight::batch(ahead, alone).or_else(|| in_flight::batch(arrivals, alone))
    };
    Ok(rounds.map(of).collect())
}

/// Single reads, and then so many pages asked for at once.
fn workload(count: u64) -> Workload {
    let pages = |from: u64, count| Region { offset: from * APART, size: PAGE, step: APART, count };
    let file = ScratchFile::sparse("in-flight", (SINGLES + count) * APART);
    Workload::new(vec![file])
        .pass(Pass::untimed(0, &[CallKind::Open, CallKind::Evict]))
        // Not from the start on: a read of the first page looks like the beginning of more.
        .pass(Pass::timed(0, &[CallKind::Pread], pages(count, SINGLES)).needs(CacheState::Cold).label(ALONE))
        .pass(Pass::untimed(0, &[CallKind::Open]))
        .pass(Pass::timed(0, &[CallKind::Prefetch], pages(0, count)).needs(CacheState::Cold).label(AHEAD))
        .pass(Pass::timed(0, &[CallKind::Pread], pages(0, count)).label(ARRIVALS))
}
