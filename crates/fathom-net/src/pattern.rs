//! The arcs that bind variables, and the search for bindings.
//!
//! A transition's input arcs form a list in the type system, so that the search for a binding is
//! compiled once per transition into nested loops over typed tokens: arc by arc in the order in
//! which they were written, each guard tested as soon as its variables are bound.

use std::any::Any;
use std::ops::ControlFlow;

use crate::binding::{Append, Binding, Colour};
use crate::chain::SlotId;
use crate::index::{HashIndex, Key};
use crate::marking::Marking;
use crate::store::Store;

/// The most arcs that can bind a variable of one transition.
pub(crate) const MAX_ARCS: usize = 8;

/// The colours that a pattern binds, by reference.
pub type Refs<'a, P> = <<P as Pattern>::Binding as Binding>::Refs<'a>;

/// The input side of a transition: a list of arcs and guards. Made by
/// [`TransitionBuilder`](crate::TransitionBuilder); it cannot be implemented elsewhere.
///
/// ```
/// use fathom_net::{NetBuilder, Pattern, TransitionBuilder};
/// fn is_pattern<P: Pattern>(_: &TransitionBuilder<'_, P>) {}
/// let mut net = NetBuilder::new("any");
/// let place = net.place::<u8>("place");
/// is_pattern(&net.transition("t").input(place));
/// ```
pub trait Pattern: Sized + Send + Sync + 'static {
    /// The colours bound, in the order of the arcs.
    type Binding: Binding;

    /// Arcs that bind a variable.
    #[doc(hidden)]
    const ARCS: usize;

    /// Tells `found` of every binding, that of the oldest tokens first, until it breaks. The tokens are those of `slots`.
    #[doc(hidden)]
    fn search<'m>(
        &self,
        marking: &'m Marking,
        slots: &mut Slots,
        found: &mut impl FnMut(&mut Slots, Refs<'m, Self>) -> ControlFlow<()>,
    ) -> ControlFlow<()>;

    /// Whether any token will do: no guard, no key, no place that two arcs share. Then
    /// [`take_first`](Self::take_first) finds what a search would.
    #[doc(hidden)]
    fn is_free(&self) -> bool;

    /// Removes the tokens that come first, and copies those of read arcs.
    #[doc(hidden)]
    fn take_first(&self, marking: &mut Marking) -> Self::Binding;

    /// Removes the picked tokens of input arcs and copies those of read arcs.
    #[doc(hidden)]
    fn take(&self, marking: &mut Marking, slots: &[SlotId]) -> Self::Binding;
}

/// No arc yet.
#[derive(Debug)]
pub struct Start;

/// One more arc, binding a colour.
pub struct Bind<P: Pattern, C: 'static> {
    pub(crate) before: P,
    pub(crate) place: u32,
    pub(crate) reads: bool,
    /// Earlier arcs with the same place, whose tokens this one must not bind too.
    pub(crate) shares: Box<[usize]>,
    pub(crate) by_key: Option<ByKey<P, C>>,
}

/// One more condition on the variables bound so far, or on what places lack.
pub struct Guarded<P, G> {
    pub(crate) before: P,
    pub(crate) guard: G,
}

/// Whether a binding may fire.
pub trait Guard<P: Pattern>: Send + Sync + 'static {
    #[doc(hidden)]
    fn holds(&self, marking: &Marking, refs: Refs<'_, P>) -> bool;
}

impl<P: Pattern, F> Guard<P> for F
where
    F: for<'a> Fn(&Marking, Refs<'a, P>) -> bool + Send + Sync + 'static,
{
    #[inline]
    fn holds(&self, marking: &Marking, refs: Refs<'_, P>) -> bool {
        self(marking, refs)
    }
}

type Visit<'v> = &'v mut dyn FnMut(SlotId) -> ControlFlow<()>;

/// Offers the tokens of the key that the variables bound so far ask for.
pub(crate) type ByKey<P, C> =
    Box<dyn for<'a> Fn(&Store<C>, Refs<'a, P>, Visit<'_>) -> ControlFlow<()> + Send + Sync>;

/// The tokens chosen so far, one slot per arc that binds a variable.
pub(crate) type Slots = [SlotId; MAX_ARCS];

pub(crate) const NO_SLOTS: Slots = [0; MAX_ARCS];

impl Pattern for Start {
    type Binding = ();

    const ARCS: usize = 0;

    #[inline]
    fn search<'m>(
        &self,
        _: &'m Marking,
        slots: &mut Slots,
        found: &mut impl FnMut(&mut Slots, Refs<'m, Self>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        found(slots, ())
    }

    fn is_free(&self) -> bool {
        true
    }

    #[inline]
    fn take_first(&self, _: &mut Marking) {}

    #[inline]
    fn take(&self, _: &mut Marking, _: &[SlotId]) {}
}

impl<P: Pattern, C: Colour> Bind<P, C> {
    /// Offers the tokens of the place to `visit` until it breaks.
    #[inline]
    fn offer<'m>(
        &self,
        store: &'m Store<C>,
        refs: Refs<'m, P>,
        visit: &mut impl FnMut(SlotId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match &self.by_key {
            Some(by_key) => by_key(store, refs, visit),
            None => store.offers().try_for_each(visit),
        }
    }
}

impl<P: Pattern, C: Colour> Pattern for Bind<P, C>
where
    P::Binding: Append<C>,
{
    type Binding = <P::Binding as Append<C>>::Extended;

    const ARCS: usize = P::ARCS + 1;

    #[inline]
    fn search<'m>(
        &self,
        marking: &'m Marking,
        slots: &mut Slots,
        found: &mut impl FnMut(&mut Slots, Refs<'m, Self>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let store = marking.store::<C>(self.place);
        self.before.search(marking, slots, &mut |slots, refs| {
            self.offer(store, refs, &mut |slot| {
                if self.shares.iter().any(|&arc| slots[arc] == slot) {
                    return ControlFlow::Continue(());
                }
                slots[P::ARCS] = slot;
                found(slots, P::Binding::append_ref(refs, store.token(slot)))
            })
        })
    }

    fn is_free(&self) -> bool {
        self.before.is_free() && self.by_key.is_none() && self.shares.is_empty()
    }

    #[inline]
    fn take_first(&self, marking: &mut Marking) -> <Self as Pattern>::Binding {
        let before = self.before.take_first(marking);
        before.append(if self.reads {
            let store = marking.store::<C>(self.place);
            store.token(store.first()).clone()
        } else {
            marking.take_first(self.place)
        })
    }

    #[inline]
    fn take(&self, marking: &mut Marking, slots: &[SlotId]) -> <Self as Pattern>::Binding {
        let before = self.before.take(marking, slots);
        let slot = slots[P::ARCS];
        before.append(if self.reads {
            marking.store::<C>(self.place).token(slot).clone()
        } else {
            marking.take(self.place, slot)
        })
    }
}

impl<P: Pattern, G: Guard<P>> Pattern for Guarded<P, G> {
    type Binding = P::Binding;

    const ARCS: usize = P::ARCS;

    #[inline]
    fn search<'m>(
        &self,
        marking: &'m Marking,
        slots: &mut Slots,
        found: &mut impl FnMut(&mut Slots, Refs<'m, Self>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.before.search(marking, slots, &mut |slots, refs| {
            if self.guard.holds(marking, refs) { found(slots, refs) } else { ControlFlow::Continue(()) }
        })
    }

    fn is_free(&self) -> bool {
        false
    }

    fn take_first(&self, marking: &mut Marking) -> P::Binding {
        self.before.take_first(marking)
    }

    #[inline]
    fn take(&self, marking: &mut Marking, slots: &[SlotId]) -> P::Binding {
        self.before.take(marking, slots)
    }
}

/// The look-up of an arc that asks for a token by key.
pub(crate) fn by_key<P, C, K, F>(number: usize, key: F) -> ByKey<P, C>
where
    P: Pattern,
    C: Colour,
    K: Key,
    F: for<'a> Fn(Refs<'a, P>) -> K + Send + Sync + 'static,
{
    Box::new(move |store, refs, visit| index::<C, K>(store, number).offers(&key(refs)).try_for_each(visit))
}

/// The condition of an inhibitor arc that asks by key.
pub(crate) fn absent<P, C, K, F>(
    place: u32,
    number: usize,
    key: F,
) -> impl for<'a> Fn(&Marking, Refs<'a, P>) -> bool + Send + Sync + 'static
where
    P: Pattern,
    C: Colour,
    K: Key,
    F: for<'a> Fn(Refs<'a, P>) -> K + Send + Sync + 'static,
{
    move |marking, refs| !index::<C, K>(marking.store::<C>(place), number).contains(&key(refs))
}

fn index<C: Colour, K: Key>(store: &Store<C>, number: usize) -> &HashIndex<C, K> {
    let index: &dyn Any = store.indexes[number].as_ref();
    index.downcast_ref().expect("the builder made the index with this key")
}
