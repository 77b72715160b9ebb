//! The answers first: a card each, and what each rests on.

use crate::report::page::{escaped, table};
use crate::report::text::{between, interval};
use fathom_survey::experiment::About;
use fathom_survey::finding::{Agreement, Evidence, Finding, Kind, Status};
use fathom_survey::survey::Survey;

/// A card per parameter: value, interval, verdict, one sentence.
pub(super) fn cards(survey: &Survey) -> String {
    let items: String = survey.findings.iter().map(card).collect();
    format!("<ul class=\"cards\">{items}</ul>\n")
}

fn card(finding: &Finding) -> String {
    let (name, value) = (escaped(&finding.parameter), value(finding));
    let long = if value.chars().count() > 24 { " long" } else { "" };
    format!(
        "<li class=\"card {}\"><h3><a href=\"#{name}\">{name}</a></h3>\
         <div class=\"value{long}\">{}</div><div class=\"soft\">{}</div>\
         <div class=\"verdict\">{}</div><p>{}</p></li>",
        class(finding),
        escaped(&value),
        escaped(&interval(finding).unwrap_or_default()),
        escaped(&verdict(finding)),
        escaped(&sentence(finding))
    )
}

fn class(finding: &Finding) -> &'static str {
    match (finding.status, finding.agreement) {
        (Status::Measured, Agreement::Agree) => "agree",
        (Status::Measured, Agreement::Disagree) => "disagree",
        (Status::Measured, Agreement::Single) => "single",
        (Status::Inconclusive, _) => "inconclusive",
        (Status::NotApplicable, _) => "not_applicable",
        (Status::Refused, _) => "refused",
    }
}

pub(super) fn value(finding: &Finding) -> String {
    finding.value.as_ref().map_or_else(|| "no answer".to_owned(), |value| value.in_words(&finding.unit))
}

fn verdict(finding: &Finding) -> String {
    match (finding.status, finding.agreement) {
        (Status::Measured, Agreement::Agree) => "\u{2713} all evidence agrees".to_owned(),
        (Status::Measured, Agreement::Disagree) => "\u{2260} the evidence disagrees".to_owned(),
        (Status::Measured, Agreement::Single) => "one piece of evidence".to_owned(),
        (Status::Inconclusive, _) => "? asked, and the evidence does not tell".to_owned(),
        (Status::Refused, _) => "not asked".to_owned(),
        (Status::NotApplicable, _) => "makes no sense here".to_owned(),
    }
}

fn sentence(finding: &Finding) -> String {
    let why = match finding.status {
        Status::Measured => None,
        _ => finding.caveats.first().map(|why| format!(" Reason: {why}.")),
    };
    finding.explanation.clone() + &why.unwrap_or_default()
}

/// The question, its answer, everything that speaks for or against it, and what it means where that disagrees.
pub(super) fn account(finding: &Finding, about: Option<&About>) -> String {
    let asked = about.map(question).unwrap_or_default();
    let name = escaped(&finding.parameter);
    let mut markup = format!(
        "<h3 id=\"{name}\">{name}: {}</h3>\n{asked}<p>{}</p>\n",
        escaped(&value(finding)),
        escaped(&sentence(finding))
    );
    if finding.agreement == Agreement::Disagree {
        markup += &disagreement(finding);
    }
    let lines: Vec<Vec<String>> = finding.evidence.iter().map(|piece| line(piece, &finding.unit)).collect();
    markup += &format!(
        "<details><summary>{}</summary>{}</details>\n",
        if lines.len() == 1 {
            "1 piece of evidence".to_owned()
        } else {
            format!("{} pieces of evidence", lines.len())
        },
        table(&["kind", "method", "says", "interval", "confidence", "readings", "caveats"], &lines)
    );
    markup
}

fn question(about: &About) -> String {
    format!("<p class=\"soft\">{} {}</p>\n", escaped(about.question), escaped(about.method))
}

fn line(piece: &Evidence, unit: &str) -> Vec<String> {
    let says = match (&piece.value, piece.status) {
        (Some(value), _) => value.in_words(unit),
        (None, status) => status.to_string(),
    };
    vec![
        piece.kind.to_string(),
        piece.method.clone(),
        says,
        between(piece.interval, unit).unwrap_or_default(),
        piece.confidence.map_or_else(String::new, |confidence| format!("{confidence}")),
        piece.samples.map_or_else(String::new, |samples| samples.to_string()),
        piece.caveats.join("; "),
    ]
}

/// What a reader who sees such a thing for the first time must know to make sense of it.
fn disagreement(finding: &Finding) -> String {
    let said = |kind: Kind| {
        let mut values: Vec<String> = finding
            .evidence
            .iter()
            .filter(|piece| piece.kind == kind && piece.status == Status::Measured)
            .filter_map(|piece| {
                Some(format!("{} ({})", piece.value.as_ref()?.in_words(&finding.unit), piece.method))
            })
            .collect();
        values.dedup();
        (!values.is_empty()).then(|| values.join(" and "))
    };
    let parts = [
        (
            Kind::Timing,
            "the durations of system calls say",
            "That is what a program feels, whatever the cause.",
        ),
        (Kind::Witness, "the kernel let a program see", "That is what happened while Fathom looked."),
        (
            Kind::Declared,
            "the system says of itself",
            "That is a setting or a label: it may speak of another layer, or of what is intended.",
        ),
    ];
    let items: String = parts
        .iter()
        .filter_map(|(kind, who, meaning)| Some((who, said(*kind)?, meaning)))
        .map(|(who, what, meaning)| format!("<li>{who}: {}. {meaning}</li>", escaped(&what)))
        .collect();
    format!(
        "<div class=\"disagreement\"><p><strong>The evidence disagrees.</strong> Each piece was gathered without \
         knowledge of the others:</p><ul>{items}</ul><p>The answer taken, {}, is the one that most pieces allow; \
         among as many, a witness counts before a timing, and a timing before a declaration. Often the disagreement \
         itself is the discovery.</p></div>\n",
        escaped(&value(finding))
    )
}
