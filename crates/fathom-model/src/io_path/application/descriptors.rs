//! Descriptors of a program's files, as the machine numbers them.

use std::collections::BTreeMap;

use fathom_program::call::{Call, CallKind};

/// Which of the descriptors of the machine's file each descriptor of a program's file is, and the two of the last look.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    known: BTreeMap<u32, u32>,
    last: Option<[u32; 2]>,
}

impl Descriptors {
    /// The number of a call's descriptor; a new one takes the next number of the file.
    pub(super) fn of(&mut self, call: &Call, count: &mut u32) -> u32 {
        if let Some([_, own]) =
            self.last.filter(|last| last[0] == call.descriptor && call.kind != CallKind::Dup)
        {
            return own;
        }
        let own = *self.known.entry(call.descriptor).or_insert_with(|| {
            *count += 1;
            *count - 1
        });
        if call.kind == CallKind::Dup {
            self.known.insert(call.to, own);
        }
        self.last = Some([call.descriptor, own]);
        own
    }
}
