//! What a cached read costs: a part for the call, and a part for each page.
//!
//! Reads of 4 to 64 KiB of the same 512 KiB again and again, all sizes in every round; a straight line
//! through the medians of the sizes, each weighing by its share, gives both. The line is tested: where
//! it misses a size, there is no answer.

use std::time::Duration;

use super::batches::Batches;
use super::prelude::*;
use super::silence::{Answer, evidence, inconclusive, recalled};
use crate::inference::cost_line::{self, CostLine};

/// What is counted as a page: the unit of the answer is the cost of so many bytes more.
pub(super) const PAGE: u64 = 4096;
pub(super) const METHOD: &str = "line_through_cached_reads";
/// The two questions, and the figure of both.
pub(super) const CALL: &str = "call_cost";
pub(super) const FURTHER: &str = "page_cost";
pub(super) const COST_LINE: Figure = Figure::CostLine { call: CALL, page: FURTHER, page_bytes: PAGE };
/// Sizes in pages, shuffled so that what changes along a round does not grow with them.
const PAGES: [u64; 8] = [6, 1, 12, 2, 16, 3, 8, 4];
/// Reads of each size in a round, each of other pages.
const READS: u64 = 8;
const SLOT: u64 = 64 << 10;

/// The answer to both questions, remembered between them.
fn line(session: &mut Session<'_>) -> Answer<CostLine> {
    recalled(session, |session| {
        let batches =
            Batches { fewest: 16, most: session.rounds(24, 16), enough: Duration::from_millis(600) };
        let mut groups = Vec::new();
        let mut cold = 0;
        batches.run(
            session,
            |_| workload(),
            |samples| {
                cold += samples.wrong_state();
                groups.push(cost_line::medians(samples));
            },
        )?;
        if cold > 0 {
            return inconclusive(format!("{cold} reads were not cached when they should have been"));
        }
        let sizes: Vec<f64> = PAGES.iter().map(|&pages| (pages * PAGE) as f64).collect();
        Ok(cost_line::find(&sizes, &groups)?)
    })
}

/// A part of the line as evidence, in ns.
pub(super) fn timed(
    session: &mut Session<'_>,
    part: impl Fn(&CostLine) -> Option<(f64, [f64; 2])>,
    lost: &str,
) -> Result<Evidence, Fault> {
    let answer = line(session).and_then(|line| match part(&line) {
        Some((value, interval)) => Ok(Evidence::measured(Kind::Timing, METHOD, Value::Real(value))
            .within_real(interval)
            .resting_on(line.level, line.samples)),
        None => inconclusive(lost),
    });
    evidence(Kind::Timing, METHOD, answer)
}

fn workload() -> Workload {
    let all = Region { offset: 0, size: SLOT, step: SLOT, count: READS };
    let mut workload = Workload::new(vec![ScratchFile::filled("cached", SLOT * READS)])
        .pass(Pass::priming(0, &[CallKind::Pread], all))
        .pass(Pass::timed(0, &[CallKind::Pause], Region { size: 0, ..all }).label(cost_line::CLOCK));
    for pages in PAGES {
        let reads = Region { size: pages * PAGE, ..all };
        workload = workload.pass(
            Pass::timed(0, &[CallKind::Pread], reads).needs(CacheState::Cached).label(cost_line::READS),
        );
    }
    workload.rounds(12).warmup(1)
}
