//! Columns and paragraphs.

use super::colours::{Colours, columns};
use fathom_program::units::{Bytes, Nanos};
use fathom_run::provenance::Provenance;
use fathom_speed::curve::Refusal;

/// What it took to find something out, as one sentence.
pub(super) fn spent(bytes_written: u64, duration_ns: u64) -> String {
    let (written, taken) = (Bytes(bytes_written), Nanos(duration_ns as f64));
    format!("{written} written, {taken} taken; nothing was left behind.")
}

/// Bytes per second as people read them.
pub(super) fn rate(bytes_per_second: f64) -> String {
    format!("{}/s", Bytes(bytes_per_second as u64))
}

/// The same with half the width of its interval, in percent.
pub(super) fn rate_within(median: f64, interval: Option<[f64; 2]>) -> String {
    match interval {
        None => rate(median),
        Some([low, high]) => format!("{} ±{:.1} %", rate(median), (high - low) / 2.0 / median * 100.0),
    }
}

/// What is known, or a dash.
pub(super) fn or_dash(known: Option<impl ToString>) -> String {
    known.map_or_else(|| "-".to_owned(), |known| known.to_string())
}

/// A ratio with its interval, or a dash.
pub(super) fn ratio(ratio: Option<[f64; 3]>) -> String {
    or_dash(ratio.map(|[value, low, high]| format!("{value:.2} ({low:.2} to {high:.2})")))
}

/// The mount and the machine, without a line end.
pub(super) fn place(from: &Provenance) -> String {
    let (mount, machine) = (&from.mount, &from.machine);
    format!("{} on {}, {}, {} CPUs", mount.fs_type, mount.path, machine.kernel, machine.cpus)
}

/// What was asked for and not measured, a paragraph each.
pub(super) fn refused(refused: &[Refusal], colours: Colours) -> String {
    let line = |one: &Refusal| wrap(&format!("not measured: {}: {}.", one.what, one.reason));
    refused.iter().map(|one| colours.lines(&line(one), Colours::open)).collect()
}

/// Columns as wide as their widest cell; the last one is as long as it is.
pub(super) fn rows<S: AsRef<str>>(header: &[S], lines: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column)).map(|cell| columns(cell));
        cells.chain([columns(header[column].as_ref())]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> = cells
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell}{}", " ".repeat(width - columns(cell).min(width))))
            .collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    let body: String = lines.iter().map(|cells| line(&mut cells.iter().map(String::as_str))).collect();
    format!("{}{body}", line(&mut header.iter().map(AsRef::as_ref)))
}

/// Columns of a paragraph.
const WIDTH: usize = 100;

/// Breaks a paragraph at spaces; lines after the first are indented by two more.
pub(super) fn wrap(text: &str) -> String {
    let indent: String = text.chars().take_while(|&c| c == ' ').collect();
    let mut lines = vec![indent.clone()];
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{indent}  "));
        }
        if let Some(line) = lines.last_mut() {
            if !line.trim().is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}
