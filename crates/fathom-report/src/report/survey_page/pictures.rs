//! The figures of one question: its readings, and the answer drawn into them.

mod ages;
mod marks;
mod trials;
mod views;

use crate::report::figure::Figure;
use fathom_run::samples::Samples;
use fathom_survey::finding::Finding;
use fathom_survey::survey::Survey;

/// How the readings of a question are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// Latency against the place in the file.
    Sweep,
    /// The same, and folded at four times the period.
    Comb,
    /// The same over all runs, which begin at different bytes.
    Interleaved,
    /// Latency of single reads against the distance from what was read first.
    Probes,
    /// Latency against the size of a call.
    Sizes,
    /// Throughput against the size of a call.
    Rates,
    /// Time of a sync against the age of what it syncs.
    Ages,
    /// How latencies spread.
    Spread,
}

/// The figures of a finding from the runs that it rests on.
pub(super) fn of(survey: &Survey, finding: &Finding, runs: &[Samples]) -> Vec<Figure> {
    let answer = marks::Answer::new(survey, finding);
    if runs.is_empty() {
        return trials::trials(&answer).into_iter().collect();
    }
    match view(&finding.parameter, runs) {
        View::Sweep => views::sweep(&answer, runs).into_iter().collect(),
        View::Comb => views::sweep(&answer, runs).into_iter().chain(views::folded(&answer, runs)).collect(),
        View::Interleaved => views::interleaved(&answer, runs).into_iter().collect(),
        View::Probes => views::probes(&answer, runs).into_iter().collect(),
        View::Sizes => views::sizes(&answer, runs).into_iter().collect(),
        View::Rates => views::rates(&answer, runs).into_iter().collect(),
        View::Ages => ages::ages(&answer, runs).into_iter().chain(views::spread(&answer, runs)).collect(),
        View::Spread => views::quantiles(&answer).into_iter().chain(views::spread(&answer, runs)).collect(),
    }
}

/// Whose runs a question was answered from that made none of its own: both rest on the same samples.
pub(super) fn lender(parameter: &str) -> Option<&'static str> {
    match parameter {
        "page_cost" => Some("call_cost"),
        "pointers_per_indirect" | "allocation_scheme" => Some("direct_pointers"),
        _ => None,
    }
}

fn view(parameter: &str, runs: &[Samples]) -> View {
    match parameter {
        "page_size" | "block_size" => View::Comb,
        "direct_pointers" | "pointers_per_indirect" | "allocation_scheme" => View::Interleaved,
        "readahead_first" | "readahead_random" => View::Probes,
        "call_cost" | "page_cost" => View::Sizes,
        "copy_knee" => View::Rates,
        "writeback_delay" | "commit_interval" => View::Ages,
        "sync_latency" | "device_latency" => View::Spread,
        _ if views::longest(runs).is_some() => View::Sweep,
        _ => View::Spread,
    }
}
