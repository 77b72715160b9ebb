//! The two lists, threaded through the folios.

use super::{ACTIVE, PageCache};

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
}

impl PageCache {
    fn list_of(&mut self, slot: u32) -> &mut List {
        let is_active = self.folios[slot as usize].flags & ACTIVE != 0;
        if is_active { &mut self.active } else { &mut self.inactive }
    }

    /// Puts a folio at the head of the list that its flags name.
    pub(super) fn link(&mut self, slot: u32) {
        let pages = 1_u64 << self.folios[slot as usize].order;
        let list = self.list_of(slot);
        let head = std::mem::replace(&mut list.head, slot);
        list.pages += pages;
        if head == NONE {
            list.tail = slot;
        } else {
            self.folios[head as usize].younger = slot;
        }
        let folio = &mut self.folios[slot as usize];
        (folio.younger, folio.older) = (NONE, head);
    }

    /// Takes a folio off its list.
    pub(super) fn unlink(&mut self, slot: u32) {
        let (younger, older) = (self.folios[slot as usize].younger, self.folios[slot as usize].older);
        let pages = 1_u64 << self.folios[slot as usize].order;
        let list = self.list_of(slot);
        list.pages -= pages;
        if younger == NONE {
            list.head = older;
        }
        if older == NONE {
            list.tail = younger;
        }
        if younger != NONE {
            self.folios[younger as usize].older = older;
        }
        if older != NONE {
            self.folios[older as usize].younger = younger;
        }
    }
}
