//! The page: the unit in which the kernel maps memory and caches files.
//!
//! Papers A and C timed small reads of a file, saw 4096 and called it the file system's block. It
//! was the page. Appends alone can't say which of their combs is the page's, because blocks may be
//! smaller, equal or larger (xfs and bcachefs allow larger ones since Linux 6.12). So the page is
//! found where no file system has a say: one byte is read again and again to memory that was never
//! touched, and each read that enters a new page pays for the fault.

use super::needs_no_file;
use super::prelude::*;
use super::silence::{Answer, answer_or_silence, evidence, inconclusive, recalled};
use crate::inference::combs::{self, Combs, NoAnswer, Wanted};

pub(super) struct PageSize;

const METHOD: &str = "buffer_fault_comb";
const READS: &str = "reads";
/// Bytes between the addresses of one read and the next.
const STEP: u64 = 1024;
const COUNT: u64 = 2048;
/// No processor that Linux runs on maps less than 4 KiB, and faults cost the same in all places: one
/// that was hidden between others would not be a weak one.
const WANTED: Wanted = Wanted { smallest: 4096, negligible: 0.06 };

impl Experiment for PageSize {
    fn about(&self) -> &'static About {
        &About {
            parameter: "page_size",
            unit: "bytes",
            question: "How large is a page of the page cache?",
            method: "A cached byte is read again and again, each time to the next address of unused memory; the read that reaches a new page takes longer, because of the page fault.",
            source: "papers A and C (as 'block size')",
            cost: Cost { seconds: 1, write_bytes: 4096, read_bytes: 1 << 20 },
            nature: Nature::Fixed,
            figure: Figure::Comb,
            recipes: &["paper-a-block-256", "paper-a-block-512", "paper-c-block"],
            inconclusive: "Reads into unused memory are not slower at regular distances, so the page size could not be determined.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let measured = |found: Combs| {
            let period = found.fundamental.period;
            Evidence::measured(Kind::Timing, METHOD, Value::Whole(period))
                .within(period, period)
                .resting_on(found.fundamental.confidence, found.samples)
        };
        evidence(Kind::Timing, METHOD, recalled(session, fault_comb).map(measured))
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        vec![Evidence::measured(Kind::Declared, "sysconf_pagesize", Value::Whole(declared.page_size))]
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        needs_no_file(case)
    }

    fn truth(&self, _: &Case, kernel: &Kernel) -> Truth {
        Truth::known(kernel.page_size, Basis::Page)
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let page = finding.whole()?;
        Some(match finding.answer(Kind::Timing) {
            Some(Value::Whole(timed)) if *timed == page => {
                format!("A read that enters fresh memory pays for a page fault every {}.", Bytes(page))
            }
            Some(Value::Whole(timed)) => format!(
                "Faults were timed every {}, but the kernel declares pages of {}: memory may be handed out in larger pieces.",
                Bytes(*timed),
                Bytes(page)
            ),
            _ => format!("The kernel declares pages of {}; timing did not tell.", Bytes(page)),
        })
    }
}

/// The page in bytes, where faults of fresh memory tell.
pub(super) fn by_faults(session: &mut Session<'_>) -> Result<Option<u64>, Fault> {
    Ok(answer_or_silence(recalled(session, fault_comb))?.ok().map(|found| found.fundamental.period))
}

/// The comb of faults; asked once per survey.
fn fault_comb(session: &mut Session<'_>) -> Answer<Combs> {
    let mut reason = String::new();
    for rounds in [session.rounds(30, 10), 90] {
        let samples = session.observe(workload(rounds))?;
        match combs::find(&samples.latencies(READS, 0), samples.positions(READS), STEP, WANTED) {
            Ok(found) => return Ok(found),
            Err(NoAnswer::Absent(largest)) => {
                reason = format!(
                    "no read to fresh memory is slower at regular distances of up to {}",
                    Bytes(largest)
                );
            }
            Err(NoAnswer::Unclear(why) | NoAnswer::TooLow(why)) => reason = why,
        }
    }
    inconclusive(reason)
}

fn workload(rounds: u32) -> Workload {
    let here = Region { offset: 0, size: 1, step: 0, count: COUNT };
    let once = Region { count: 1, ..here };
    Workload::new(vec![ScratchFile::filled("page", 4096)])
        .pass(Pass::priming(0, &[CallKind::Pread], once))
        .pass(Pass::timed(0, &[CallKind::Pread], here).fresh_buffer(STEP).label(READS))
        .rounds(rounds)
        .warmup(1)
}
