//! The lists of folios, threaded through the folios.

use super::{ACTIVE, PageCache, RECLAIM, Slot};

/// The end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// One list: from the youngest folio at its head to the oldest at its tail.
#[derive(Clone)]
pub(super) struct List {
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) pages: u64,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE, pages: 0 };

    /// Puts a folio at the head.
    pub(super) fn push_head(&mut self, folios: &mut [Slot], slot: u32) {
        let head = std::mem::replace(&mut self.head, slot);
        if head == NONE {
            self.tail = slot;
        } else {
            folios[head as usize].younger = slot;
        }
        let folio = &mut folios[slot as usize];
        (folio.younger, folio.older) = (NONE, head);
        self.pages += 1 << folio.order;
    }

    /// Puts a folio at the tail.
    pub(super) fn push_tail(&mut self, folios: &mut [Slot], slot: u32) {
        let tail = std::mem::replace(&mut self.tail, slot);
        if tail == NONE {
            self.head = slot;
        } else {
            folios[tail as usize].older = slot;
        }
        let folio = &mut folios[slot as usize];
        (folio.younger, folio.older) = (tail, NONE);
        self.pages += 1 << folio.order;
    }

    /// Takes a folio off.
    pub(super) fn unlink(&mut self, folios: &mut [Slot], slot: u32) {
        let Slot { younger, older, order, .. } = folios[slot as usize];
        self.pages -= 1 << order;
        if younger == NONE {
            self.head = older;
        } else {
            folios[younger as usize].older = older;
        }
        if older == NONE {
            self.tail = younger;
        } else {
            folios[older as usize].younger = younger;
        }
    }
}

impl PageCache {
    /// The list that a folio's generation or flags name.
    fn list_of(&mut self, slot: u32) -> (&mut List, &mut [Slot]) {
        let Self { folios, inactive, active, generations, .. } = self;
        let folio = &folios[slot as usize];
        let list = match generations {
            Some(generations) => generations.list(folio.generation),
            None if folio.flags & ACTIVE != 0 => active,
            None => inactive,
        };
        (list, folios)
    }

    /// Puts a folio at the head of its list.
    pub(super) fn link(&mut self, slot: u32) {
        let (list, folios) = self.list_of(slot);
        list.push_head(folios, slot);
    }

    /// Takes a folio off its list.
    pub(super) fn unlink(&mut self, slot: u32) {
        let (list, folios) = self.list_of(slot);
        list.unlink(folios, slot);
    }

    /// A folio that was to be evicted and has been written becomes the next to go. Source: `folio_end_writeback`,
    /// `folio_rotate_reclaimable`.
    pub(super) fn rotate(&mut self, slot: u32) {
        if self.folios[slot as usize].flags & RECLAIM == 0 {
            return;
        }
        self.unlink(slot);
        let folio = &mut self.folios[slot as usize];
        folio.flags &= !(RECLAIM | ACTIVE);
        folio.generation = self.generations.as_ref().map_or(0, |generations| generations.oldest_place());
        let (list, folios) = self.list_of(slot);
        list.push_tail(folios, slot);
    }
}
