//! What the instrument is worth: its clock, the noise, readings in the wrong cache state, and what it did besides measuring.

use fathom_stats::quantile;

use super::{Runs, of};
use crate::report::page::{definitions, table};
use fathom_program::units::{Bytes, Nanos, WithinPpm};
use fathom_run::samples::Samples;
use fathom_survey::survey::Survey;

/// The certificate.
pub(super) fn certificate(survey: &Survey, runs: &Runs<'_>) -> String {
    let clock = &survey.provenance.instrument;
    let facts = [
        ("clock", format!("{}, {:.6} GHz", clock.clock, clock.ticks_per_second / 1e9)),
        (
            "resolution",
            format!(
                "{}; an empty system call takes {}",
                Nanos(clock.resolution_ns),
                Nanos(clock.system_call_ns)
            ),
        ),
        ("own cost", Nanos(clock.overhead_ns).to_string()),
        (
            "straightness",
            format!(
                "within {} of wall time over intervals of {} to {}",
                WithinPpm(clock.linearity_ppm),
                Nanos(clock.intervals_ns[0]),
                Nanos(clock.intervals_ns[1])
            ),
        ),
        ("chosen because", clock.evidence.join("; ")),
        (
            "effects on the machine",
            match survey.effects.is_empty() {
                true => "none besides its own scratch files, which are removed".to_owned(),
                false => survey.effects.join("; "),
            },
        ),
        (
            "moved",
            format!(
                "{} written, {} read, {} taken",
                Bytes(survey.bytes_written),
                Bytes(survey.bytes_read),
                Nanos(survey.duration_ns as f64)
            ),
        ),
    ];
    let lines: Vec<Vec<String>> = survey
        .findings
        .iter()
        .filter_map(|finding| line(&finding.parameter, of(runs, &finding.parameter)))
        .collect();
    let quality = match lines.is_empty() {
        true => "<p>Nothing was timed.</p>\n".to_owned(),
        false => format!(
            "<h3>Noise and cache states</h3>\n<p class=\"soft\">Noise is the typical spread of readings that \
             should be the same: the median, over all places with three readings or more, of half the middle 80 % as a \
             share of the median. A reading counts as rejected where the cache was proven to be in another state \
             than its experiment needs.</p>\n{}",
            table(&["experiment", "runs", "readings", "noise", "rejected", "not proven", "notes"], &lines)
        ),
    };
    definitions(&facts) + &quality
}

fn line(parameter: &str, runs: &[Samples]) -> Option<Vec<String>> {
    let readings: usize = runs.iter().map(|run| run.readings.len()).sum();
    if readings == 0 {
        return None;
    }
    let mut notes: Vec<&str> = runs.iter().flat_map(|run| &run.notes).map(String::as_str).collect();
    notes.dedup();
    let count = |of: fn(&Samples) -> usize| runs.iter().map(of).sum::<usize>().to_string();
    Some(vec![
        parameter.to_owned(),
        runs.len().to_string(),
        readings.to_string(),
        noise(runs).map_or_else(|| "-".to_owned(), |share| format!("\u{b1}{:.1} %", share * 100.0)),
        count(Samples::wrong_state),
        count(Samples::unproven),
        notes.join("; "),
    ])
}

/// The typical relative spread of readings of one operation at one place.
fn noise(runs: &[Samples]) -> Option<f64> {
    let mut spreads = Vec::new();
    for run in runs {
        for (pass, plan) in run.workload.passes.iter().enumerate().filter(|(_, plan)| plan.timed) {
            for step in 0..plan.ops.len() {
                let matrix = run.matrix(pass, step);
                let places = plan.region.count as usize;
                if places == 0 || matrix.len() < 3 * places {
                    continue;
                }
                spreads.extend((0..places).filter_map(|place| {
                    let column: Vec<f64> = matrix[place..].iter().step_by(places).copied().collect();
                    let at = |share| quantile::quantile(&column, share);
                    let middle = at(0.5).filter(|&middle| middle > 0.0)?;
                    Some((at(0.9)? - at(0.1)?) / 2.0 / middle)
                }));
            }
        }
    }
    quantile::median(&spreads)
}
