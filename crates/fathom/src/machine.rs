//! The one seam: a machine runs a workload and gives back samples.
//!
//! Linux is one machine, a script with planted parameters another, a recording the third. An
//! experiment asks its question of *a* machine and cannot know which.

pub mod linux;
pub mod recorded;
pub mod scripted;

use std::fmt;

use crate::samples::Samples;
use crate::witness::Witness;
use crate::workload::Workload;

/// Something that can run a workload and time it.
pub trait Machine {
    /// Runs the workload and returns what was observed.
    ///
    /// Rounds that time did not allow are missing from the samples; no round is kept in part.
    ///
    /// # Errors
    /// [`Fault`]: nothing is returned of a run that failed, so that no finding is built on it.
    fn run(&mut self, workload: &Workload) -> Result<Samples, Fault>;

    /// What this machine lets a program see beside durations, where it shows anything.
    fn witness(&mut self) -> Option<&mut dyn Witness> {
        None
    }

    /// Bytes that may still be written before the budget is used up.
    fn write_budget(&self) -> u64;
}

/// Why a machine could not run a workload to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The user asked to stop.
    Interrupted,
    /// The budget for time ran out before one round was complete.
    OutOfTime,
    /// The workload would write more than the budget allows: wanted and left, in bytes.
    OverBudget {
        /// Bytes that the workload would write.
        wanted: u64,
        /// Bytes that may still be written.
        left: u64,
    },
    /// A system call failed.
    System(fathom_sys::Error),
    /// A call moved fewer bytes than it was asked to.
    Short {
        /// The failing call, with its path and offset; its `errno` is meaningless.
        call: String,
        /// Bytes asked for.
        wanted: usize,
        /// Bytes moved.
        moved: usize,
    },
    /// The workload makes no sense or this machine can't do it; one sentence.
    Unsupported(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Interrupted => f.write_str("interrupted"),
            Fault::OutOfTime => f.write_str("the time allowed ran out"),
            Fault::OverBudget { wanted, left } => write!(
                f,
                "it would write {}, and {} of the budget are left: raise --max-write",
                crate::units::Bytes(*wanted),
                crate::units::Bytes(*left)
            ),
            Fault::System(error) => error.fmt(f),
            Fault::Short { call, wanted, moved } => write!(f, "{call}: moved {moved} of {wanted} bytes"),
            Fault::Unsupported(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Fault {}

impl From<fathom_sys::Error> for Fault {
    fn from(error: fathom_sys::Error) -> Self {
        Fault::System(error)
    }
}
