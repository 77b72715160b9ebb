//! What is read ahead: `mm/readahead.c` function by function, under the names that they have there.
//!
//! Pure: it looks at a file's cached pages and at what an open file remembers, and puts folios into the
//! cache that await their data. What it did is left in [`ReadAhead::steps`]: the same events that the
//! kernel's tracepoints tell, so that the two can be held against each other. All lengths are in pages.

mod large;

use crate::kernel::Kernel;
use crate::page_cache::{FetchId, FileId, Folio, PageCache};

/// What the kernel remembers of the reader of one open file: `struct file_ra_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reader {
    /// Where the last window begins.
    pub start: u64,
    /// The length of the last window.
    pub size: u64,
    /// How many pages at its end are read while the reader is still before them.
    pub async_size: u64,
    /// The order of the folios that it is made of.
    pub order: u32,
    /// The byte at which the last read ended; `None` before the first.
    pub previous: Option<u64>,
}

/// The advice that a reader has given the kernel on its access pattern: `posix_fadvise(2)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Advice {
    /// No advice.
    #[default]
    Normal,
    /// POSIX_FADV_SEQUENTIAL: the window is twice as large.
    Sequential,
    /// POSIX_FADV_RANDOM: nothing is read ahead.
    Random,
}

/// What the rules need to know of a file and of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The kernel whose rules apply.
    pub kernel: Kernel,
    /// The largest window: `ra_pages`. Nothing is read ahead where it is zero.
    pub window: u64,
    /// The largest request that the device prefers: `io_pages`.
    pub largest_io: u64,
    /// The smallest order that a folio may have: more than zero where a block is larger than a page.
    pub least_order: u32,
    /// The largest order that a folio may have; zero where the file system has no large folios.
    pub largest_order: u32,
    /// Whether the file was opened for, or advised of, random access.
    pub is_random: bool,
    /// The file's length in pages.
    pub file_pages: u64,
}

/// One action of the rules, as a tracepoint records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `page_cache_sync_ra`: a page was missing.
    Miss {
        /// The page.
        index: u64,
        /// How many pages the read still wants.
        request: u64,
    },
    /// `page_cache_async_ra`: a marked folio was touched.
    Mark {
        /// Its first page.
        index: u64,
        /// How many pages the read still wants, from there.
        request: u64,
    },
    /// `page_cache_ra_order`: a window, in folios.
    Window {
        /// Where it begins.
        index: u64,
        /// The order asked for.
        order: u32,
        /// How long it is.
        size: u64,
        /// How much of it is asynchronous.
        async_size: u64,
    },
    /// `page_cache_ra_unbounded`: pages one by one.
    Pages {
        /// Where they begin.
        index: u64,
        /// How many.
        count: u64,
        /// How many from the end the mark is; zero for none.
        lookahead: u64,
    },
    /// `mm_filemap_add_to_page_cache`: a folio, to be filled from the device.
    Added {
        /// Its first page.
        first: u64,
        /// Its order.
        order: u32,
    },
}

/// The rules, applied to one file by one reader.
pub struct ReadAhead<'a> {
    /// The limits of the file.
    pub limits: Limits,
    /// The cache that the file's pages are in.
    pub cache: &'a mut PageCache,
    /// The file.
    pub file: FileId,
    /// The reader.
    pub reader: &'a mut Reader,
    /// The read that will fill the added folios.
    pub fetch: Option<FetchId>,
    /// Every action so far, in order.
    pub steps: &'a mut Vec<Step>,
}

/// The chunk in which a forced read-ahead goes: 2 MiB.
const FORCED_CHUNK: u64 = 512;

impl ReadAhead<'_> {
    /// Reads the page at `index` alone, because it is still not in the cache after all rules.
    pub fn filemap_create_folio(&mut self, index: u64) {
        let order = self.limits.least_order;
        self.put(round_down(index, 1 << order), order, false);
    }

    /// Handles a miss: the page at `index` is not in the cache, and `request` pages from it are wanted.
    pub fn page_cache_sync_ra(&mut self, index: u64, request: u64) {
        self.steps.push(Step::Miss { index, request });
        let Limits { window, is_random, kernel, .. } = self.limits;
        if window == 0 {
            return self.force_page_cache_ra(index, 1);
        }
        if is_random {
            return self.force_page_cache_ra(index, request);
        }
        match kernel {
            Kernel::Fixed => {
                let size = if self.is_sequential_2_6(index) { window.max(request) } else { request };
                self.do_page_cache_ra(index, size, 0);
            }
            Kernel::V2_6 => self.ondemand_2_6(index, None, request),
            Kernel::V6_1 | Kernel::V6_6 => self.ondemand_6_1(index, None, request),
            Kernel::V6_12 | Kernel::V6_18 => self.sync_6_12(index, request),
        }
    }

    /// Handles a marked folio: a reader that wants `request` pages from it on has touched it.
    pub fn page_cache_async_ra(&mut self, folio: Folio, request: u64) {
        if self.limits.window == 0 {
            return;
        }
        self.steps.push(Step::Mark { index: folio.first, request });
        self.cache.clear_mark(folio);
        match self.limits.kernel {
            // It sets no marks.
            Kernel::Fixed => {}
            Kernel::V2_6 => self.ondemand_2_6(folio.first, Some(folio), request),
            Kernel::V6_1 | Kernel::V6_6 => self.ondemand_6_1(folio.first, Some(folio), request),
            Kernel::V6_12 | Kernel::V6_18 => self.async_6_12(folio, request),
        }
    }

    /// Reads at most the larger of a window and a request of the device, without a mark: for POSIX_FADV_WILLNEED, and for every
    /// miss of a reader that jumps about.
    pub fn force_page_cache_ra(&mut self, index: u64, count: u64) {
        let count = count.min(self.limits.largest_io.max(self.limits.window));
        let mut done = 0;
        while done < count {
            let chunk = FORCED_CHUNK.min(count - done);
            self.do_page_cache_ra(index + done, chunk, 0);
            done += chunk;
        }
    }

    fn sync_6_12(&mut self, index: u64, request: u64) {
        let most = self.ractl_max_pages(request);
        if index == 0 || request > most || self.is_sequential(index) {
            let size = get_init_ra_size(request, most);
            self.reader.size = size;
            self.reader.async_size = if size > request { size - request } else { size / 2 };
        } else {
            let (run, from_start) = self.cache.run_before(self.file, index, most);
            if run <= request {
                return self.do_page_cache_ra(index, request, 0);
            }
            let run = if from_start { 2 * run } else { run };
            self.reader.size = (run + request).min(most);
            self.reader.async_size = 1;
        }
        self.reader.start = index;
        self.reader.order = 0;
        self.page_cache_ra_order();
    }

    fn async_6_12(&mut self, folio: Folio, request: u64) {
        let most = self.ractl_max_pages(request);
        let Reader { start, size, async_size, .. } = *self.reader;
        let index = folio.first;
        if index == round_down((start + size).wrapping_sub(async_size), folio.pages) {
            self.reader.start += size;
            self.reader.size = size.max(get_next_ra_size(size, most));
        } else {
            let Some(start) = self.cache.next_miss(self.file, index + 1, most) else { return };
            self.reader.start = start;
            self.reader.size = get_next_ra_size(start - index + request, most);
        }
        if self.limits.kernel < Kernel::V6_18 {
            self.reader.order = folio.pages.trailing_zeros();
        } else {
            self.reader.order += 2;
            let align = 1 << self.reader.order.min(most.trailing_zeros());
            let end = self.reader.start + self.reader.size;
            let aligned_end = round_down(end, align);
            if aligned_end > self.reader.start {
                self.reader.size -= end - aligned_end;
            }
        }
        self.reader.async_size = self.reader.size;
        self.page_cache_ra_order();
    }

    /// `ondemand_readahead` of 6.1, with its merging of a window that begins at its own mark.
    fn ondemand_6_1(&mut self, index: u64, marked: Option<Folio>, request: u64) {
        let most = self.ractl_max_pages(request);
        let order = marked.map_or(0, |folio| folio.pages.trailing_zeros());
        let Reader { start, size, async_size, .. } = *self.reader;
        let expected = round_down((start + size).wrapping_sub(async_size), 1 << order);
        if index != 0 && (index == expected || index == start + size) {
            self.reader.start += size;
            self.reader.size = size.max(get_next_ra_size(size, most));
            self.reader.async_size = self.reader.size;
        } else if index != 0 && marked.is_some() {
            // Where there is no gap, this kernel takes the last page that it looked at for one.
            let start = self.cache.next_miss(self.file, index + 1, most).unwrap_or(index + most);
            self.reader.start = start;
            self.reader.size = get_next_ra_size(start - index + request, most);
            self.reader.async_size = self.reader.size;
        } else if index == 0 || request > most || self.is_sequential(index) {
            self.initial(index, request, most);
        } else {
            let (run, from_start) = self.cache.run_before(self.file, index, most);
            if run <= request {
                return self.do_page_cache_ra(index, request, 0);
            }
            let run = if from_start { 2 * run } else { run };
            self.reader.start = index;
            self.reader.size = (run + request).min(most);
            self.reader.async_size = 1;
        }
        if index == self.reader.start && self.reader.size == self.reader.async_size {
            let next = get_next_ra_size(self.reader.size, most);
            if self.reader.size + next <= most {
                self.reader.async_size = next;
                self.reader.size += next;
            } else {
                self.reader.size = most;
                self.reader.async_size = most / 2;
            }
        }
        self.reader.order = order;
        self.page_cache_ra_order();
    }

    /// `ondemand_readahead` of 2.6.27: no history of pages, no merging, the device's request no limit.
    fn ondemand_2_6(&mut self, index: u64, marked: Option<Folio>, request: u64) {
        let most = self.limits.window;
        let Reader { start, size, async_size, .. } = *self.reader;
        if index != 0 && (index == (start + size).wrapping_sub(async_size) || index == start + size) {
            self.reader.start += size;
            self.reader.size = get_next_ra_size(size, most);
            self.reader.async_size = self.reader.size;
        } else if marked.is_none() && !(request > most || self.is_sequential_2_6(index)) {
            return self.do_page_cache_ra(index, request, 0);
        } else if marked.is_some() {
            let Some(start) = self.cache.next_miss(self.file, index, most + 1) else { return };
            if start - index > most {
                return;
            }
            self.reader.start = start;
            self.reader.size = get_next_ra_size(start - index, most);
            self.reader.async_size = self.reader.size;
        } else {
            self.initial(index, request, most);
        }
        let Reader { start, size, async_size, .. } = *self.reader;
        self.do_page_cache_ra(start, size, async_size);
    }

    /// The first window of a sequence, as kernels before 6.9 make it.
    fn initial(&mut self, index: u64, request: u64, most: u64) {
        let size = get_init_ra_size(request, most);
        self.reader.start = index;
        self.reader.size = size;
        self.reader.async_size = if size > request { size - request } else { size };
    }

    /// Whether a miss at `index` follows on the last read.
    fn is_sequential(&self, index: u64) -> bool {
        self.reader.previous.is_some_and(|byte| index.wrapping_sub(byte / PAGE) <= 1)
    }

    /// As [`is_sequential`](Self::is_sequential), where a new reader counts as one who read to the byte
    /// before the file: its first read at the start is sequential.
    fn is_sequential_2_6(&self, index: u64) -> bool {
        self.reader.previous.map_or(index == 0, |byte| index.wrapping_sub(byte / PAGE) <= 1)
    }

    /// The largest window that one request may have: a large one may exceed the usual.
    fn ractl_max_pages(&self, request: u64) -> u64 {
        let Limits { window, largest_io, .. } = self.limits;
        if request > window && largest_io > window { request.min(largest_io) } else { window }
    }
}

const PAGE: u64 = 4096;

/// The first window of a sequence that begins with `request` pages, of at most `most`; all in pages.
///
/// Source: `get_init_ra_size` of `mm/readahead.c`.
pub fn get_init_ra_size(request: u64, most: u64) -> u64 {
    let size = request.next_power_of_two();
    if size <= most / 32 {
        size * 4
    } else if size <= most / 4 {
        size * 2
    } else {
        most
    }
}

/// The window after one of `size` pages, of at most `most`.
///
/// Source: `get_next_ra_size` of `mm/readahead.c`.
pub fn get_next_ra_size(size: u64, most: u64) -> u64 {
    if size < most / 16 {
        4 * size
    } else if size <= most / 2 {
        2 * size
    } else {
        most
    }
}

/// The multiple of `power`, a power of two, at or before `value`.
pub fn round_down(value: u64, power: u64) -> u64 {
    value & !(power - 1)
}

#[cfg(test)]
mod tests;
