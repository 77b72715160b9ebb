//! The tokens of one place: typed, indexed by key, and erased once behind [`AnyStore`].

use std::any::Any;
use std::cmp::Ordering;

use crate::binding::{Colour, Token};
use crate::chain::{Chain, ChainIter, Links, SlotId};
use crate::index::KeyIndex;
use crate::time::Time;

/// What holds of a slot that was offered, as long as its token was not taken.
const PICKED: &str = "a picked slot holds a token";

#[derive(Clone, Debug)]
struct Slot<C> {
    /// `None` once the token is gone.
    token: Option<C>,
    stamp: Time,
}

/// Tokens of one type: those available, in the order in which they became so, and those to come.
#[derive(Clone)]
pub(crate) struct Store<C: 'static> {
    /// The order of the colours; a state has none.
    order: Option<fn(&C, &C) -> Ordering>,
    slots: Vec<Slot<C>>,
    free: Vec<SlotId>,
    available: Chain,
    links: Links,
    pub(crate) indexes: Vec<Box<dyn KeyIndex<C>>>,
}

impl<C: Colour> Store<C> {
    /// A store of tokens that have an order.
    pub(crate) fn new() -> Self {
        Self { order: Some(C::cmp), ..Self::unordered() }
    }
}

impl<C: Token> Store<C> {
    /// A store of tokens without an order.
    pub(crate) fn unordered() -> Self {
        Self {
            order: None,
            slots: Vec::new(),
            free: Vec::new(),
            available: Chain::EMPTY,
            links: Links::default(),
            indexes: Vec::new(),
        }
    }

    /// Adds a token, available at once or only when [`AnyStore::release`] is called for it.
    #[inline]
    pub(crate) fn add(&mut self, token: C, stamp: Time, available: bool) -> SlotId {
        let slot = self.free.pop().unwrap_or(self.slots.len() as SlotId);
        for index in &mut self.indexes {
            index.added(slot, &token, available);
        }
        match self.slots.get_mut(slot as usize) {
            Some(empty) => {
                empty.token = Some(token);
                empty.stamp = stamp;
            }
            None => self.slots.push(Slot { token: Some(token), stamp }),
        }
        if available {
            self.available.push(&mut self.links, slot);
        }
        slot
    }

    /// Removes an available token.
    #[inline]
    pub(crate) fn take(&mut self, slot: SlotId) -> C {
        self.available.remove(&mut self.links, slot);
        self.free.push(slot);
        let token = &mut self.slots[slot as usize].token;
        for index in &mut self.indexes {
            index.removed(slot, token.as_ref().expect(PICKED));
        }
        token.take().expect(PICKED)
    }

    /// The available token that is offered first; the caller knows that there is one.
    #[inline]
    pub(crate) fn first(&self) -> SlotId {
        self.offers().next().expect("as many tokens as the arc asks for")
    }

    #[inline]
    pub(crate) fn token(&self, slot: SlotId) -> &C {
        self.slots[slot as usize].token.as_ref().expect(PICKED)
    }

    /// The available token that comes first, to change it in place; the caller knows that there is one, and
    /// that nothing depends on its value but itself.
    #[inline]
    pub(crate) fn first_mut(&mut self) -> &mut C {
        let slot = self.first();
        self.slots[slot as usize].token.as_mut().expect(PICKED)
    }

    /// The available tokens, in the order in which they became so.
    #[inline]
    pub(crate) fn offers(&self) -> ChainIter<'_> {
        self.available.iter(&self.links)
    }

    /// Every token with its stamp, available or not.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = (&C, Time)> {
        self.slots.iter().filter_map(|slot| Some((slot.token.as_ref()?, slot.stamp)))
    }
}

/// Some of the first 64 stores of a net, as bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoreSet(u64);

impl StoreSet {
    /// Adds a store; false where the set has no room for it.
    pub(crate) fn add(&mut self, store: u32) -> bool {
        self.set(store, true);
        store < u64::BITS
    }

    /// Adds or removes a store, if the set has room for it.
    #[inline]
    pub(crate) fn set(&mut self, store: u32, is_member: bool) {
        if let Some(bit) = 1_u64.checked_shl(store) {
            self.0 = if is_member { self.0 | bit } else { self.0 & !bit };
        }
    }

    /// Whether all of these are in it.
    #[inline]
    pub(crate) fn holds(self, others: Self) -> bool {
        others.0 & !self.0 == 0
    }
}

/// A store whose colour the builder has made sure of.
#[inline]
pub(crate) fn typed<C: Token>(store: &dyn AnyStore) -> &Store<C> {
    let store: &dyn Any = store;
    store.downcast_ref().expect("the builder gave the place this colour")
}

/// As [`typed`], to change it.
#[inline]
pub(crate) fn typed_mut<C: Token>(store: &mut dyn AnyStore) -> &mut Store<C> {
    let store: &mut dyn Any = store;
    store.downcast_mut().expect("the builder gave the place this colour")
}

/// What a marking does with a store without knowing its colour.
pub(crate) trait AnyStore: Any + Send + Sync {
    fn copy(&self) -> Box<dyn AnyStore>;
    /// Makes a token available that was added as not available.
    fn release(&mut self, slot: SlotId);
    /// Every token printed, with its stamp: in the order of the colours, if they have one.
    fn printed(&self) -> Vec<(String, Time)>;
}

impl Clone for Box<dyn AnyStore> {
    fn clone(&self) -> Self {
        self.copy()
    }
}

impl<C: Token> AnyStore for Store<C> {
    fn copy(&self) -> Box<dyn AnyStore> {
        Box::new(self.clone())
    }

    fn release(&mut self, slot: SlotId) {
        self.available.push(&mut self.links, slot);
        if !self.indexes.is_empty() {
            let token = self.slots[slot as usize].token.as_ref().expect("a due slot holds a token");
            for index in &mut self.indexes {
                index.released(slot, token);
            }
        }
    }

    fn printed(&self) -> Vec<(String, Time)> {
        let mut tokens: Vec<(&C, Time)> = self.tokens().collect();
        if let Some(order) = self.order {
            tokens.sort_by(|a, b| order(a.0, b.0).then(a.1.cmp(&b.1)));
        }
        tokens.into_iter().map(|(token, stamp)| (format!("{token:?}"), stamp)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(store: &Store<u32>) -> Vec<u32> {
        store.offers().map(|slot| *store.token(slot)).collect()
    }

    #[test]
    fn a_token_is_offered_only_once_released() {
        let mut store = Store::<u32>::new();
        let late = store.add(1, Time::ticks(5), false);
        store.add(2, Time::ZERO, true);
        assert_eq!(offered(&store), [2]);
        store.release(late);
        assert_eq!(offered(&store), [2, 1]);
        assert_eq!(store.take(late), 1);
        assert_eq!(store.add(7, Time::ZERO, true), late, "slots are used again");
        assert_eq!(store.printed().len(), 2);
    }

    #[test]
    fn a_net_may_have_more_places_than_a_set_has_room_for() {
        let mut net = crate::NetBuilder::new("ring");
        let places: Vec<_> = (0..100).map(|number| net.place(&format!("p{number}"))).collect();
        net.initial(places[0], [(); 2]);
        for number in 0..100 {
            let next = places[(number + 1) % 100];
            net.transition(&format!("t{number}")).consume(places[number], 2).produce(next, 2).add();
        }
        let net = net.build().unwrap();
        let mut sim = crate::Simulation::new(&net, 1);
        for fired in 1..=250 {
            assert!(sim.step().is_some());
            assert_eq!(sim.count(places[fired % 100]), 2);
        }
    }
}
