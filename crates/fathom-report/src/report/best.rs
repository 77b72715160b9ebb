//! The best cell of a grid: what it is best by, what can't be distinguished from it, and its prediction.

use std::collections::BTreeMap;

use super::colours::Colours;
use super::prediction::prediction;
use super::prediction_page::prediction_page;
use super::table::{self, rate};
use fathom_predict::model::Model;
use fathom_predict::prediction::{Predicted, SCHEMA};
use fathom_predict::sweep::{Best, By, Rival};
use fathom_program::units::Nanos;

/// The best settings as text, those that can't be distinguished from them, and the prediction of the best.
pub fn best(best: &Best, model: &Model, colours: Colours) -> String {
    let mut text = table::wrap(&format!("{}.", found(best)));
    if !best.rivals.is_empty() {
        let titles = titles(best).map(|title| colours.strong(title));
        text += &format!("\n{}\n", table::rows(&titles, &lines(best)));
    }
    for remark in remarks(best) {
        text += &table::wrap(&format!("{remark}."));
    }
    text + "\n" + &prediction(&predicted(best, model))
}

/// The prediction of the best cell as one HTML file that needs no network, below what it is best by.
pub(crate) fn best_page(best: &Best, model: &Model) -> String {
    let mut remarks = vec![found(best)];
    let rival = |line: Vec<String>| format!("can't be distinguished from it: {}", line.join(", "));
    remarks.extend(lines(best).into_iter().map(rival));
    remarks.extend(self::remarks(best));
    prediction_page(&predicted(best, model), model, &remarks)
}

/// What is best, without the full stop.
fn found(best: &Best) -> String {
    let what = match best.by {
        By::Bandwidth => "The most bytes per second",
        By::Iops => "The most calls per second",
        By::Mean => "The shortest mean latency",
        By::P99 => "The shortest latency of 99 % of the calls",
        By::P999 => "The shortest latency of 99.9 % of the calls",
    };
    let apart = match best.rivals.len() {
        0 => String::new(),
        1 => "; one other can't be distinguished from it".to_owned(),
        many => format!("; {many} others can't be distinguished from it"),
    };
    format!(
        "{what}: {}, with {}{apart}",
        figure(best.by, best.figure.value),
        settings(best, &best.best.settings)
    )
}

fn titles(best: &Best) -> [&'static str; 3] {
    ["no clear difference", best.by.name(), ""]
}

fn lines(best: &Best) -> Vec<Vec<String>> {
    let line = |one: &Rival| {
        let equal = if one.equal_in > 0 { format!(", equal in {}", one.equal_in) } else { String::new() };
        let runs = format!("better in {} of {} runs{equal}", one.better_in, one.runs);
        vec![settings(best, &one.settings), figure(best.by, one.figure), runs]
    };
    best.rivals.iter().map(line).collect()
}

/// What to say of the search, one sentence each, without the full stop.
fn remarks(best: &Best) -> Vec<String> {
    let cells: usize = best.axes.iter().map(|axis| axis.values.len()).product();
    let took = format!(
        "{} runs of the model for {cells} combinations; predicting all of them takes {}",
        best.simulated, best.whole_grid
    );
    let refused =
        best.refused.iter().map(|(reason, n)| format!("refused, {n} of {cells} combinations: {reason}"));
    [took].into_iter().chain(refused).collect()
}

fn figure(by: By, value: f64) -> String {
    match by {
        By::Bandwidth => rate(value),
        By::Iops => format!("{value:.0} IOPS"),
        By::Mean | By::P99 | By::P999 => Nanos(value).to_string(),
    }
}

/// Settings in the order of the axes.
fn settings(best: &Best, of: &BTreeMap<String, String>) -> String {
    let set = best.axes.iter().filter_map(|axis| Some(format!("{}={}", axis.name, of.get(&axis.name)?)));
    set.collect::<Vec<_>>().join(" ")
}

fn predicted(best: &Best, model: &Model) -> Predicted {
    Predicted {
        schema: SCHEMA.to_owned(),
        version: best.version.clone(),
        made: best.made.clone(),
        settings: vec![settings(best, &best.best.settings)],
        runner: model.parameters.choices.runner.word().to_owned(),
        seed: best.seed,
        draws: best.draws,
        jobs: best.best.jobs.clone(),
    }
}
