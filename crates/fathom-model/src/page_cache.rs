//! The page cache: folios of files, on two lists or in generations, and the shadows of those that were evicted.
//!
//! The unit is the folio, as in the kernel: a run of pages that is read, aged and evicted as one. A
//! folio takes 32 bytes and 4 per page, so 8 GiB of single pages take 72 MiB, and in the folios that
//! read-ahead makes a good 8 MiB. Everything is in pages.
//!
//! ```
//! use fathom_model::page_cache::{FileId, PageCache};
//!
//! let mut cache = PageCache::new(None);
//! let file = FileId(0);
//! assert!(cache.add(file, 8, 2, false, None));
//! let folio = cache.folio(file, 10).unwrap();
//! assert_eq!((folio.first, folio.pages), (8, 4));
//! assert!(!cache.add(file, 11, 0, false, None), "one of its pages is there");
//! ```

mod generations;
mod lists;
mod reclaim;
mod search;

use std::fmt;
use std::ops::Range;

use self::generations::Generations;
use self::lists::List;

pub use fathom_program::call::FileId;

/// A read of the device that fills folios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FetchId(pub std::num::NonZeroU32);

/// All cached pages of all files that share a memory limit.
#[derive(Clone)]
pub struct PageCache {
    files: Vec<Table>,
    folios: Vec<Slot>,
    free: Vec<u32>,
    inactive: List,
    active: List,
    /// In the place of the two lists, where the kernel keeps generations.
    generations: Option<Box<Generations>>,
    /// Pages that may be cached, if anything limits them.
    limit: Option<u64>,
    /// `nonresident_age`: pages that were evicted or activated so far. Shadows keep its low bits.
    age: u32,
    /// Whether a refault was activated since the last reclaim.
    refaulted: bool,
    dirty: u64,
    /// Whether a reclaim found nothing but dirty folios that are not under writeback.
    lacks_writeback: bool,
}

/// A folio as callers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folio {
    /// Its first page.
    pub first: u64,
    /// How many pages it has: a power of two.
    pub pages: u64,
    /// Whether reading the folio starts the next read-ahead window.
    pub is_marked: bool,
    /// The read that will fill it; `None` once it is up to date.
    pub awaits: Option<FetchId>,
    /// Whether its data are newer than the device's.
    pub is_dirty: bool,
    /// Whether data of the folio are under writeback.
    pub is_on_its_way: bool,
    slot: u32,
}

/// What is kept of a folio.
#[derive(Clone, Copy)]
struct Slot {
    first: u64,
    file: u32,
    /// Towards the head of its list, where the youngest are, and towards its tail.
    younger: u32,
    older: u32,
    awaits: u32,
    order: u8,
    flags: u8,
    /// Which generation it is in, and how often it was used after the first time: of generations alone.
    generation: u8,
    refs: u8,
}

const REFERENCED: u8 = 1;
const ACTIVE: u8 = 2;
const MARKED: u8 = 4;
const DIRTY: u8 = 8;
/// On its way to the device: it can't go.
const WRITEBACK: u8 = 16;
/// To be evicted once it is clean: `PG_reclaim`.
const RECLAIM: u8 = 32;

/// The pages of a file: for each, nothing, a folio, or a shadow. As the kernel's xarray, in leaves.
type Table = Vec<Option<Box<[u32; LEAF]>>>;

const LEAF: usize = 512;
const NOTHING: u32 = 0;
/// An entry with this bit is a shadow, and the rest of it the age at which the page was evicted.
const SHADOW: u32 = 1 << 31;

impl Folio {
    /// Whether nothing is to be done with it: it is clean and awaits no device.
    fn is_idle(&self) -> bool {
        self.awaits.is_none() && !self.is_dirty && !self.is_on_its_way
    }
}

impl PageCache {
    /// An empty cache of at most `limit` pages, on two lists.
    pub fn new(limit: Option<u64>) -> Self {
        Self {
            files: Vec::new(),
            folios: Vec::new(),
            free: Vec::new(),
            inactive: List::EMPTY,
            active: List::EMPTY,
            generations: None,
            limit,
            age: 0,
            refaulted: false,
            dirty: 0,
            lacks_writeback: false,
        }
    }

    /// An empty cache of at most `limit` pages, in generations.
    pub fn of_generations(limit: Option<u64>) -> Self {
        Self { generations: Some(Box::default()), ..Self::new(limit) }
    }

    /// The folio that holds a page, if it is cached or being read.
    #[inline]
    pub fn folio(&self, file: FileId, index: u64) -> Option<Folio> {
        let entry = self.entry(file, index);
        if !is_folio(entry) {
            return None;
        }
        let slot = entry - 1;
        let Slot { first, awaits, order, flags, .. } = self.folios[slot as usize];
        Some(Folio {
            first,
            pages: 1 << order,
            is_marked: flags & MARKED != 0,
            awaits: std::num::NonZeroU32::new(awaits).map(FetchId),
            is_dirty: flags & DIRTY != 0,
            is_on_its_way: flags & WRITEBACK != 0,
            slot,
        })
    }

    /// Whether a page is cached or being read.
    #[inline]
    pub fn holds(&self, file: FileId, index: u64) -> bool {
        is_folio(self.entry(file, index))
    }

    /// Adds the folio of 2^`order` pages at `first`, to be filled by `awaits`. Returns false, and changes nothing, if one of its
    /// pages exists already. Source: `filemap_add_folio`, `workingset_refault`.
    pub fn add(
        &mut self,
        file: FileId,
        first: u64,
        order: u32,
        is_marked: bool,
        awaits: Option<FetchId>,
    ) -> bool {
        if self.holds_any(file, first, 1 << order) {
            return false;
        }
        self.make_room(1 << order);
        let mut slot = Slot {
            first,
            file: file.0,
            younger: lists::NONE,
            older: lists::NONE,
            awaits: awaits.map_or(0, |fetch| fetch.0.get()),
            order: order as u8,
            flags: if is_marked { MARKED } else { 0 },
            generation: 0,
            refs: 0,
        };
        let entry = self.entry(file, first);
        if let Some(generations) = &mut self.generations {
            generations.admit(&mut slot, entry);
        } else if self.refault(entry, 1 << order) {
            slot.flags |= ACTIVE;
        }
        let number = match self.free.pop() {
            Some(number) => {
                self.folios[number as usize] = slot;
                number
            }
            None => {
                self.folios.push(slot);
                self.folios.len() as u32 - 1
            }
        };
        self.link(number);
        self.set_entries(file, first, 1 << order, number + 1);
        true
    }

    /// Makes the folios of `pages` pages from `first` wait for `fetch`.
    pub fn expect(&mut self, file: FileId, first: u64, pages: u64, fetch: FetchId) {
        self.each_folio(file, first, pages, |cache, slot| cache.folios[slot].awaits = fetch.0.get());
    }

    /// The data of `pages` pages from `first` have arrived.
    pub fn arrive(&mut self, file: FileId, first: u64, pages: u64) {
        self.each_folio(file, first, pages, |cache, slot| cache.folios[slot].awaits = 0);
    }

    /// Marks data of `pages` pages from `first` as under writeback, or as written.
    pub fn set_writeback(&mut self, file: FileId, first: u64, pages: u64, is_on_its_way: bool) {
        self.each_folio(file, first, pages, |cache, slot| {
            if is_on_its_way {
                cache.folios[slot].flags |= WRITEBACK;
            } else {
                cache.folios[slot].flags &= !WRITEBACK;
                cache.rotate(slot as u32);
            }
        });
    }

    fn each_folio(&mut self, file: FileId, first: u64, pages: u64, change: impl Fn(&mut Self, usize)) {
        let mut index = first;
        while index < first + pages {
            let folio = self.folio(file, index);
            if let Some(folio) = folio {
                change(self, folio.slot as usize);
            }
            index = folio.map_or(index + 1, |folio| folio.first + folio.pages);
        }
    }

    /// Records a use of a folio: the first one makes it referenced, the second one active; in generations, later ones are counted.
    /// Source: `folio_mark_accessed`, `folio_inc_refs`.
    #[inline]
    pub fn mark_accessed(&mut self, folio: Folio) {
        let Slot { flags, refs, .. } = &mut self.folios[folio.slot as usize];
        if *flags & REFERENCED == 0 {
            *flags |= REFERENCED;
        } else if self.generations.is_some() {
            *refs = (*refs + 1).min(generations::MOST_REFS);
        } else if *flags & ACTIVE == 0 {
            *flags &= !REFERENCED;
            self.unlink(folio.slot);
            self.folios[folio.slot as usize].flags |= ACTIVE;
            self.link(folio.slot);
            self.grow_older(folio.pages);
        }
    }

    /// Removes a folio's mark.
    pub fn clear_mark(&mut self, folio: Folio) {
        self.folios[folio.slot as usize].flags &= !MARKED;
    }

    /// Makes a folio dirty or clean; returns whether that is a change.
    pub fn set_dirty(&mut self, folio: Folio, is_dirty: bool) -> bool {
        let flags = &mut self.folios[folio.slot as usize].flags;
        if (*flags & DIRTY != 0) == is_dirty {
            return false;
        }
        *flags = if is_dirty { (*flags | DIRTY) & !RECLAIM } else { *flags & !DIRTY };
        self.dirty = if is_dirty { self.dirty + folio.pages } else { self.dirty - folio.pages };
        true
    }

    /// Drops a file's clean folios that are up to date, and all its shadows. Source:
    /// `invalidate_mapping_pages`, behind POSIX_FADV_DONTNEED.
    pub fn evict_file(&mut self, file: FileId) {
        let Some(table) = self.files.get(file.0 as usize) else { return };
        let leaves: Vec<usize> = (0..table.len()).filter(|&leaf| table[leaf].is_some()).collect();
        for leaf in leaves {
            let mut index = (leaf * LEAF) as u64;
            while index < ((leaf + 1) * LEAF) as u64 {
                let Some(folio) = self.folio(file, index) else {
                    self.set_entries(file, index, 1, NOTHING);
                    index += 1;
                    continue;
                };
                if folio.is_idle() {
                    self.remove(folio.slot, NOTHING);
                }
                index = folio.first + folio.pages;
            }
        }
    }

    /// The numbers of pages on the inactive and on the active list, or in the generations that count as such.
    pub fn list_pages(&self) -> [u64; 2] {
        match &self.generations {
            Some(generations) => generations.list_pages(),
            None => [self.inactive.pages, self.active.pages],
        }
    }

    /// The number of pages that are cached or being read.
    pub fn pages(&self) -> u64 {
        self.list_pages().iter().sum()
    }

    /// The number of pages in dirty folios.
    pub fn dirty_pages(&self) -> u64 {
        self.dirty
    }

    /// Whether reclaim has found, since the last call of this, nothing but dirty folios, which have to be written before they can
    /// be dropped.
    pub fn wants_writeback(&mut self) -> bool {
        std::mem::take(&mut self.lacks_writeback)
    }

    #[inline]
    fn entry(&self, file: FileId, index: u64) -> u32 {
        match self.leaf(file, index as usize / LEAF) {
            Some(leaf) => leaf[index as usize % LEAF],
            None => NOTHING,
        }
    }

    #[inline]
    fn leaf(&self, file: FileId, number: usize) -> Option<&[u32; LEAF]> {
        self.files.get(file.0 as usize)?.get(number)?.as_deref()
    }

    /// Whether one of `pages` pages from `first` is cached or on its way.
    fn holds_any(&self, file: FileId, first: u64, pages: u64) -> bool {
        leaves(first, pages).any(|(number, places)| {
            self.leaf(file, number).is_some_and(|leaf| leaf[places].iter().any(|&entry| is_folio(entry)))
        })
    }

    /// Puts `entry` in the place of each of `pages` pages from `first`.
    fn set_entries(&mut self, file: FileId, first: u64, pages: u64, entry: u32) {
        if self.files.len() <= file.0 as usize {
            self.files.resize(file.0 as usize + 1, Table::new());
        }
        let table = &mut self.files[file.0 as usize];
        for (number, places) in leaves(first, pages) {
            if table.len() <= number {
                table.resize(number + 1, None);
            }
            table[number].get_or_insert_with(|| Box::new([NOTHING; LEAF]))[places].fill(entry);
        }
    }

    /// Takes a folio out and leaves `entry` in its place.
    fn remove(&mut self, slot: u32, entry: u32) {
        self.unlink(slot);
        self.forget(slot, entry);
    }

    /// Takes a folio out that is on no list, and leaves `entry` in its place.
    fn forget(&mut self, slot: u32, entry: u32) {
        let Slot { first, file, order, flags, .. } = self.folios[slot as usize];
        if flags & DIRTY != 0 {
            self.dirty -= 1 << order;
        }
        self.set_entries(FileId(file), first, 1 << order, entry);
        self.free.push(slot);
    }
}

/// Whether an entry is that of a folio, and neither nothing nor a shadow.
#[inline]
fn is_folio(entry: u32) -> bool {
    entry != NOTHING && entry & SHADOW == 0
}

/// The leaves that `pages` pages from `first` lie in, and their places in each.
#[inline]
fn leaves(first: u64, pages: u64) -> impl Iterator<Item = (usize, Range<usize>)> {
    let (first, end) = (first as usize, (first + pages) as usize);
    (first / LEAF..end.div_ceil(LEAF)).map(move |number| {
        let start = number * LEAF;
        (number, first.max(start) - start..end.min(start + LEAF) - start)
    })
}

impl fmt::Debug for PageCache {
    /// How much there is, not every page of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [inactive, active] = self.list_pages();
        write!(f, "cache({inactive} inactive, {active} active, {} dirty)", self.dirty)
    }
}

#[cfg(test)]
mod tests;
