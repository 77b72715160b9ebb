//! Doubly linked lists threaded through a vector: constant time to remove anywhere, no allocation
//! once the vector has grown.

/// A token's address in its store. It is used again once the token is gone.
pub(crate) type SlotId = u32;

/// No slot: the end of a chain.
pub(crate) const NIL: SlotId = SlotId::MAX;

/// The neighbours of each slot, shared by all the chains that partition the slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(Vec<(SlotId, SlotId)>);

/// One list of slots, oldest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    first: SlotId,
    last: SlotId,
}

impl Chain {
    pub(crate) const EMPTY: Self = Self { first: NIL, last: NIL };

    #[inline]
    pub(crate) fn push(&mut self, links: &mut Links, slot: SlotId) {
        if slot as usize >= links.0.len() {
            links.0.resize(slot as usize + 1, (NIL, NIL));
        }
        links.0[slot as usize] = (self.last, NIL);
        match self.last {
            NIL => self.first = slot,
            last => links.0[last as usize].1 = slot,
        }
        self.last = slot;
    }

    #[inline]
    pub(crate) fn remove(&mut self, links: &mut Links, slot: SlotId) {
        let (before, after) = links.0[slot as usize];
        match before {
            NIL => self.first = after,
            before => links.0[before as usize].1 = after,
        }
        match after {
            NIL => self.last = before,
            after => links.0[after as usize].0 = before,
        }
    }

    /// The slots, oldest first.
    #[inline]
    pub(crate) fn iter(self, links: &Links) -> ChainIter<'_> {
        ChainIter { links, next: self.first }
    }
}

pub(crate) struct ChainIter<'a> {
    links: &'a Links,
    next: SlotId,
}

impl Iterator for ChainIter<'_> {
    type Item = SlotId;

    #[inline]
    fn next(&mut self) -> Option<SlotId> {
        if self.next == NIL {
            return None;
        }
        let slot = self.next;
        self.next = self.links.0[slot as usize].1;
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_through_removals() {
        let (mut chain, mut links) = (Chain::EMPTY, Links::default());
        (0..5).for_each(|slot| chain.push(&mut links, slot));
        for slot in [2, 0, 4] {
            chain.remove(&mut links, slot);
        }
        chain.push(&mut links, 0);
        assert_eq!(chain.iter(&links).collect::<Vec<_>>(), [1, 3, 0]);
        for slot in [0, 1, 3] {
            chain.remove(&mut links, slot);
        }
        assert_eq!(chain.iter(&links).next(), None);
    }
}
