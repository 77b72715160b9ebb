//! A comparison as text and as a page: what differs first, then what else is not the same, then the rest in brief.

use std::collections::BTreeSet;

use super::figure::{Axis, Figure, Mark, Origin, Quantity, Rounded, Series, Shape, Style};
use super::page::{Page, escaped, table};
use super::speed_page::{by_family, rates};
use super::table::{ratio, rows, wrap};
use crate::comparison::{Comparison, DRIFT, Item, Outcome, Pair, UNREST, Verdict};
use fathom_program::units::Bytes;
use fathom_speed::curve::{Curve, Point};
use fathom_survey::finding::Value;

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
        text.push_str("No difference was found.\n");
    } else {
        text.push_str(&rows(&HEADER, &lines));
    }
    if !comparison.circumstances.is_empty() {
        text.push_str("\nOther differences:\n");
        for one in &comparison.circumstances {
            text.push_str(&wrap(&format!("  {} ({}): {} -> {}", one.what, one.result, one.first, one.other)));
        }
    }
    text.push('\n');
    for (verdict, words) in [
        (Verdict::Same, "The same"),
        (Verdict::Unclear, "Not clear"),
        (Verdict::Incomparable, "Not measured in both"),
    ] {
        let names: Vec<&str> = of(comparison, verdict).map(|item| item.what.as_str()).collect();
        if !names.is_empty() {
            text.push_str(&wrap(&format!("{words} ({}): {}.", names.len(), names.join("; "))));
        }
    }
    text.push_str(&wrap(&rule(comparison)));
    text
}

/// The comparison as one HTML file that needs no network; `outcomes` are the compared results.
pub fn comparison_page(comparison: &Comparison, outcomes: &[(String, Outcome)]) -> String {
    let mut page = Page::new("Fathom: comparison", "Comparison");
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
    section(&mut page, Verdict::Different, "Different", "No difference was found.");
    if let Some(figure) = ratios(comparison) {
        page.figure(figure);
    }
    overlaid(outcomes).into_iter().for_each(|figure| page.figure(figure));
    if !comparison.circumstances.is_empty() {
        let lines: Vec<Vec<String>> = comparison
            .circumstances
            .iter()
            .map(|one| vec![one.what.clone(), one.result.to_string(), one.first.clone(), one.other.clone()])
            .collect();
        page.push("<h2>Other differences</h2>\n");
        page.push(&table(&["what", "result", "first", "this one"], &lines));
    }
    section(&mut page, Verdict::Unclear, "Not clear", "");
    section(&mut page, Verdict::Same, "The same", "");
    let missing: Vec<&str> = of(comparison, Verdict::Incomparable).map(|item| item.what.as_str()).collect();
    if !missing.is_empty() {
        page.push(&format!("<h2>Not measured in both</h2>\n<p>{}</p>\n", escaped(&missing.join("; "))));
    }
    page.html()
}

/// Every ratio with its interval, and the margin that it must leave.
fn ratios(comparison: &Comparison) -> Option<Figure> {
    let compared: Vec<(&Item, &Pair, [f64; 3])> = comparison
        .items
        .iter()
        .flat_map(|item| item.pairs.iter().map(move |pair| (item, pair)))
        .filter_map(|(item, pair)| Some((item, pair, pair.ratio?)))
        .collect();
    let named = |item: &Item, pair: &Pair| match pair.kind {
        Some(kind) => format!("{}, {kind}", item.what),
        None => item.what.clone(),
    };
    let mut names: Vec<String> = Vec::new();
    for name in compared.iter().map(|(item, pair, _)| named(item, pair)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return None;
    }
    let mut figure = Figure::new(
        "ratios".to_owned(),
        "How many times as much as in the first",
        Axis::new("this one over the first", Quantity::Times).log(),
        Axis::of_names(names.clone()),
    );
    for result in 1..comparison.results.len() {
        let mut series = Series::new(comparison.results[result].path.clone(), Style::Points);
        for &(item, pair, [ratio, low, high]) in compared.iter().filter(|one| one.0.result == result as u64) {
            let name = named(item, pair);
            if let Some(at) = names.iter().position(|known| *known == name) {
                series.push_within(ratio, at as f64, [low, high]);
            }
        }
        figure.series.push(series);
    }
    let margin = 1.0 + comparison.margin;
    let band = Shape::Between { x: [Rounded(1.0 / margin), Rounded(margin)] };
    figure.marks.push(Mark::new("counts as no difference", Origin::Reference, band));
    figure.marks.push(Mark::at("the same", Origin::Reference, [1.0]));
    figure.shown =
        "Bars reach over the interval that all ratios together hold at the stated rate; one that lies \
        outside of the band as a whole is a difference. Thresholds, capacities and extents have half of it."
            .to_owned();
    Some(figure)
}

/// The curves of all results over one another, one figure for each size of file.
fn overlaid(outcomes: &[(String, Outcome)]) -> Vec<Figure> {
    let curves: Vec<(&str, &Curve)> = outcomes
        .iter()
        .filter_map(|(path, outcome)| match outcome {
            Outcome::Curve(curve) => Some((path.as_str(), &**curve)),
            Outcome::Survey(_) => None,
        })
        .collect();
    let points = curves.iter().flat_map(|(_, curve)| &curve.points);
    let files: BTreeSet<u64> = points.map(|point| point.setting.file_bytes).collect();
    let figure = |(number, file): (usize, u64)| {
        let of_each = curves.iter().flat_map(|(path, curve)| {
            let points: Vec<&Point> =
                curve.points.iter().filter(|point| point.setting.file_bytes == file).collect();
            by_family(&points).into_iter().map(move |(name, points)| (format!("{name}: {path}"), points))
        });
        let mut figure = rates(number, &of_each.collect::<Vec<_>>());
        figure.title += &format!(", file of {}", Bytes(file));
        figure
    };
    files.into_iter().enumerate().map(figure).collect()
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
        let values = [value(&pair.first, &item.unit), value(&pair.other, &item.unit), ratio(pair.ratio)];
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
        "bytes_per_second" => format!("{}/s", value.in_words("bytes")),
        unit => value.in_words(unit),
    }
}

fn rule(comparison: &Comparison) -> String {
    let edges = |margin: f64| format!("{:.2} or {:.2}", 1.0 + margin, 1.0 / (1.0 + margin));
    format!(
        "What a format or a setting fixes must be equal. A quantity differs where its ratio lies beyond {} with \
         certainty, a size that a setting fixes but for what is free beyond {}, a sync beyond {}; {} ratios share a rate of false alarms \
         of {:.0} %.",
        edges(comparison.margin),
        edges(comparison.margin * DRIFT),
        edges(comparison.margin * UNREST),
        comparison.ratios,
        comparison.rate * 100.0
    )
}
