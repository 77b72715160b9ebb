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
use crate::place::Selection;
use crate::rng::Rng;
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

    /// Tells `found` of every binding, best first by the selection rules, until it breaks.
    #[doc(hidden)]
    fn search<'m>(
        &self,
        marking: &'m Marking,
        picks: &mut Picks,
        found: &mut impl FnMut(&mut Picks, Refs<'m, Self>) -> ControlFlow<()>,
    ) -> ControlFlow<()>;

    /// Whether any token will do: no guard, no key, no place that two arcs share. Then
    /// [`take_preferred`](Self::take_preferred) finds what a search would.
    #[doc(hidden)]
    fn is_free(&self) -> bool;

    /// Removes the tokens that the selection rules prefer, and copies those of read arcs.
    #[doc(hidden)]
    fn take_preferred(&self, marking: &mut Marking, rng: &mut Rng) -> Self::Binding;

    /// The picked tokens.
    #[doc(hidden)]
    fn refs<'m>(&self, marking: &'m Marking, slots: &[SlotId]) -> Refs<'m, Self>;

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

/// One more condition on the variables bound so far.
pub struct Guarded<P, F> {
    pub(crate) before: P,
    pub(crate) guard: F,
}

/// One more condition: no token has the key that the variables bound so far ask for.
pub struct Lacking<P: Pattern> {
    pub(crate) before: P,
    pub(crate) absent: Absent<P>,
}

type Visit<'v> = &'v mut dyn FnMut(SlotId) -> ControlFlow<()>;

/// Offers the tokens of the key that the variables bound so far ask for.
pub(crate) type ByKey<P, C> =
    Box<dyn for<'a> Fn(&Store<C>, Refs<'a, P>, Visit<'_>) -> ControlFlow<()> + Send + Sync>;

type Absent<P> = Box<dyn for<'a> Fn(&Marking, Refs<'a, P>) -> bool + Send + Sync>;

/// The tokens chosen so far, one slot per arc.
#[derive(Debug)]
pub struct Picks {
    pub(crate) slots: [SlotId; MAX_ARCS],
    /// Draws the order of offers where the selection rule is random; without it, any order.
    pub(crate) rng: Option<Rng>,
}

impl Picks {
    pub(crate) fn new(rng: Option<Rng>) -> Self {
        Self { slots: [0; MAX_ARCS], rng }
    }
}

impl Pattern for Start {
    type Binding = ();

    const ARCS: usize = 0;

    #[inline]
    fn search<'m>(
        &self,
        _: &'m Marking,
        picks: &mut Picks,
        found: &mut impl FnMut(&mut Picks, Refs<'m, Self>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        found(picks, ())
    }

    fn is_free(&self) -> bool {
        true
    }

    #[inline]
    fn take_preferred(&self, _: &mut Marking, _: &mut Rng) {}

    fn refs(&self, _: &Marking, _: &[SlotId]) {}

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
        picks: &mut Picks,
        visit: &mut impl FnMut(&mut Picks, SlotId) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if let Some(by_key) = &self.by_key {
            return by_key(store, refs, &mut |slot| visit(picks, slot));
        }
        if let (Some(bag), Some(rng)) = (store.bag(), &mut picks.rng)
            && !bag.is_empty()
        {
            let first = rng.below(bag.len() as u64) as usize;
            visit(picks, bag[first])?;
            return offer_rest(bag, first, picks, visit);
        }
        store.offers().try_for_each(|slot| visit(picks, slot))
    }
}

/// Offers in random order the tokens of a bag other than the first, which was refused.
#[cold]
fn offer_rest(
    bag: &[SlotId],
    first: usize,
    picks: &mut Picks,
    visit: &mut impl FnMut(&mut Picks, SlotId) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut rest = bag.to_vec();
    rest.swap_remove(first);
    while !rest.is_empty() {
        let next = picks.rng.as_mut().map_or(0, |rng| rng.below(rest.len() as u64));
        visit(picks, rest.swap_remove(next as usize))?;
    }
    ControlFlow::Continue(())
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
        picks: &mut Picks,
        found: &mut impl FnMut(&mut Picks, Refs<'m, Self>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let store = marking.store::<C>(self.place);
        self.before.search(marking, picks, &mut |picks, refs| {
            self.offer(store, refs, picks, &mut |picks, slot| {
                if self.shares.iter().any(|&arc| picks.slots[arc] == slot) {
                    return ControlFlow::Continue(());
                }
                picks.slots[P::ARCS] = slot;
                found(picks, P::Binding::append_ref(refs, store.token(slot)))
            })
        })
    }

    fn is_free(&self) -> bool {
        self.before.is_free() && self.by_key.is_none() && self.shares.is_empty()
    }

    #[inline]
    fn take_preferred(&self, marking: &mut Marking, rng: &mut Rng) -> <Self as Pattern>::Binding {
        let before = self.before.take_preferred(marking, rng);
        before.append(if self.reads {
            let store = marking.store::<C>(self.place);
            store.token(store.preferred(rng)).clone()
        } else {
            marking.take_preferred(self.place, rng)
        })
    }

    fn refs<'m>(&self, marking: &'m Marking, slots: &[SlotId]) -> Refs<'m, Self> {
        let token = marking.store::<C>(self.place).token(slots[P::ARCS]);
        P::Binding::append_ref(self.before.refs(marking, slots), token)
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

impl<P: Pattern, F> Pattern for Guarded<P, F>
where
    F: for<'a> Fn(Refs<'a, P>) -> bool + Send + Sync + 'static,
{
    type Binding = P::Binding;

    const ARCS: usize = P::ARCS;

    #[inline]
    fn search<'m>(
        &self,
        marking: &'m Marking,
        picks: &mut Picks,
        found: &mut impl FnMut(&mut Picks, Refs<'m, Self>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.before.search(marking, picks, &mut |picks, refs| {
            if (self.guard)(refs) { found(picks, refs) } else { ControlFlow::Continue(()) }
        })
    }

    fn is_free(&self) -> bool {
        false
    }

    fn take_preferred(&self, marking: &mut Marking, rng: &mut Rng) -> P::Binding {
        self.before.take_preferred(marking, rng)
    }

    fn refs<'m>(&self, marking: &'m Marking, slots: &[SlotId]) -> Refs<'m, P> {
        self.before.refs(marking, slots)
    }

    #[inline]
    fn take(&self, marking: &mut Marking, slots: &[SlotId]) -> P::Binding {
        self.before.take(marking, slots)
    }
}

impl<P: Pattern> Pattern for Lacking<P> {
    type Binding = P::Binding;

    const ARCS: usize = P::ARCS;

    #[inline]
    fn search<'m>(
        &self,
        marking: &'m Marking,
        picks: &mut Picks,
        found: &mut impl FnMut(&mut Picks, Refs<'m, Self>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.before.search(marking, picks, &mut |picks, refs| {
            if (self.absent)(marking, refs) { found(picks, refs) } else { ControlFlow::Continue(()) }
        })
    }

    fn is_free(&self) -> bool {
        false
    }

    fn take_preferred(&self, marking: &mut Marking, rng: &mut Rng) -> P::Binding {
        self.before.take_preferred(marking, rng)
    }

    fn refs<'m>(&self, marking: &'m Marking, slots: &[SlotId]) -> Refs<'m, P> {
        self.before.refs(marking, slots)
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
    Box::new(move |store, refs, visit| {
        let newest_first = store.selection() == Selection::Newest;
        index::<C, K>(store, number).offers(&key(refs), newest_first).try_for_each(visit)
    })
}

/// The look-up of an inhibitor arc that asks by key.
pub(crate) fn absent<P, C, K, F>(place: u32, number: usize, key: F) -> Absent<P>
where
    P: Pattern,
    C: Colour,
    K: Key,
    F: for<'a> Fn(Refs<'a, P>) -> K + Send + Sync + 'static,
{
    Box::new(move |marking, refs| !index::<C, K>(marking.store::<C>(place), number).contains(&key(refs)))
}

fn index<C: Colour, K: Key>(store: &Store<C>, number: usize) -> &HashIndex<C, K> {
    let index: &dyn Any = store.indexes[number].as_ref();
    index.downcast_ref().expect("the builder made the index with this key")
}
