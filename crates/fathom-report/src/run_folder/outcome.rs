//! Results of other commands than `survey` in folders of their own, and results to compare, wherever they are.

use std::fs;
use std::path::{Path, PathBuf};

use fathom_trace::show::Shown;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Error, SURVEY, read_json, write_json, write_page};
use crate::comparison::Outcome;
use fathom_predict::calibration::Account;
use fathom_predict::model::Model;
use fathom_predict::prediction::Predicted;
use fathom_predict::validation::Validation;
use fathom_run::replay::Replayed;
use fathom_speed::curve::{self, Curve};
use fathom_speed::jobs::Ran;
use fathom_speed::syscalls::Syscalls;
use fathom_speed::versus::Versus;
use fathom_speed::xor::Xor;
use fathom_survey::survey;

/// What a folder holds instead of a survey.
#[derive(Debug, Clone)]
pub enum Kept {
    /// Curves.
    Curve(Box<Curve>),
    /// Prices of calls.
    Syscalls(Box<Syscalls>),
    /// Fathom, dd and fio.
    Versus(Box<Versus>),
    /// Jobs.
    Run(Box<Ran>),
    /// The XOR of a file.
    Xor(Box<Xor>),
    /// A model held to runs, and the model.
    Validation(Box<Validation>, Box<Model>),
    /// What jobs will do, and the model that says so.
    Prediction(Box<Predicted>, Box<Model>),
    /// A model, and how its stages went.
    Calibration(Box<Model>, Vec<Account>),
    /// What a trace does.
    Trace(Box<NamedTrace>),
    /// A trace replayed.
    Replay(Box<Replayed>),
}

/// What a trace does, and what its file was called.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NamedTrace {
    /// The trace's file.
    pub name: String,
    /// What it does.
    #[serde(flatten)]
    pub shown: Shown,
}

/// The names of results; the file of each is its name with `.json`. A calibration is told by its stages, because
/// others keep their model as well.
const CURVE: &str = "curve";
const SYSCALLS: &str = "syscalls";
const VERSUS: &str = "versus";
const RUN: &str = "run";
const XOR: &str = "xor";
const VALIDATION: &str = "validation";
const PREDICTION: &str = "prediction";
const STAGES: &str = "stages";
const TRACE: &str = "trace";
const REPLAY: &str = "replay";
const MODEL: &str = "model";

const RESULTS: [&str; 10] =
    [CURVE, SYSCALLS, VERSUS, RUN, XOR, VALIDATION, PREDICTION, STAGES, TRACE, REPLAY];

/// Makes sure that a result can be kept in `directory`. Called before anything is measured.
///
/// # Errors
/// [`Error::Taken`] where it holds a result, [`Error::File`] where it can't be made.
pub fn check_free(directory: &Path) -> Result<(), Error> {
    fs::create_dir_all(directory).map_err(|error| Error::file("make", directory, &error))?;
    let names = RESULTS.iter().chain([&MODEL]);
    let is_taken =
        directory.join(SURVEY).exists() || names.into_iter().any(|name| file(directory, name).exists());
    if is_taken { Err(Error::Taken(directory.to_owned())) } else { Ok(()) }
}

/// Writes a result and its page, and gives the page's path.
///
/// # Errors
/// [`Error::File`] where a file can't be written.
pub fn keep(directory: &Path, kept: &Kept, html: &str) -> Result<PathBuf, Error> {
    let (name, model) = match kept {
        Kept::Validation(_, model) => (VALIDATION, Some(model)),
        Kept::Prediction(_, model) => (PREDICTION, Some(model)),
        Kept::Calibration(model, _) => (STAGES, Some(model)),
        Kept::Curve(_) => (CURVE, None),
        Kept::Syscalls(_) => (SYSCALLS, None),
        Kept::Versus(_) => (VERSUS, None),
        Kept::Run(_) => (RUN, None),
        Kept::Xor(_) => (XOR, None),
        Kept::Trace(_) => (TRACE, None),
        Kept::Replay(_) => (REPLAY, None),
    };
    if let Some(model) = model {
        write_json(&file(directory, MODEL), model)?;
    }
    write_json(&file(directory, name), kept)?;
    write_page(directory, html)
}

fn file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.json"))
}

impl Serialize for Kept {
    /// As the command itself writes it; a model that stands beside it has a file of its own.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Kept::Curve(curve) => curve.serialize(serializer),
            Kept::Syscalls(prices) => prices.serialize(serializer),
            Kept::Versus(versus) => versus.serialize(serializer),
            Kept::Run(ran) => ran.serialize(serializer),
            Kept::Xor(xor) => xor.serialize(serializer),
            Kept::Validation(validation, _) => validation.serialize(serializer),
            Kept::Prediction(predicted, _) => predicted.serialize(serializer),
            Kept::Calibration(_, accounts) => accounts.serialize(serializer),
            Kept::Trace(trace) => trace.serialize(serializer),
            Kept::Replay(replayed) => replayed.serialize(serializer),
        }
    }
}

/// What the folder holds, where that is no survey.
///
/// # Errors
/// [`Error::Damaged`] where it holds something else than its name says.
pub fn read_kept(directory: &Path) -> Result<Option<Kept>, Error> {
    let Some(name) = RESULTS.into_iter().find(|name| file(directory, name).exists()) else { return Ok(None) };
    let path = file(directory, name);
    Ok(Some(match name {
        CURVE => Kept::Curve(read_json(&path)?),
        SYSCALLS => Kept::Syscalls(read_json(&path)?),
        VERSUS => Kept::Versus(read_json(&path)?),
        RUN => Kept::Run(read_json(&path)?),
        XOR => Kept::Xor(read_json(&path)?),
        VALIDATION => Kept::Validation(read_json(&path)?, model(directory)?),
        PREDICTION => Kept::Prediction(read_json(&path)?, model(directory)?),
        STAGES => Kept::Calibration(model(directory)?, read_json(&path)?),
        TRACE => Kept::Trace(read_json(&path)?),
        _ => Kept::Replay(read_json(&path)?),
    }))
}

fn model(directory: &Path) -> Result<Box<Model>, Error> {
    read_json(&file(directory, MODEL))
}

/// A survey or curves: from a run folder, or from the JSON itself.
///
/// # Errors
/// [`Error::File`] where it can't be read, [`Error::Damaged`] where it is nothing that can be compared.
pub fn read_outcome(path: &Path) -> Result<Outcome, Error> {
    let kept = match path.is_dir() {
        true => [path.join(SURVEY), self::file(path, CURVE)].into_iter().find(|file| file.exists()),
        false => None,
    };
    let file = kept.unwrap_or_else(|| if path.is_dir() { path.join(SURVEY) } else { path.to_owned() });
    let json: Value = read_json(&file)?;
    match json["schema"].as_str() {
        Some(survey::SCHEMA) => typed(&file, json).map(Outcome::Survey),
        Some(curve::SCHEMA) => typed(&file, json).map(Outcome::Curve),
        other => {
            let what = other.map_or_else(|| "names no schema".to_owned(), |name| format!("is a {name}"));
            let reason = format!("it {what}: {} and {} can be compared", survey::SCHEMA, curve::SCHEMA);
            Err(Error::Damaged { path: file, line: None, reason })
        }
    }
}

fn typed<T: DeserializeOwned>(path: &Path, json: Value) -> Result<Box<T>, Error> {
    serde_json::from_value(json).map(Box::new).map_err(|error| Error::Damaged {
        path: path.to_owned(),
        line: None,
        reason: error.to_string(),
    })
}
