//! Why a trace could not be read, written or recorded.

use std::fmt;
use std::path::{Path, PathBuf};

/// What failed, where, and why.
#[derive(Debug)]
pub struct Error {
    operation: &'static str,
    path: PathBuf,
    reason: String,
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `operation` at `path`.
    pub fn new(operation: &'static str, path: &Path, reason: impl fmt::Display) -> Self {
        Self { operation, path: path.to_owned(), reason: reason.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.operation, self.path.display(), self.reason)
    }
}

impl std::error::Error for Error {}
