//! The tokens of the application: its jobs, and the calls that are under way.

use fathom_net::{Span, Time};

use super::CallKind;
use crate::file_read::Read;
use crate::page_cache::FileId;

/// A job that makes its next call after a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ready {
    pub(crate) turn: Turn,
    pub(crate) wait: Span,
    /// How long it takes the CPU before that, after the wait.
    pub(crate) work: Span,
}

/// A call of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    /// The job.
    pub(crate) job: u32,
    /// The number of the call.
    pub(crate) number: u64,
}

/// A system call as the layers below the application see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SystemCall {
    /// What it costs as much as, and changes the same as.
    pub(crate) kind: CallKind,
    pub(crate) file: FileId,
    /// The descriptor of the file that it goes through.
    pub(crate) descriptor: u32,
    /// Pages of the caller's buffer that it is the first to touch.
    pub(crate) fresh_pages: u32,
    /// The faults that come first, if it is no call but a copy of mapped memory.
    pub(crate) faults: Option<u32>,
    /// The range of the file, in bytes.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Whether it is a request, and its caller goes on meanwhile.
    pub(crate) is_queued: bool,
    /// The flags of `sync_file_range(2)`; zero for all.
    pub(crate) flags: u32,
    /// What follows before its caller goes on: a sync that is part of it, or a write of mapped memory whose pages it reads first.
    pub(crate) then: Option<CallKind>,
}

/// A call under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Work {
    pub(crate) turn: Turn,
    pub(crate) call: SystemCall,
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
    /// Whether it holds the lock of its file's inode.
    pub(crate) locks: bool,
    /// How much longer work of its CPU takes now because other CPUs work as well, in 1/1000.
    pub(crate) slowed: u32,
}

impl Work {
    /// Whether a read or a write has bytes left, unless the file ends before them.
    pub(crate) fn has_more(&self) -> bool {
        self.read.position < self.read.end
    }

    /// How long work of its CPU takes that takes so many ns where no other CPU works.
    pub(crate) fn crowded(&self, ns: f64) -> f64 {
        ns * (1.0 + f64::from(self.slowed) / 1e3)
    }

    /// What is still to come before its caller goes on.
    pub(crate) fn next_part(&self) -> Option<Self> {
        let kind = self.call.then?;
        let mut read = self.read;
        read.position = self.call.offset;
        Some(Self { call: SystemCall { kind, then: None, ..self.call }, read, owed_ns: 0, ..*self })
    }
}
