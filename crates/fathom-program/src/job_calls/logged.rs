//! The calls of a job that replays a log, when the log says. Source: `read_iolog_get` of fio's `iolog.c`.

use std::sync::Arc;

use super::JobCalls;
use crate::call::{Call, CallKind};
use crate::job::{IoLog, Job, LogAction};
use crate::offsets::Span;
use crate::program::Step;

/// How far a thread has come in its log.
#[derive(Debug)]
pub(super) struct Logged {
    log: Arc<IoLog>,
    next: usize,
    /// When the entry before the next one was done; in ticks.
    last: u64,
    has_waited: bool,
}

impl Logged {
    /// None where a job replays no log.
    pub(super) fn of(job: &Job) -> Option<Self> {
        let log = Arc::clone(job.replay.log.as_ref()?);
        Some(Self { log, next: 0, last: 0, has_waited: false })
    }
}

impl JobCalls {
    /// The next step of a log, the end of which is the thread's; `None` where the caller asks again.
    #[cold]
    pub(super) fn next_of_log(&mut self, now: u64, end: u64) -> Option<Step<bool>> {
        let logged = self.logged.as_mut()?;
        let Some(&entry) = logged.log.entries.get(logged.next) else {
            self.left = 0;
            return None;
        };
        if !std::mem::replace(&mut logged.has_waited, true) && !entry.delay.is_zero() {
            let after = if entry.action == LogAction::Wait { 0 } else { logged.last };
            let due = after.saturating_add((entry.delay.as_secs_f64() * self.ticks_per_second) as u64);
            if due > now {
                return Some(Step::Wait(due.min(end)));
            }
        }
        (logged.next, logged.has_waited, logged.last) = (logged.next + 1, false, now);
        self.file = entry.file;
        let alone = |kind| Call { kind, ..self.files[entry.file].call };
        Some(match entry.action {
            LogAction::Transfer(direction) => {
                return Some(self.transfer(direction, Span { offset: entry.offset, length: entry.bytes }));
            }
            LogAction::Trim => Step::Call(alone(CallKind::Discard).at(entry.offset, entry.bytes), true),
            LogAction::Sync => Step::Call(alone(CallKind::Fsync), true),
            LogAction::Datasync => Step::Call(alone(CallKind::Fdatasync), true),
            LogAction::Pause | LogAction::Wait => return None,
        })
    }
}
