//! What was done in a run.

use fathom_net::Time;

/// One call that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Which job made it.
    pub job: u32,
    /// Its number in the job.
    pub number: u64,
    /// When it began and ended, in ns.
    pub span: [Time; 2],
    /// For [`Kind::Look`](super::Kind::Look): how many of its pages are cached, of how many.
    pub cached: Option<[u32; 2]>,
}

/// What all calls were together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Calls.
    pub calls: u64,
    /// Bytes that reads and writes moved.
    pub bytes: u64,
    /// What the calls took together, in ns.
    pub took_ns: u64,
}

impl Done {
    /// How long it took, in ns.
    #[must_use]
    pub fn took_ns(&self) -> u64 {
        (self.span[1] - self.span[0]).as_ticks()
    }
}
