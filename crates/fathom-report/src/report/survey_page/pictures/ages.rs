//! Syncs of changes against their age: quick ones find nothing left to write.

use std::collections::BTreeMap;

use fathom_stats::quantile;

use super::marks::Answer;
use crate::report::figure::{Axis, Figure, Mark, Origin, Quantity, Series, Style};
use fathom_program::workload::CallKind;
use fathom_run::samples::Samples;

/// What the runs of a question about waiting hold, in ns.
#[derive(Default)]
struct Syncs {
    /// The age of a change and how long its sync took.
    asked: Vec<[f64; 2]>,
    /// Syncs of files that had nothing to write.
    idle: Vec<f64>,
    /// Syncs of files that had been changed at that moment.
    busy: Vec<f64>,
}

/// The time of each sync against the age of what it syncs; nothing where no change was ever synced.
pub(super) fn ages(answer: &Answer<'_>, runs: &[Samples]) -> Option<Figure> {
    let syncs = sorted(runs);
    syncs.asked.first()?;
    let mut figure = Figure::new(
        answer.id(1),
        "Time of a sync against the age of the change",
        Axis::new("time since the change", Quantity::Nanoseconds),
        Axis::new("time of a call", Quantity::Nanoseconds).log(),
    );
    let asked = syncs.asked.iter().map(|[age, ns]| (*age, *ns));
    figure.series.push(Series::of("syncs, each of a change of its own", Style::Specks, asked));
    for (name, known) in [("nothing left to write", &syncs.idle), ("changed at that moment", &syncs.busy)] {
        figure.marks.extend(quantile::median(known).map(|ns| Mark::level(name, Origin::Reference, ns)));
    }
    figure.marks.extend(answer.upright());
    figure.shown = format!(
        "{} syncs. From the age on at which the kernel has written a change by itself, a sync takes no longer than where \
         nothing is left to write: the medians of {} and of {} syncs of files of which that was known are drawn level.",
        syncs.asked.len(),
        syncs.idle.len(),
        syncs.busy.len()
    );
    Some(figure)
}

/// Changes and syncs in the order in which they were made; ticks count from one moment for all runs.
fn sorted(runs: &[Samples]) -> Syncs {
    let mut syncs = Syncs::default();
    let mut changed: BTreeMap<usize, u64> = BTreeMap::new();
    for run in runs {
        for reading in &run.readings {
            let pass = &run.workload.passes[reading.pass as usize];
            let ns = run.nanoseconds(reading.latency.0 as f64);
            let is_change = matches!(reading.op, CallKind::Pwrite | CallKind::Create);
            let is_sync = matches!(reading.op, CallKind::SyncRange | CallKind::Fsync);
            match (is_change, is_sync, pass.ops.len()) {
                (true, _, 1) => {
                    changed.insert(pass.file, reading.start.0 + reading.latency.0);
                }
                (_, true, 1) => match changed.remove(&pass.file) {
                    Some(since) => {
                        let age = run.nanoseconds(reading.start.0.saturating_sub(since) as f64);
                        syncs.asked.push([age, ns]);
                    }
                    None => syncs.idle.push(ns),
                },
                (_, true, _) => syncs.busy.push(ns),
                _ => {}
            }
        }
    }
    syncs
}
