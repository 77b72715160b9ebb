//! `fathom lab`: whether to believe the instrument on the kernel at hand.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant;

use fathom::finding::Kind;
use fathom::instrument::Instrument;
use fathom::lab::{self, Case, CaseReport, Examined, Lab, LabReport, Score, Setup};
use fathom::machine::Fault;
use fathom::machine::linux::Limits;
use fathom::provenance::{self, MachineFacts};
use fathom::session::directory;
use fathom::survey::Plan;

use crate::args::{ExerciseOptions, LabCommand, LabFilter, LabOptions, known};
use crate::console::{self, Progress};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::Output;

pub(crate) fn run(command: &LabCommand) -> Result<ExitCode, Failure> {
    match command {
        LabCommand::List(filter) => list(filter),
        LabCommand::Run(options) => score(options),
        LabCommand::Exercise(options) => examine(options),
        LabCommand::Fuse(options) => {
            let dir = directory(&options.dir)?;
            lab::serve(&dir, &options.plan, &*interrupt::flag()?).map_err(Failure::Failed)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn list(filter: &LabFilter) -> Result<ExitCode, Failure> {
    let names: String = selected(filter)?.iter().map(|case| format!("{}\n", case.name)).collect();
    console::print(&names)?;
    Ok(ExitCode::SUCCESS)
}

fn score(options: &LabOptions) -> Result<ExitCode, Failure> {
    let plan = options.plan.plan(true)?;
    let asked = |case: &Case| plan.experiments.iter().any(|one| one.is_asked_in(case));
    let cases: Vec<Case> = selected(&options.filter)?.into_iter().filter(asked).collect();
    // First of all: the name space must be entered before there are threads.
    let kept: Vec<PathBuf> = options
        .json
        .file
        .iter()
        .filter_map(|path| env::current_dir().ok().map(|here| here.join(path)))
        .collect();
    let kept: Vec<&Path> = kept.iter().map(PathBuf::as_path).collect();
    let lab = lab::enter(&options.images, &kept).map_err(Failure::Failed)?;
    let json = options.json.open()?;
    let started = provenance::now();
    let reports = surveyed(&lab, &cases, &plan, options, &json)?;
    let kinds: Vec<Kind> = plan.evidence.clone();
    let report = LabReport::new(started, MachineFacts::here().kernel, &kinds, reports);
    json.show(|_| format!("\n{}", lab::report::table(&report)), &report)?;
    Ok(if report.has_wrong() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn surveyed(
    lab: &Lab,
    cases: &[Case],
    plan: &Plan,
    options: &LabOptions,
    json: &Output,
) -> Result<Vec<CaseReport>, Failure> {
    let instrument = Instrument::calibrate().map_err(Failure::Failed)?;
    let interrupt = interrupt::flag()?;
    let progress = Progress::over(vec![1; cases.len()]);
    let mut reports = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        progress.at(index, &case.name);
        let limits = Limits {
            max_write: options.plan.budget.limits.max_write,
            deadline: Some(Instant::now() + options.plan.budget.limits.max_time),
        };
        let setup = Setup { instrument: &instrument, plan, limits, interrupt: interrupt.clone() };
        let report = lab.run_case(case, &setup, &mut |_, _| {});
        if interrupt.load(Ordering::Relaxed) {
            return Err(Failure::from(Fault::Interrupted));
        }
        progress.aside(|| json.tell(&lab::report::line(&report)))?;
        reports.push(report);
    }
    Ok(reports)
}

fn examine(options: &ExerciseOptions) -> Result<ExitCode, Failure> {
    let question = known(&options.parameter, "")?;
    let cases: Vec<Case> =
        selected(&options.filter)?.into_iter().filter(|case| question.is_asked_in(case)).collect();
    if cases.is_empty() {
        let parameter = &options.parameter;
        return Err(Failure::Usage(format!(
            "--cases: none of these file systems is about {parameter}; see 'fathom lab list'"
        )));
    }
    let lab = lab::enter(&options.images, &[]).map_err(Failure::Failed)?;
    let interrupt = interrupt::flag()?;
    let (mut right, mut judged) = (0, 0);
    let progress = Progress::over(vec![1; cases.len()]);
    for (index, case) in cases.iter().enumerate() {
        progress.at(index, &case.name);
        let Examined { score, line } = lab.examine(case, question, &options.program);
        if interrupt.load(Ordering::Relaxed) {
            return Err(Failure::from(Fault::Interrupted));
        }
        progress.aside(|| console::print(&(line + "\n")))?;
        right += usize::from(score == Score::Right);
        judged += usize::from(!matches!(score, Score::NotScored(_)));
    }
    drop(progress);
    console::print(&format!("{right} of {judged} right.\n"))?;
    Ok(ExitCode::from(u8::from(right < judged)))
}

fn selected(filter: &LabFilter) -> Result<Vec<Case>, Failure> {
    let wanted = |case: &Case| filter.cases.is_empty() || filter.cases.iter().any(|name| case.matches(name));
    let cases: Vec<Case> = lab::cases().into_iter().filter(wanted).collect();
    if cases.is_empty() {
        let asked = filter.cases.join(", ");
        return Err(Failure::Usage(format!(
            "--cases: no file system of the lab has '{asked}' in its name; see 'fathom lab list'"
        )));
    }
    Ok(cases)
}
