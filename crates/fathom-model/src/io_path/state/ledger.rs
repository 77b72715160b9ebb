//! The calls that were made in a run.

use fathom_net::Time;

use super::clock::Clock;
use crate::io_path::CallKind;
use crate::io_path::work::{Turn, Work};

/// One call that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Which job made it.
    pub job: u32,
    /// Its number in the job.
    pub number: u64,
    /// When it began and ended, in ns.
    pub span: [Time; 2],
    /// For [`CallKind::Look`]: how many of its pages are cached, of how many.
    pub cached: Option<[u32; 2]>,
}

/// The totals of all calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Calls.
    pub calls: u64,
    /// Bytes that reads and writes moved.
    pub bytes: u64,
    /// The time of the calls together, in ns.
    pub took_ns: u64,
}

impl Done {
    /// How long it took, in ns.
    #[must_use]
    pub fn took_ns(&self) -> u64 {
        (self.span[1] - self.span[0]).as_ticks()
    }
}

/// The calls of the run under way.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    /// Whether each call is kept, and not the totals alone.
    pub(crate) keeps_each: bool,
    /// In the order in which the calls ended.
    pub(crate) done: Vec<Done>,
    pub(crate) totals: Totals,
    /// Jobs that still have calls to make.
    pub(crate) jobs_left: u32,
}

impl Ledger {
    /// An empty ledger that keeps each call.
    pub(crate) fn new() -> Self {
        Self { keeps_each: true, done: Vec::new(), totals: Totals::default(), jobs_left: 0 }
    }

    /// Forgets all calls.
    pub(crate) fn clear(&mut self) {
        self.done.clear();
        self.totals = Totals::default();
    }

    /// Enters a call that returns `now`; `cached` as in [`Done`].
    pub(crate) fn enter(&mut self, work: &Work, cached: Option<[u32; 2]>, clock: &Clock, now: Time) {
        let Work { turn: Turn { job, number }, call, begun, .. } = *work;
        // A sync has bytes where it is part of a write.
        let moves =
            matches!(call.kind, CallKind::Read | CallKind::Write | CallKind::Fsync | CallKind::Fdatasync);
        self.totals.calls += 1;
        self.totals.bytes += if moves { call.bytes } else { 0 };
        self.totals.took_ns += (now - begun).as_ticks();
        if self.keeps_each {
            let span = [begun, now].map(|time| time + clock.shift());
            self.done.push(Done { job, number, span, cached });
        }
    }

    /// A job has made its last call.
    pub(crate) fn end_job(&mut self) {
        self.jobs_left = self.jobs_left.saturating_sub(1);
    }
}
