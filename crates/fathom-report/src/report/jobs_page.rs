//! What came of jobs, and of traces that were replayed, as pages.

use fathom_trace::show::Histogram;

use super::counts;
use super::figure::{Figure, Series, Style};
use super::jobs::{HEADER, lines};
use super::page::{Page, escaped, table};
use super::replay;
use fathom_run::replay::Replayed;
use fathom_speed::jobs::{Ran, RanSide};

/// Jobs as one HTML file that needs no network.
pub(crate) fn jobs_page(ran: &Ran) -> String {
    let mut page = Page::measured("jobs", &ran.provenance);
    page.push("<h2>Results of the jobs</h2>\n");
    page.push(&table(&HEADER, &lines(ran)));
    page.figure(rates(ran));
    page.figure(latencies(ran));
    page.spent(ran.bytes_written, ran.duration_ns);
    page.html()
}

fn rates(ran: &Ran) -> Figure {
    let mut figure = Figure::throughput(ran.jobs.iter().map(|job| job.name.clone()).collect());
    for kind in ["read", "write"] {
        let mut series = Series::new(kind, Style::Points);
        for (at, job) in ran.jobs.iter().enumerate() {
            let sides = job.sides.iter().filter(|side| side.kind == kind);
            sides.for_each(|side| series.push(job.bytes_per_second(side), at as f64));
        }
        figure.draw(series);
    }
    figure.shown =
        "All threads of a job together, from one run, which does not show how much runs differ.".to_owned();
    figure
}

fn latencies(ran: &Ran) -> Figure {
    let mut figure = counts::times("latencies", "How long calls take", "time of a call");
    let series = |name: &str, side: &RanSide| counts::stepped(name, &side.latencies_ns);
    for job in &ran.jobs {
        figure
            .series
            .extend(job.sides.iter().map(|side| series(&format!("{}, {}", job.name, side.kind), side)));
    }
    figure.shown = counts::STEPPED.to_owned();
    figure
}

/// A replayed trace as one HTML file that needs no network.
pub(crate) fn replay_page(replayed: &Replayed) -> String {
    let mut page = Page::new("Fathom: a replayed trace", "A replayed trace");
    let text = replay::replay(replayed);
    page.push(&text.lines().map(|line| format!("<p>{}</p>\n", escaped(line))).collect::<String>());
    for (name, moved) in [("reads", &replayed.reads), ("writes", &replayed.writes)] {
        if moved.operations > 0 {
            page.figure(both_times(name, &moved.took_ns, &moved.recorded_ns));
        }
    }
    page.html()
}

/// How long calls took in the replay and in the trace.
fn both_times(name: &str, took: &Histogram, recorded: &Histogram) -> Figure {
    let mut figure = counts::times(name, &format!("How long {name} took"), "time of a call");
    figure.series.push(counts::cumulated("replayed here", took));
    if recorded.total() > 0 {
        figure.series.push(counts::cumulated("in the trace", recorded));
    } else {
        figure.shown += " The trace does not say how long they took then.";
    }
    figure
}
