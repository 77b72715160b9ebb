//! The lab's table: one line per case, one column per parameter, and the totals.

use super::results::{CaseReport, LabReport, OutcomeName, Total};
use super::score::{ParameterScore, Score, Scored};
use crate::case::{Basis, Truth};
use crate::finding::{Kind, Status, Value, number};

/// The widest line, in columns.
const WIDTH: usize = 120;
/// How many sizes of a ramp are printed, at most. Of longer ramps the ends stand.
const MOST_SIZES: usize = 10;
/// The last rows.
const TOTALS: [&str; 5] = ["right", "wrong", "no answer", "not judged", "answered"];
/// What stands between two columns.
const GAP: usize = 2;

/// The report as text for people: lines of at most 120 columns, ASCII only.
pub fn table(report: &LabReport) -> String {
    let mut text = scores(report);
    for case in &report.cases {
        if case.outcome != OutcomeName::Surveyed {
            text.push_str(&wrapped(&unsurveyed(case)));
        }
        for line in mistakes(case) {
            text.push_str(&wrapped(&line));
        }
    }
    text.push_str(&legend(report));
    text
}

/// As many tables below one another as it takes to show every parameter.
fn scores(report: &LabReport) -> String {
    let cases: Vec<&CaseReport> =
        report.cases.iter().filter(|case| case.outcome == OutcomeName::Surveyed).collect();
    let with_timing = report.evidence.len() > 1;
    let mut labels = vec!["case".to_owned()];
    labels.extend(cases.iter().map(|case| case.name.clone()));
    labels.extend(TOTALS.map(str::to_owned));
    if with_timing {
        labels.extend(TOTALS.map(|name| format!("timing {name}")));
    }
    let parameters = report.totals.iter().zip(&report.timing_totals);
    let mut columns: Vec<Vec<String>> = parameters
        .map(|(total, timing)| {
            let asked = |case: &&CaseReport| {
                let found = case.parameters.iter().find(|one| one.parameter == total.parameter);
                found.map_or_else(String::new, |found| answer(case, found, report))
            };
            let mut column = vec![short(&total.parameter)];
            column.extend(cases.iter().map(asked));
            column.extend(totalled(total));
            column.extend(with_timing.then(|| totalled(timing)).into_iter().flatten());
            column
        })
        .collect();
    let took = cases.iter().map(|case| format!("{:.1} s", case.duration_ns as f64 / 1e9));
    columns.push(std::iter::once("took".to_owned()).chain(took).collect());
    let blocks = blocks(&labels, &columns);
    let texts: Vec<String> = blocks.iter().map(|block| aligned(&labels, block, cases.len() + 1)).collect();
    texts.join("\n")
}

/// The columns in groups that are no wider than a line, with the labels before them.
fn blocks<'a>(labels: &[String], columns: &'a [Vec<String>]) -> Vec<&'a [Vec<String>]> {
    let (mut blocks, mut first, mut used) = (Vec::new(), 0, width(labels));
    for (index, column) in columns.iter().enumerate() {
        let wanted = GAP + width(column);
        if index > first && used + wanted > WIDTH {
            blocks.push(&columns[first..index]);
            (first, used) = (index, width(labels));
        }
        used += wanted;
    }
    blocks.push(&columns[first..]);
    blocks
}

fn width(column: &[String]) -> usize {
    column.iter().map(|text| text.chars().count()).max().unwrap_or(0)
}

/// What was said and what is true, for each wrong answer of a case.
fn mistakes(case: &CaseReport) -> Vec<String> {
    let mut lines = Vec::new();
    for parameter in &case.parameters {
        let unit = unit(case, &parameter.parameter);
        let Some(truth) = truth_in_words(&parameter.truth, unit) else { continue };
        let timing = parameter.timing.as_ref().filter(|timing| timing.value != parameter.finding.value);
        let timing = timing.map(|timing| ("timing alone", timing));
        for (who, said) in [("the finding", &parameter.finding)].into_iter().chain(timing) {
            if said.score == Score::Wrong {
                let name = &parameter.parameter;
                let said = said
                    .value
                    .as_ref()
                    .map_or("not applicable".to_owned(), |value| shown(value, unit, usize::MAX));
                lines.push(format!("{}: {name}: {who} says {said}, the truth is {truth}", case.name));
            }
        }
    }
    lines
}

/// The truth in words, where it is known.
pub(super) fn truth_in_words(truth: &Truth, unit: &str) -> Option<String> {
    match truth {
        Truth::Known { value, .. } => Some(shown(value, unit, usize::MAX)),
        Truth::Within { interval: [low, high], .. } => {
            Some(format!("{} to {}", number(*low, unit), number(*high, unit)))
        }
        Truth::NotApplicable { .. } => Some("not applicable".to_owned()),
        Truth::Unknown => None,
    }
}

/// The line that is printed when a case ends.
pub fn line(case: &CaseReport) -> String {
    if case.outcome != OutcomeName::Surveyed {
        return unsurveyed(case) + "\n";
    }
    let count = |wanted: fn(&Score) -> bool| {
        case.parameters.iter().filter(|parameter| wanted(&parameter.finding.score)).count()
    };
    format!(
        "{}: {} right, {} wrong, {} without an answer, {} not judged, in {:.1} s\n",
        case.name,
        count(|score| *score == Score::Right),
        count(|score| *score == Score::Wrong),
        count(|score| *score == Score::Silent),
        count(|score| matches!(score, Score::NotScored(_))),
        case.duration_ns as f64 / 1e9
    )
}

/// A parameter's name as the head of a column.
fn short(name: &str) -> String {
    name.strip_prefix("readahead_").unwrap_or(name).trim_end_matches("_size").to_owned()
}

fn answer(case: &CaseReport, parameter: &ParameterScore, report: &LabReport) -> String {
    let Scored { status, value, score, .. } = &parameter.finding;
    let said = match (status, value) {
        (Status::Measured, Some(value)) => shown(value, unit(case, &parameter.parameter), MOST_SIZES),
        (Status::NotApplicable, _) => "n/a".to_owned(),
        _ => String::new(),
    };
    let star = if parameter.truth.basis() == Some(Basis::Witness) { "*" } else { "" };
    let mark = match score {
        Score::Right => format!("ok{star}"),
        Score::Wrong => format!("WRONG{star}"),
        Score::Silent => "no answer".to_owned(),
        Score::NotScored(_) => "-".to_owned(),
    };
    // Where timing is the only evidence, or says what the finding says, there is nothing to add.
    let timing =
        parameter.timing.as_ref().filter(|timing| report.evidence.len() > 1 && timing.score != *score);
    let timed = match timing.map(|timing| &timing.score) {
        Some(Score::Wrong) => "t!",
        Some(Score::Silent) => "t?",
        _ => "",
    };
    [said.as_str(), mark.as_str(), timed]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn shown(value: &Value, unit: &str, most_sizes: usize) -> String {
    let Value::List(sizes) = value else { return value.in_words(unit) };
    let mut words: Vec<String> = sizes.iter().map(|size| (size / 1024).to_string()).collect();
    if words.len() > most_sizes {
        let ends = most_sizes / 2;
        words.splice(ends..words.len() - ends, ["..".to_owned()]);
    }
    format!("{} KiB", words.join(" "))
}

/// The unit of a parameter of a case.
fn unit<'a>(case: &'a CaseReport, parameter: &str) -> &'a str {
    let finding = case.findings.iter().find(|finding| finding.parameter == parameter);
    finding.map_or("", |finding| &finding.unit)
}

/// The last cells of a parameter's column.
fn totalled(total: &Total) -> [String; TOTALS.len()] {
    let counts = [total.right, total.wrong, total.silent, total.not_scored];
    let [right, wrong, silent, unjudged] = counts.map(|count| count.to_string());
    [right, wrong, silent, unjudged, format!("{:.0} %", total.answered_share * 100.0)]
}

/// The totals of all parameters in a line.
fn overall(what: &str, totals: &[Total]) -> String {
    let sum = |count: fn(&Total) -> u32| totals.iter().map(count).sum::<u32>();
    let (right, wrong) = (sum(|total| total.right), sum(|total| total.wrong));
    let (silent, unjudged) = (sum(|total| total.silent), sum(|total| total.not_scored));
    let answered = right + wrong + unjudged;
    let share = 100.0 * f64::from(answered) / f64::from((answered + silent).max(1));
    format!(
        "{what}: {right} right, {wrong} wrong, {silent} without an answer, {unjudged} not judged; {share:.1} % answered."
    )
}

/// The labels and some columns next to each other, without cases that were not asked about any of them; with
/// a rule below the heads and another after `cases` rows.
fn aligned(labels: &[String], columns: &[Vec<String>], cases: usize) -> String {
    let all: Vec<(&[String], usize)> = std::iter::once(labels)
        .chain(columns.iter().map(Vec::as_slice))
        .map(|column| (column, width(column)))
        .collect();
    let rule = "-".repeat((all.iter().map(|(_, width)| width + GAP).sum::<usize>() - GAP).min(WIDTH)) + "\n";
    let cell = |column: &[String], row: usize| column.get(row).cloned().unwrap_or_default();
    let mut text = String::new();
    for row in 0..labels.len() {
        if row == 1 || row == cases {
            text.push_str(&rule);
        }
        if columns.iter().all(|column| cell(column, row).is_empty()) {
            continue;
        }
        let padded: Vec<String> =
            all.iter().map(|&(column, width)| format!("{:<width$}", cell(column, row))).collect();
        text.push_str(padded.join(&" ".repeat(GAP)).trim_end());
        text.push('\n');
    }
    text
}

fn unsurveyed(case: &CaseReport) -> String {
    let what = match case.outcome {
        OutcomeName::Surveyed => "surveyed",
        OutcomeName::Skipped => "skipped",
        OutcomeName::Unsupported => "unsupported by this kernel",
        OutcomeName::Failed => "FAILED",
    };
    format!("{}: {what}: {}", case.name, case.reason.as_deref().unwrap_or_default())
}

fn legend(report: &LabReport) -> String {
    let kinds: Vec<String> = report.evidence.iter().map(Kind::to_string).collect();
    let mut lines = vec![format!("{}, evidence: {}.", report.kernel, kinds.join(", "))];
    lines.push(overall("all parameters", &report.totals));
    if report.evidence.len() > 1 {
        lines.push(overall("all parameters, timing alone", &report.timing_totals));
    }
    let by_witness = report
        .cases
        .iter()
        .flat_map(|case| &case.parameters)
        .any(|parameter| parameter.truth.basis() == Some(Basis::Witness));
    if by_witness {
        lines.push("* judged by the witness of the same case: no rule is certain there.".to_owned());
    }
    if report.evidence.len() > 1 {
        lines.push("t? timing alone has no answer, t! timing alone is wrong.".to_owned());
    }
    lines.iter().map(|line| wrapped(line)).collect()
}

/// Breaks a line at spaces; what follows is indented.
fn wrapped(line: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in line.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            text.push_str("\n    ");
            column = 4;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Evidence, Finding};
    use std::time::Duration;

    fn known(value: u64, basis: Basis) -> Truth {
        Truth::Known { value: Value::Whole(value), basis }
    }

    fn scored(parameter: &str, truth: Truth, evidence: Vec<Evidence>) -> ParameterScore {
        let finding = Finding::from_evidence(parameter, "bytes", evidence);
        ParameterScore::of(&finding, truth, Duration::from_millis(7))
    }

    fn timed(value: u64) -> Evidence {
        Evidence::measured(Kind::Timing, "m", Value::Whole(value))
    }

    fn silent() -> Evidence {
        Evidence::silent(Kind::Timing, "m", Status::Inconclusive, "noise")
    }

    fn seen(value: Value) -> Evidence {
        Evidence::measured(Kind::Witness, "w", value)
    }

    fn found(scored: &ParameterScore) -> Finding {
        Finding::from_evidence(&scored.parameter, "bytes", Vec::new())
    }

    fn case(name: &str, parameters: Vec<ParameterScore>) -> CaseReport {
        CaseReport {
            name: name.to_owned(),
            fs_type: "ext4".to_owned(),
            outcome: OutcomeName::Surveyed,
            reason: None,
            duration_ns: 1_500_000_000,
            findings: parameters.iter().map(found).collect(),
            parameters,
        }
    }

    fn report() -> LabReport {
        let ramp = Value::List([16, 64, 128, 256, 512, 1024, 2048].map(|kib| kib * 1024).to_vec());
        let by_witness = Truth::Known { value: ramp.clone(), basis: Basis::Witness };
        let one = case(
            "ext4-1k-ra128",
            vec![
                scored("block_size", known(1024, Basis::Made), vec![timed(1024)]),
                scored("readahead_ramp", by_witness, vec![silent(), seen(ramp)]),
            ],
        );
        let other = case(
            "ext4-2k-ra32",
            vec![
                scored("block_size", known(2048, Basis::Made), vec![timed(4096)]),
                scored("readahead_ramp", Truth::Unknown, vec![silent()]),
            ],
        );
        let lacking = CaseReport {
            outcome: OutcomeName::Skipped,
            reason: Some("mkfs.xfs is missing: install xfsprogs".to_owned()),
            ..case("xfs-4k-ra32", Vec::new())
        };
        let kinds = [Kind::Timing, Kind::Witness];
        LabReport::new(
            "2026-01-01T00:00:00Z".to_owned(),
            "Linux 6.18.1".to_owned(),
            &kinds,
            vec![one, other, lacking],
        )
    }

    #[test]
    fn the_table_shows_values_marks_and_totals() {
        let expected = "\
case               block        ramp                                    took
-----------------------------------------------------------------------------
ext4-1k-ra128      1 KiB ok     16 64 128 256 512 1024 2048 KiB ok* t?  1.5 s
ext4-2k-ra32       4 KiB WRONG  no answer                               1.5 s
-----------------------------------------------------------------------------
right              1            1
wrong              1            0
no answer          0            1
not judged         0            0
answered           100 %        50 %
timing right       1            0
timing wrong       1            0
timing no answer   0            2
timing not judged  0            0
timing answered    100 %        0 %
ext4-2k-ra32: block_size: the finding says 4 KiB, the truth is 2 KiB
xfs-4k-ra32: skipped: mkfs.xfs is missing: install xfsprogs
Linux 6.18.1, evidence: timing, witness.
all parameters: 2 right, 1 wrong, 1 without an answer, 0 not judged; 75.0 % answered.
all parameters, timing alone: 1 right, 1 wrong, 2 without an answer, 0 not judged; 50.0 % answered.
* judged by the witness of the same case: no rule is certain there.
t? timing alone has no answer, t! timing alone is wrong.
";
        let text = table(&report());
        assert_eq!(text, expected, "\n{text}");
        assert!(text.is_ascii());
    }

    #[test]
    fn a_case_that_ends_has_a_line() {
        let report = report();
        let lines: Vec<String> = report.cases.iter().map(line).collect();
        let expected = [
            "ext4-1k-ra128: 2 right, 0 wrong, 0 without an answer, 0 not judged, in 1.5 s\n",
            "ext4-2k-ra32: 0 right, 1 wrong, 1 without an answer, 0 not judged, in 1.5 s\n",
            "xfs-4k-ra32: skipped: mkfs.xfs is missing: install xfsprogs\n",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_long_reason_is_wrapped() {
        let text = wrapped(&"word ".repeat(60));
        assert!(text.lines().count() == 3 && text.lines().all(|line| line.len() <= WIDTH));
    }

    #[test]
    fn the_report_survives_being_written_and_read() {
        let report = report();
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<LabReport>(&text).unwrap(), report);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["schema"], "fathom.lab/1");
        let first = &json["cases"][0]["parameters"][0];
        assert_eq!(first["truth"], serde_json::json!({"status": "known", "value": 1024, "basis": "made"}));
        assert_eq!((&first["value"], &first["score"]), (&1024.into(), &"right".into()));
        assert_eq!(json["totals"][1]["answered_share"], 0.5);
    }

    #[test]
    fn a_wide_table_goes_on_below() {
        let sizes: Vec<u64> = (1..=20).map(|size| size << 20).collect();
        let scores = |names: &[&str]| -> Vec<ParameterScore> {
            let value = || vec![timed(4096), seen(Value::List(sizes.clone()))];
            names.iter().map(|name| scored(name, Truth::Unknown, value())).collect()
        };
        let wide = case("wide", scores(&["readahead_ramp", "page_size", "block_size", "direct_pointers"]));
        let narrow = case("narrow", scores(&["readahead_ramp"]));
        let report = LabReport::new(String::new(), "Linux".to_owned(), &[Kind::Timing], vec![wide, narrow]);
        let text = table(&report);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.lines().filter(|line| line.starts_with("case ")).count() > 1, "{text}");
        for line in ["wide", "answered", "right"] {
            assert!(text.lines().filter(|found| found.starts_with(line)).count() > 1, "{line}: {text}");
        }
    }
}
