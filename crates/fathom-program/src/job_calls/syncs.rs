//! Syncs of what a job has written.

use super::JobCalls;
use crate::call::{Call, CallKind};

impl JobCalls {
    /// The sync that is due before a transfer.
    ///
    /// fio asks before each transfer whether the writes so far are such a number: none follows the last one, and reads
    /// that come before the next write each get one too.
    #[inline(always)]
    pub(super) fn sync(&self) -> Option<CallKind> {
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
