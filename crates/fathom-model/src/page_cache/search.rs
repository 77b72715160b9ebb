//! Looking for the nearest page that is not cached, with the kernel's own slips.
//!
//! The kernel walks its xarray with an index and a place in a node of 64 slots side by side. Where the
//! walk begins inside a large folio, the place is that of the folio's first page while the index is not,
//! and from there on the two run apart by that much until a node ends. So the answer is off by one or
//! more, which moves windows and makes some marks fall silent; without large folios it is exact. Seen in
//! the tracepoints of 6.18; source: `xas_descend`, `xas_next`, `xas_prev`, `page_cache_next_miss`,
//! `page_cache_prev_miss`.

use super::{FileId, PageCache};

/// Slots of a node of the xarray.
const NODE: u64 = 64;

/// Where a walk stands, in addition to its index.
#[derive(Clone, Copy)]
enum Walk {
    /// At a page.
    Page(u64),
    /// At a slot of the level above: 64 pages that are all of one folio.
    Block(u64),
}

impl PageCache {
    /// The first page from `index` on that is not cached, among `most`, as the kernel finds it.
    pub fn next_miss(&self, file: FileId, index: u64, most: u64) -> Option<u64> {
        let mut place = self.load(file, index);
        let mut claimed = index;
        while let Some(here) = place {
            claimed += 1;
            if claimed == index + most {
                return None;
            }
            place = self.after(file, here, claimed);
        }
        Some(claimed)
    }

    /// The cached pages just before `index`, at most `most`, and whether they reach to the start of the
    /// file, as the kernel counts them.
    pub fn run_before(&self, file: FileId, index: u64, most: u64) -> (u64, bool) {
        let mut claimed = index - 1;
        let mut place = self.load(file, claimed);
        for _ in 1..most {
            let Some(here) = place else { break };
            if claimed == 0 {
                return (index, true);
            }
            claimed -= 1;
            place = self.before(file, here, claimed);
        }
        // Where all of `most` are cached, the last of them is taken for the gap.
        (index - claimed - 1, false)
    }

    /// `xas_load`: the folio's first page, or its first block.
    fn load(&self, file: FileId, index: u64) -> Option<Walk> {
        let folio = self.folio(file, index)?;
        Some(if folio.pages < NODE { Walk::Page(folio.first) } else { Walk::Block(folio.first / NODE) })
    }

    /// `xas_next`, once the index has moved on to `claimed`.
    fn after(&self, file: FileId, place: Walk, claimed: u64) -> Option<Walk> {
        match place {
            Walk::Page(page) if page % NODE < NODE - 1 => self.at(file, page + 1),
            Walk::Page(page) if claimed % NODE != NODE - 1 => self.enter(file, page / NODE + 1, claimed),
            Walk::Block(block) if claimed / NODE % NODE != block % NODE => {
                self.enter(file, block + 1, claimed)
            }
            stays => Some(stays),
        }
    }

    /// `xas_prev`, once the index has moved back to `claimed`.
    fn before(&self, file: FileId, place: Walk, claimed: u64) -> Option<Walk> {
        match place {
            Walk::Page(page) if page % NODE > 0 => self.at(file, page - 1),
            Walk::Page(page) if !claimed.is_multiple_of(NODE) => {
                self.enter(file, (page / NODE).checked_sub(1)?, claimed)
            }
            Walk::Block(block) if claimed / NODE % NODE != block % NODE => {
                self.enter(file, block.checked_sub(1)?, claimed)
            }
            stays => Some(stays),
        }
    }

    /// Comes to a node from its neighbour: the place in it follows the index again.
    fn enter(&self, file: FileId, block: u64, claimed: u64) -> Option<Walk> {
        let page = block * NODE + claimed % NODE;
        match self.folio(file, page) {
            Some(folio) if folio.pages >= NODE => Some(Walk::Block(block)),
            _ => self.at(file, page),
        }
    }

    fn at(&self, file: FileId, page: u64) -> Option<Walk> {
        self.holds(file, page).then_some(Walk::Page(page))
    }
}
