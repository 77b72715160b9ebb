//! Where JSON goes. Opened before anything is measured, so that a wrong path costs no time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use fathom::report::Colours;
use fathom::results::Json;

use crate::console;
use crate::failure::Failure;

/// Where JSON goes.
pub(crate) enum Output {
    Nowhere,
    Stdout,
    File(Target),
}

/// The option that names it.
#[derive(Debug, Args)]
pub(crate) struct JsonOptions {
    /// Write the result as JSON to FILE, or to standard output with '-'.
    #[arg(id = "json", long = "json", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// A file that keeps what it holds until there is something to write.
pub(crate) struct Target {
    path: PathBuf,
    file: File,
    /// Made here and still empty: it goes if nothing comes.
    is_placeholder: bool,
}

impl JsonOptions {
    /// Opens what is named: `-` is standard output.
    pub(crate) fn open(&self) -> Result<Output, Failure> {
        let Some(path) = self.file.as_deref() else { return Ok(Output::Nowhere) };
        if path == Path::new("-") {
            return Ok(Output::Stdout);
        }
        let existed = path.exists();
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        opened
            .map(|file| Output::File(Target { path: path.to_owned(), file, is_placeholder: !existed }))
            .map_err(|error| Failure::unwritable("--json", path, &error))
    }
}

impl Output {
    /// Whether standard output carries JSON, so that people's text must go elsewhere.
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self, Output::Stdout)
    }

    /// Whether the text that [`Output::tell`] writes may have colours.
    pub(crate) fn colours(&self) -> Colours {
        console::colours(self.is_stdout())
    }

    /// Writes people's text: to standard output, or to standard error where JSON goes to standard output.
    pub(crate) fn tell(&self, text: &str) -> Result<(), Failure> {
        console::tell(text, self.is_stdout())
    }

    /// Shows a result: its text to people, and then its JSON where that is wanted.
    pub(crate) fn show(
        self,
        text: impl FnOnce(Colours) -> String,
        value: &(impl Json + ?Sized),
    ) -> Result<(), Failure> {
        self.tell(&text(self.colours()))?;
        self.write(value)
    }

    /// Writes one value and a line end.
    pub(crate) fn write(self, value: &(impl Json + ?Sized)) -> Result<(), Failure> {
        match self {
            Output::Nowhere => Ok(()),
            Output::Stdout => console::print(&(value.json()? + "\n")),
            Output::File(mut target) => target
                .replace(&(value.json()? + "\n"))
                .map_err(|error| Failure::unwritable("--json", &target.path, &error)),
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
            // A failure leaves an empty file, and there is no caller left to report it to.
            let _ = fs::remove_file(&self.path);
        }
    }
}
