//! What moving a file's position costs.

use super::{About, Cost, Experiment, Nature, Session};
use crate::case::{Basis, Case, Kernel, Truth};
use crate::finding::{Evidence, Finding, Kind, Value};
use crate::inference::latency;
use fathom_program::workload::{CallKind, Pass, Region, ScratchFile, Workload};
use fathom_run::machine::Fault;

pub(super) struct SeekCost;

const METHOD: &str = "median_seek";
/// Inference asks for the readings of a pass by its label.
const SEEKS: &str = "seeks";

impl Experiment for SeekCost {
    fn about(&self) -> &'static About {
        &About {
            parameter: "seek_cost",
            unit: "ns",
            question: "What does lseek(2) cost?",
            method: "The position of one file is moved again and again; the median.",
            source: "lseek(2)",
            cost: Cost { seconds: 1, write_bytes: 0, read_bytes: 0 },
            // What else is known of a question: `figure`, `recipes`, `samples_of`.
            nature: Nature::Drifting,
            inconclusive: "What moving a file's position costs could not be determined.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let places = Region { offset: 0, size: 0, step: 4096, count: 64 };
        let workload = Workload::new(vec![ScratchFile::empty("seek")])
            .pass(Pass::timed(0, &[CallKind::Seek], places).label(SEEKS))
            .rounds(session.rounds(24, 12));
        let samples = session.observe(workload)?;
        let ns: Vec<f64> =
            samples.latencies(SEEKS, 0).into_iter().map(|ticks| samples.nanoseconds(ticks)).collect();
        let rounds = latency::round_medians(&ns, samples.positions(SEEKS));
        Ok(match latency::settled(&rounds) {
            Ok(median) => Evidence::measured(Kind::Timing, METHOD, Value::Real(median.value))
                .within_real([median.interval.low, median.interval.high])
                .resting_on(median.level, ns.len()),
            Err(reason) => Evidence::inconclusive(Kind::Timing, METHOD, reason),
        })
    }

    fn truth(&self, _: &Case, _: &Kernel) -> Truth {
        Truth::Within { interval: [10.0, 100_000.0], basis: Basis::Rule }
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let value = finding.value.as_ref()?;
        Some(format!("Moving a file's position takes {}.", value.in_words("ns")))
    }
}
