//! `fathom survey`: every question asked of the file system at a path.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use fathom::experiment::REGISTRY;
use fathom::instrument::Instrument;
use fathom::intrusion;
use fathom::machine::linux::{Limits, Linux};
use fathom::model::Model;
use fathom::provenance::Provenance;
use fathom::report;
use fathom::run_folder::{self, RunFolder};
use fathom::simulated::Simulated;
use fathom::survey::{self, Answer, SCHEMA, Survey};

use crate::args::SurveyOptions;
use crate::console::{self, Progress};
use crate::failure::{Failure, INCONCLUSIVE, closed};
use crate::guard;
use crate::interrupt;
use crate::keep::{self, Place};
use crate::output::{Output, plain};

const NEXT: &str =
    "Next: 'fathom curve' measures how fast it is; 'fathom compare' tells this survey from another.\n";

pub(crate) fn run(options: &SurveyOptions) -> Result<ExitCode, Failure> {
    match options.on.model()? {
        Some(model) => of_model(options, &model),
        None => of_machine(options),
    }
}

/// Surveys a machine that is only a model.
fn of_model(options: &SurveyOptions, model: &Model) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    let plan = options.plan.plan(true)?;
    let interrupt = interrupt::flag()?;
    guard::watch_for_interrupts(interrupt);
    let json = options.json.as_deref().map(Output::open).transpose()?;
    let folder = taken(place(options, json.as_ref()))?;
    let mut machine = Simulated::new(&model.parameters, options.plan.seed).may_write(options.plan.max_write);
    let progress =
        Progress::over(plan.experiments.iter().map(|one| u64::from(one.about().cost.seconds)).collect());
    let answers = survey::ask(&mut machine, &plan, &mut |done, next| progress.at(done, next));
    progress.finish();
    let answers = answers?;
    let runs = || answers.iter().flat_map(|answer| &answer.runs);
    let name = options.on.on.as_deref().unwrap_or(Path::new("assumed"));
    let survey = Survey {
        schema: SCHEMA.to_owned(),
        provenance: Provenance::simulated(
            name,
            &options.on.what_if.set,
            model.made.as_ref().map(|made| (&made.machine, &made.mount)),
            options.plan.seed,
        ),
        findings: answers.iter().map(|answer| answer.finding.clone()).collect(),
        effects: Vec::new(),
        duration_ns: started.elapsed().as_nanos() as u64,
        bytes_written: runs().map(|run| run.bytes_written).sum(),
        bytes_read: runs().map(|run| run.bytes_read).sum(),
    };
    publish(options, &survey, &answers, json, folder)?;
    Ok(code(&survey, options))
}

fn code(survey: &Survey, options: &SurveyOptions) -> ExitCode {
    match survey.is_inconclusive(!options.plan.only.is_empty()) {
        true => ExitCode::from(INCONCLUSIVE),
        false => ExitCode::SUCCESS,
    }
}

fn of_machine(options: &SurveyOptions) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    let plan = options.plan.plan(options.intrusive)?;
    let interrupt = interrupt::flag()?;
    guard::watch(started + options.plan.max_time, interrupt.clone());
    let path = directory(&options.path)?;
    let json = options.json.as_deref().map(Output::open).transpose()?;
    let folder = taken(place(options, json.as_ref()))?;
    let restored = intrusion::restore_leftovers();
    let instrument = Instrument::calibrate().map_err(Failure::Failed)?;
    let mut survey = preamble(options, &path, &instrument)?;
    let limits =
        Limits { max_write: options.plan.max_write, deadline: Some(started + options.plan.max_time) };
    let mut linux = Linux::at(&path, &instrument, limits, interrupt)?;
    let progress =
        Progress::over(plan.experiments.iter().map(|one| u64::from(one.about().cost.seconds)).collect());
    let outcome = survey::ask(&mut linux, &plan, &mut |done, next| progress.at(done, next));
    progress.finish();
    let answers = match outcome {
        Ok(answers) => answers,
        Err(fault) => return closed(Err(fault), linux),
    };
    survey.bytes_written = linux.bytes_written();
    survey.bytes_read = linux.bytes_read();
    // Gone before anything is said: a closed pipe must leave nothing behind either.
    let removed = linux.close();
    survey.effects.extend(removed.as_ref().err().map(|fault| format!("left behind: {fault}")));
    survey.duration_ns = started.elapsed().as_nanos() as u64;
    survey.findings = answers.iter().map(|answer| answer.finding.clone()).collect();
    survey.effects.extend(restored);
    survey.effects.extend(answers.iter().flat_map(|answer| answer.effects.clone()));
    publish(options, &survey, &answers, json, folder)?;
    removed.map_err(|fault| Failure::Failed(format!("left behind: {fault}")))?;
    Ok(code(&survey, options))
}

/// Where the survey goes.
fn place<'a>(options: &'a SurveyOptions, json: Option<&Output>) -> Place<'a> {
    options.keep.place(!json.is_some_and(Output::is_stdout))
}

/// The folder that was named, made before anything is measured.
fn taken(place: Place<'_>) -> Result<Option<RunFolder>, Failure> {
    match place {
        Place::Folder(folder) => {
            run_folder::create(folder).map(Some).map_err(|error| Failure::Failed(error.to_string()))
        }
        Place::Shelf | Place::Nowhere => Ok(None),
    }
}

fn publish(
    options: &SurveyOptions,
    survey: &Survey,
    answers: &[Answer],
    json: Option<Output>,
    folder: Option<RunFolder>,
) -> Result<(), Failure> {
    let place = place(options, json.as_ref());
    // Told first: a folder that can't be written must not cost the answers.
    console::tell_survey(survey, json.as_ref().is_some_and(Output::is_stdout))?;
    json.map_or(Ok(()), |output| output.write(survey))?;
    keep::put(place, "survey", NEXT, |directory| {
        let folder = folder.map_or_else(|| run_folder::create(directory), Ok)?;
        folder.write(survey, options.plan.effort.into(), answers)?;
        let runs = answers.iter().map(|one| (one.finding.parameter.as_str(), one.runs.as_slice())).collect();
        run_folder::write_page(directory, &report::survey_page(survey, &runs, REGISTRY))
    })
}

/// The absolute path of a directory that can be surveyed.
pub(crate) fn directory(path: &Path) -> Result<PathBuf, Failure> {
    let wrong = |reason: &str| Failure::Failed(format!("{}: {reason}", path.display()));
    let absolute = fs::canonicalize(path).map_err(|error| wrong(&plain(&error)))?;
    if !absolute.is_dir() {
        return Err(wrong("not a directory; name the directory that the file is in"));
    }
    Ok(absolute)
}

fn preamble(options: &SurveyOptions, path: &Path, instrument: &Instrument) -> Result<Survey, Failure> {
    Ok(Survey {
        schema: SCHEMA.to_owned(),
        provenance: Provenance::of(path, &instrument.certificate, options.plan.seed)?,
        findings: Vec::new(),
        effects: Vec::new(),
        duration_ns: 0,
        bytes_written: 0,
        bytes_read: 0,
    })
}
