//! The part of a cached read that does not grow with its size.

use super::cached_reads::{self, CALL, COST_LINE, METHOD};
use super::prelude::*;

pub(super) struct CallCost;

impl Experiment for CallCost {
    fn about(&self) -> &'static About {
        &About {
            parameter: CALL,
            unit: "ns",
            question: "How long does a cached read take, apart from the time for its pages?",
            method: "Cached reads of 4 to 64 KiB are timed. The answer is where the straight line through their medians reaches zero bytes, less the time to read the clock.",
            source: "paper B (the cost of a system call), paper E (function overhead)",
            cost: Cost { seconds: 1, write_bytes: 512 << 10, read_bytes: 128 << 20 },
            figure: COST_LINE,
            recipes: &["paper-b-calls"],
            inconclusive: "Over their sizes the times of cached reads form no straight line, so a call has no cost of its own.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let lost = "the line begins too near to zero to tell a call's cost";
        cached_reads::timed(session, |line| line.call, lost)
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let ns = finding.by(METHOD).and(finding.number())?;
        Some(format!("Besides what grows with its size, a cached read costs {}.", Nanos(ns)))
    }
}
