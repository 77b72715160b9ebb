//! Tables for a terminal.

use super::table::{rows, wrap};
use fathom_program::units::{Bytes, Nanos, WithinPpm};
use fathom_survey::experiment::About;
use fathom_survey::finding::{Agreement, Evidence, Finding, Status, Value, number};
use fathom_survey::survey::Survey;

/// The same with the verdicts in colours, for a terminal: what agrees is green, what does not is red, what is
/// open is yellow. The words say it, too.
pub fn survey_in_colour(survey: &Survey) -> String {
    let text = self::survey(survey);
    let column = text.lines().find_map(|line| {
        let at = line.starts_with("parameter ").then(|| line.find("verdict"))??;
        Some(line[..at].chars().count())
    });
    let Some(column) = column else { return text };
    let mut findings = survey.findings.iter().peekable();
    let mut painted = String::with_capacity(2 * text.len());
    for line in text.lines() {
        let of = findings.next_if(|finding| line.starts_with(&format!("{} ", finding.parameter)));
        match of.and_then(|finding| painted_at(line, column, finding)) {
            Some(line) => painted.push_str(&line),
            None => painted.push_str(line),
        }
        painted.push('\n');
    }
    painted
}

/// A line of the table with its verdict painted.
fn painted_at(line: &str, column: usize, finding: &Finding) -> Option<String> {
    let colour = match (finding.status, finding.agreement) {
        (Status::Measured, Agreement::Agree) => "32",
        (Status::Measured, Agreement::Disagree) => "1;31",
        (Status::Inconclusive | Status::Refused, _) => "33",
        _ => return None,
    };
    let (start, _) = line.char_indices().nth(column)?;
    let verdict = verdict(finding);
    let rest = line[start..].strip_prefix(&verdict)?;
    Some(format!("{}\u{1b}[{colour}m{verdict}\u{1b}[0m{rest}", &line[..start]))
}

fn verdict(finding: &Finding) -> String {
    match finding.status {
        Status::Measured => finding.agreement.to_string(),
        silent => silent.to_string(),
    }
}

/// The survey as text: the instrument, a table with one line per parameter, and what needs words.
pub fn survey(survey: &Survey) -> String {
    let mut text = preamble(survey);
    let lines: Vec<Vec<String>> = survey.findings.iter().map(row).collect();
    text.push_str(&rows(&["parameter", "value", "interval", "verdict", "evidence"], &lines));
    let remarks: Vec<String> = survey.findings.iter().filter_map(remark).collect();
    if !remarks.is_empty() {
        text.push('\n');
        for remark in remarks {
            text.push_str(&wrap(&remark, 100));
        }
    }
    let (left, effects): (Vec<&str>, Vec<&str>) =
        survey.effects.iter().map(String::as_str).partition(|effect| effect.starts_with("left behind"));
    if !effects.is_empty() {
        text.push('\n');
        text.push_str(&wrap(&format!("Beside its own files: {}.", effects.join("; ")), 100));
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

/// The experiments, one paragraph each.
pub fn list(abouts: &[&About]) -> String {
    let paragraph = |about: &&About| {
        let Cost { seconds, written, read } = cost(about);
        format!(
            "{}: {}\n{}    cost: up to {seconds} s, {written} written, {read} read; privileges: {}; source: {}\n",
            about.parameter,
            about.question,
            wrap(&format!("    {}", about.method), 100),
            about.privileges,
            about.source
        )
    };
    abouts.iter().map(paragraph).collect::<Vec<_>>().join("\n")
}

struct Cost {
    seconds: u32,
    written: Bytes,
    read: Bytes,
}

fn cost(about: &About) -> Cost {
    Cost {
        seconds: about.cost.seconds,
        written: Bytes(about.cost.write_bytes),
        read: Bytes(about.cost.read_bytes),
    }
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

fn row(finding: &Finding) -> Vec<String> {
    let value =
        finding.value.as_ref().map_or_else(|| "-".to_owned(), |value| shortened(value, &finding.unit));
    let interval = match (finding.interval, &finding.value) {
        (Some([low, high]), _) if low < high => {
            format!("{} to {}", number(low, &finding.unit), number(high, &finding.unit))
        }
        (_, Some(_)) => "exact".to_owned(),
        _ => "-".to_owned(),
    };
    let verdict = verdict(finding);
    let mut evidence: Vec<String> = Vec::new();
    for piece in finding.evidence.iter().filter(|piece| !is_spare(piece, finding)) {
        let word = brief(piece, finding);
        // Two witnesses that say the same are one word.
        if evidence.last() != Some(&word) {
            evidence.push(word);
        }
    }
    vec![finding.parameter.clone(), value, interval, verdict, evidence.join(", ")]
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
    let mut told = (1..list.len())
        .rev()
        .map(|count| format!("{} \u{2026} {}", beginning(count), number(last as f64, unit)));
    told.find(fits).unwrap_or(whole)
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

/// Where evidence disagrees or there is no answer, why.
fn remark(finding: &Finding) -> Option<String> {
    let name = &finding.parameter;
    match (finding.status, finding.agreement) {
        (Status::Measured, Agreement::Disagree) => Some(format!("{name}: {}", finding.explanation)),
        (Status::Measured, _) => {
            let unanswered = finding
                .evidence
                .iter()
                .filter(|piece| !is_spare(piece, finding))
                .find(|piece| matches!(piece.status, Status::Inconclusive | Status::Refused))?;
            let why = unanswered.caveats.first()?;
            Some(format!("{name}: {} gave no answer: {why}.", unanswered.kind))
        }
        (_, _) => {
            let why = finding.caveats.first().map(|why| format!(" ({why})")).unwrap_or_default();
            Some(format!("{name}: {}{why}", finding.explanation))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_told_from_its_ends() {
        let told = |kib: &[u64]| shortened(&Value::List(kib.iter().map(|one| one << 10).collect()), "bytes");
        assert_eq!(told(&[16, 32, 16, 32, 32, 64, 64, 128]), "16 32 16 32 32 64 64 128 KiB");
        assert_eq!(told(&[16, 64, 240, 960, 1792, 1024, 2048, 8192]), "16 64 240 960 KiB \u{2026} 8 MiB");
        assert_eq!(shortened(&Value::Word("copy_on_write_and_more_than_that".to_owned()), "word").len(), 32);
    }
}
