//! What a transition does, compiled once and with its types erased.

use std::ops::ControlFlow;

use crate::binding::Binding;
use crate::chain::SlotId;
use crate::distribution::Distribution;
use crate::handle::Series;
use crate::marking::Marking;
use crate::pattern::{MAX_ARCS, Pattern, Picks, Refs};
use crate::rng::Rng;
use crate::tally::Tally;
use crate::time::{Span, Time};

/// The slots of a binding's tokens, one per arc that binds a variable.
pub(crate) type Slots = [SlotId; MAX_ARCS];

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
    tallies: &'a mut [Tally],
}

impl<'a> Firing<'a> {
    pub(crate) fn new(now: Time, rng: &'a mut Rng, tallies: &'a mut [Tally]) -> Self {
        Self { now, delay: Span::ZERO, rng, tallies }
    }

    /// The instant of the firing.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The transition's delay, as drawn for this firing.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (jobs, done) = (net.place::<u32>("jobs"), net.place("done"));
    /// # let busy = net.series("busy");
    /// net.transition("serve").input(jobs)
    ///     .delay(fathom_net::Distribution::exponential(80.0))
    ///     .record(busy, |_, firing| firing.delay().as_ticks() as f64)
    ///     .produce(done, 1)
    ///     .add();
    /// ```
    #[must_use]
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// The instant at which the tokens produced become available: `now` plus `delay`.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<fathom_net::Time>("jobs");
    /// # let sojourn = net.series("sojourn");
    /// net.transition("serve").input(jobs)
    ///     .delay(fathom_net::Distribution::exponential(80.0))
    ///     .record(sojourn, |(born,), firing| (firing.done() - *born).as_ticks() as f64)
    ///     .add();
    /// ```
    #[must_use]
    pub fn done(&self) -> Time {
        self.now + self.delay
    }

    /// The generator of the simulation, for expressions that draw.
    pub fn rng(&mut self) -> &mut Rng {
        self.rng
    }

    pub(crate) fn observe(&mut self, series: Series, value: f64) {
        self.tallies[series.0 as usize].observe(value);
    }
}

/// An arc out or a data collector: does its part of a firing.
pub(crate) trait Effect<P: Pattern>:
    for<'a> Fn(Refs<'a, P>, &mut Firing<'_>, &mut Marking) + Send + Sync + 'static
{
}

impl<P: Pattern, F> Effect<P> for F where
    F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>, &mut Marking) + Send + Sync + 'static
{
}

/// How a transition's delay comes about.
pub(crate) enum Delay<P: Pattern> {
    None,
    Drawn(Distribution),
    Computed(ComputedDelay<P>),
}

type ComputedDelay<P> = Box<dyn for<'a> Fn(Refs<'a, P>, &mut Rng) -> Span + Send + Sync>;

/// A transition's functions over the types of its variables.
pub(crate) struct Compiled<P: Pattern> {
    pub(crate) pattern: P,
    /// What the pattern says of itself.
    is_free: bool,
    /// Stores and numbers of black tokens taken without binding them.
    pub(crate) consumes: Vec<(u32, u32)>,
    pub(crate) delay: Delay<P>,
    pub(crate) effects: Vec<Box<dyn Effect<P>>>,
}

impl<P: Pattern> Compiled<P> {
    pub(crate) fn new(pattern: P, consumes: Vec<(u32, u32)>) -> Self {
        Self { is_free: pattern.is_free(), pattern, consumes, delay: Delay::None, effects: Vec::new() }
    }

    /// What follows once the tokens of the arcs that bind are taken.
    #[inline]
    fn go_on(&self, binding: &P::Binding, marking: &mut Marking, firing: &mut Firing<'_>) {
        for &(place, number) in &self.consumes {
            marking.take_black(place, number);
        }
        let refs = binding.refs();
        firing.delay = match &self.delay {
            Delay::None => Span::ZERO,
            Delay::Drawn(distribution) => distribution.draw(firing.rng),
            Delay::Computed(delay) => delay(refs, firing.rng),
        };
        for effect in &self.effects {
            effect(refs, firing, marking);
        }
    }
}

/// A transition's functions. The caller has seen that every place holds enough tokens.
pub(crate) trait Logic: Send + Sync {
    /// Whether some binding passes the guards.
    fn is_satisfiable(&self, marking: &Marking) -> bool;
    /// The binding that the selection rules prefer.
    fn choose(&self, marking: &Marking, rng: &mut Rng) -> Option<Slots>;
    /// Fires the binding that the selection rules prefer.
    fn fire_preferred(&self, marking: &mut Marking, firing: &mut Firing<'_>);
    /// Every binding, printed, in the order of the colours; equal ones once.
    fn bindings(&self, marking: &Marking) -> Vec<(Slots, String)>;
    /// A binding, printed.
    fn printed(&self, marking: &Marking, slots: &Slots) -> String;
    /// Takes the binding's tokens, and puts what the arc expressions make of them.
    fn fire(&self, slots: &Slots, marking: &mut Marking, firing: &mut Firing<'_>);
}

impl<P: Pattern> Logic for Compiled<P> {
    fn is_satisfiable(&self, marking: &Marking) -> bool {
        let mut picks = Picks::new(None);
        self.pattern.search(marking, &mut picks, &mut |_, _| ControlFlow::Break(())).is_break()
    }

    #[inline]
    fn choose(&self, marking: &Marking, rng: &mut Rng) -> Option<Slots> {
        let mut picks = Picks::new(Some(rng.clone()));
        let found = self.pattern.search(marking, &mut picks, &mut |_, _| ControlFlow::Break(()));
        if let Some(moved_on) = picks.rng {
            *rng = moved_on;
        }
        found.is_break().then_some(picks.slots)
    }

    fn fire_preferred(&self, marking: &mut Marking, firing: &mut Firing<'_>) {
        if self.is_free {
            let binding = self.pattern.take_preferred(marking, firing.rng);
            return self.go_on(&binding, marking, firing);
        }
        let slots = self.choose(marking, firing.rng);
        self.fire(&slots.expect("an enabled transition has a binding"), marking, firing);
    }

    fn bindings(&self, marking: &Marking) -> Vec<(Slots, String)> {
        let mut found = Vec::new();
        let _ = self.pattern.search(marking, &mut Picks::new(None), &mut |picks, refs| {
            found.push((refs, picks.slots));
            ControlFlow::Continue(())
        });
        // Tokens of one colour differ in nothing but their slot: Jensen's binding elements do not.
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found.dedup_by(|a, b| a.0 == b.0);
        found.into_iter().map(|(refs, slots)| (slots, format!("{refs:?}"))).collect()
    }

    fn printed(&self, marking: &Marking, slots: &Slots) -> String {
        format!("{:?}", self.pattern.refs(marking, slots))
    }

    #[inline]
    fn fire(&self, slots: &Slots, marking: &mut Marking, firing: &mut Firing<'_>) {
        let binding = self.pattern.take(marking, slots);
        self.go_on(&binding, marking, firing);
    }
}
