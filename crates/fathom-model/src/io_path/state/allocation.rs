//! Where files lie on the device, and requests on their way there.

use std::collections::BTreeMap;

use super::{Inner, State};
use crate::allocation::{Layout, Pointer, Scheme};
use crate::io_path::{At, Request};
use crate::page_cache::{FetchId, FileId};
use crate::parameters::{Allocation as Choice, Eviction, Parameters, Scalar};

/// The map of the file system.
#[derive(Clone, Debug)]
pub(super) struct Allocation {
    when: When,
    scheme: Scheme,
    block: u64,
    /// Whether what leads to a file's data leaves memory with them.
    evicts_pointers: bool,
    /// The first free byte of the device.
    free: u64,
    layouts: BTreeMap<FileId, Layout>,
    /// Requests of files under way, and of what piece each request of the device is.
    wholes: BTreeMap<FetchId, Whole>,
    pieces: BTreeMap<FetchId, FetchId>,
    /// Blocks of pointers that are being read.
    reading: BTreeMap<FetchId, (FileId, Pointer)>,
    mapped: Vec<Request>,
}

/// When a file's pages get their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Never,
    Written,
    WrittenBack,
}

/// A request of a file.
#[derive(Clone, Debug)]
struct Whole {
    request: Request,
    /// The first page that is not asked for yet.
    next: u64,
    waits_for: Option<Pointer>,
    /// Pieces under way.
    left: usize,
}

impl Allocation {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let value = |scalar| parameters[scalar] as u64;
        let block = value(Scalar::Block).max(512);
        let pointers = value(Scalar::PointersPerIndirect);
        Self {
            when: match parameters.choices.allocation {
                Choice::None => When::Never,
                Choice::Delayed => When::WrittenBack,
                Choice::Indirect | Choice::Extents => When::Written,
            },
            scheme: match parameters.choices.allocation {
                Choice::Indirect => Scheme::Indirect {
                    direct: value(Scalar::DirectPointers),
                    // A pointer has 32 bits.
                    pointers: if pointers == 0 { block / 4 } else { pointers.max(2) },
                },
                // A header, and an extent, have 12 bytes.
                _ => Scheme::Extents {
                    in_inode: 4,
                    in_leaf: (block - 12) / 12,
                    longest: value(Scalar::ExtentLength),
                },
            },
            block,
            evicts_pointers: parameters.choices.eviction == Eviction::Metadata,
            free: 0,
            layouts: BTreeMap::new(),
            wholes: BTreeMap::new(),
            pieces: BTreeMap::new(),
            reading: BTreeMap::new(),
            mapped: Vec::new(),
        }
    }

    /// Pages are written into the cache; gives how many blocks of pointers that changes.
    pub(super) fn written(&mut self, file: FileId, pages: [u64; 2]) -> u64 {
        if self.when == When::Written { self.allocate(file, pages) } else { 0 }
    }

    /// Pages leave for the device.
    pub(super) fn written_back(&mut self, file: FileId, pages: [u64; 2]) -> u64 {
        if self.when == When::WrittenBack { self.allocate(file, pages) } else { 0 }
    }

    fn allocate(&mut self, file: FileId, pages: [u64; 2]) -> u64 {
        let (scheme, block) = (self.scheme, self.block);
        let layout = self.layouts.entry(file).or_insert_with(|| Layout::new(scheme, block));
        layout.allocate(pages, &mut self.free)
    }

    /// Where the blocks of pointers are that a sync of a file has to write.
    pub(super) fn take_dirty(&mut self, file: FileId) -> Vec<At> {
        let bytes = self.block;
        let places = self.layouts.get_mut(&file).map(Layout::take_dirty).unwrap_or_default();
        places.into_iter().map(|byte| At { byte, bytes }).collect()
    }

    /// A file's pages leave memory.
    pub(super) fn evict(&mut self, file: FileId) {
        if let Some(layout) = self.layouts.get_mut(&file).filter(|_| self.evicts_pointers) {
            layout.forget();
        }
    }

    /// A file is gone.
    pub(super) fn remove(&mut self, file: FileId) {
        self.layouts.remove(&file);
    }
}

impl State {
    /// A request of a file comes, or one that knows its place.
    pub(in crate::io_path) fn map_request(&mut self, request: &Request) {
        let allocation = &mut self.0.allocation;
        if request.at.is_some() || !allocation.layouts.contains_key(&request.file) {
            allocation.mapped.push(*request);
            return;
        }
        let whole = Whole { request: *request, next: request.first, waits_for: None, left: 0 };
        allocation.wholes.insert(request.id, whole);
        self.0.map_on(request.id);
    }

    /// Requests that know their place since this was last asked.
    pub(in crate::io_path) fn take_mapped(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.0.allocation.mapped)
    }

    /// The device has served a request; gives the one of a file that is done with it.
    pub(in crate::io_path) fn gather(&mut self, request: &Request) -> Option<Request> {
        let allocation = &mut self.0.allocation;
        if let Some((file, pointer)) = allocation.reading.remove(&request.id) {
            allocation.layouts.get_mut(&file)?.cache(pointer);
            let waits = |(_, whole): &(&FetchId, &Whole)| {
                whole.request.file == file && whole.waits_for == Some(pointer)
            };
            let waiting: Vec<FetchId> = allocation.wholes.iter().filter(waits).map(|(id, _)| *id).collect();
            waiting.into_iter().for_each(|id| self.0.map_on(id));
            return None;
        }
        let Some(of) = allocation.pieces.remove(&request.id) else { return Some(*request) };
        let whole = allocation.wholes.get_mut(&of)?;
        whole.left -= 1;
        if whole.left > 0 || whole.waits_for.is_some() {
            return None;
        }
        allocation.wholes.remove(&of).map(|whole| whole.request)
    }
}

impl Inner {
    /// Asks for what a request needs, up to the first block of pointers that has to be read before. Source:
    /// `ext4_get_branch`, `ext4_find_extent`.
    fn map_on(&mut self, id: FetchId) {
        let Some(mut whole) = self.allocation.wholes.remove(&id) else { return };
        let Request { file, first, pages, is_write, urgency, .. } = whole.request;
        let end = first + pages;
        whole.waits_for = None;
        while whole.next < end {
            let layout = &self.allocation.layouts[&file];
            let unknown =
                |pointer: &Pointer| layout.pointer(*pointer).is_some_and(|(_, is_cached)| !is_cached);
            if let Some(pointer) = layout.chain(whole.next).into_iter().find(unknown) {
                whole.waits_for = Some(pointer);
                self.read_pointer(file, pointer);
                break;
            }
            let until = whole.next + layout.pages_of_one_chain(whole.next, end);
            let runs: Vec<(u64, u64, u64)> = layout.runs([whole.next, until]).collect();
            for (first, pages, byte) in runs {
                let at = Some(At { byte, bytes: pages * crate::file_read::PAGE });
                let own = Request::read(self.fetch_id(), file, first, pages);
                let piece = Request { is_write, urgency, at, ..own };
                self.allocation.pieces.insert(piece.id, id);
                self.allocation.mapped.push(piece);
                whole.left += 1;
            }
            whole.next = until;
        }
        if whole.left == 0 && whole.waits_for.is_none() {
            // Nothing of it has a place: it takes the device as long as ever.
            self.allocation.mapped.push(whole.request);
            return;
        }
        self.allocation.wholes.insert(id, whole);
    }

    /// Reads a block of pointers, unless somebody does.
    fn read_pointer(&mut self, file: FileId, pointer: Pointer) {
        if self.allocation.reading.values().any(|of| *of == (file, pointer)) {
            return;
        }
        let id = self.fetch_id();
        let byte = self.allocation.layouts[&file].pointer(pointer).map_or(0, |(byte, _)| byte);
        let at = Some(At { byte, bytes: self.allocation.block });
        self.allocation.reading.insert(id, (file, pointer));
        self.allocation.mapped.push(Request { at, ..Request::read(id, file, 0, 0) });
    }
}
