//! What ends the command early: one line for people, and the exit code that the documentation promises.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

pub(crate) use fathom::fault::plain;
use fathom::machine::Fault;
use fathom::{run_folder, session};

use crate::interrupt;

/// Done, but something that was asked for stayed inconclusive.
pub(crate) const INCONCLUSIVE: u8 = 3;

/// Done, and what was compared differs.
pub(crate) const DIFFERENT: u8 = 4;

/// The exit code of what is done: 3 where something that was asked for has no answer.
pub(crate) fn done(is_complete: bool) -> ExitCode {
    ExitCode::from(if is_complete { 0 } else { INCONCLUSIVE })
}

/// A failure with its exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command was used wrongly: exit code 2.
    Usage(String),
    /// The command could not be done: exit code 1.
    Failed(String),
    /// A signal asked to stop: exit code 128 and the signal's number, as shells have it.
    Interrupted(i32),
}

impl Failure {
    /// The exit code.
    pub(crate) fn code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Failed(_) => ExitCode::from(1),
            Failure::Interrupted(signal) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
        }
    }

    /// What an option named can't be made or written.
    pub(crate) fn unwritable(option: &str, path: &Path, error: &io::Error) -> Self {
        Self::Failed(format!("{option}: can't write {}: {}", path.display(), plain(error)))
    }

    /// The same, as a mistake of the user's.
    pub(crate) fn usage(self) -> Self {
        match self {
            Failure::Failed(reason) => Failure::Usage(reason),
            other => other,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) | Failure::Failed(text) => f.write_str(text),
            Failure::Interrupted(_) => session::Error::Interrupted.fmt(f),
        }
    }
}

impl From<session::Error> for Failure {
    fn from(error: session::Error) -> Self {
        match error {
            session::Error::Interrupted => Failure::Interrupted(interrupt::signal()),
            session::Error::Failed(reason) => Failure::Failed(reason),
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        session::Error::from(fault).into()
    }
}

/// Errors that say all there is to say.
macro_rules! failed {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::Failed(error.to_string())
            }
        })*
    };
}

failed!(run_folder::Error, serde_json::Error, fathom_trace::Error, io::Error);
