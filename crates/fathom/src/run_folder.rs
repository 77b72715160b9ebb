//! The run folder: the survey and the raw samples behind it, enough to infer again without a machine.

use crate::survey::{Answer, Survey};
use std::path::Path;

/// Placeholder until the folder lands.
#[derive(Debug)]
pub struct RunFolder;

impl RunFolder {
    /// Makes the folder.
    ///
    /// # Errors
    /// Where it can't be made.
    pub fn create(_: &Path) -> std::io::Result<Self> {
        Ok(Self)
    }

    /// Writes the survey.
    ///
    /// # Errors
    /// Where it can't be written.
    pub fn write(&self, _: &Survey, _: &[Answer]) -> std::io::Result<()> {
        Ok(())
    }
}
