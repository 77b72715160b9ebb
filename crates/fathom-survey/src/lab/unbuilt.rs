//! Why a case of the lab is not there.

use std::time::Duration;

/// Why a case could not be built, one sentence.
#[derive(Debug)]
pub(super) enum Unbuilt {
    /// Something that could be installed is missing.
    Skipped(String),
    /// The kernel can't mount it.
    Unsupported(String),
    /// Something went wrong.
    Failed(String),
}

/// How long letting go may take: a moment on most machines, more where others look at new devices.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
