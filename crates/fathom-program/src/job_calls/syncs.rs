//! Syncs of what a job has written.

use super::JobCalls;
use crate::call::{Call, CallKind};

impl JobCalls {
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
