//! Where JSON goes. Opened before anything is measured, so that a wrong path costs no time.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::console;
use crate::failure::Failure;

/// Standard output or a file.
pub(crate) enum Output {
    Stdout,
    File(PathBuf, File),
}

impl Output {
    /// Opens what `--json` names: `-` is standard output.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Output::Stdout);
        }
        let opened = OpenOptions::new().write(true).create(true).truncate(true).open(path);
        opened.map(|file| Output::File(path.to_owned(), file)).map_err(|error| {
            Failure::Failed(format!("--json: can't write {}: {}", path.display(), plain(&error)))
        })
    }

    /// Whether standard output carries JSON, so that people's text must go elsewhere.
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self, Output::Stdout)
    }

    /// Writes one value and a line end.
    pub(crate) fn write(self, value: &impl Serialize) -> Result<(), Failure> {
        let text =
            serde_json::to_string_pretty(value).map_err(|error| Failure::Failed(error.to_string()))? + "\n";
        match self {
            Output::Stdout => console::print(&text),
            Output::File(path, mut file) => file.write_all(text.as_bytes()).map_err(|error| {
                Failure::Failed(format!("can't write {}: {}", path.display(), plain(&error)))
            }),
        }
    }
}

/// An error's words without its number.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
