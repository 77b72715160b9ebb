//! The calls that were made in a run.

use fathom_net::Time;

use super::clock::Clock;
use crate::io_path::work::{Turn, Work};

/// A call that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The job that made it.
    pub job: u32,
    /// Its number in the job.
    pub number: u64,
    /// When it began and when it ended.
    pub span: [Time; 2],
    /// For `CallKind::Look`: how many pages of the range are cached, and how many pages it has.
    pub cached: Option<[u32; 2]>,
}

impl Done {
    /// How long it took, in ns.
    #[must_use]
    pub fn took_ns(&self) -> u64 {
        (self.span[1] - self.span[0]).as_ticks()
    }
}

/// The calls of the run under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// In the order in which the calls ended.
    pub(crate) done: Vec<Done>,
    /// Jobs that still have calls to make.
    pub(crate) jobs_left: u32,
}

impl Ledger {
    /// Enters a call that returns `now`; `cached` as in [`Done`].
    pub(crate) fn enter(&mut self, work: &Work, cached: Option<[u32; 2]>, clock: &Clock, now: Time) {
        let Work { turn: Turn { job, number }, begun, .. } = *work;
        let span = [begun, now].map(|time| time + clock.shift());
        self.done.push(Done { job, number, span, cached });
    }

    /// A job has made its last call.
    pub(crate) fn end_job(&mut self) {
        self.jobs_left = self.jobs_left.saturating_sub(1);
    }
}
