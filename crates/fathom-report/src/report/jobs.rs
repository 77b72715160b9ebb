//! What came of jobs, as a table.

use super::table;
use fathom_program::units::Nanos;
use fathom_speed::jobs::{Ran, RanJob, RanSide};

pub(super) const HEADER: [&str; 12] = [
    "job",
    "threads",
    "what",
    "count",
    "per s",
    "bandwidth",
    "mean",
    "median",
    "p99",
    "p99.9",
    "max",
    "cached",
];

/// The result of jobs as text: one line per job and kind of call, all threads of the job together.
pub fn jobs(ran: &Ran) -> String {
    format!("{}\n{}\n", table::rows(&HEADER, &lines(ran)), table::spent(ran.bytes_written, ran.duration_ns))
}

pub(super) fn lines(ran: &Ran) -> Vec<Vec<String>> {
    ran.jobs.iter().flat_map(|job| job.sides.iter().map(|side| line(job, side))).collect()
}

fn line(job: &RanJob, side: &RanSide) -> Vec<String> {
    let shown = |ns: f64| Nanos(ns).to_string();
    let (threads, bandwidth, cached) = match side.kind.as_str() {
        "sync" => Default::default(),
        _ => {
            let rate = job.bytes_per_second(side);
            (job.threads.to_string(), table::rate(rate), cached(job))
        }
    };
    vec![
        job.name.clone(),
        threads,
        side.kind.clone(),
        side.calls.to_string(),
        format!("{:.0}", job.calls_per_second(side)),
        bandwidth,
        shown(side.mean_ns),
        shown(side.quantile(0.5)),
        shown(side.quantile(0.99)),
        shown(side.quantile(0.999)),
        shown(side.max_ns),
        cached,
    ]
}

/// The share of the jobs' region that was in the page cache just before they began.
fn cached(job: &RanJob) -> String {
    job.cached_share.map_or_else(|| "?".to_owned(), |share| format!("{:.0} %", share * 100.0))
}
