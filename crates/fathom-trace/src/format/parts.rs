//! Traces in several files: the parts of a trace, in the order of their names.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::{Writer, create};
use crate::error::{Error, Result};
use crate::operation::{Files, Operation, Origin};

/// What the files of parts end in.
const ENDING: &str = "parquet";

/// The files of a trace: the file itself; of a folder, all `*.parquet` in it; or those whose names fit a pattern of `*` and `?`.
///
/// # Errors
/// There is none.
pub(super) fn parts(path: &Path) -> Result<Vec<PathBuf>> {
    let name = path.file_name().map(|name| name.as_encoded_bytes()).unwrap_or_default();
    let is_pattern = name.iter().any(|byte| b"*?".contains(byte)) && !path.exists();
    let (folder, pattern) = match path.is_dir() {
        true => (path, None),
        false if is_pattern => (path.parent().unwrap_or(Path::new("")), Some(name)),
        false => return Ok(vec![path.to_owned()]),
    };
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = fs::read_dir(listed).map_err(|error| Error::new("open", path, error))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let is_part = |name: &std::ffi::OsString| match pattern {
        Some(pattern) => fits(pattern, name.as_encoded_bytes()),
        None => Path::new(name).extension().is_some_and(|ending| ending == ENDING),
    };
    let mut found: Vec<PathBuf> = names.filter(is_part).map(|name| folder.join(name)).collect();
    found.sort();
    if found.is_empty() {
        return Err(Error::new("open", path, format!("there is no part of a trace (*.{ENDING})")));
    }
    Ok(found)
}

/// Whether a name fits a pattern, in which `*` stands for anything and `?` for any byte.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            fits(rest, name) || name.split_first().is_some_and(|(_, name)| fits(pattern, name))
        }
        (Some((one, rest)), Some((other, name))) => (*one == b'?' || one == other) && fits(rest, name),
        _ => false,
    }
}

/// Writes a trace that is being made, into one file or into parts.
pub(crate) enum Sink {
    /// One file.
    Whole(Writer<File>),
    /// Files of so many operations in a folder.
    Parts(Parts),
}

/// The folder of a trace that is written in parts.
pub(crate) struct Parts {
    folder: PathBuf,
    origin: Origin,
    rows: usize,
    /// How many operations the part under way has room for.
    room: usize,
    number: u32,
    writer: Option<Writer<File>>,
}

impl Sink {
    /// Begins a trace in a new file, or in a new folder of parts with so many operations each.
    ///
    /// # Errors
    /// It is there already or can't be made.
    pub(crate) fn create(out: &Path, origin: &Origin, rows: Option<usize>) -> Result<Self> {
        let Some(rows) = rows else { return Ok(Self::Whole(create(out, origin)?)) };
        fs::create_dir(out).map_err(|error| Error::new("create", out, error))?;
        let (folder, origin, rows) = (out.to_owned(), origin.clone(), rows.max(1));
        Ok(Self::Parts(Parts { folder, origin, rows, room: 0, number: 0, writer: None }))
    }

    /// Adds operations, whose files are `files`.
    ///
    /// # Errors
    /// What writing gives.
    pub(crate) fn add(&mut self, operations: &[Operation], files: &Files) -> Result<()> {
        match self {
            Self::Whole(writer) => writer.add(operations, files),
            Self::Parts(parts) => parts.add(operations, files),
        }
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// What writing gives.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Self::Whole(writer) => writer.finish(),
            Self::Parts(mut parts) => {
                // A trace of nothing has a part, too, which says where it came from.
                parts.writer = if parts.number == 0 { Some(parts.next()?) } else { parts.writer };
                parts.writer.map_or(Ok(()), Writer::finish)
            }
        }
    }
}

/// Removes what was begun of a trace: half of one is none.
pub(crate) fn discard(out: &Path) {
    let _ = if out.is_dir() { fs::remove_dir_all(out) } else { fs::remove_file(out) };
}

impl Parts {
    fn add(&mut self, mut operations: &[Operation], files: &Files) -> Result<()> {
        while !operations.is_empty() {
            let mut writer = match self.writer.take() {
                Some(writer) => writer,
                None => self.next()?,
            };
            let (now, later) = operations.split_at(self.room.min(operations.len()));
            writer.add(now, files)?;
            (self.room, operations) = (self.room - now.len(), later);
            if self.room == 0 {
                writer.finish()?;
            } else {
                self.writer = Some(writer);
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Writer<File>> {
        let name = format!("part-{:05}.{ENDING}", self.number);
        self.number += 1;
        self.room = self.rows;
        create(&self.folder.join(name), &self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns_fit_what_a_shell_says() {
        for (pattern, name, is_fit) in [
            ("*.parquet", "a.parquet", true),
            ("part-*", "part-", true),
            ("a?c*e", "abcdde", true),
            ("a?c", "ac", false),
            ("*b", "abc", false),
            ("**", "", true),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), is_fit, "{pattern} {name}");
        }
    }
}
