//! Tables for a terminal.

use super::colours::Colours;
use super::table::{rows, wrap};
use fathom_program::units::{Bytes, Nanos, WithinPpm};
use fathom_survey::experiment::About;
use fathom_survey::finding::{Agreement, Evidence, Finding, Status, Value, number};
use fathom_survey::survey::Survey;

/// The verdict: green where the evidence agrees, red where it does not, yellow where there is no answer.
fn painted(finding: &Finding, colours: Colours) -> String {
    let verdict = verdict(finding);
    match (finding.status, finding.agreement) {
        (Status::Measured, Agreement::Agree) => colours.good(&verdict),
        (Status::Measured, Agreement::Disagree) => colours.bad(&verdict),
        (Status::Inconclusive | Status::Refused, _) => colours.open(&verdict),
        _ => verdict,
    }
}

fn verdict(finding: &Finding) -> String {
    match finding.status {
        Status::Measured => finding.agreement.to_string(),
        silent => silent.to_string(),
    }
}

/// The survey as text: the clock's certificate, a table with one line per parameter, and remarks.
pub fn survey(survey: &Survey, colours: Colours) -> String {
    let mut text = preamble(survey);
    let lines: Vec<Vec<String>> = survey.findings.iter().map(|finding| row(finding, colours)).collect();
    text.push_str(&rows(&["parameter", "value", "interval", "verdict", "evidence"], &lines));
    let remarks = remarks(&survey.findings);
    if !remarks.is_empty() {
        text.push('\n');
        for (parameters, remark) in remarks {
            text.push_str(&wrap(&format!("{}: {remark}", parameters.join(", "))));
        }
    }
    let (left, effects): (Vec<&str>, Vec<&str>) =
        survey.effects.iter().map(String::as_str).partition(|effect| effect.starts_with("left behind"));
    if !effects.is_empty() {
        text.push('\n');
        text.push_str(&wrap(&format!("Besides its own files: {}.", effects.join("; "))));
    }
    let left = left.first().copied().unwrap_or("nothing was left behind");
    text.push_str(&format!(
        "\n{} written, {} read, {} taken; {left}.\n",
        Bytes(survey.bytes_written),
        Bytes(survey.bytes_read),
        Nanos(survey.duration_ns as f64)
    ));
    text
}

/// The experiments as text, one paragraph each.
pub fn list(abouts: &[&About]) -> String {
    let paragraph = |about: &&About| {
        let cost = &about.cost;
        let (seconds, written, read) = (cost.seconds, Bytes(cost.write_bytes), Bytes(cost.read_bytes));
        format!(
            "{}: {}\n{}    cost: up to {seconds} s, {written} written, {read} read; privileges: {}; source: {}\n",
            about.parameter,
            about.question,
            wrap(&format!("    {}", about.method)),
            about.privileges,
            about.source
        )
    };
    let legend = "\nPapers A to E are on measuring file systems: 'fathom probe --list-recipes' says what they did. KERNEL names a function or an \
                  option of Linux.\n";
    abouts.iter().map(paragraph).collect::<Vec<_>>().join("\n") + legend
}

fn preamble(survey: &Survey) -> String {
    let (mount, clock) = (&survey.provenance.mount, &survey.provenance.instrument);
    let device = mount.device.name.as_deref().map(|name| format!(", device {name}")).unwrap_or_default();
    format!(
        "{} on {} ({}{device})\n{}, {}, {} CPUs, {} of memory\nclock {}: {:.3} GHz, resolution {}, own cost {}, linear within {}\n\n",
        mount.fs_type,
        mount.path,
        mount.source,
        survey.provenance.machine.kernel,
        survey.provenance.machine.arch,
        survey.provenance.machine.cpus,
        Bytes(survey.provenance.machine.memory_bytes),
        clock.clock,
        clock.ticks_per_second / 1e9,
        Nanos(clock.resolution_ns),
        Nanos(clock.overhead_ns),
        WithinPpm(clock.linearity_ppm)
    )
}

fn row(finding: &Finding, colours: Colours) -> Vec<String> {
    let value =
        finding.value.as_ref().map_or_else(|| "-".to_owned(), |value| shortened(value, &finding.unit));
    let interval = interval(finding).unwrap_or_else(|| "-".to_owned());
    let mut evidence: Vec<String> = Vec::new();
    for piece in finding.evidence.iter().filter(|piece| !is_spare(piece, finding)) {
        let word = brief(piece, finding);
        // Two witnesses that say the same are one word.
        if evidence.last() != Some(&word) {
            evidence.push(word);
        }
    }
    vec![finding.parameter.clone(), value, interval, painted(finding, colours), evidence.join(", ")]
}

/// The interval of an answer; an answer without one is exact.
pub(super) fn interval(finding: &Finding) -> Option<String> {
    let exact = || finding.value.as_ref().map(|_| "exact".to_owned());
    between(finding.interval, &finding.unit).or_else(exact)
}

/// An interval in words, if it has a width.
pub(super) fn between(interval: Option<[f64; 2]>, unit: &str) -> Option<String> {
    let [low, high] = interval.filter(|[low, high]| low < high)?;
    Some(format!("{} to {}", number(low, unit), number(high, unit)))
}

/// Columns of the table's values.
const WIDEST: usize = 28;

/// A value as the table has room for: a list that is longer, a whole ramp, is told from its ends. The page has all of it.
fn shortened(value: &Value, unit: &str) -> String {
    let whole = value.in_words(unit);
    let Value::List(list) = value else { return whole };
    let fits = |text: &String| text.chars().count() <= WIDEST;
    let Some(&last) = list.last().filter(|_| !fits(&whole)) else { return whole };
    let beginning = |count: usize| Value::List(list[..count].to_vec()).in_words(unit);
    let mut shortened_texts = (1..list.len())
        .rev()
        .map(|count| format!("{} \u{2026} {}", beginning(count), number(last as f64, unit)));
    shortened_texts.find(fits).unwrap_or(whole)
}

/// Whether it could not be asked, and another of its kind answers.
fn is_spare(piece: &Evidence, finding: &Finding) -> bool {
    matches!(piece.status, Status::Refused | Status::NotApplicable) && finding.answer(piece.kind).is_some()
}

/// The kind alone where it says what the finding says, otherwise what it says.
fn brief(piece: &Evidence, finding: &Finding) -> String {
    match (&piece.value, piece.status) {
        (value, Status::Measured) if *value == finding.value => piece.kind.to_string(),
        (Some(value), Status::Measured) => format!("{} {}", piece.kind, value.in_words(&finding.unit)),
        (_, Status::Measured) => piece.kind.to_string(),
        (_, Status::Inconclusive) => format!("{} ?", piece.kind),
        (_, Status::NotApplicable) => format!("{} n/a", piece.kind),
        (_, Status::Refused) => format!("{} refused", piece.kind),
    }
}

/// What needs words, once for all parameters of which the same is to be said.
fn remarks(findings: &[Finding]) -> Vec<(Vec<&str>, String)> {
    let mut remarks: Vec<(Vec<&str>, String)> = Vec::new();
    for finding in findings {
        let Some(said) = remark(finding) else { continue };
        match remarks.iter_mut().find(|(_, known)| *known == said) {
            Some((parameters, _)) => parameters.push(&finding.parameter),
            None => remarks.push((vec![&finding.parameter], said)),
        }
    }
    remarks
}

/// Where evidence disagrees or there is no answer, why.
fn remark(finding: &Finding) -> Option<String> {
    match (finding.status, finding.agreement) {
        (Status::Measured, Agreement::Disagree) => Some(finding.explanation.clone()),
        (Status::Measured, _) => {
            let unanswered = finding
                .evidence
                .iter()
                .filter(|piece| !is_spare(piece, finding))
                .find(|piece| matches!(piece.status, Status::Inconclusive | Status::Refused))?;
            let why = unanswered.caveats.first()?;
            Some(format!("{} gave no answer: {why}.", unanswered.kind))
        }
        (_, _) => {
            let why = finding.caveats.first().map(|why| format!(" ({why})")).unwrap_or_default();
            Some(format!("{}{why}", finding.explanation))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_told_from_its_ends() {
        let shortened_texts =
            |kib: &[u64]| shortened(&Value::List(kib.iter().map(|one| one << 10).collect()), "bytes");
        assert_eq!(shortened_texts(&[16, 32, 16, 32, 32, 64, 64, 128]), "16 32 16 32 32 64 64 128 KiB");
        assert_eq!(
            shortened_texts(&[16, 64, 240, 960, 1792, 1024, 2048, 8192]),
            "16 64 240 960 KiB \u{2026} 8 MiB"
        );
        assert_eq!(shortened(&Value::Word("copy_on_write_and_more_than_that".to_owned()), "word").len(), 32);
    }
}
