//! Results of other commands than `survey` in folders of their own, and results to compare, wherever they are.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Error, SURVEY, read_json, write_json, write_page};
use crate::comparison::Outcome;
use crate::speed::curve::{self, Curve};
use crate::speed::syscalls::Syscalls;
use crate::survey;

/// What a folder holds instead of a survey.
#[derive(Debug)]
pub enum Kept {
    /// Curves.
    Curve(Box<Curve>),
    /// Prices of calls.
    Syscalls(Box<Syscalls>),
}

const CURVE: &str = "curve.json";
const SYSCALLS: &str = "syscalls.json";

/// Makes sure that a result can be kept in `directory`. Called before anything is measured.
///
/// # Errors
/// [`Error::Taken`] where it holds a result, [`Error::File`] where it can't be made.
pub fn check_free(directory: &Path) -> Result<(), Error> {
    fs::create_dir_all(directory).map_err(|error| Error::file("make", directory, &error))?;
    match [SURVEY, CURVE, SYSCALLS].iter().any(|name| directory.join(name).exists()) {
        true => Err(Error::Taken(directory.to_owned())),
        false => Ok(()),
    }
}

/// Writes the result of the command `name` and its page, and gives the page's path.
///
/// # Errors
/// [`Error::File`] where a file can't be written.
pub fn keep(directory: &Path, name: &str, result: &impl Serialize, html: &str) -> Result<PathBuf, Error> {
    write_json(&directory.join(format!("{name}.json")), result)?;
    write_page(directory, html)
}

/// What the folder holds, where that is no survey.
///
/// # Errors
/// [`Error::Damaged`] where it holds something else than its name says.
pub fn read_kept(directory: &Path) -> Result<Option<Kept>, Error> {
    let [curve, syscalls] = [CURVE, SYSCALLS].map(|name| directory.join(name));
    if curve.exists() {
        return Ok(Some(Kept::Curve(Box::new(read_json(&curve)?))));
    }
    if syscalls.exists() {
        return Ok(Some(Kept::Syscalls(Box::new(read_json(&syscalls)?))));
    }
    Ok(None)
}

/// A survey or curves: from a run folder, or from the JSON itself.
///
/// # Errors
/// [`Error::File`] where it can't be read, [`Error::Damaged`] where it is nothing that can be compared.
pub fn read_outcome(path: &Path) -> Result<Outcome, Error> {
    let file = match path.is_dir() {
        true => [SURVEY, CURVE].map(|name| path.join(name)).into_iter().find(|file| file.exists()),
        false => None,
    };
    let file = file.unwrap_or_else(|| if path.is_dir() { path.join(SURVEY) } else { path.to_owned() });
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
