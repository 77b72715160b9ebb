//! A comparison as text.

use super::colours::Colours;
use super::sketch;
use super::table::{or_dash, place, rate_within, ratio, refused, rows, spent};
use fathom_program::units::{Bytes, Nanos};
use fathom_speed::curve::{Operation, State};
use fathom_speed::versus::jobs::{Contest, JobsVersus, Side};
use fathom_speed::versus::{Entry, Versus};

pub(super) const HEADER: [&str; 7] =
    ["what", "call", "program", "rate", "against fathom", "within calls", "starting and ending"];

/// Columns of a bar.
const BAR: usize = 16;

/// The comparison as text: a block per state and size of a call, a line per program, with a bar relative to the quickest.
pub fn versus(versus: &Versus, colours: Colours) -> String {
    let mut text = format!("{}: a file of {}\n\n", place(&versus.provenance), Bytes(versus.file_bytes));
    let mut entries: Vec<&Entry> = versus.entries.iter().collect();
    let block = |entry: &Entry| (entry.operation, entry.state, entry.block_bytes);
    entries.sort_by_key(|entry| block(entry));
    let quickest = |of: &Entry| {
        let alike = entries.iter().filter(|entry| block(entry) == block(of));
        alike.filter_map(|entry| entry.bytes_per_second).fold(0.0, f64::max)
    };
    let lines: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            let mut cells = line(entry);
            let share = entry.bytes_per_second.map_or(0.0, |rate| rate / quickest(entry));
            cells.insert(3, sketch::bar(share, BAR));
            cells[5] = judged(&cells[5], entry.rate_over_fathoms, colours);
            cells[6] = judged(&cells[6], entry.call_rate_over_fathoms, colours);
            cells
        })
        .collect();
    let mut header: Vec<String> = HEADER.map(|title| colours.strong(title)).to_vec();
    header.insert(3, String::new());
    text.push_str(&rows(&header, &lines));
    text.push('\n');
    text.push_str(&refused(&versus.refused, colours));
    text.push_str(&format!("{}\n", spent(versus.bytes_written, versus.duration_ns)));
    text
}

/// A ratio in a colour where its interval tells the program from Fathom: green where that is quicker.
fn judged(cell: &str, ratio: Option<[f64; 3]>, colours: Colours) -> String {
    match ratio {
        Some([_, low, _]) if low > 1.0 => colours.good(cell),
        Some([_, _, high]) if high < 1.0 => colours.bad(cell),
        _ => cell.to_owned(),
    }
}

/// What is done, from which state.
pub(super) fn work(entry: &Entry) -> &'static str {
    match (entry.operation, entry.state) {
        (Operation::Read, State::Cold) => "read, cold",
        (Operation::Read, _) => "read, cached",
        (_, _) => "overwrite",
    }
}

pub(super) fn line(entry: &Entry) -> Vec<String> {
    let rate = entry.bytes_per_second.map(|median| rate_within(median, entry.bytes_per_second_interval));
    vec![
        work(entry).to_owned(),
        Bytes(entry.block_bytes).to_string(),
        entry.program.clone(),
        rate.unwrap_or_else(|| "?".to_owned()),
        ratio(entry.rate_over_fathoms),
        ratio(entry.call_rate_over_fathoms),
        or_dash(entry.around_ns.map(Nanos)),
    ]
}

pub(super) const JOBS_HEADER: [&str; 7] =
    ["job", "fathom per s", "fio per s", "fathom over fio", "fathom p99", "fio p99", "fathom over fio"];

/// A comparison of jobs as text: a line per job.
pub fn versus_jobs(versus: &JobsVersus, colours: Colours) -> String {
    let lines: Vec<Vec<String>> = versus.jobs.iter().map(job_line).collect();
    let header = JOBS_HEADER.map(|title| colours.strong(title)).to_vec();
    format!(
        "{}: fathom and {}, alternating\n\n{}\n{}{}\n",
        place(&versus.provenance),
        versus.fio,
        rows(&header, &lines),
        refused(&versus.refused, colours),
        spent(versus.bytes_written, versus.duration_ns)
    )
}

pub(super) fn job_line(contest: &Contest) -> Vec<String> {
    let rate = |side: &Side| or_dash(side.per_second.map(|rate| format!("{rate:.0}")));
    let p99 = |side: &Side| or_dash(side.p99_ns.map(Nanos));
    vec![
        contest.job.clone(),
        rate(&contest.fathom),
        rate(&contest.fio),
        ratio(contest.rate_over_fios),
        p99(&contest.fathom),
        p99(&contest.fio),
        ratio(contest.p99_over_fios),
    ]
}
