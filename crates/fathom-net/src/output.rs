//! The side of a transition that gives: its delay, the arcs out, and what is recorded.

use crate::binding::Colour;
use crate::builder::NetBuilder;
use crate::logic::{Compiled, Delay, Effect, Firing};
use crate::pattern::{Pattern, Refs};
use crate::place::{Place, Sink};
use crate::structure::{Arc, ArcKind, TransitionNode};
use crate::transition::{Series, Transition};
use crate::{Distribution, Rng, Span};

/// A transition being built: its delay, the arcs that give, and what is recorded.
///
/// Arc expressions run in the order in which they are written.
///
/// ```
/// use fathom_net::{Distribution, NetBuilder};
/// let mut net = NetBuilder::new("serve");
/// let (queue, done) = (net.place::<u32>("queue"), net.place::<u32>("done"));
/// net.transition("serve")
///     .input(queue)
///     .delay(Distribution::exponential(80.0))
///     .output(done, |(job,), _| *job)
///     .add();
/// ```
#[must_use = "a transition joins the net when `add` is called"]
pub struct OutputBuilder<'n, P: Pattern> {
    net: &'n mut NetBuilder,
    node: TransitionNode,
    logic: Compiled<P>,
}

impl<'n, P: Pattern> OutputBuilder<'n, P> {
    pub(crate) fn new(net: &'n mut NetBuilder, node: TransitionNode, logic: Compiled<P>) -> Self {
        Self { net, node, logic }
    }

    /// Tokens produced become available this much later: the time inscription `@+` of CPN ML.
    /// A distribution is drawn from once per firing, before the arc expressions run.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let due = net.place("due");
    /// net.transition("tick").consume(due, 1).delay(fathom_net::Span::ticks(5)).produce(due, 1).add();
    /// ```
    pub fn delay(mut self, delay: impl Into<Distribution>) -> Self {
        let delay = delay.into();
        self.net.check_delay(&delay, &self.node.name);
        self.node.delay = Some(delay.to_string());
        self.logic.delay = if delay.is_zero() { Delay::None } else { Delay::Drawn(delay) };
        self
    }

    /// As [`delay`](Self::delay), computed from the binding.
    ///
    /// ```
    /// # use fathom_net::Span;
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (reads, done) = (net.place::<u64>("reads"), net.place("done"));
    /// net.transition("copy").input(reads).delay_by(|(bytes,), _| Span::ticks(*bytes / 8)).produce(done, 1).add();
    /// ```
    pub fn delay_by<F>(mut self, delay: F) -> Self
    where
        F: for<'a> Fn(Refs<'a, P>, &mut Rng) -> Span + Send + Sync + 'static,
    {
        self.node.delay = Some("f(binding)".into());
        self.logic.delay = Delay::Computed(Box::new(delay));
        self
    }

    /// Puts the token that the arc expression makes.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (from, to) = (net.place::<u32>("from"), net.place::<u32>("to"));
    /// net.transition("move").input(from).output(to, |(token,), _| *token).add();
    /// ```
    pub fn output<S, C, F>(self, to: S, expression: F) -> Self
    where
        S: Sink<Colour = C>,
        C: Colour,
        F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>) -> C + Send + Sync + 'static,
    {
        let place = to.place();
        let store = place.at.store;
        self.gives(place, Some(1), None, move |refs, firing, marking| {
            let token = expression(refs, firing);
            marking.put(store, token, firing.delay());
        })
    }

    /// As [`output`](Self::output); this token alone becomes available later still.
    ///
    /// ```
    /// # use fathom_net::{Distribution, NetBuilder};
    /// # let mut net = NetBuilder::new("doc");
    /// # let (next, queue) = (net.place("next"), net.place::<u32>("queue"));
    /// net.transition("arrive")
    ///     .consume(next, 1)
    ///     .output(queue, |_, _| 1)
    ///     .output_after(next, Distribution::exponential(100.0), |_, _| ())
    ///     .add();
    /// ```
    pub fn output_after<S, C, F>(self, to: S, delay: impl Into<Distribution>, expression: F) -> Self
    where
        S: Sink<Colour = C>,
        C: Colour,
        F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>) -> C + Send + Sync + 'static,
    {
        let (place, delay) = (to.place(), delay.into());
        self.net.check_delay(&delay, &self.node.name);
        let store = place.at.store;
        self.gives(place, Some(1), Some(delay.clone()), move |refs, firing, marking| {
            let token = expression(refs, firing);
            let later = if marking.untimed { Span::ZERO } else { delay.draw(firing.draws()) };
            marking.put(store, token, firing.delay() + later);
        })
    }

    /// Puts every token that the arc expression makes: an `Option` for an arc that is sometimes
    /// not there, an array or iterator for several.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (tried, again) = (net.place::<u32>("tried"), net.place::<u32>("again"));
    /// net.transition("retry").input(tried).output_each(again, |(n,), _| (*n < 3).then_some(*n + 1)).add();
    /// ```
    pub fn output_each<S, C, I, F>(self, to: S, expression: F) -> Self
    where
        S: Sink<Colour = C>,
        C: Colour,
        I: IntoIterator<Item = C>,
        F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>) -> I + Send + Sync + 'static,
    {
        let place = to.place();
        let store = place.at.store;
        self.gives(place, None, None, move |refs, firing, marking| {
            for token in expression(refs, firing) {
                marking.put(store, token, firing.delay());
            }
        })
    }

    /// Puts `number` black tokens.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (water, steam) = (net.place("water"), net.place("steam"));
    /// net.transition("boil").consume(water, 1).produce(steam, 1).add();
    /// ```
    pub fn produce(self, to: impl Sink<Colour = ()>, number: u32) -> Self {
        let place = to.place();
        let store = place.at.store;
        self.gives(place, Some(number), None, move |_, firing, marking| {
            for _ in 0..number {
                marking.put(store, (), firing.delay());
            }
        })
    }

    /// Adds an observation to a series at each firing: a data collector.
    ///
    /// ```
    /// use fathom_net::{NetBuilder, Time};
    /// # let mut net = NetBuilder::new("doc");
    /// # let queue = net.place::<Time>("queue");
    /// let waiting = net.series("waiting");
    /// net.transition("serve")
    ///     .input(queue)
    ///     .record(waiting, |(arrived,), firing| (firing.now() - *arrived).as_ticks() as f64)
    ///     .add();
    /// ```
    pub fn record<F>(mut self, series: Series, observe: F) -> Self
    where
        F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>) -> f64 + Send + Sync + 'static,
    {
        self.logic.effects.push(Box::new(move |refs, firing, _| {
            let value = observe(refs, firing);
            firing.observe(series, value);
        }));
        self
    }

    /// Fires before every enabled transition of a lower priority. The default is 0.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (a, b) = (net.place("a"), net.place("b"));
    /// net.transition("first").consume(a, 1).produce(b, 1).priority(1).add();
    /// ```
    pub fn priority(mut self, priority: i32) -> Self {
        self.node.priority = priority;
        self
    }

    /// Adds the transition to the net.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (a, b) = (net.place("a"), net.place("b"));
    /// let step = net.transition("step").consume(a, 1).produce(b, 1).add();
    /// # let _ = step;
    /// ```
    pub fn add(self) -> Transition {
        self.net.add_transition(self.node, Box::new(self.logic))
    }

    fn gives<C>(
        mut self,
        place: Place<C>,
        number: Option<u32>,
        delay: Option<Distribution>,
        effect: impl Effect<P>,
    ) -> Self {
        self.net.check_handle(place.at, &self.node.name);
        let kind = ArcKind::Output(number);
        self.node.arcs.push(Arc { place: place.at.node, kind, keyed: false, delay });
        self.logic.effects.push(Box::new(effect));
        self
    }
}
