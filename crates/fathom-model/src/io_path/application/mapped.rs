//! Files that a thread has mapped into memory: which of their pages it may touch without a fault.

use std::collections::BTreeMap;

use crate::file_read::PAGE;
use crate::io_path::CallKind;
use crate::io_path::state::State;
use crate::io_path::work::SystemCall;
use crate::page_cache::FileId;
use crate::page_set::PageSet;

/// Pages that a fault maps at once, where the page cache holds them. Source: `do_fault_around` of `mm/memory.c`.
const AROUND: u64 = 16;

/// The pages that a thread's page table has.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    pages: BTreeMap<FileId, PageSet>,
    /// Bytes that it has moved since it mapped its files.
    moved: u64,
}

impl Mapped {
    /// A transfer as a copy of mapped memory, with the faults that it makes first; after so many bytes files are mapped anew.
    pub(super) fn touch(&mut self, call: SystemCall, bytes: u64, state: &State) -> SystemCall {
        if call.kind != CallKind::Read {
            return call;
        }
        if self.moved >= bytes {
            *self = Self::default();
        }
        self.moved += call.bytes;
        let mapped = self.pages.entry(call.file).or_default();
        let end = (call.offset + call.bytes).min(state.size(call.file)).div_ceil(PAGE);
        let mut faults = 0;
        for at in call.offset / PAGE..end {
            if mapped.next(at) != Some(at) {
                faults += 1;
                let first = at / AROUND * AROUND;
                let cached = (first..first + AROUND).filter(|&page| state.cache.holds(call.file, page));
                cached.chain([at]).for_each(|page| mapped.insert(page, page + 1));
            }
        }
        SystemCall { faults: Some(faults), ..call }
    }
}
