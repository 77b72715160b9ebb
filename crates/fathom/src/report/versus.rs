//! A comparison as text.

use super::table::{rows, spent, wrap};
use crate::speed::curve::{Operation, State};
use crate::speed::versus::{Entry, Versus};
use crate::units::{Bytes, Nanos};

pub(super) const HEADER: [&str; 7] =
    ["what", "call", "program", "rate", "against fathom", "within calls", "starting and ending"];

/// The comparison as text: a block per state and size of a call, a line per program.
pub fn versus(versus: &Versus) -> String {
    let mut text = format!(
        "{} on {}, {}, {} CPUs: a file of {}\n\n",
        versus.provenance.mount.fs_type,
        versus.provenance.mount.path,
        versus.provenance.machine.kernel,
        versus.provenance.machine.cpus,
        Bytes(versus.file_bytes)
    );
    let mut entries: Vec<&Entry> = versus.entries.iter().collect();
    entries.sort_by_key(|entry| (entry.operation, entry.state, entry.block_bytes));
    let lines: Vec<Vec<String>> = entries.into_iter().map(line).collect();
    text.push_str(&rows(&HEADER, &lines));
    text.push('\n');
    for refusal in &versus.refused {
        text.push_str(&wrap(&format!("not measured: {}: {}.", refusal.what, refusal.reason), 100));
    }
    text.push_str(&format!("{}\n", spent(versus.bytes_written, versus.duration_ns)));
    text
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
    let rate = match (entry.bytes_per_second, entry.bytes_per_second_interval) {
        (Some(median), Some([low, high])) => {
            format!("{}/s ±{:.1} %", Bytes(median as u64), (high - low) / 2.0 / median * 100.0)
        }
        (Some(median), None) => format!("{}/s", Bytes(median as u64)),
        _ => "?".to_owned(),
    };
    let ratio = |ratio: Option<[f64; 3]>| {
        ratio.map_or_else(
            || "-".to_owned(),
            |[value, low, high]| format!("{value:.2} ({low:.2} to {high:.2})"),
        )
    };
    vec![
        work(entry).to_owned(),
        Bytes(entry.block_bytes).to_string(),
        entry.program.clone(),
        rate,
        ratio(entry.rate_over_fathoms),
        ratio(entry.call_rate_over_fathoms),
        entry.around_ns.map_or_else(|| "-".to_owned(), |ns| Nanos(ns).to_string()),
    ]
}
