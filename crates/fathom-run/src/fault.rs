//! Why a machine could not do what was asked of it.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use fathom_program::units::Bytes;
pub use fathom_sys::plain;

/// Why a machine could not run a workload to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The user asked to stop.
    Interrupted,
    /// The budget for time ran out before one round was complete.
    OutOfTime,
    /// The workload would write more bytes than the budget allows.
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
        /// The call, with its path and offset.
        call: String,
        /// Bytes asked for.
        wanted: usize,
        /// Bytes moved.
        moved: usize,
    },
    /// What was read is not what was written; one line.
    Mismatch(String),
    /// The workload makes no sense or this machine can't do it; one sentence.
    Unsupported(String),
}

impl Fault {
    /// The fault of a call on `path` at the byte `offset` that moved `moved` of `wanted` bytes.
    pub fn short(operation: &str, path: &Path, offset: u64, wanted: usize, moved: usize) -> Self {
        Fault::Short { call: format!("{operation} {} at byte {offset}", path.display()), wanted, moved }
    }

    /// Returns a fault if the user has interrupted the run or the time allowed is over.
    ///
    /// # Errors
    /// [`Fault::Interrupted`], [`Fault::OutOfTime`].
    pub fn if_stopped(interrupt: &AtomicBool, deadline: Option<Instant>) -> Result<(), Self> {
        match interrupt.load(Ordering::Relaxed) {
            true => Err(Self::Interrupted),
            false if deadline.is_some_and(|deadline| Instant::now() >= deadline) => Err(Self::OutOfTime),
            false => Ok(()),
        }
    }

    /// Refuses a workload that would write more than is left of a budget, in bytes.
    ///
    /// # Errors
    /// [`Fault::OverBudget`].
    pub fn unless_affordable(wanted: u64, left: u64) -> Result<(), Self> {
        if wanted > left { Err(Self::OverBudget { wanted, left }) } else { Ok(()) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Interrupted => f.write_str("interrupted"),
            Fault::OutOfTime => f.write_str("the time allowed ran out"),
            Fault::OverBudget { wanted, left } => write!(
                f,
                "it would write {}, and {} of the budget are left: raise --max-write",
                Bytes(*wanted),
                Bytes(*left)
            ),
            Fault::System(error) => error.fmt(f),
            Fault::Short { call, wanted, moved } => {
                write!(f, "{call}: moved {moved} of {wanted} bytes")?;
                // The kernel tells why with the next call alone.
                let is_write = call.split(' ').next().is_some_and(|operation| operation.contains("write"));
                if is_write { f.write_str(": the file system may be full") } else { Ok(()) }
            }
            Fault::Mismatch(reason) | Fault::Unsupported(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Fault {}

impl From<fathom_sys::Error> for Fault {
    fn from(error: fathom_sys::Error) -> Self {
        Fault::System(error)
    }
}
