//! The marking: every token of a net, when it becomes available, and what time it is.

use crate::binding::Token;
use crate::calendar::{Calendar, Entry};
use crate::chain::SlotId;
use crate::store::{AnyStore, Store, StoreSet, typed, typed_mut};
use crate::time::{Span, Time};

/// How many tokens a place holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Those whose stamp is not after now.
    pub(crate) available: u32,
    /// All of them.
    pub(crate) total: u32,
}

/// All tokens of a net at an instant.
#[derive(Clone)]
pub struct Marking {
    pub(crate) now: Time,
    pub(crate) stores: Vec<Box<dyn AnyStore>>,
    pub(crate) counts: Vec<Count>,
    /// Those with a token that is available.
    pub(crate) filled: StoreSet,
    calendar: Calendar,
}

impl Marking {
    /// A marking of empty places at time zero.
    pub(crate) fn new(stores: Vec<Box<dyn AnyStore>>) -> Self {
        Self {
            now: Time::ZERO,
            counts: vec![Count::default(); stores.len()],
            filled: StoreSet::default(),
            stores,
            calendar: Calendar::new(),
        }
    }

    #[inline]
    pub(crate) fn store<C: Token>(&self, place: u32) -> &Store<C> {
        typed(self.stores[place as usize].as_ref())
    }

    #[inline]
    fn store_mut<C: Token>(&mut self, place: u32) -> &mut Store<C> {
        typed_mut(self.stores[place as usize].as_mut())
    }

    /// Puts a token into a place, available after `delay`.
    #[inline]
    pub(crate) fn put<C: Token>(&mut self, place: u32, token: C, delay: Span) {
        let available = delay == Span::ZERO;
        let due = self.now + delay;
        let slot = self.store_mut(place).add(token, due, available);
        let count = &mut self.counts[place as usize];
        count.total += 1;
        if available {
            count.available += 1;
            self.filled.set(place, true);
        } else if due < Time::MAX {
            self.calendar.enter(Entry { due, place, slot });
        }
    }

    /// Takes an available token out of a place.
    #[inline]
    pub(crate) fn take<C: Token>(&mut self, place: u32, slot: SlotId) -> C {
        self.gone(place, 1);
        self.store_mut(place).take(slot)
    }

    /// Takes the available token that comes first; the caller knows of one.
    #[inline]
    pub(crate) fn take_first<C: Token>(&mut self, place: u32) -> C {
        self.gone(place, 1);
        let store = self.store_mut::<C>(place);
        store.take(store.first())
    }

    /// Changes the available token that comes first; the caller knows of one.
    #[inline]
    pub(crate) fn change<C: Token, T>(&mut self, place: u32, change: impl FnOnce(&mut C) -> T) -> T {
        let store = self.store_mut::<C>(place);
        if store.indexes.is_empty() {
            return change(store.first_mut());
        }
        // Its key may change, so it leaves and comes back.
        let slot = store.first();
        let mut token = self.take(place, slot);
        let made = change(&mut token);
        self.put(place, token, Span::ZERO);
        made
    }

    /// Takes `number` black tokens, which the caller knows to be available.
    #[inline]
    pub(crate) fn take_black(&mut self, place: u32, number: u32) {
        let store = self.store_mut::<()>(place);
        (0..number).for_each(|_| store.take(store.first()));
        self.gone(place, number);
    }

    /// Moves time to the earliest instant at which a token becomes available, and tells the places that gained one. Does
    /// nothing when there is no such instant.
    pub(crate) fn advance(&mut self, mut gained: impl FnMut(u32)) -> bool {
        let Self { calendar, stores, counts, filled, .. } = self;
        let reached = calendar.take_earliest(|entry| {
            stores[entry.place as usize].release(entry.slot);
            counts[entry.place as usize].available += 1;
            filled.set(entry.place, true);
            gained(entry.place);
        });
        self.now = reached.unwrap_or(self.now);
        reached.is_some()
    }

    /// A place has lost available tokens.
    #[inline]
    fn gone(&mut self, place: u32, number: u32) {
        let count = &mut self.counts[place as usize];
        count.total -= number;
        count.available -= number;
        self.filled.set(place, count.available > 0);
    }
}
