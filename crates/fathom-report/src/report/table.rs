//! Columns and paragraphs.

use super::colours::columns;
use fathom_program::units::{Bytes, Nanos};

/// What it took to find something out, as one sentence.
pub(super) fn spent(bytes_written: u64, duration_ns: u64) -> String {
    let (written, taken) = (Bytes(bytes_written), Nanos(duration_ns as f64));
    format!("{written} written, {taken} taken; nothing was left behind.")
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

/// Breaks a paragraph at spaces; lines after the first are indented by two more.
pub(super) fn wrap(text: &str, width: usize) -> String {
    let indent: String = text.chars().take_while(|&c| c == ' ').collect();
    let mut lines = vec![indent.clone()];
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last + 1 + word.chars().count() > width {
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
