//! What the kernel writes by itself, after a while: dirty data, and the transactions of a journal.

use super::Script;

/// When it does. Times in ns; both clocks start with the machine's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quiet {
    /// The age from which dirty data are due: `vm.dirty_expire_centisecs`.
    pub expiry: f64,
    /// How often the flusher looks for such: `vm.dirty_writeback_centisecs`. Source: `wb_check_old_data_flush`.
    pub wakeup: f64,
    /// How long a transaction stays open: the mount option `commit`. Source: `jbd2_get_transaction`.
    pub commit: f64,
    /// Its timer goes off at the next multiple of this: one second on Linux. Source: `round_jiffies_up`.
    pub rounding: f64,
}

impl Quiet {
    /// When data that are dirty from `since` on are written.
    pub(super) fn written(&self, since: f64) -> f64 {
        next(since + self.expiry, self.wakeup)
    }
}

/// The first multiple of `step` from `time` on.
fn next(time: f64, step: f64) -> f64 {
    if step > 0.0 { (time / step).ceil() * step } else { time }
}

/// The journal: one transaction is open at a time, and takes all changes of metadata.
#[derive(Debug, Default)]
pub(super) struct Journal {
    number: u64,
    /// Since when the open one has changes.
    since: Option<f64>,
}

impl Journal {
    /// Commits what has been due by `now`.
    pub(super) fn advance(&mut self, quiet: Option<Quiet>, now: f64) {
        let due = self.since.zip(quiet).map(|(since, quiet)| next(since + quiet.commit, quiet.rounding));
        if due.is_some_and(|due| due <= now) {
            self.close();
        }
    }

    /// The number of the transaction that a change at `now` is part of.
    pub(super) fn join(&mut self, now: f64) -> u64 {
        self.since.get_or_insert(now);
        self.number
    }

    /// The transaction that has changes, where there is one.
    pub(super) fn open(&self) -> Option<u64> {
        self.since.map(|_| self.number)
    }

    /// The ns of committing `wanted`, where it is still open. Without a journal nothing is committed.
    pub(super) fn commit(&mut self, script: &Script, wanted: Option<u64>) -> f64 {
        if script.quiet.is_none() || wanted.is_none() || wanted != self.open() {
            return 0.0;
        }
        self.close();
        script.costs.device_latency
    }

    fn close(&mut self) {
        self.number += 1;
        self.since = None;
    }
}
