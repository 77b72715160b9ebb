//! Transitions: the fluent builder that reads like the picture, arcs in before arcs out.

use crate::binding::{Append, Colour, Token};
use crate::distribution::Distribution;
use crate::draft::Draft;
use crate::handle::{Series, Transition};
use crate::index::Key;
use crate::logic::{Compiled, Firing};
use crate::output::OutputBuilder;
use crate::pattern::{self, Bind, Guarded, Lacking, Pattern, Refs, Start};
use crate::place::{Index, Place, Sink, Source};
use crate::rng::Rng;
use crate::sinks::Sinks;
use crate::structure::{Arc, ArcKind, TransitionNode};
use crate::time::Span;

/// A transition being built: the arcs that take, read and inhibit, and the guards.
///
/// Each [`input`](Self::input) or [`read`](Self::read) binds one variable more; guards, keys and
/// arc expressions see the variables bound so far as a tuple of references. The first arc out, or
/// the delay, moves on to the [`OutputBuilder`].
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
pub struct TransitionBuilder<'n, P> {
    net: &'n mut Draft,
    node: TransitionNode,
    pattern: P,
    /// Stores of the arcs that bind a variable, in their order.
    bound: Vec<u32>,
    consumes: Vec<(u32, u32)>,
}

impl<'n> TransitionBuilder<'n, Start> {
    pub(crate) fn new(net: &'n mut Draft, name: &str) -> Self {
        let node = TransitionNode {
            name: net.path_of(name),
            page: net.page,
            priority: 0,
            delay: None,
            arcs: Vec::new(),
            guarded: false,
            selective: false,
        };
        Self { net, node, pattern: Start, bound: Vec::new(), consumes: Vec::new() }
    }
}

impl<'n, P: Pattern> TransitionBuilder<'n, P> {
    /// Takes a token and binds it to the next variable.
    ///
    /// Tokens are tried in the order of the place's [`Selection`](crate::Selection); the variables
    /// of earlier arcs change slowest.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let queue = net.place::<u32>("queue");
    /// net.transition("drop").input(queue).add();
    /// ```
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
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (jobs, limit) = (net.place::<u32>("jobs"), net.place::<u32>("limit"));
    /// net.transition("admit").input(jobs).read(limit).guard(|(job, limit)| job <= limit).add();
    /// ```
    pub fn read<S, C>(self, from: S) -> TransitionBuilder<'n, Bind<P, C>>
    where
        S: Source<Colour = C>,
        C: Colour,
        P::Binding: Append<C>,
    {
        self.bind(from.place(), ArcKind::Read, None)
    }

    /// Binds a token that has the key and stays where it is.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (reads, cache) = (net.place::<u64>("reads"), net.place::<u64>("cache"));
    /// let pages = net.index(cache, |page| *page);
    /// net.transition("hit").input(reads).read_by(pages, |(page,)| *page).add();
    /// ```
    pub fn read_by<C, K, F>(self, from: Index<C, K>, key: F) -> TransitionBuilder<'n, Bind<P, C>>
    where
        C: Colour,
        K: Key,
        F: for<'a> Fn(Refs<'a, P>) -> K + Send + Sync + 'static,
        P::Binding: Append<C>,
    {
        self.bind(from.place, ArcKind::Read, Some(pattern::by_key::<P, C, K, F>(from.number, key)))
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
        self.consumes.push((place.at.store, number));
        self.arc(place, ArcKind::Input(number), false);
        self
    }

    /// Fires only while the place holds fewer than `limit` tokens, available or not: an inhibitor
    /// arc.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (free, urgent) = (net.place::<u32>("free"), net.place::<u32>("urgent"));
    /// net.transition("idle").input(free).inhibit(urgent, 1).add();
    /// ```
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
    pub fn inhibit_by<C, K, F>(mut self, by: Index<C, K>, key: F) -> TransitionBuilder<'n, Lacking<P>>
    where
        C: Colour,
        K: Key,
        F: for<'a> Fn(Refs<'a, P>) -> K + Send + Sync + 'static,
    {
        self.arc(by.place, ArcKind::Inhibitor(1), true);
        self.node.selective = true;
        let absent = pattern::absent::<P, C, K, F>(by.place.at.store, by.number, key);
        self.extend(|before| Lacking { before, absent })
    }

    /// Fires only for bindings of which the condition holds. It must depend on nothing else.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u32>("jobs");
    /// net.transition("large").input(jobs).guard(|(size,)| *size > 4096).add();
    /// ```
    pub fn guard<F>(mut self, condition: F) -> TransitionBuilder<'n, Guarded<P, F>>
    where
        F: for<'a> Fn(Refs<'a, P>) -> bool + Send + Sync + 'static,
    {
        self.node.guarded = true;
        self.node.selective = true;
        self.extend(|before| Guarded { before, guard: condition })
    }

    /// Fires before every enabled transition of a lower priority. The default is 0.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let interrupts = net.place("interrupts");
    /// net.transition("interrupt").consume(interrupts, 1).priority(10).add();
    /// ```
    pub fn priority(mut self, priority: i32) -> Self {
        self.node.priority = priority;
        self
    }

    /// As [`OutputBuilder::delay`].
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let due = net.place("due");
    /// net.transition("tick").consume(due, 1).delay(fathom_net::Span::ticks(5)).produce(due, 1).add();
    /// ```
    pub fn delay(self, delay: impl Into<Distribution>) -> OutputBuilder<'n, P> {
        self.outputs().delay(delay)
    }

    /// As [`OutputBuilder::delay_by`].
    ///
    /// ```
    /// # use fathom_net::Span;
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (reads, done) = (net.place::<u64>("reads"), net.place("done"));
    /// net.transition("copy").input(reads).delay_by(|(bytes,), _| Span::ticks(*bytes / 8)).produce(done, 1).add();
    /// ```
    pub fn delay_by<F>(self, delay: F) -> OutputBuilder<'n, P>
    where
        F: for<'a> Fn(Refs<'a, P>, &mut Rng) -> Span + Send + Sync + 'static,
    {
        self.outputs().delay_by(delay)
    }

    /// As [`OutputBuilder::output`].
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (from, to) = (net.place::<u32>("from"), net.place::<u32>("to"));
    /// net.transition("move").input(from).output(to, |(token,), _| *token).add();
    /// ```
    pub fn output<S, C, F>(self, to: S, expression: F) -> OutputBuilder<'n, P>
    where
        S: Sink<Colour = C>,
        C: Colour,
        F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>) -> C + Send + Sync + 'static,
    {
        self.outputs().output(to, expression)
    }

    /// As [`OutputBuilder::output_after`].
    ///
    /// ```
    /// # use fathom_net::Span;
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (from, to) = (net.place::<u32>("from"), net.place::<u32>("to"));
    /// net.transition("send").input(from).output_after(to, Span::ticks(9), |(token,), _| *token).add();
    /// ```
    pub fn output_after<S, C, F>(
        self,
        to: S,
        delay: impl Into<Distribution>,
        expression: F,
    ) -> OutputBuilder<'n, P>
    where
        S: Sink<Colour = C>,
        C: Colour,
        F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>) -> C + Send + Sync + 'static,
    {
        self.outputs().output_after(to, delay, expression)
    }

    /// As [`OutputBuilder::output_each`].
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (reads, pages) = (net.place::<(u64, u64)>("reads"), net.place::<u64>("pages"));
    /// net.transition("split").input(reads).output_each(pages, |(r,), _| r.0..r.0 + r.1).add();
    /// ```
    pub fn output_each<S, C, I, F>(self, to: S, expression: F) -> OutputBuilder<'n, P>
    where
        S: Sink<Colour = C>,
        C: Colour,
        I: IntoIterator<Item = C>,
        F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>) -> I + Send + Sync + 'static,
    {
        self.outputs().output_each(to, expression)
    }

    /// As [`OutputBuilder::update`].
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (words, seen) = (net.place::<u32>("words"), net.place::<Vec<u32>>("seen"));
    /// net.transition("note").input(words).update(seen, |(word,), seen, _| seen.push(*word)).add();
    /// ```
    pub fn update<C, F>(self, state: Place<C>, change: F) -> OutputBuilder<'n, P>
    where
        C: Token,
        F: for<'a> Fn(Refs<'a, P>, &mut C, &mut Firing<'_>) + Send + Sync + 'static,
    {
        self.outputs().update(state, change)
    }

    /// As [`OutputBuilder::update_each`].
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (pages, misses) = (net.place::<u64>("pages"), net.place::<u64>("misses"));
    /// # let cache = net.place::<Vec<u64>>("cache");
    /// net.transition("look")
    ///     .input(pages)
    ///     .update_each(cache, misses, |(page,), cache, _| (!cache.contains(page)).then_some(*page))
    ///     .add();
    /// ```
    pub fn update_each<S, T, C, I, F>(self, state: Place<T>, to: S, change: F) -> OutputBuilder<'n, P>
    where
        S: Sink<Colour = C>,
        T: Token,
        C: Colour,
        I: IntoIterator<Item = C>,
        F: for<'a> Fn(Refs<'a, P>, &mut T, &mut Firing<'_>) -> I + Send + Sync + 'static,
    {
        self.outputs().update_each(state, to, change)
    }

    /// As [`OutputBuilder::update_into`].
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (pages, cache) = (net.place::<u64>("pages"), net.place::<u64>("cache"));
    /// # let (hits, misses) = (net.place::<u64>("hits"), net.place::<u64>("misses"));
    /// net.transition("look")
    ///     .input(pages)
    ///     .update_into(cache, (hits, misses), |(page,), last, _| match std::mem::replace(last, *page) == *page {
    ///         true => (Some(*page), None),
    ///         false => (None, Some(*page)),
    ///     })
    ///     .add();
    /// ```
    pub fn update_into<S, T, I, F>(self, state: Place<T>, to: S, change: F) -> OutputBuilder<'n, P>
    where
        S: Sinks<I>,
        T: Token,
        F: for<'a> Fn(Refs<'a, P>, &mut T, &mut Firing<'_>) -> I + Send + Sync + 'static,
    {
        self.outputs().update_into(state, to, change)
    }

    /// As [`OutputBuilder::produce`].
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (water, steam) = (net.place("water"), net.place("steam"));
    /// net.transition("boil").consume(water, 1).produce(steam, 1).add();
    /// ```
    pub fn produce(self, to: impl Sink<Colour = ()>, number: u32) -> OutputBuilder<'n, P> {
        self.outputs().produce(to, number)
    }

    /// As [`OutputBuilder::record`].
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u32>("jobs");
    /// let sizes = net.series("sizes");
    /// net.transition("finish").input(jobs).record(sizes, |(job,), _| f64::from(*job)).add();
    /// ```
    pub fn record<F>(self, series: Series, observe: F) -> OutputBuilder<'n, P>
    where
        F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>) -> f64 + Send + Sync + 'static,
    {
        self.outputs().record(series, observe)
    }

    /// Moves on to the arcs out, of which there may be none: for transitions built in a loop. The
    /// first arc out does it too.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let start = net.place("start");
    /// let ends: Vec<_> = (0..3).map(|i| net.place(&format!("end {i}"))).collect();
    /// let fork = net.transition("fork").consume(start, 1).outputs();
    /// ends.into_iter().fold(fork, |fork, end| fork.produce(end, 1)).add();
    /// ```
    pub fn outputs(self) -> OutputBuilder<'n, P> {
        let Self { net, node, pattern, consumes, .. } = self;
        OutputBuilder::new(net, node, Compiled::new(pattern, consumes))
    }

    /// Adds the transition to the net, with no arcs out.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let waste = net.place::<u32>("waste");
    /// let drain = net.transition("drain").input(waste).add();
    /// # let _ = drain;
    /// ```
    pub fn add(self) -> Transition {
        self.outputs().add()
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
        self.node.arcs.push(Arc { place: place.at.node, kind, keyed, holds: false, delay: None });
    }

    fn extend<Q>(self, pattern: impl FnOnce(P) -> Q) -> TransitionBuilder<'n, Q> {
        let Self { net, node, pattern: before, bound, consumes } = self;
        TransitionBuilder { net, node, pattern: pattern(before), bound, consumes }
    }
}
