//! Settings of the whole machine, and their return to what they were.
//!
//! What stood there is noted in a file before it is changed. The owner holds a lock on its note, which
//! ends with the process, so that the next run finds the notes of killed runs and puts things back.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_sys::Error;
use fathom_sys::file::{create_new, lock_exclusive, open};

/// Where notes are kept: a directory that lives as long as the settings do, until the next start.
const NOTES: &str = "/run/fathom";

/// The notes of this process.
static LIVING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Kernel settings that were changed together. Dropping this restores their former values.
#[derive(Debug)]
pub struct Settings {
    note: PathBuf,
    _lock: OwnedFd,
}

/// A file of the kernel and the value to write to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub file: PathBuf,
    /// What to write.
    pub value: String,
}

impl Change {
    /// The change that writes `value` to `file`.
    pub fn new(file: impl Into<PathBuf>, value: impl Into<String>) -> Self {
        Self { file: file.into(), value: value.into() }
    }
}

impl Settings {
    /// Writes a note of `undo` under `name`, then makes `changes`, both in order. If a change fails, those before it are undone.
    ///
    /// # Errors
    /// One sentence: another run has changed the same settings and lives; the note or a setting can't be written.
    pub fn change(name: &str, changes: &[Change], undo: &[Change]) -> Result<Self, String> {
        restore_leftovers();
        let note = Path::new(NOTES).join(name);
        fs::create_dir_all(NOTES).map_err(|error| unset(Path::new(NOTES), &error))?;
        let lock = create_new(&note).map_err(|error| {
            format!("another run of Fathom has changed the same settings, or their old values can't be saved: {error}")
        })?;
        lock_exclusive(&lock).map_err(|errno| Error::new("lock", &note, errno).to_string())?;
        let lines: String =
            undo.iter().map(|change| format!("{}\t{}\n", change.file.display(), change.value)).collect();
        living().push(note.clone());
        // From here on dropping it undoes what was done.
        let settings = Self { note, _lock: lock };
        fs::write(&settings.note, lines).map_err(|error| unset(&settings.note, &error))?;
        for change in changes {
            fs::write(&change.file, &change.value).map_err(|error| unset(&change.file, &error))?;
        }
        Ok(settings)
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        put_back(&self.note);
        living().retain(|note| note != &self.note);
    }
}

/// Restores what this process has changed, even if other threads still work with it.
pub fn abandon() {
    let notes = living().clone();
    notes.iter().for_each(|note| drop(put_back(note)));
}

/// Restores what killed runs have left changed, and returns a description of each.
pub fn restore_leftovers() -> Vec<String> {
    let Ok(notes) = fs::read_dir(NOTES) else { return Vec::new() };
    let abandoned = |path: &PathBuf| open(path).is_ok_and(|note| lock_exclusive(&note).is_ok());
    let restored =
        notes.flatten().map(|note| note.path()).filter(abandoned).flat_map(|note| put_back(&note)).collect();
    // Goes once it is empty, which is the usual case.
    let _ = fs::remove_dir(NOTES);
    restored
}

/// Writes what a note says, and removes the note; the settings that were written.
fn put_back(note: &Path) -> Vec<String> {
    let text = fs::read_to_string(note).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    // A device that is gone took its setting along.
    let written = lines.filter(|(file, value)| fs::write(file, value).is_ok());
    let restored = written.map(|(file, value)| format!("{file} put back to {value}")).collect();
    let _ = fs::remove_file(note);
    restored
}

fn living() -> MutexGuard<'static, Vec<PathBuf>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a setting is as it was: a container's root may see groups, for one, and change none.
pub(super) fn unset(file: &Path, error: &std::io::Error) -> String {
    Error::from_io("write", file, error).to_string()
}
