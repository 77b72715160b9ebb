//! Transitions: the fluent builder that reads like the picture, arcs in before arcs out. The side that gives is in
//! `output`.

use std::marker::PhantomData;

use crate::binding::{Append, Colour};
use crate::draft::Draft;
use crate::handle::Transition;
use crate::index::Key;
use crate::logic::Compiled;
use crate::marking::Marking;
use crate::pattern::{self, Bind, Guard, Guarded, Pattern, Refs, Start};
use crate::place::{Index, Place, Source};
use crate::structure::{Arc, ArcKind, TransitionNode};

/// A transition being built: the arcs that take, read and inhibit, and the guards; then its delay and the arcs that
/// give.
///
/// Each [`input`](Self::input) or [`read`](Self::read) binds one variable more; guards, keys and
/// arc expressions see the variables bound so far as a tuple of references. After the first arc out, or
/// the delay, no arc in can follow. Arc expressions run in the order in which they are written.
///
/// ```
/// use fathom_net::NetBuilder;
/// let mut net = NetBuilder::new("match");
/// let boys = net.place::<(u32, String)>("boys");
/// let girls = net.place::<(u32, String)>("girls");
/// let pairs = net.place::<(String, String)>("pairs");
/// net.transition("dance")
///     .input(boys)
///     .input(girls)
///     .guard(|(boy, girl)| boy.0 == girl.0)
///     .output(pairs, |(boy, girl), _| (boy.1.clone(), girl.1.clone()))
///     .add();
/// ```
#[must_use = "a transition joins the net when `add` is called"]
pub struct TransitionBuilder<'n, P: Pattern, Side = Inputs> {
    pub(crate) net: &'n mut Draft,
    pub(crate) node: TransitionNode,
    pub(crate) logic: Compiled<P>,
    /// Stores of the arcs that bind a variable, in their order.
    bound: Vec<u32>,
    side: PhantomData<Side>,
}

/// The side of a transition that takes: arcs in and guards may follow.
#[derive(Debug)]
pub enum Inputs {}

/// The side of a transition that gives: only arcs out may follow.
#[derive(Debug)]
pub enum Outputs {}

impl<'n> TransitionBuilder<'n, Start> {
    pub(crate) fn new(net: &'n mut Draft, name: &str) -> Self {
        let node = TransitionNode {
            name: net.path_of(name),
            page: net.page,
            priority: 0,
            is_delayed: false,
            arcs: Vec::new(),
            guarded: false,
            selective: false,
        };
        let logic = Compiled::new(Start, Vec::new());
        Self { net, node, logic, bound: Vec::new(), side: PhantomData }
    }
}

impl<'n, P: Pattern> TransitionBuilder<'n, P> {
    /// Takes a token and binds it to the next variable.
    ///
    /// The oldest token is tried first; the variables of earlier arcs change slowest.
    pub fn input<S, C>(self, from: S) -> TransitionBuilder<'n, Bind<P, C>>
    where
        S: Source<Colour = C>,
        C: Colour,
        P::Binding: Append<C>,
    {
        self.bind(from.place(), ArcKind::Input(1), None)
    }

    /// Takes a token that has the key and binds it: a look-up, however many tokens there are.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (replies, pending) = (net.place::<u64>("replies"), net.place::<(u64, u32)>("pending"));
    /// let by_tag = net.index(pending, |request| request.0);
    /// net.transition("complete").input(replies).input_by(by_tag, |(tag,)| *tag).add();
    /// ```
    pub fn input_by<C, K, F>(self, from: Index<C, K>, key: F) -> TransitionBuilder<'n, Bind<P, C>>
    where
        C: Colour,
        K: Key,
        F: for<'a> Fn(Refs<'a, P>) -> K + Send + Sync + 'static,
        P::Binding: Append<C>,
    {
        self.bind(from.place, ArcKind::Input(1), Some(pattern::by_key::<P, C, K, F>(from.number, key)))
    }

    /// Binds a token that stays where it is: a test arc. Firing copies it.
    pub fn read<S, C>(self, from: S) -> TransitionBuilder<'n, Bind<P, C>>
    where
        S: Source<Colour = C>,
        C: Colour,
        P::Binding: Append<C>,
    {
        self.bind(from.place(), ArcKind::Read, None)
    }

    /// Takes `number` black tokens without binding them.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let wheels = net.place("wheels");
    /// # let cars = net.place("cars");
    /// net.transition("assemble").consume(wheels, 4).produce(cars, 1).add();
    /// ```
    pub fn consume(mut self, from: impl Source<Colour = ()>, number: u32) -> Self {
        let place = from.place();
        self.logic.consumes.push((place.at.store, number));
        self.arc(place, ArcKind::Input(number), false);
        self
    }

    /// Fires only while the place holds fewer than `limit` tokens, available or not: an inhibitor
    /// arc.
    pub fn inhibit<S: Source>(mut self, by: S, limit: u32) -> Self {
        self.arc(by.place(), ArcKind::Inhibitor(limit), false);
        self
    }

    /// Fires only while no token, available or not, has the key: a miss.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (reads, cache) = (net.place::<u64>("reads"), net.place::<u64>("cache"));
    /// let pages = net.index(cache, |page| *page);
    /// net.transition("miss").input(reads).inhibit_by(pages, |(page,)| *page).add();
    /// ```
    pub fn inhibit_by<C, K, F>(
        mut self,
        by: Index<C, K>,
        key: F,
    ) -> TransitionBuilder<'n, Guarded<P, impl Guard<P>>>
    where
        C: Colour,
        K: Key,
        F: for<'a> Fn(Refs<'a, P>) -> K + Send + Sync + 'static,
    {
        self.arc(by.place, ArcKind::Inhibitor(1), true);
        self.only_if(pattern::absent::<P, C, K, F>(by.place.at.store, by.number, key))
    }

    /// Fires only for bindings of which the condition holds. It must depend on nothing else.
    pub fn guard<F>(mut self, condition: F) -> TransitionBuilder<'n, Guarded<P, impl Guard<P>>>
    where
        F: for<'a> Fn(Refs<'a, P>) -> bool + Send + Sync + 'static,
    {
        self.node.guarded = true;
        self.only_if(move |_: &Marking, refs: Refs<'_, P>| condition(refs))
    }

    fn only_if<F>(mut self, guard: F) -> TransitionBuilder<'n, Guarded<P, F>>
    where
        F: for<'a> Fn(&Marking, Refs<'a, P>) -> bool + Send + Sync + 'static,
    {
        self.node.selective = true;
        self.extend(|before| Guarded { before, guard })
    }

    fn bind<C: Colour>(
        mut self,
        place: Place<C>,
        kind: ArcKind,
        by_key: Option<pattern::ByKey<P, C>>,
    ) -> TransitionBuilder<'n, Bind<P, C>>
    where
        P::Binding: Append<C>,
    {
        let store = place.at.store;
        let same = self.bound.iter().enumerate().filter(|&(_, &bound)| bound == store);
        let shares = same.map(|(arc, _)| arc).collect();
        self.bound.push(store);
        self.node.selective |= by_key.is_some();
        self.arc(place, kind, by_key.is_some());
        let reads = kind == ArcKind::Read;
        self.extend(|before| Bind { before, place: store, reads, shares, by_key })
    }

    fn arc<C>(&mut self, place: Place<C>, kind: ArcKind, keyed: bool) {
        self.net.check_handle(place.at, &self.node.name);
        self.node.arcs.push(Arc { place: place.at.node, kind, keyed, holds: false });
    }

    fn extend<Q: Pattern>(self, pattern: impl FnOnce(P) -> Q) -> TransitionBuilder<'n, Q> {
        let Self { net, node, logic, bound, side } = self;
        let Compiled { pattern: before, consumes, .. } = logic;
        TransitionBuilder { net, node, logic: Compiled::new(pattern(before), consumes), bound, side }
    }
}

impl<'n, P: Pattern, Side> TransitionBuilder<'n, P, Side> {
    /// The same with what `add` adds for `some`; as it is without.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (parts, cars) = (net.place("parts"), net.place("cars"));
    /// let robot = Some(net.place("robot"));
    /// net.transition("assemble")
    ///     .consume(parts, 4)
    ///     .with(robot, |transition, robot| transition.consume(robot, 1))
    ///     .produce(cars, 1)
    ///     .with(robot, |transition, robot| transition.produce(robot, 1))
    ///     .add();
    /// ```
    pub fn with<T>(self, some: Option<T>, add: impl FnOnce(Self, T) -> Self) -> Self {
        match some {
            Some(one) => add(self, one),
            None => self,
        }
    }

    /// Moves on to the arcs out.
    pub(crate) fn outputs(self) -> TransitionBuilder<'n, P, Outputs> {
        let Self { net, node, logic, bound, .. } = self;
        TransitionBuilder { net, node, logic, bound, side: PhantomData }
    }

    /// Fires before every enabled transition of a lower priority. The default is 0.
    pub fn priority(mut self, priority: i32) -> Self {
        self.node.priority = priority;
        self
    }

    /// Adds the transition to the net.
    pub fn add(self) -> Transition {
        self.net.add_transition(self.node, Box::new(self.logic))
    }
}
