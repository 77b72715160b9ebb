//! What came of jobs, as a table.

use super::table;
use crate::job::{Direction, Job};
use crate::load::Outcome;
use crate::units::{Bytes, Nanos};

/// One line per job and direction, its threads together.
pub fn jobs(jobs: &[Job], outcomes: &[Vec<Outcome>]) -> String {
    let mut rows = Vec::new();
    for (job, threads) in jobs.iter().zip(outcomes) {
        let Some(sum) = Outcome::together(threads) else { continue };
        rows.extend(job.directions().map(|direction| transfers(job, &sum, direction)));
        if sum.syncs.count() > 0 {
            rows.push(syncs(job, &sum));
        }
    }
    let header = [
        "job",
        "threads",
        "what",
        "count",
        "per s",
        "bandwidth",
        "mean",
        "median",
        "99 %",
        "99.9 %",
        "max",
        "cached",
    ];
    table::rows(&header, &rows)
}

fn transfers(job: &Job, sum: &Outcome, direction: Direction) -> Vec<String> {
    let histogram = &sum.transfers[direction as usize].latency;
    let what = match direction {
        Direction::Read => "read",
        Direction::Write => "write",
    };
    let [mean, median, high, higher, max] = latencies(sum, histogram);
    vec![
        job.name.clone(),
        job.numjobs.to_string(),
        what.to_owned(),
        histogram.count().to_string(),
        format!("{:.0}", sum.iops(direction)),
        format!("{}/s", Bytes(sum.bytes_per_second(direction) as u64)),
        mean,
        median,
        high,
        higher,
        max,
        cached(sum),
    ]
}

fn syncs(job: &Job, sum: &Outcome) -> Vec<String> {
    let [mean, median, high, higher, max] = latencies(sum, &sum.syncs);
    let rate = sum.syncs.count() as f64 / (sum.elapsed_ns.max(1) as f64 / 1e9);
    let empty = String::new;
    vec![
        job.name.clone(),
        empty(),
        "sync".to_owned(),
        sum.syncs.count().to_string(),
        format!("{rate:.0}"),
        empty(),
        mean,
        median,
        high,
        higher,
        max,
        empty(),
    ]
}

fn latencies(sum: &Outcome, histogram: &crate::load::Histogram) -> [String; 5] {
    let shown = |ticks: f64| Nanos(ticks * sum.ns_per_tick).to_string();
    let quantile = |share: f64| shown(histogram.quantile(share) as f64);
    [shown(histogram.mean()), quantile(0.5), quantile(0.99), quantile(0.999), shown(histogram.max() as f64)]
}

/// The share of the jobs' region that was in the page cache just before they began.
fn cached(sum: &Outcome) -> String {
    match sum.cached_before {
        Some(before) => format!("{:.0} %", before.cached as f64 / before.pages.max(1) as f64 * 100.0),
        None => "?".to_owned(),
    }
}
