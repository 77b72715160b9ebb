//! The run folder: the survey and the raw samples behind it, enough to infer again without a machine.
//!
//! | file | holds |
//! |---|---|
//! | `survey.json` | the [`Survey`], written last: a folder that has it is complete |
//! | `report.html` | the survey as a page, made from the other files |
//! | `samples/NAME.csv` | every reading of the runs that an experiment made, one run after the other |
//! | `samples/NAME.json` | what the runs were: [`Samples`] of each, with the number of its readings |
//!
//! Of other commands the folder holds what the command writes as JSON, which has all samples, and the page; and
//! `model.json` where a model was made or used. [`KINDS`](crate::results::KINDS) lists the names of the files.
//!
//! The CSV has the columns of [`Reading`](fathom_run::samples::Reading) and, before them, `run`: the index of the run from zero.

mod parts;
mod replay;
mod shelf;
mod table;

use std::fmt;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use self::parts::Parts;
pub use self::replay::infer_again;
pub use self::shelf::{SHELVED, shelve};
use fathom_run::fault::plain;
use fathom_run::samples::Samples;
use fathom_survey::experiment::Effort;
use fathom_survey::survey::{Answer, Survey};

/// A folder that can be written to and holds no survey yet.
#[derive(Debug)]
pub struct RunFolder {
    directory: PathBuf,
}

/// The runs of one experiment of a survey, read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The parameter that the experiment finds.
    pub parameter: String,
    /// How thoroughly it measured, which decides how many rounds it asks for.
    pub effort: Effort,
    /// The runs, in order.
    pub runs: Vec<Samples>,
}

/// Why a run folder can't be made, written or read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The folder holds the survey of another run.
    Taken(PathBuf),
    /// The folder holds cells of another sweep.
    OtherPlan(PathBuf),
    /// A file or folder can't be made, written or read.
    File {
        /// What was attempted, as a verb.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The reason that the system gave.
        reason: String,
    },
    /// A file does not contain what it should.
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1, where one is to blame.
        line: Option<u64>,
        /// What is wrong, one sentence.
        reason: String,
    },
    /// The samples do not answer what the experiment asks now.
    Mismatch {
        /// The parameter that the experiment finds.
        parameter: String,
        /// What does not match, one sentence.
        reason: String,
    },
}

/// One run in `samples/NAME.json`: all but its readings, which are in the CSV.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RunFacts<S = Samples> {
    #[serde(flatten)]
    run: S,
    /// How many readings of the CSV are this run's.
    readings: usize,
}

/// The contents of `samples/NAME.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Facts<S = Samples> {
    parameter: String,
    effort: Effort,
    runs: Vec<RunFacts<S>>,
}

const SURVEY: &str = "survey.json";
const PAGE: &str = "report.html";
const SAMPLES: &str = "samples";

/// Makes the folder and those above it, and tries to write to it. Call this before anything is measured, so that no measurement is
/// lost for lack of a place.
///
/// # Errors
/// [`Error::Taken`] where it holds a survey, which is never overwritten; [`Error::File`] where it
/// can't be made or written.
pub fn create(directory: &Path) -> Result<RunFolder, Error> {
    let samples = directory.join(SAMPLES);
    fs::create_dir_all(&samples).map_err(|error| Error::file("make", &samples, &error))?;
    if directory.join(SURVEY).exists() {
        return Err(Error::Taken(directory.to_owned()));
    }
    for place in [directory, &samples] {
        let trial = place.join(".fathom-trial");
        fs::write(&trial, "trial").map_err(|error| Error::file("write in", place, &error))?;
        fs::remove_file(&trial).map_err(|error| Error::file("remove", &trial, &error))?;
    }
    Ok(RunFolder { directory: directory.to_owned() })
}

/// Reads a survey and the runs of each of its experiments, in the order of the findings.
///
/// # Errors
/// [`Error::File`] where a file is missing or can't be read, [`Error::Damaged`] where it holds
/// something else, with the line.
pub fn read(directory: &Path) -> Result<(Survey, Vec<Recording>), Error> {
    let survey: Survey = read_json(&directory.join(SURVEY))?;
    let recordings = survey
        .findings
        .iter()
        .map(|finding| read_recording(directory, &finding.parameter))
        .collect::<Result<_, _>>()?;
    Ok((survey, recordings))
}

/// Writes the survey's page into its folder, in place of an older one, and returns its path.
///
/// # Errors
/// [`Error::File`] where it can't be written.
pub fn write_page(directory: &Path, html: &str) -> Result<PathBuf, Error> {
    let (unfinished, finished) = (directory.join(".report.html.new"), directory.join(PAGE));
    write_file(&unfinished, |to| to.write_all(html.as_bytes()))?;
    fs::rename(&unfinished, &finished).map_err(|error| Error::file("make", &finished, &error))?;
    Ok(finished)
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // Removes what is still empty: after a survey that failed there is nothing to keep.
        let _ = fs::remove_dir(self.directory.join(SAMPLES));
        let _ = fs::remove_dir(&self.directory);
    }
}

impl RunFolder {
    /// Writes the samples behind `answers`, which were measured with `effort`, and then the survey.
    ///
    /// # Errors
    /// [`Error::File`] where a file can't be written.
    pub fn write(&self, survey: &Survey, effort: Effort, answers: &[Answer]) -> Result<(), Error> {
        for answer in answers {
            let parameter = answer.finding.parameter.clone();
            let [table, facts] = sample_files(&self.directory, &parameter);
            write_file(&table, |to| table::write(&answer.runs, to))?;
            let runs = answer.runs.iter().map(|run| RunFacts { run, readings: run.readings.len() }).collect();
            write_json(&facts, &Facts { parameter, effort, runs })?;
        }
        // Under its own name it appears whole or not at all.
        let (unfinished, finished) = (self.directory.join(".survey.json.new"), self.directory.join(SURVEY));
        write_json(&unfinished, survey)?;
        fs::rename(&unfinished, &finished).map_err(|error| Error::file("make", &finished, &error))
    }
}

/// The CSV and the JSON of an experiment.
fn sample_files(directory: &Path, parameter: &str) -> [PathBuf; 2] {
    ["csv", "json"].map(|kind| directory.join(SAMPLES).join(format!("{parameter}.{kind}")))
}

fn read_recording(directory: &Path, parameter: &str) -> Result<Recording, Error> {
    let [table, facts] = sample_files(directory, parameter);
    let known: Facts = read_json(&facts)?;
    let readings = table::read(&table, &known.runs)?;
    let with = |(facts, readings): (RunFacts, _)| Samples { readings, ..facts.run };
    let runs = known.runs.into_iter().zip(readings).map(with).collect();
    Ok(Recording { parameter: known.parameter, effort: known.effort, runs })
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = fs::read_to_string(path).map_err(|error| Error::file("read", path, &error))?;
    serde_json::from_str(&text).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
        Error::Damaged { path: path.to_owned(), line: Some(error.line() as u64), reason }
    })
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    write_file(path, |to| {
        serde_json::to_writer_pretty(&mut *to, value)?;
        to.write_all(b"\n")
    })
}

pub(crate) fn write_file(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<fs::File>) -> io::Result<()>,
) -> Result<(), Error> {
    fs::File::create(path)
        .map(BufWriter::new)
        .and_then(|mut to| fill(&mut to).and_then(|()| to.flush()))
        .map_err(|error| Error::file("write", path, &error))
}

impl Error {
    pub(crate) fn file(operation: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::File { operation, path: path.to_owned(), reason: plain(error) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(path) => write!(
                f,
                "{} holds the survey of an earlier run: choose another folder, or remove it first",
                path.display()
            ),
            Self::OtherPlan(path) => write!(
                f,
                "{} holds predictions of another sweep (other settings, jobs, model, seed or version): choose another folder, or remove it first",
                path.display()
            ),
            Self::File { operation, path, reason } => write!(f, "{operation} {}: {reason}", path.display()),
            Self::Damaged { path, line: Some(line), reason } => {
                write!(f, "{}, line {line}: {reason}", path.display())
            }
            Self::Damaged { path, line: None, reason } => write!(f, "{}: {reason}", path.display()),
            Self::Mismatch { parameter, reason } => {
                write!(f, "{parameter} can't be inferred again: {reason}")
            }
        }
    }
}

impl std::error::Error for Error {}
