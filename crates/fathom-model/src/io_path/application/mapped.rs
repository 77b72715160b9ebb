//! Files that a thread has mapped into memory: which of their pages it may touch without a fault.

use std::collections::BTreeMap;

use crate::bit_set::BitSet;
use crate::file_read::PAGE;
use crate::io_path::CallKind;
use crate::io_path::state::State;
use crate::io_path::work::SystemCall;
use crate::io_path::write::WRITES;
use crate::kernel::Kernel;
use crate::page_cache::FileId;

/// Pages that a fault maps at once, where the page cache holds them. Source: `do_fault_around` of `mm/memory.c`.
const AROUND: u64 = 16;

/// The pages that a thread's page table has.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    /// Of each file those that it may read, and of these those that it may write as long as they are dirty.
    pages: BTreeMap<FileId, [BitSet; 2]>,
    /// The pages of the last write, some of which were not in the page cache before it.
    filled: Option<(FileId, [u64; 2])>,
    /// Bytes that it has moved since it mapped its files.
    moved: u64,
}

impl Mapped {
    /// A transfer as a copy of mapped memory, with the faults that it makes first; after so many bytes files are mapped anew.
    pub(super) fn touch(&mut self, call: SystemCall, bytes: u64, state: &State) -> SystemCall {
        if self.moved >= bytes {
            *self = Self::default();
        }
        match call.kind {
            // What is mapped stays in the page cache, but is written to the device.
            CallKind::Evict if !self.pages.is_empty() => {
                let size = state.size(call.file);
                return SystemCall { kind: CallKind::SyncRange, bytes: size, flags: WRITES, ..call };
            }
            CallKind::Read | CallKind::Write => {}
            _ => return call,
        }
        self.moved += call.bytes;
        if let Some((file, [first, end])) = self.filled.take() {
            (first..end).for_each(|at| self.map_folio(file, at, state));
        }
        let end = (call.offset + call.bytes).min(state.size(call.file)).div_ceil(PAGE);
        let range = [call.offset / PAGE, end];
        match call.kind {
            CallKind::Write => self.write(call, range, state),
            _ => self.read(call, range, state),
        }
    }

    fn read(&mut self, call: SystemCall, [first, end]: [u64; 2], state: &State) -> SystemCall {
        let [mapped, _] = self.pages.entry(call.file).or_default();
        let mut faults = 0;
        for at in first..end {
            if mapped.next(at) != Some(at) {
                faults += 1;
                let first = at / AROUND * AROUND;
                let cached = (first..first + AROUND).filter(|&page| state.cache.holds(call.file, page));
                for page in cached.chain([at]) {
                    mapped.insert(page, page + 1);
                }
            }
        }
        SystemCall { faults: Some(faults), ..call }
    }

    /// A write makes a fault for each page that is clean or that it may not write yet: `do_wp_page` and `do_shared_fault`. A
    /// fault looks for its page first, as without the write; the faults of clean pages are counted where they become dirty.
    fn write(&mut self, call: SystemCall, [first, end]: [u64; 2], state: &State) -> SystemCall {
        let (mut faults, mut is_mapped) = (0, true);
        for at in first..end {
            let folio = state.cache.folio(call.file, at);
            let may_write = self.may_write(call.file, at);
            is_mapped &= may_write;
            if folio.is_some_and(|folio| folio.is_dirty) && !may_write {
                faults += 1;
                self.map_folio(call.file, at, state);
            }
        }
        self.filled = Some((call.file, [first, end]));
        let call = SystemCall { faults: Some(faults), ..call };
        match is_mapped {
            true => call,
            false => SystemCall { kind: CallKind::Read, then: Some(CallKind::Write), ..call },
        }
    }

    fn may_write(&self, file: FileId, at: u64) -> bool {
        self.pages.get(&file).is_some_and(|[_, writable]| writable.next(at) == Some(at))
    }

    /// Maps a page for writes, with the rest of its folio unless some of that is mapped: `finish_fault` of Linux 6.18.
    fn map_folio(&mut self, file: FileId, at: u64, state: &State) {
        let Some(folio) = state.cache.folio(file, at) else { return };
        if self.may_write(file, at) {
            return;
        }
        let [mapped, writable] = self.pages.entry(file).or_default();
        let beyond = folio.first + folio.pages;
        let is_partly_mapped = mapped.next(folio.first).is_some_and(|next| next < beyond);
        let is_alone = is_partly_mapped || state.limits.kernel < Kernel::V6_18;
        let [first, end] = if is_alone { [at, at + 1] } else { [folio.first, beyond] };
        mapped.insert(first, end);
        writable.insert(first, end);
    }
}
