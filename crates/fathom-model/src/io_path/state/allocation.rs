//! The state of allocation: where files lie on the device, and the requests that wait to be mapped.

use std::collections::BTreeMap;

use crate::allocation::{Layout, Pointer, Scheme};
use crate::file_read::PAGE;
use crate::io_path::request::{At, Request, RequestIds};
use crate::page_cache::{FetchId, FileId};
use crate::parameters::{Allocation as Choice, Eviction, Parameters, Scalar};

/// The map of the file system.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    choice: Choice,
    scheme: Scheme,
    block: u64,
    /// Whether a file's blocks of pointers leave memory with its data.
    evicts_pointers: bool,
    /// The first free byte of the device.
    free: u64,
    layouts: BTreeMap<FileId, Layout>,
    /// Requests of files under way.
    wholes: BTreeMap<FetchId, Whole>,
    /// Requests to the device, and the request of a file that each is a piece of.
    pieces: BTreeMap<FetchId, FetchId>,
    /// Blocks of pointers that are being read.
    reading: BTreeMap<FetchId, (FileId, Pointer)>,
}

/// A request of a file.
#[derive(Clone, Debug)]
struct Whole {
    request: Request,
    /// The first page that the device has not been asked for.
    next: u64,
    /// The block of pointers that has to be read first.
    waits_for: Option<Pointer>,
    /// Pieces under way.
    left: usize,
}

impl Allocation {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let value = |scalar| parameters[scalar] as u64;
        let block = value(Scalar::Block).max(512);
        let pointers = value(Scalar::PointersPerIndirect);
        Self {
            choice: parameters.choices.allocation,
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
        }
    }

    /// Pages are written into the cache; returns the number of blocks of pointers that this changes.
    pub(crate) fn written(&mut self, file: FileId, pages: [u64; 2]) -> u64 {
        let is_now = matches!(self.choice, Choice::Indirect | Choice::Extents);
        if is_now { self.allocate(file, pages) } else { 0 }
    }

    /// Pages leave for the device; returns the number of blocks of pointers that this changes.
    pub(crate) fn written_back(&mut self, file: FileId, pages: [u64; 2]) -> u64 {
        if self.choice == Choice::Delayed { self.allocate(file, pages) } else { 0 }
    }

    fn allocate(&mut self, file: FileId, pages: [u64; 2]) -> u64 {
        let (scheme, block) = (self.scheme, self.block);
        let layout = self.layouts.entry(file).or_insert_with(|| Layout::new(scheme, block));
        layout.allocate(pages, &mut self.free)
    }

    /// The changed blocks of pointers of a file, which a sync writes: they count as written from now on.
    pub(crate) fn write_pointers(&mut self, file: FileId) -> Vec<At> {
        let bytes = self.block;
        let places = self.layouts.get_mut(&file).map(Layout::write_dirty).unwrap_or_default();
        places.into_iter().map(|byte| At { byte, bytes }).collect()
    }

    /// A file's pages leave memory.
    pub(crate) fn evict(&mut self, file: FileId) {
        if let Some(layout) = self.layouts.get_mut(&file).filter(|_| self.evicts_pointers) {
            layout.forget();
        }
    }

    /// A file is gone.
    pub(crate) fn remove(&mut self, file: FileId) {
        self.layouts.remove(&file);
    }

    /// A request of a file, or one that has its place, is on its way. Returns the requests to the device that it becomes.
    pub(crate) fn map(&mut self, request: &Request, ids: &mut RequestIds) -> Vec<Request> {
        if request.at.is_some() || !self.layouts.contains_key(&request.file) {
            return vec![*request];
        }
        let whole = Whole { request: *request, next: request.first, waits_for: None, left: 0 };
        self.map_on(request.id, whole, ids)
    }

    /// The device has served a request. Returns the request of a file that is complete with it, and the requests to the
    /// device that waited for it.
    pub(crate) fn gather(
        &mut self,
        request: &Request,
        ids: &mut RequestIds,
    ) -> (Option<Request>, Vec<Request>) {
        if let Some((file, pointer)) = self.reading.remove(&request.id) {
            return (None, self.pointer_read(file, pointer, ids));
        }
        let Some(of) = self.pieces.remove(&request.id) else { return (Some(*request), Vec::new()) };
        let Some(whole) = self.wholes.get_mut(&of) else { return (None, Vec::new()) };
        whole.left -= 1;
        let is_complete = whole.left == 0 && whole.waits_for.is_none();
        let complete = if is_complete { self.wholes.remove(&of).map(|whole| whole.request) } else { None };
        (complete, Vec::new())
    }

    /// A block of pointers was read: requests that waited for it go on.
    fn pointer_read(&mut self, file: FileId, pointer: Pointer, ids: &mut RequestIds) -> Vec<Request> {
        let Some(layout) = self.layouts.get_mut(&file) else { return Vec::new() };
        layout.cache(pointer);
        let waits = |whole: &Whole| whole.request.file == file && whole.waits_for == Some(pointer);
        let waiting: Vec<FetchId> =
            self.wholes.iter().filter(|(_, whole)| waits(whole)).map(|(id, _)| *id).collect();
        let mut mapped = Vec::new();
        for id in waiting {
            if let Some(whole) = self.wholes.remove(&id) {
                mapped.extend(self.map_on(id, whole, ids));
            }
        }
        mapped
    }

    /// Asks for the pieces of a request, up to the first block of pointers that has to be read before. Source:
    /// `ext4_get_branch`, `ext4_find_extent`.
    fn map_on(&mut self, id: FetchId, mut whole: Whole, ids: &mut RequestIds) -> Vec<Request> {
        let Request { file, first, pages, .. } = whole.request;
        let end = first + pages;
        let mut mapped = Vec::new();
        whole.waits_for = None;
        while whole.next < end {
            let layout = &self.layouts[&file];
            let unknown =
                |pointer: &Pointer| layout.pointer(*pointer).is_some_and(|(_, is_cached)| !is_cached);
            if let Some(pointer) = layout.chain(whole.next).into_iter().find(unknown) {
                whole.waits_for = Some(pointer);
                mapped.extend(self.read_pointer(file, pointer, ids));
                break;
            }
            let until = whole.next + layout.pages_of_one_chain(whole.next, end);
            for (first, pages, byte) in layout.runs([whole.next, until]) {
                let at = Some(At { byte, bytes: pages * PAGE });
                let piece = whole.request.piece(ids.next(), first, pages, at);
                self.pieces.insert(piece.id, id);
                mapped.push(piece);
                whole.left += 1;
            }
            whole.next = until;
        }
        if whole.left == 0 && whole.waits_for.is_none() {
            // Nothing of it has a place: it goes to the device as it is.
            mapped.push(whole.request);
        } else {
            self.wholes.insert(id, whole);
        }
        mapped
    }

    /// Reads a block of pointers, unless it is being read.
    fn read_pointer(&mut self, file: FileId, pointer: Pointer, ids: &mut RequestIds) -> Option<Request> {
        if self.reading.values().any(|of| *of == (file, pointer)) {
            return None;
        }
        let id = ids.next();
        let byte = self.layouts[&file].pointer(pointer).map_or(0, |(byte, _)| byte);
        let at = Some(At { byte, bytes: self.block });
        self.reading.insert(id, (file, pointer));
        Some(Request { at, ..Request::read(id, file, 0, 0) })
    }
}
