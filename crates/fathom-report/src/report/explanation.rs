//! What accounts for a difference, as tables.

use super::colours::Colours;
use super::table::{rate, rows, wrap};
use fathom_predict::explanation::{Explained, Explanation, Part};

/// Parts that account for less are counted, and not listed.
const LEAST: f64 = 0.02;

/// One table per job: the parameters that account for most of the difference first.
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
    let mut text = format!("\n{}: {} on the first, {} on the second", job.job, rate(first), rate(second));
    let is_listed = |part: &&Part| part.share.is_some_and(|share| share.abs() >= LEAST);
    let listed: Vec<&Part> = job.parts.iter().filter(is_listed).collect();
    if listed.is_empty() {
        let which = if are_surveys { "no parameter that both surveys measured" } else { "no parameter" };
        return text + &format!(": {which} makes a difference.\n");
    }
    text += &format!(" ({:.2} times)\n\n", second / first);
    let header = HEADER.map(|title| colours.strong(title)).to_vec();
    let lines: Vec<Vec<String>> = listed.iter().map(|part| line(part)).collect();
    text += &rows(&header, &lines);
    match job.parts.len() - listed.len() {
        0 => {}
        others => text += &format!("{others} more parameters differ, and account for less than 2 % each.\n"),
    }
    text
}

const HEADER: [&str; 6] =
    ["parameter", "first", "second", "share", "first with the second's", "second with the first's"];

fn line(part: &Part) -> Vec<String> {
    let [first, second] = part.values.clone();
    let share = part.share.map(|share| format!("{:.0} %", share * 100.0)).unwrap_or_default();
    vec![part.parameter.clone(), first, second, share, rate(part.first_with_it), rate(part.second_without_it)]
}
