//! What was tried or seen without a clock: sizes with what came of them, and extents one after the other.

use super::marks::Answer;
use crate::report::figure::{Axis, Figure, Mark, Origin, Quantity, Rounded, Series, Shape, Style};
use fathom_survey::experiment;
use fathom_survey::finding::{Kind, Trial};

/// The figure of a finding whose evidence rests on trials; nothing for any other.
pub(super) fn trials(answer: &Answer<'_>) -> Option<Figure> {
    let pieces = answer.finding.evidence.iter().filter(|piece| piece.kind == Kind::Witness);
    let trials: Vec<&Trial> = pieces.flat_map(|piece| &piece.trials).collect();
    trials.first()?;
    Some(match answer.figure() {
        experiment::Figure::Extents => extents(answer, &trials),
        _ => sizes(answer, &trials),
    })
}

/// Each in the order in which it comes first.
fn distinct<'a>(trials: &[&'a Trial], what: impl Fn(&'a Trial) -> &'a str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for name in trials.iter().map(|trial| what(trial)) {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

fn upright_names(names: &[&str]) -> Axis {
    Axis::of_names(names.iter().map(|name| (*name).to_owned()).collect())
}

fn place(names: &[&str], name: &str) -> f64 {
    names.iter().position(|known| *known == name).unwrap_or(0) as f64
}

/// A dot for each size that was tried: a row for each case, a sign for each outcome.
fn sizes(answer: &Answer<'_>, trials: &[&Trial]) -> Figure {
    let cases = distinct(trials, |trial| &trial.case);
    let mut figure = Figure::new(
        answer.id(1),
        "What was tried, and what came of it",
        Axis::new("size", Quantity::Bytes).log().fixed(),
        upright_names(&cases),
    );
    let mut counts = Vec::new();
    for outcome in distinct(trials, |trial| &trial.outcome) {
        let mut series = Series::new(outcome, Style::Markers);
        let alike = trials.iter().filter(|trial| trial.outcome == outcome);
        alike.for_each(|trial| series.push(trial.bytes.max(1) as f64, place(&cases, &trial.case)));
        counts.push(format!("{outcome} {}", series.x.len()));
        figure.series.push(series);
    }
    // A limit of no bytes has no place on a logarithmic axis.
    let has_place = |mark: &Mark| !matches!(&mark.shape, Shape::At { x } if x.iter().any(|x| x.0 <= 0.0));
    figure.marks = answer.upright().into_iter().filter(has_place).collect();
    figure.shown = format!("Trials: {}. Each is drawn, none was timed.", counts.join(", "));
    figure
}

/// The extents of each file from its start on, and how far the longest one goes.
fn extents(answer: &Answer<'_>, trials: &[&Trial]) -> Figure {
    let cases = distinct(trials, |trial| &trial.case);
    let mut figure = Figure::new(
        answer.id(1),
        "The extents of fresh files",
        Axis::new("place in the file", Quantity::Bytes).fixed(),
        upright_names(&cases),
    );
    let mut last = 0.0_f64;
    for case in &cases {
        let mut series = Series::new(*case, Style::Estimates);
        let mut start = 0.0;
        for trial in trials.iter().filter(|trial| trial.case == *case) {
            let end = start + trial.bytes as f64;
            series.push_within((start + end) / 2.0, place(&cases, case), [start, end]);
            start = end;
        }
        last = last.max(start);
        figure.series.push(series);
    }
    figure.x.range = Some([0.0, last * 1.02].map(Rounded));
    figure.marks = longest(answer, trials);
    figure.shown = format!(
        "{} extents. A dot is the middle of an extent, the bar about it reaches from its start to its end. The map \
         joins extents that lie side by side on the device.",
        trials.len()
    );
    figure
}

/// Where the longest extent begins and ends.
fn longest(answer: &Answer<'_>, trials: &[&Trial]) -> Vec<Mark> {
    let value = answer.finding.value.as_ref().and_then(|value| value.as_number());
    let Some(length) = value else { return Vec::new() };
    let mut start = 0.0;
    for trial in trials.iter().filter(|trial| trial.case == trials[0].case) {
        if trial.bytes as f64 == length {
            return vec![Mark::at("start and end of the longest", Origin::Witness, [start, start + length])];
        }
        start += trial.bytes as f64;
    }
    Vec::new()
}
