//! The file system's block, from the comb in the latency of small appends.
//!
//! The first write into a block pays for reserving it, the first into a page for allocating that.
//! Both combs stand in the same samples; the block's is the one with the smallest period: nothing
//! that a file system does per write recurs more often than its block. Small reads, as in papers A
//! and C, show the page whatever the block is.
//!
//! One case stays open by appends alone: the smallest comb is the page's, and a taller one stands
//! above it. Then blocks may be as large as pages and be handed out in clusters, or be larger than
//! pages that are dear each. There the answer is none.

use super::layouts::{self, Layout};
use super::prelude::*;
use super::silence::{Answer, Silence, answer_or_silence, inconclusive};
use super::{needs_no_file, page_size};
use crate::finding::Agreement;
use crate::inference::combs::{self, Combs, NoAnswer, Taller, Wanted};

/// The experiment.
pub struct BlockSize;

pub(super) const PARAMETER: &str = "block_size";

const METHOD: &str = "append_comb";
const APPENDS: &str = "appends";

/// A sweep of appends: their size in bytes, how many, and how many rounds; if those do not tell, in
/// a second attempt.
///
/// The first finds blocks of 512 B to 32 KiB, the second larger ones where the first has seen that
/// there is none up to there. In the first, eight appends share a block of 1 KiB: the two after one
/// that opens a block are elevated on most file systems, and the others must be level. It holds
/// nine multiples of 32 KiB: of eight, a block of 64 KiB has half, and half a comb is no "none".
const SWEEPS: [(u64, u64, [u32; 2]); 2] = [(128, 2320, [60, 180]), (4096, 576, [12, 24])];

/// No format that Linux has takes larger blocks: xfs with 64 KiB.
const LARGEST: u64 = 64 << 10;

/// No device addresses less than 512 B. On the file systems that were measured, places within a
/// block differ by less than 2 % of an append, and the first one is slower by 10 % or more.
const WANTED: Wanted = Wanted { smallest: 512, negligible: 0.02 };

impl Experiment for BlockSize {
    fn about(&self) -> &'static About {
        &About {
            parameter: PARAMETER,
            unit: "bytes",
            question: "How large is a block, the unit in which the file system maps a file?",
            method: "A new file grows by small appends. The first write into each block is slower; the distance between such writes is the block size.",
            source: "papers A, C and D",
            cost: Cost { seconds: 4, write_bytes: 162 << 20, read_bytes: 0 },
            nature: Nature::Fixed,
            figure: Figure::Comb,
            recipes: &["paper-d-block", "paper-a-block-512"],
            inconclusive: "Appends take the same time wherever they begin, so the block size could not be determined.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let mut wanted = WANTED;
        let mut reason = String::new();
        'sweeps: for (size, count, rounds) in SWEEPS {
            for rounds in [session.rounds(rounds[0], 10), rounds[1]] {
                let samples = session.observe(workload(size, count, rounds))?;
                match combs::find(&samples.latencies(APPENDS, 0), samples.positions(APPENDS), size, wanted) {
                    Ok(found) => match answer_or_silence(judge(session, &found))? {
                        Ok(evidence) => return Ok(evidence),
                        Err(silence) => reason = silence.reason,
                    },
                    Err(NoAnswer::Absent(largest)) => {
                        wanted.smallest = largest + 1;
                        let up_to = Bytes(largest);
                        reason = format!("no append is slower at regular distances of up to {up_to}");
                        continue 'sweeps;
                    }
                    Err(NoAnswer::Unclear(why)) => reason = why,
                    Err(NoAnswer::TooLow(why)) => {
                        reason = why;
                        break 'sweeps;
                    }
                }
            }
            break;
        }
        Ok(Evidence::inconclusive(Kind::Timing, METHOD, reason))
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        let data = |layout: &Layout| layout.data.as_ref().map_or(0, |data| data.end - data.start);
        let mut evidence = Vec::new();
        for (method, unit) in [
            ("sparse_st_blocks", layouts::unit(witness, |layout| layout.allocated)),
            ("seek_hole", layouts::unit(witness, data)),
        ] {
            evidence.push(match answer_or_silence(unit)? {
                Ok(bytes) => Evidence::measured(Kind::Witness, method, Value::Whole(bytes)),
                Err(Silence { reason, .. }) => {
                    Evidence::inconclusive(Kind::Witness, method, format!("{method}: {reason}"))
                }
            });
        }
        Ok(evidence)
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        const METHOD: &str = "statfs_bsize";
        vec![match declared.block_size {
            bytes @ ..=LARGEST => Evidence::measured(Kind::Declared, METHOD, Value::Whole(bytes)),
            bytes => {
                let reason = format!("statfs declares {}: a size for transfers, and no block", Bytes(bytes));
                Evidence::inconclusive(Kind::Declared, METHOD, reason)
            }
        }]
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        needs_no_file(case)
    }

    fn truth(&self, case: &Case, kernel: &Kernel) -> Truth {
        match case.block_size {
            Some(block) => Truth::known(block, Basis::Made),
            None => Truth::known(kernel.page_size, Basis::Page),
        }
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let block = finding.whole()?;
        let timed = match finding.answer(Kind::Timing) {
            Some(Value::Whole(timed)) if *timed == block => {
                format!("The first write into each {} is slower than the ones after it.", Bytes(block))
            }
            Some(Value::Whole(timed)) => format!("Appends show a period of {}.", Bytes(*timed)),
            _ => "Timing did not tell.".to_owned(),
        };
        Some(match (finding.agreement, disagreement(finding, block)) {
            (Agreement::Disagree, Some(why)) => format!("{timed} {why}"),
            _ => timed,
        })
    }
}

/// Why a witness or a declaration says something else than the block.
fn disagreement(finding: &Finding, block: u64) -> Option<String> {
    let other = |method: &str| match finding.by(method).and_then(|piece| piece.value.clone()) {
        Some(Value::Whole(bytes)) if bytes != block => Some(bytes),
        _ => None,
    };
    if let Some(unit) = other("sparse_st_blocks").filter(|unit| *unit > block) {
        return Some(format!(
            "One byte takes {} of space: it is handed out in clusters of several blocks, or set aside ahead.",
            Bytes(unit)
        ));
    }
    if let Some(declared) = other("statfs_bsize") {
        return Some(format!(
            "statfs declares {}: on some file systems that is the best size for transfers, not the block.",
            Bytes(declared)
        ));
    }
    other("seek_hole").map(|extent| format!("Holes and data alternate in units of {}.", Bytes(extent)))
}

/// The block from the smallest comb, unless that is the page's and another stands above it, or may.
fn judge(session: &mut Session<'_>, found: &Combs) -> Answer<Evidence> {
    let period = found.fundamental.period;
    let is_page = match found.taller {
        Taller::Absent(_) => false,
        Taller::Comb(_) | Taller::Unclear => page_size::by_faults(session)?.is_none_or(|page| page == period),
    };
    if is_page {
        let above = match found.taller {
            Taller::Comb(taller) => format!("slower still every {}", Bytes(taller.period)),
            _ => "perhaps slower still at a larger distance".to_owned(),
        };
        let page = Bytes(period);
        return inconclusive(format!(
            "appends are slower every {page}, as pages are, and {above}: either may be the block"
        ));
    }
    let evidence = Evidence::measured(Kind::Timing, METHOD, Value::Whole(period))
        .within(period, period)
        .resting_on(found.fundamental.confidence, found.samples);
    Ok(match found.taller {
        Taller::Comb(taller) => evidence.caveat(format!(
            "there is a second period of {}, whose writes take {:.1} times as long as those between: a page, or a larger unit of allocation",
            Bytes(taller.period),
            taller.height
        )),
        Taller::Absent(largest) => evidence.caveat(format!(
            "there is one period up to {}: the block is as large as the page, or larger",
            Bytes(largest)
        )),
        Taller::Unclear => evidence.caveat("whether a larger unit recurs among the blocks stayed open"),
    })
}

fn workload(size: u64, count: u64, rounds: u32) -> Workload {
    Workload::new(vec![ScratchFile::empty("append")])
        .pass(Pass::untimed(0, &[CallKind::Create]))
        .pass(
            Pass::timed(0, &[CallKind::Write], Region { offset: 0, size, step: size, count }).label(APPENDS),
        )
        .rounds(rounds)
        .warmup(2)
}
