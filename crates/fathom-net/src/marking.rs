//! The marking: every token of a net, when it becomes available, and what time it is.

use crate::binding::Token;
use crate::calendar::{Calendar, Entry};
use crate::chain::SlotId;
use crate::rng::Rng;
use crate::store::{AnyStore, Store, StoreSet, typed, typed_mut};
use crate::tally::Level;
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
    /// Time averages of the places that are watched; empty when none is, which costs nothing.
    levels: Vec<Option<Level>>,
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
            levels: Vec::new(),
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
        self.note_level(place);
    }

    /// Takes an available token out of a place.
    #[inline]
    pub(crate) fn take<C: Token>(&mut self, place: u32, slot: SlotId) -> C {
        self.gone(place, 1);
        self.store_mut(place).take(slot)
    }

    /// Takes the available token that the place's selection rule prefers; the caller knows of one.
    #[inline]
    pub(crate) fn take_preferred<C: Token>(&mut self, place: u32, rng: &mut Rng) -> C {
        self.gone(place, 1);
        let store = self.store_mut::<C>(place);
        store.take(store.preferred(rng))
    }

    /// Changes the available token that the place's selection rule prefers; the caller knows of one.
    #[inline]
    pub(crate) fn change<C: Token, T>(&mut self, place: u32, change: impl FnOnce(&mut C) -> T) -> T {
        let store = self.store_mut::<C>(place);
        if store.indexes.is_empty() {
            return change(store.first_mut());
        }
        // Its key may change, so it leaves and comes back.
        let slot = store.offers().next().expect("as many tokens as the arc asks for");
        let mut token = self.take(place, slot);
        let made = change(&mut token);
        self.put(place, token, Span::ZERO);
        made
    }

    /// Takes `number` black tokens, which the caller knows to be available.
    #[inline]
    pub(crate) fn take_black(&mut self, place: u32, number: u32) {
        let store = self.store_mut::<()>(place);
        (0..number).for_each(|_| store.take_first());
        self.gone(place, number);
    }

    /// Moves time to the earliest instant up to `horizon` at which a token becomes available, and
    /// tells the places that gained one. Does nothing when there is no such instant.
    pub(crate) fn advance(&mut self, horizon: Time, mut gained: impl FnMut(u32)) -> Option<Time> {
        let Self { calendar, stores, counts, filled, .. } = self;
        let reached = calendar.take_earliest(horizon, |entry| {
            stores[entry.place as usize].release(entry.slot);
            counts[entry.place as usize].available += 1;
            filled.set(entry.place, true);
            gained(entry.place);
        })?;
        self.now = reached;
        Some(reached)
    }

    /// Whether some token is still to become available.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.calendar.is_empty()
    }

    /// Starts the time average of a place's tokens, afresh if it was running.
    pub(crate) fn watch(&mut self, place: u32) {
        self.levels.resize_with(self.stores.len(), || None);
        let tokens = self.counts[place as usize].total;
        self.levels[place as usize] = Some(Level::new(self.now, tokens));
    }

    /// Starts all running time averages afresh.
    pub(crate) fn restart_levels(&mut self) {
        for place in 0..self.levels.len() {
            if self.levels[place].is_some() {
                self.watch(place as u32);
            }
        }
    }

    pub(crate) fn level(&self, place: u32) -> Option<&Level> {
        self.levels.get(place as usize)?.as_ref()
    }

    /// A place has lost available tokens.
    #[inline]
    fn gone(&mut self, place: u32, number: u32) {
        let count = &mut self.counts[place as usize];
        count.total -= number;
        count.available -= number;
        self.filled.set(place, count.available > 0);
        self.note_level(place);
    }

    #[inline]
    fn note_level(&mut self, place: u32) {
        if let Some(Some(level)) = self.levels.get_mut(place as usize) {
            level.change(self.now, self.counts[place as usize].total);
        }
    }
}
