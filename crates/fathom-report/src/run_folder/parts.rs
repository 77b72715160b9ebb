//! The folder of a sweep that is under way: what is swept, and a file for each finished cell.
//!
//! | file | holds |
//! |---|---|
//! | `plan.json` | the [`Plan`]: a folder holds the cells of one plan only |
//! | `cells/NUMBER.json` | a [`Cell`], under this name only when it is complete |
//!
//! Any number of processes may work in it at once, on any machines that share it.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Error, read_json, write_json};
use fathom_predict::sweep::{Cell, Plan};

/// The folder of a sweep's cells.
#[derive(Debug, Clone)]
pub struct Parts {
    directory: PathBuf,
}

const PLAN: &str = "plan.json";
const CELLS: &str = "cells";
/// What unfinished files end in.
const UNFINISHED: &str = ".unfinished";

impl Parts {
    /// Whether a folder is that of a sweep.
    pub fn are_in(directory: &Path) -> bool {
        directory.join(PLAN).exists()
    }

    /// The folder for the cells of a plan; it is made if it does not exist.
    ///
    /// # Errors
    /// [`Error::OtherPlan`] where it has cells of another plan, [`Error::File`] where it can't be made or read.
    pub fn of(directory: &Path, plan: &Plan) -> Result<Self, Error> {
        let cells = directory.join(CELLS);
        fs::create_dir_all(&cells).map_err(|error| Error::file("make", &cells, &error))?;
        let parts = Self { directory: directory.to_owned() };
        if Self::are_in(directory) {
            let (_, there) = Self::read(directory)?;
            return if there == *plan { Ok(parts) } else { Err(Error::OtherPlan(directory.to_owned())) };
        }
        whole(&directory.join(PLAN), plan)?;
        Ok(parts)
    }

    /// Opens an existing folder, and reads its plan.
    ///
    /// # Errors
    /// [`Error::File`] and [`Error::Damaged`] where it has no plan.
    pub fn read(directory: &Path) -> Result<(Self, Plan), Error> {
        Ok((Self { directory: directory.to_owned() }, read_json(&directory.join(PLAN))?))
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// A finished cell; none where it is missing, or was cut short by a crash of the machine.
    pub fn cell(&self, cell: usize) -> Option<Cell> {
        read_json(&self.file(cell)).ok().filter(|read: &Cell| read.cell == cell)
    }

    /// Writes a finished cell.
    ///
    /// # Errors
    /// [`Error::File`] where it can't be written.
    pub fn keep(&self, cell: &Cell) -> Result<(), Error> {
        whole(&self.file(cell.cell), cell)
    }

    /// Removes what killed processes left unfinished. Call this when no process works in the folder any more.
    pub fn tidy(&self) {
        for folder in [self.directory.clone(), self.directory.join(CELLS)] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().ends_with(UNFINISHED) {
                    // What stays does no harm: it is never read.
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    fn file(&self, cell: usize) -> PathBuf {
        self.directory.join(CELLS).join(format!("{cell:07}.json"))
    }
}

/// Writes a file that appears under its name whole or not at all.
fn whole(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    // The keys of a hasher are drawn by the system: processes of several machines do not meet.
    let own = format!("{:016x}{UNFINISHED}", RandomState::new().build_hasher().finish());
    let unfinished = path.with_extension(own);
    write_json(&unfinished, value)?;
    fs::rename(&unfinished, path).map_err(|error| Error::file("make", path, &error))
}
