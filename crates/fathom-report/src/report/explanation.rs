//! What accounts for a difference, as tables.

use super::colours::Colours;
use super::table::{rate, rows, wrap};
use fathom_predict::explanation::{Explained, Explanation, Part};

/// Parts that account for less are counted, and not listed.
const LEAST: f64 = 0.02;

/// Sums of shares that are further from all of it are said.
const FAR: f64 = 0.1;

/// The explanation as text: one table per job, which begins with the parameters that account for most of the difference.
pub fn explanation(explanation: &Explanation, colours: Colours) -> String {
    let [first, second] = &explanation.names;
    let mut text = format!("First: {first}\nSecond: {second}\n");
    for job in &explanation.jobs {
        text += &of_job(job, explanation.alike.is_some(), colours);
    }
    if !explanation.unmodelled.is_empty() {
        let others = explanation.unmodelled.join("; ");
        text += &wrap(&format!("\nAlso different, but not in the model: {others}."));
    }
    if let Some(model) = &explanation.alike {
        text += &wrap(&format!(
            "\nWhat surveys do not measure, such as the time of each call on a mount, comes from the model '{model}' for both, so differences in it do not show here: 'fathom calibrate' measures it."
        ));
    }
    text + "Both are predicted; nothing was run.\n"
}

fn of_job(job: &Explained, are_surveys: bool, colours: Colours) -> String {
    let [first, second] = job.bytes_per_second;
    let [of_first, of_second] = job.intervals.map(|[low, high]| format!("({} to {})", rate(low), rate(high)));
    let mut text = format!(
        "\n{}: {} {of_first} on the first, {} {of_second} on the second",
        job.job,
        rate(first),
        rate(second)
    );
    let is_listed = |part: &&Part| part.share.is_some_and(|share| share.abs() >= LEAST);
    let listed: Vec<&Part> = job.parts.iter().filter(is_listed).collect();
    if listed.is_empty() {
        let which = if are_surveys { "no parameter that both surveys measured" } else { "no parameter" };
        text += &format!(": {which} makes a difference.\n");
    } else {
        text += &format!(": {:.2} times\n", second / first);
        if job.is_open() {
            text += &wrap(
                "The 90 % intervals overlap: the models do not tell on which of them the job is faster, nor why.",
            );
        }
        let header = HEADER.map(|title| colours.strong(title)).to_vec();
        let lines: Vec<Vec<String>> = listed.iter().map(|part| line(part)).collect();
        text += &format!("\n{}", rows(&header, &lines));
    }
    text + &rest(job, listed.len())
}

/// What the table does not have, a line each.
fn rest(job: &Explained, listed: usize) -> String {
    let Some(correction) = job.correction else { return String::new() };
    let mut lines = Vec::new();
    match job.parts.len() - listed {
        0 => {}
        others => lines.push(format!("{others} more parameters differ, and account for less than 2 % each.")),
    }
    if correction.abs() >= LEAST {
        let percent = correction * 100.0;
        lines.push(format!(
            "What predictions are corrected by, as the models were off on runs: {percent:.0} %."
        ));
    }
    let sum = job.parts.iter().filter_map(|part| part.share).sum::<f64>() + correction;
    if (sum - 1.0).abs() > FAR {
        let percent = sum * 100.0;
        lines.push(format!(
            "The shares add up to {percent:.0} %: parameters do more, or less, together than alone."
        ));
    }
    lines.iter().map(|line| wrap(line)).collect()
}

const HEADER: [&str; 6] =
    ["parameter", "first", "second", "share", "first with the second's", "second with the first's"];

fn line(part: &Part) -> Vec<String> {
    let [first, second] = part.values.clone();
    let share = part.share.map(|share| format!("{:.0} %", share * 100.0)).unwrap_or_default();
    vec![part.parameter.clone(), first, second, share, rate(part.first_with_it), rate(part.second_without_it)]
}
