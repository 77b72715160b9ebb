//! The tokens of the application: its jobs, and the calls that are under way.

use fathom_net::Time;

use super::Call;
use crate::file_read::Read;

/// A job that is about to make its next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    /// The job.
    pub(crate) job: u32,
    /// The number of the call.
    pub(crate) number: u64,
}

/// A call under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Work {
    pub(crate) turn: Turn,
    pub(crate) call: Call,
    /// The descriptor of the file that it goes through.
    pub(crate) descriptor: u32,
    pub(crate) begun: Time,
    /// How far a read or a write has come.
    pub(crate) read: Read,
    /// Time of the CPU for what is already decided, in ns: the next copy takes it.
    pub(crate) owed_ns: u64,
    /// The mean time of the next copy's waits for data that are not near the CPU, in ns.
    pub(crate) far_ns: u64,
    /// Bytes of the next copy.
    pub(crate) copied: u64,
    /// How long the writer sleeps after the copy, in ns.
    pub(crate) pause_ns: u64,
}

impl Work {
    /// Whether a read or a write has bytes left, unless the file ends before them.
    pub(crate) fn has_more(&self) -> bool {
        self.read.position < self.read.end
    }
}
