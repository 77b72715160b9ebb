//! The one seam: a machine runs a workload and gives back samples.
//!
//! Linux is one machine, a script with planted parameters another, a recording the third, a model of
//! Linux the fourth. An experiment asks its question of *a* machine and cannot know which.

pub mod linux;

pub use crate::fault::Fault;
use crate::samples::Samples;
use crate::witness::Witness;
use fathom_program::workload::Workload;

/// Something that can run a workload and time it.
pub trait Machine {
    /// Runs the workload and returns what was observed.
    ///
    /// Rounds that time did not allow are missing from the samples; no round is kept in part.
    ///
    /// # Errors
    /// [`Fault`]: nothing is returned of a run that failed, so that no finding is built on it.
    fn run(&mut self, workload: &Workload) -> Result<Samples, Fault>;

    /// What this machine lets a program see besides durations, where it shows anything.
    fn witness(&mut self) -> Option<&mut dyn Witness> {
        None
    }

    /// Bytes that may still be written before the budget is used up.
    fn write_budget(&self) -> u64;
}
