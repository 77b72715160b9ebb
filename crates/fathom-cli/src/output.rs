//! Where JSON goes. Opened before anything is measured, so that a wrong path costs no time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::console;
use crate::failure::Failure;

/// Standard output or a file.
pub(crate) enum Output {
    Stdout,
    File(Target),
}

/// A file that keeps what it holds until there is something to write.
pub(crate) struct Target {
    path: PathBuf,
    file: File,
    /// Made here and still empty: it goes if nothing comes.
    is_placeholder: bool,
}

impl Output {
    /// Opens what `--json` names: `-` is standard output.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Output::Stdout);
        }
        let existed = path.exists();
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        opened
            .map(|file| Output::File(Target { path: path.to_owned(), file, is_placeholder: !existed }))
            .map_err(|error| {
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
            Output::File(mut target) => target.replace(&text).map_err(|error| {
                Failure::Failed(format!("--json: can't write {}: {}", target.path.display(), plain(&error)))
            }),
        }
    }
}

impl Target {
    fn replace(&mut self, text: &str) -> io::Result<()> {
        // A terminal or a pipe has no length to set.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all(text.as_bytes())?;
        self.is_placeholder = false;
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.is_placeholder {
            // What can't be removed is an empty file, and there is nobody to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// An error's words without its number.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
