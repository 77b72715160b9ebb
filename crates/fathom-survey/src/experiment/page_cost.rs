//! What each further page of a cached read costs.

use super::cached_reads::{self, CALL, COST_LINE, FURTHER, METHOD, PAGE};
use super::prelude::*;

pub(super) struct PageCost;

impl Experiment for PageCost {
    fn about(&self) -> &'static About {
        &About {
            parameter: FURTHER,
            unit: "ns",
            question: "How much longer does a cached read take for each 4 KiB more?",
            method: "Cached reads of 4 to 64 KiB are timed. The answer is the slope of the straight line through their medians, for 4 KiB.",
            source: "paper B (cached reads), paper E (copy_to_user)",
            cost: Cost { seconds: 1, write_bytes: 512 << 10, read_bytes: 128 << 20 },
            figure: COST_LINE,
            recipes: &["paper-b-read-cached"],
            samples_of: Some(CALL),
            inconclusive: "Over their sizes the times of cached reads form no straight line, so a page has no single cost.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let of_page = |(value, [low, high]): (f64, [f64; 2])| {
            let page = PAGE as f64;
            (value * page, [low * page, high * page])
        };
        cached_reads::timed(session, |line| Some(of_page(line.byte)), "")
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let ns = finding.by(METHOD).and(finding.number())?;
        let rate = PAGE as f64 / ns * 1e9 / (1_u64 << 30) as f64;
        Some(format!("Each 4 KiB of a cached read cost {}, which is {rate:.1} GiB/s.", Nanos(ns)))
    }
}
