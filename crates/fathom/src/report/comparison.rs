//! A comparison as text and as a page: what differs first, then what else is not the same, then the rest in brief.

use super::page::{Page, escaped, table};
use super::table::{rows, wrap};
use super::text::show;
use crate::comparison::{Comparison, Item, Pair, Verdict};
use crate::finding::Value;

/// The comparison as text.
pub fn comparison(comparison: &Comparison) -> String {
    let mut text = String::new();
    for (at, side) in comparison.results.iter().enumerate() {
        let what = if at == 0 { "first".to_owned() } else { format!("{at}") };
        text.push_str(&format!("{what:>5}: {}, {}, {}\n", side.path, side.mount, side.started));
    }
    text.push('\n');
    let lines: Vec<Vec<String>> =
        of(comparison, Verdict::Different).flat_map(|item| lines(comparison, item)).collect();
    if lines.is_empty() {
        text.push_str("No difference is told.\n");
    } else {
        text.push_str(&rows(&HEADER, &lines));
    }
    if !comparison.circumstances.is_empty() {
        text.push_str("\nWhat else is not the same:\n");
        for one in &comparison.circumstances {
            text.push_str(&wrap(
                &format!("  {} ({}): {} -> {}", one.what, one.result, one.first, one.other),
                100,
            ));
        }
    }
    text.push('\n');
    for (verdict, words) in [
        (Verdict::Same, "The same"),
        (Verdict::Unclear, "Can't be told"),
        (Verdict::Incomparable, "Not measured in both"),
    ] {
        let names: Vec<&str> = of(comparison, verdict).map(|item| item.what.as_str()).collect();
        if !names.is_empty() {
            text.push_str(&wrap(&format!("{words} ({}): {}.", names.len(), names.join("; ")), 100));
        }
    }
    text.push_str(&wrap(&rule(comparison), 100));
    text
}

/// The comparison as one HTML file that needs no network.
pub fn comparison_page(comparison: &Comparison) -> String {
    let mut page = Page::new("Fathom: comparison");
    page.push("<h1>Comparison</h1>\n");
    let sides: Vec<Vec<String>> = comparison
        .results
        .iter()
        .enumerate()
        .map(|(at, side)| {
            let what = if at == 0 { "first".to_owned() } else { at.to_string() };
            vec![what, side.path.clone(), side.mount.clone(), side.started.clone()]
        })
        .collect();
    page.push(&table(&["result", "read from", "measured", "when"], &sides));
    page.push(&format!("<p class=\"soft\">{}</p>\n", escaped(&rule(comparison))));
    let section = |page: &mut Page, verdict, title: &str, none: &str| {
        let lines: Vec<Vec<String>> =
            of(comparison, verdict).flat_map(|item| lines(comparison, item)).collect();
        if lines.is_empty() && none.is_empty() {
            return;
        }
        page.push(&format!("<h2>{title}</h2>\n"));
        match lines.is_empty() {
            true => page.push(&format!("<p>{none}</p>\n")),
            false => page.push(&table(&HEADER, &lines)),
        }
    };
    section(&mut page, Verdict::Different, "Different", "No difference is told.");
    if !comparison.circumstances.is_empty() {
        let lines: Vec<Vec<String>> = comparison
            .circumstances
            .iter()
            .map(|one| vec![one.what.clone(), one.result.to_string(), one.first.clone(), one.other.clone()])
            .collect();
        page.push("<h2>What else is not the same</h2>\n");
        page.push(&table(&["what", "result", "first", "this one"], &lines));
    }
    section(&mut page, Verdict::Unclear, "Can't be told", "");
    section(&mut page, Verdict::Same, "The same", "");
    let missing: Vec<&str> = of(comparison, Verdict::Incomparable).map(|item| item.what.as_str()).collect();
    if !missing.is_empty() {
        page.push(&format!("<h2>Not measured in both</h2>\n<p>{}</p>\n", escaped(&missing.join("; "))));
    }
    page.html()
}

const HEADER: [&str; 5] = ["what", "first", "now", "ratio", "by"];

fn of(comparison: &Comparison, verdict: Verdict) -> impl Iterator<Item = &Item> {
    comparison.items.iter().filter(move |item| item.verdict == verdict)
}

/// A line for each pair that decides an item; pairs of the same values are one.
fn lines(comparison: &Comparison, item: &Item) -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for pair in item.pairs.iter().filter(|pair| pair.verdict == item.verdict) {
        let by = pair.kind.map_or_else(|| pair.method.clone(), |kind| format!("{kind} {}", pair.method));
        let values = [value(&pair.first, &item.unit), value(&pair.other, &item.unit), ratio(pair)];
        if let Some(line) = lines.iter_mut().find(|line| line[1..4] == values) {
            line[4] += &format!(", {by}");
            continue;
        }
        let [first, other, ratio] = values;
        lines.push(vec![name(comparison, item), first, other, ratio, by]);
    }
    lines
}

fn name(comparison: &Comparison, item: &Item) -> String {
    match comparison.results.len() {
        2 => item.what.clone(),
        _ => format!("{} ({})", item.what, item.result),
    }
}

fn value(value: &Value, unit: &str) -> String {
    match unit {
        "bytes_per_second" => format!("{}/s", show(value, "bytes")),
        unit => show(value, unit),
    }
}

fn ratio(pair: &Pair) -> String {
    pair.ratio
        .map_or_else(|| "-".to_owned(), |[ratio, low, high]| format!("{ratio:.2} ({low:.2} to {high:.2})"))
}

fn rule(comparison: &Comparison) -> String {
    format!(
        "What a format or a setting fixes must be equal. A quantity differs where its ratio lies beyond {:.2} or {:.2} \
         with certainty; {} ratios share a rate of false alarms of {:.0} %.",
        1.0 + comparison.margin,
        1.0 / (1.0 + comparison.margin),
        comparison.ratios,
        comparison.rate * 100.0
    )
}
