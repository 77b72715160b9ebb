//! What a buffered read touches: `filemap_read` and `filemap_get_pages` of `mm/filemap.c`.

use crate::kernel::Kernel;
use crate::page_cache::{FetchId, FileId, PageCache};
use crate::read_ahead::{Limits, ReadAhead, Reader, Step};

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// A read(2) under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Read {
    /// The file that is read.
    pub file: FileId,
    /// The next byte to copy.
    pub position: u64,
    /// The byte after the last.
    pub end: u64,
    /// Where the read before it ended, or the last copy of this one: `last_pos`.
    last: u64,
}

/// What a read can do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Batch {
    /// Copy the cached pages.
    Copy {
        /// How much it is.
        bytes: u64,
        /// How many folios it lies in.
        folios: u64,
    },
    /// Wait until this fetch has arrived.
    Wait(FetchId),
    /// Nothing: the read is done.
    Done,
}

impl Read {
    /// A read of `bytes` at `offset` by a reader with a history.
    pub fn new(file: FileId, offset: u64, bytes: u64, reader: &Reader) -> Self {
        Self { file, position: offset, end: offset + bytes, last: reader.previous.unwrap_or(u64::MAX) }
    }

    /// Takes one turn of `filemap_read`: looks for pages, reads ahead, and copies cached pages. `size` is the file's length in
    /// bytes. What is read ahead is recorded in `steps` and awaits `fetch`.
    ///
    /// `size` is the file's length in bytes. What is read ahead is left in `steps` and awaits `fetch`.
    pub fn turn(
        &mut self,
        cache: &mut PageCache,
        reader: &mut Reader,
        limits: Limits,
        size: u64,
        fetch: Option<FetchId>,
        steps: &mut Vec<Step>,
    ) -> Batch {
        let end = self.end.min(size);
        if self.position >= end {
            return Batch::Done;
        }
        let index = self.position / PAGE;
        // The request is not cut at the end of the file; before 6.18 nor does it end with a block.
        let least = if limits.kernel < Kernel::V6_18 { 0 } else { limits.least_order };
        let beyond = self.end.div_ceil(PAGE).next_multiple_of(1 << least);
        // The most folios of one batch: `PAGEVEC_SIZE`.
        let most_folios = if limits.kernel < Kernel::V6_12 { 15 } else { 31 };
        if !cache.holds(self.file, index) {
            let mut rules = ReadAhead { limits, cache, file: self.file, reader, fetch, steps };
            rules.page_cache_sync_ra(index, beyond - index);
            // A window that goes on behind one that was evicted leaves a gap.
            if !rules.cache.holds(self.file, index) {
                rules.filemap_create_folio(index);
            }
        }
        let (mut at, mut folios) = (index, 0);
        while folios < most_folios && at < beyond {
            let Some(folio) = cache.folio(self.file, at) else { break };
            if folio.is_marked {
                let mut rules = ReadAhead { limits, cache, file: self.file, reader, fetch, steps };
                rules.page_cache_async_ra(folio, beyond - folio.first);
            }
            if let Some(awaited) = folio.awaits {
                if folios == 0 {
                    return Batch::Wait(awaited);
                }
                break;
            }
            folios += 1;
            at = folio.first + folio.pages;
            if folio.is_marked {
                break;
            }
        }
        let copied = end.min(at * PAGE) - self.position;
        self.touch(cache, index, at);
        self.position += copied;
        self.last = self.position;
        // 6.1 lets the misses of one read follow on each other.
        if self.position == end || limits.kernel == Kernel::V6_1 {
            reader.previous = Some(self.position);
        }
        Batch::Copy { bytes: copied, folios }
    }

    /// Marks the folios of a batch accessed; the first only if the last copy did not end in it.
    fn touch(&self, cache: &mut PageCache, index: u64, end: u64) {
        let mut at = index;
        while at < end {
            let Some(folio) = cache.folio(self.file, at) else { break };
            let last = self.last.wrapping_sub(1) / PAGE;
            let is_same = at == index && self.last != u64::MAX && last & !(folio.pages - 1) == folio.first;
            if !is_same {
                cache.mark_accessed(folio);
            }
            at = folio.first + folio.pages;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FETCH: FetchId = FetchId(std::num::NonZeroU32::MIN);

    fn read(page: u64, cache: &mut PageCache, reader: &mut Reader, limits: Limits) -> Batch {
        let mut read = Read::new(FileId(0), page * PAGE, PAGE, reader);
        read.turn(cache, reader, limits, 512 * PAGE, Some(FETCH), &mut Vec::new())
    }

    #[test]
    fn whatever_was_evicted_is_read_again_when_it_is_asked_for() {
        for &kernel in Kernel::ALL {
            let limits = Limits {
                kernel,
                window: 32,
                largest_io: 256,
                least_order: 0,
                largest_order: 0,
                is_random: false,
                file_pages: 512,
            };
            for until in 1..100 {
                let (mut cache, mut reader) = (PageCache::new(None), Reader::default());
                for page in 0..until {
                    let first = read(page, &mut cache, &mut reader, limits);
                    cache.arrive(FileId(0), 0, 512);
                    if first == Batch::Wait(FETCH) {
                        read(page, &mut cache, &mut reader, limits);
                    }
                }
                cache.evict_file(FileId(0));
                let batch = read(until, &mut cache, &mut reader, limits);
                assert_eq!(batch, Batch::Wait(FETCH), "{kernel:?}, page {until}");
            }
        }
    }
}
