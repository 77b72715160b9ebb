//! The machine's clock, which goes on from run to run. A net's own time begins at zero with each run.

use fathom_net::{Span, Time};

/// When the run under way began, and how far it has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    started: Time,
    /// When something last happened, in the net's time.
    latest: Time,
}

impl Clock {
    /// When the run under way began; between two runs, when the last one ended.
    pub(crate) fn started(&self) -> Time {
        self.started
    }

    /// From the net's time to the machine's.
    pub(crate) fn shift(&self) -> Span {
        self.started - Time::ZERO
    }

    /// A moment of the run, in ns since the machine was started.
    pub(crate) fn ns(&self, now: Time) -> u64 {
        self.started.as_ticks() + now.as_ticks()
    }

    /// Something happens in the run.
    pub(crate) fn note(&mut self, now: Time) {
        self.latest = self.latest.max(now);
    }

    pub(crate) fn begin_run(&mut self) {
        self.latest = Time::ZERO;
    }

    pub(crate) fn end_run(&mut self) {
        self.started = self.started + (self.latest - Time::ZERO);
    }
}
