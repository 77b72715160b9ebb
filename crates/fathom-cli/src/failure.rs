//! What ends the command early: one line for people, and the exit code that the documentation promises.

use std::fmt;
use std::process::ExitCode;

use fathom::machine::Fault;
use fathom::machine::linux::Linux;

/// Done, but something that was asked for stayed inconclusive.
pub(crate) const INCONCLUSIVE: u8 = 3;

/// Done, and what was compared differs.
pub(crate) const DIFFERENT: u8 = 4;

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
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) | Failure::Failed(text) => f.write_str(text),
            Failure::Interrupted(_) => f.write_str("interrupted; everything was removed"),
        }
    }
}

/// Removes what a machine has made, and adds what can't be removed to the reason why it ended.
pub(crate) fn closed<T>(outcome: Result<T, Fault>, machine: Linux) -> Result<T, Failure> {
    match (outcome, machine.close()) {
        (outcome, Ok(())) => outcome.map_err(Failure::from),
        (Ok(_), Err(left)) => Err(Failure::Failed(format!("left behind: {left}"))),
        (Err(fault), Err(left)) => Err(Failure::Failed(format!("{fault}; left behind: {left}"))),
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Interrupted => Failure::Interrupted(crate::interrupt::signal()),
            other => Failure::Failed(other.to_string()),
        }
    }
}
