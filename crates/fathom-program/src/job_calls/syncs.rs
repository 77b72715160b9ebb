//! Syncs of what a job has written.

use super::JobCalls;
use crate::call::{Call, CallKind};
use crate::program::Step;

impl JobCalls {
    /// A sync, where one is due and none was the last that was done.
    #[inline(always)]
    pub(super) fn due_sync(&mut self) -> Option<Step<bool>> {
        if self.was_sync {
            return None;
        }
        let kind = self.sync()?;
        let file = self.file_to_sync()?;
        self.was_sync = true;
        Some(Step::Call(self.sync_of(kind, file), true))
    }

    /// The sync that fio makes before it ends a pass, if less was transferred than all loops together may.
    #[cold]
    pub(super) fn sync_of_pass(&mut self, has_time: bool) -> Option<Step<bool>> {
        let is_writing = self.verification.as_ref().is_none_or(|all| all.steps == 0 && !all.is_empty());
        let is_short = self.moved < self.job.most_issued(self.whole);
        if is_short && has_time && is_writing && !self.job.is_queued() { self.due_sync() } else { None }
    }

    /// Whether the next pass syncs what the last one has synced: fio's counts anew where a file had no block left. With a
    /// queue it counts the bytes of a pass, and where time ends it goes round within one.
    pub(super) fn forgets_sync(&self) -> bool {
        let mut files = self.files.iter();
        !self.job.is_queued() && !self.job.time_based && files.any(|file| file.offsets.is_at_end())
    }

    /// The sync that is due before a transfer.
    ///
    /// fio asks before each transfer whether the writes so far are such a number: none follows the last one, and reads
    /// that come before the next write each get one too.
    #[inline(always)]
    fn sync(&self) -> Option<CallKind> {
        // fio 3.33 makes a trim of a sync that is due in trimwrite.
        if self.writes == 0 || self.job.order.trim.is_some() {
            return None;
        }
        let is_due = |every: u32| every > 0 && self.writes.is_multiple_of(u64::from(every));
        match (is_due(self.job.fsync), is_due(self.job.fdatasync), self.job.durability.range) {
            (true, ..) => Some(CallKind::Fsync),
            (false, true, _) => Some(CallKind::Fdatasync),
            (false, false, Some((_, every))) if is_due(every) => Some(CallKind::SyncRange),
            _ => None,
        }
    }

    /// A sync of a file; of a range it is from the first to the last byte that were written since the one before.
    #[cold]
    pub(super) fn sync_of(&mut self, kind: CallKind, file: usize) -> Call {
        let file = &mut self.files[file];
        let written = file.written.take();
        let Some((flags, _)) = self.job.durability.range.filter(|_| kind == CallKind::SyncRange) else {
            return Call { kind, ..file.call };
        };
        let bits = flags.iter().enumerate().map(|(bit, &is_set)| u32::from(is_set) << bit);
        match written {
            Some((first, end)) => Call { kind, flags: bits.sum(), ..file.call }.at(first, end - first),
            // fio makes no call where nothing was written, and counts it.
            None => Call { kind: CallKind::Pause, ..file.call },
        }
    }
}
