//! A survey as a page: the answers, what the instrument is worth, and a figure per experiment.

mod cards;
mod certificate;
mod pictures;
mod thin;

use std::collections::BTreeMap;

use self::pictures::Answer;
use super::page::{self, Page, escaped};
use fathom_program::units::Bytes;
use fathom_run::samples::Samples;
use fathom_survey::experiment::{self, About, Experiment};
use fathom_survey::finding::Finding;
use fathom_survey::recipe;
use fathom_survey::survey::Survey;

/// The samples behind a survey, by parameter.
pub type Runs<'a> = BTreeMap<&'a str, &'a [Samples]>;

/// Those of a parameter; nothing where it was not timed.
fn of<'a>(runs: &Runs<'a>, parameter: &str) -> &'a [Samples] {
    runs.get(parameter).copied().unwrap_or_default()
}

/// The survey as one HTML file that needs no network; at most 6 MB for any number of samples. `registry` knows the questions and
/// how each is drawn.
pub fn survey_page(survey: &Survey, runs: &Runs<'_>, registry: &[&'static dyn Experiment]) -> String {
    let mount = &survey.provenance.mount;
    let place = format!("{} on {}", mount.fs_type, mount.path);
    let mut page = Page::new(&format!("Fathom: {place}"), &place);
    page.push(&heading(survey));
    page.push("<h2 id=\"answers\">Answers</h2>\n");
    page.push(&cards::cards(survey));
    page.push("<h2 id=\"instrument\">The instrument's certificate</h2>\n");
    page.push(&certificate::certificate(survey, runs));
    page.push("<h2 id=\"experiments\">Experiments</h2>\n");
    for finding in &survey.findings {
        section(&mut page, survey, finding, runs, experiment::find(registry, &finding.parameter));
    }
    page.html()
}

fn heading(survey: &Survey) -> String {
    let from = &survey.provenance;
    let (mount, machine) = (&from.mount, &from.machine);
    let device = mount.device.name.as_deref().map(|name| format!(", device {name}")).unwrap_or_default();
    let facts = [
        ("mounted from", format!("{}{device}", mount.source)),
        ("options", mount.options.clone()),
        ("free", Bytes(mount.free_bytes).to_string()),
        ("machine", page::machine(machine)),
        ("virtualisation", machine.virtualisation.clone()),
        ("surveyed", format!("{}, Fathom {}, seed {}", from.started, from.version, from.seed)),
    ];
    format!(
        "<nav><a href=\"#answers\">answers</a> \u{b7} <a href=\"#instrument\">instrument</a> \
         \u{b7} <a href=\"#experiments\">experiments</a></nav>\n{}",
        page::definitions(&facts)
    )
}

fn section(
    page: &mut Page,
    survey: &Survey,
    finding: &Finding,
    runs: &Runs<'_>,
    experiment: Option<&'static dyn Experiment>,
) {
    let about = experiment.map(|experiment| experiment.about());
    page.push(&cards::account(finding, about));
    let (own, lender) = (of(runs, &finding.parameter), about.and_then(|about| about.samples_of));
    let used = match (own.is_empty(), lender) {
        (true, Some(lender)) => of(runs, lender),
        _ => own,
    };
    let figures = pictures::of(&Answer::new(survey, finding, experiment), used);
    if figures.is_empty() {
        page.push(
            "<p class=\"soft\">There is no figure: nothing was timed or tried for this question.</p>\n",
        );
    } else if own.is_empty() && !used.is_empty() {
        let lender = escaped(lender.unwrap_or_default());
        page.push(&format!(
            "<p class=\"soft\">It rests on the samples of <a href=\"#{lender}\">{lender}</a>.</p>\n"
        ));
    }
    for figure in figures {
        page.figure(figure);
    }
    page.push(&repeat(survey, finding, about));
}

/// Who asked first, what they concluded, and how to ask again.
fn repeat(survey: &Survey, finding: &Finding, about: Option<&About>) -> String {
    let path = page::quoted(&survey.provenance.mount.path);
    let mut papers = String::new();
    let mut commands =
        format!("fathom survey {path} --only {} --seed {}\n", finding.parameter, survey.provenance.seed);
    let names = about.map_or(&[][..], |about| about.recipes);
    for recipe in names.iter().filter_map(|name| recipe::by_name(name)) {
        papers += &format!(
            "<li>{}: {}. They concluded: {}.</li>",
            escaped(recipe.source),
            escaped(recipe.did),
            escaped(recipe.concluded)
        );
        commands += &format!("fathom probe {path} --recipe {}\n", recipe.name);
    }
    let papers = match papers.is_empty() {
        true => String::new(),
        false => format!(
            "<p class=\"soft\">The papers' figures of the same:</p><ul class=\"soft\">{papers}</ul>\n"
        ),
    };
    format!("{papers}<details><summary>Repeat it</summary><pre>{}</pre></details>\n", escaped(&commands))
}
