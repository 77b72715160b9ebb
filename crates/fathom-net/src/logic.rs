//! What a transition does, compiled once and with its types erased.

use std::ops::ControlFlow;

use crate::binding::Binding;
use crate::marking::Marking;
use crate::pattern::{NO_SLOTS, Pattern, Refs, Slots};
use crate::rng::Rng;
use crate::time::{Span, Time};

/// A firing under way, as arc expressions see it.
///
/// ```
/// use fathom_net::{Firing, NetBuilder};
/// # let mut net = NetBuilder::new("doc");
/// # let (next, jobs) = (net.place("next"), net.place::<(u64, u64)>("jobs"));
/// // A job of random size, born now.
/// let job = |firing: &mut Firing| (firing.now().as_ticks(), firing.rng().below(4096));
/// net.transition("arrive").consume(next, 1).output(jobs, move |_, firing| job(firing)).add();
/// ```
#[derive(Debug)]
pub struct Firing<'a> {
    now: Time,
    delay: Span,
    rng: &'a mut Rng,
}

impl<'a> Firing<'a> {
    pub(crate) fn new(now: Time, rng: &'a mut Rng) -> Self {
        Self { now, delay: Span::ZERO, rng }
    }

    /// The instant of the firing.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The transition's delay, as computed for this firing.
    pub(crate) fn delay(&self) -> Span {
        self.delay
    }

    /// The instant at which the tokens produced become available: `now` plus the transition's delay.
    ///
    /// ```
    /// # use fathom_net::{Span, Time};
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (born, took) = (net.place::<Time>("born"), net.place::<Span>("took"));
    /// net.transition("serve").input(born)
    ///     .delay_by(|_, rng| Span::round(rng.exponential(80.0)))
    ///     .output(took, |(born,), firing| firing.done() - *born)
    ///     .add();
    /// ```
    pub fn done(&self) -> Time {
        self.now + self.delay
    }

    /// The generator of the simulation, for expressions that draw.
    pub fn rng(&mut self) -> &mut Rng {
        self.rng
    }
}

/// An arc out, or a change of a state: does its part of a firing.
pub(crate) trait Effect<P: Pattern>:
    for<'a> Fn(Refs<'a, P>, &mut Firing<'_>, &mut Marking) + Send + Sync + 'static
{
}

impl<P: Pattern, F> Effect<P> for F where
    F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>, &mut Marking) + Send + Sync + 'static
{
}

/// How long a firing takes.
pub(crate) type Delay<P> = Box<dyn for<'a> Fn(Refs<'a, P>, &mut Rng) -> Span + Send + Sync>;

/// A transition's functions over the types of its variables.
pub(crate) struct Compiled<P: Pattern> {
    pub(crate) pattern: P,
    /// What the pattern says of itself.
    is_free: bool,
    /// Stores and numbers of black tokens taken without binding them.
    pub(crate) consumes: Vec<(u32, u32)>,
    /// None where it takes no time.
    pub(crate) delay: Option<Delay<P>>,
    pub(crate) effects: Vec<Box<dyn Effect<P>>>,
}

impl<P: Pattern> Compiled<P> {
    pub(crate) fn new(pattern: P, consumes: Vec<(u32, u32)>) -> Self {
        Self { is_free: pattern.is_free(), pattern, consumes, delay: None, effects: Vec::new() }
    }

    /// The binding of the oldest tokens.
    #[inline]
    fn first(&self, marking: &Marking) -> Option<Slots> {
        let mut slots = NO_SLOTS;
        let found = self.pattern.search(marking, &mut slots, &mut |_, _| ControlFlow::Break(()));
        found.is_break().then_some(slots)
    }

    /// What follows once the tokens of the arcs that bind are taken.
    #[inline]
    fn go_on(&self, binding: &P::Binding, marking: &mut Marking, firing: &mut Firing<'_>) {
        for &(place, number) in &self.consumes {
            marking.take_black(place, number);
        }
        let refs = binding.refs();
        firing.delay = self.delay.as_ref().map_or(Span::ZERO, |delay| delay(refs, firing.rng));
        for effect in &self.effects {
            effect(refs, firing, marking);
        }
    }
}

/// A transition's functions. The caller has seen that every place holds enough tokens.
pub(crate) trait Logic: Send + Sync {
    /// Whether some binding passes the guards.
    fn is_satisfiable(&self, marking: &Marking) -> bool;
    /// Fires the binding of the oldest tokens.
    fn fire_first(&self, marking: &mut Marking, firing: &mut Firing<'_>);
    /// Every binding, printed, in the order of the colours; equal ones once.
    #[cfg(test)]
    fn bindings(&self, marking: &Marking) -> Vec<(Slots, String)>;
    /// Takes the binding's tokens, and puts what the arc expressions make of them.
    fn fire(&self, slots: &Slots, marking: &mut Marking, firing: &mut Firing<'_>);
}

impl<P: Pattern> Logic for Compiled<P> {
    fn is_satisfiable(&self, marking: &Marking) -> bool {
        self.first(marking).is_some()
    }

    fn fire_first(&self, marking: &mut Marking, firing: &mut Firing<'_>) {
        if self.is_free {
            let binding = self.pattern.take_first(marking);
            return self.go_on(&binding, marking, firing);
        }
        let slots = self.first(marking);
        self.fire(&slots.expect("an enabled transition has a binding"), marking, firing);
    }

    #[cfg(test)]
    fn bindings(&self, marking: &Marking) -> Vec<(Slots, String)> {
        let mut found = Vec::new();
        let _ = self.pattern.search(marking, &mut { NO_SLOTS }, &mut |slots, refs| {
            found.push((refs, *slots));
            ControlFlow::Continue(())
        });
        // Tokens of one colour differ in nothing but their slot: Jensen's binding elements do not.
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found.dedup_by(|a, b| a.0 == b.0);
        found.into_iter().map(|(refs, slots)| (slots, format!("{refs:?}"))).collect()
    }

    #[inline]
    fn fire(&self, slots: &Slots, marking: &mut Marking, firing: &mut Firing<'_>) {
        let binding = self.pattern.take(marking, slots);
        self.go_on(&binding, marking, firing);
    }
}
