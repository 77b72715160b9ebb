//! The first window: what the first small read of a file brings in.

use super::brought_in::{Sight, brought_in};
use super::prelude::*;
use super::readahead::{Brought, FAR, FILE, READ, brought_by_one_read, first_read_pages, rule_holds, timed};
use super::silence::{Answer, evidence, inconclusive, recalled};
use crate::inference::reach::{self, Presence};

pub(super) struct ReadaheadFirst;

/// What the first read of a file leaves in the cache.
pub(super) fn first(session: &mut Session<'_>) -> Answer<Brought> {
    recalled(session, |session| {
        let brought = brought_by_one_read(session, 0)?;
        second_look(session, brought)
    })
}

/// Asks of the first slow probe whether it was a miss or touched the mark of the next window.
///
/// Both hand a request to the device, so that a quick device makes them look alike. But a touched mark
/// brings in the next window, and a miss that stands apart from what is cached brings in itself alone.
/// So the first slow page is read (or, where it adjoins several cached ones and its miss would pass
/// for a sequential reader's, the one behind it), and then the two pages after it: if either of these is
/// there, it was a mark.
fn second_look(session: &mut Session<'_>, brought: Brought) -> Answer<Brought> {
    let touched = if brought.bytes == READ { READ } else { brought.bytes + READ };
    let read = |offset: u64| Region { offset, size: READ, step: READ, count: 1 };
    let timed = |offset: u64| Pass::timed(0, &[CallKind::Pread], read(offset));
    let lone = touched + FAR;
    let span = Region { offset: 0, size: lone + FAR, step: 0, count: 1 };
    let workload = Workload::new(vec![ScratchFile::filled(FILE, lone + FAR)])
        .pass(Pass::untimed(0, &[CallKind::Open, CallKind::Evict]))
        .pass(Pass::priming(0, &[CallKind::Pread], read(lone)))
        .pass(timed(lone + 2 * READ).label(reach::MISS))
        .pass(Pass::untimed(0, &[CallKind::Open, CallKind::Evict]))
        .pass(Pass::timed(0, &[CallKind::Pause], span).needs(CacheState::Cold))
        .pass(Pass::priming(0, &[CallKind::Pread], read(0)))
        .pass(Pass::pause(SETTLE_NS))
        .pass(Pass::untimed(0, &[CallKind::Open]))
        .pass(Pass::priming(0, &[CallKind::Pread], read(touched)))
        .pass(Pass::pause(SETTLE_NS))
        // Twice: the first call after a pause pays for that.
        .pass(Pass::priming(0, &[CallKind::Pread], read(0)))
        .pass(timed(0).label(reach::HIT))
        .pass(timed(touched + 2 * READ).label(SECOND_BEHIND))
        .pass(timed(touched + READ).label(BEHIND))
        .rounds(session.rounds(9, 7));
    let samples = session.observe(workload)?;
    let seen = [SECOND_BEHIND, BEHIND].map(|probe| reach::presence(samples, probe));
    match seen {
        [Presence::Miss, Presence::Miss] => Ok(brought),
        // The page was there; the next slow one, which was probed apart, is where the next window began.
        [Presence::Hit, _] | [_, Presence::Hit] if brought.bytes == READ => {
            let bytes = 2 * READ;
            Ok(Brought { bytes, interval: [bytes, bytes], ..brought })
        }
        _ => inconclusive("a read that waits can't be distinguished from one that starts the next window"),
    }
}

/// The page behind the one that was touched, and the next one.
const BEHIND: &str = "behind";
const SECOND_BEHIND: &str = "second behind";
/// How long the device is given after the first read and after the second.
const SETTLE_NS: u64 = 5_000_000;

const METHOD: &str = "probes_after_first_read";

impl Experiment for ReadaheadFirst {
    fn about(&self) -> &'static About {
        &About {
            parameter: "readahead_first",
            unit: "bytes",
            question: "How much does the first 4 KiB read of a file bring in?",
            method: "The first page of a file that is not cached is read, then one page further on; this is repeated for other distances. The pages that come fast were brought in by the first read.",
            source: "papers A and D (by a backward read after a priming read)",
            cost: Cost { seconds: 3, write_bytes: 4 << 20, read_bytes: 8 << 20 },
            nature: Nature::Fixed,
            figure: Figure::Probes,
            recipes: &["paper-c-prefetch", "paper-d-prefetch"],
            not_applicable: "Nothing is read ahead here: files live in memory, or are read past the page cache.",
            inconclusive: "Reads after the first one are not clearly fast or slow.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        timed(first(session), METHOD)
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        brought_in_by(witness, 0)
    }

    fn truth(&self, case: &Case, kernel: &Kernel) -> Truth {
        let request = READ.div_ceil(kernel.page_size);
        match case.read_ahead_pages(kernel) {
            None => Truth::NotApplicable { basis: Basis::Memory },
            Some(_) if !rule_holds(case, kernel) => Truth::Unknown,
            Some(pages) => match first_read_pages(request, pages) {
                // A window no larger than the request meets its own marker, which kernels treat differently.
                first if pages > 0 && first <= request => Truth::Unknown,
                first => Truth::known(first * kernel.page_size, Basis::Rule),
            },
        }
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        Some(match finding.whole()? {
            READ => "The first read brings in what it asks for and no more.".to_owned(),
            bytes => format!(
                "The first {} of a file bring in {}: the kernel expects a sequential reader there.",
                Bytes(READ),
                Bytes(bytes)
            ),
        })
    }
}

/// What is seen in the cache after one read at `offset` of a cold file.
pub(super) fn brought_in_by(witness: &mut dyn Witness, offset: u64) -> Result<Vec<Evidence>, Fault> {
    let file = ScratchFile::filled("readahead", offset + (4 << 20));
    let sights = [(Sight::Cache, "cachestat_after_read"), (Sight::Tracepoint, "tracepoint_after_read")];
    let mut shown = Vec::new();
    for (sight, method) in sights {
        let bytes = brought_in(witness, sight, &file, &[offset]).map(|brought| brought.first().copied());
        let measured =
            |bytes: Option<u64>| Evidence::measured(Kind::Witness, method, Value::Whole(bytes.unwrap_or(0)));
        shown.push(evidence(Kind::Witness, method, bytes.map(measured))?);
    }
    Ok(shown)
}
