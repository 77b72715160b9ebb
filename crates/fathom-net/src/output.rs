//! The side of a transition that gives: its delay, the arcs out, and what is recorded.

use crate::binding::{Colour, Token};
use crate::distribution::Distribution;
use crate::handle::Series;
use crate::logic::{Delay, Effect, Firing};
use crate::pattern::{Pattern, Refs};
use crate::place::{Address, Place, Sink};
use crate::rng::Rng;
use crate::sinks::Sinks;
use crate::structure::{Arc, ArcKind};
use crate::time::Span;
use crate::transition::{Outputs, TransitionBuilder};

/// A transition whose arcs in are all there.
type Giving<'n, P> = TransitionBuilder<'n, P, Outputs>;

impl<'n, P: Pattern, Side> TransitionBuilder<'n, P, Side> {
    /// Tokens produced become available this much later: the time inscription `@+` of CPN ML.
    /// A distribution is drawn from once per firing, before the arc expressions run.
    pub fn delay(self, delay: impl Into<Distribution>) -> Giving<'n, P> {
        let (mut giving, delay) = (self.outputs(), delay.into());
        giving.net.check_delay(&delay, &giving.node.name);
        giving.node.delay = Some(delay.to_string());
        giving.logic.delay = if delay.is_zero() { Delay::None } else { Delay::Drawn(delay) };
        giving
    }

    /// As [`delay`](Self::delay), computed from the binding.
    ///
    /// ```
    /// # use fathom_net::Span;
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (reads, done) = (net.place::<u64>("reads"), net.place("done"));
    /// net.transition("copy").input(reads).delay_by(|(bytes,), _| Span::ticks(*bytes / 8)).produce(done, 1).add();
    /// ```
    pub fn delay_by<F>(self, delay: F) -> Giving<'n, P>
    where
        F: for<'a> Fn(Refs<'a, P>, &mut Rng) -> Span + Send + Sync + 'static,
    {
        let mut giving = self.outputs();
        giving.node.delay = Some("f(binding)".into());
        giving.logic.delay = Delay::Computed(Box::new(delay));
        giving
    }

    /// Puts the token that the arc expression makes.
    pub fn output<S, C, F>(self, to: S, expression: F) -> Giving<'n, P>
    where
        S: Sink<Colour = C>,
        C: Colour,
        F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>) -> C + Send + Sync + 'static,
    {
        let place = to.place();
        let store = place.at.store;
        self.outputs().gives(place, Some(1), None, move |refs, firing, marking| {
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
    pub fn output_after<S, C, F>(self, to: S, delay: impl Into<Distribution>, expression: F) -> Giving<'n, P>
    where
        S: Sink<Colour = C>,
        C: Colour,
        F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>) -> C + Send + Sync + 'static,
    {
        let (place, delay) = (to.place(), delay.into());
        self.net.check_delay(&delay, &self.node.name);
        let store = place.at.store;
        self.outputs().gives(place, Some(1), Some(delay.clone()), move |refs, firing, marking| {
            let token = expression(refs, firing);
            let later = delay.draw(firing.rng());
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
    pub fn output_each<S, C, I, F>(self, to: S, expression: F) -> Giving<'n, P>
    where
        S: Sink<Colour = C>,
        C: Colour,
        I: IntoIterator<Item = C>,
        F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>) -> I + Send + Sync + 'static,
    {
        let place = to.place();
        let store = place.at.store;
        self.outputs().gives(place, None, None, move |refs, firing, marking| {
            for token in expression(refs, firing) {
                marking.put(store, token, firing.delay());
            }
        })
    }

    /// Changes a [state](crate::NetBuilder::state) in place, without copying it: an arc in and an arc out of a token
    /// that is available again at once.
    ///
    /// It works on other places, too: on the token that the place's [`Selection`](crate::Selection) prefers. Guards
    /// do not see the token. Updates happen in order with the arc expressions.
    ///
    /// ```
    /// # use fathom_net::{NetBuilder, Simulation};
    /// # let mut net = NetBuilder::new("doc");
    /// let (words, seen) = (net.place::<u32>("words"), net.state("seen", Vec::new()));
    /// net.initial(words, [3, 1, 2]);
    /// net.transition("note").input(words).update(seen, |(word,), seen, _| seen.push(*word)).add();
    /// let net = net.build()?;
    /// let mut sim = Simulation::new(&net, 1);
    /// sim.run();
    /// assert_eq!(sim.tokens(seen).next().map(|(seen, _)| seen.as_slice()), Some(&[3, 1, 2][..]));
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn update<C, F>(self, state: Place<C>, change: F) -> Giving<'n, P>
    where
        C: Token,
        F: for<'a> Fn(Refs<'a, P>, &mut C, &mut Firing<'_>) + Send + Sync + 'static,
    {
        let store = state.at.store;
        let mut holding = self.outputs().holds(state);
        holding.logic.effects.push(Box::new(move |refs, firing, marking| {
            marking.change(store, |token| change(refs, token, firing));
        }));
        holding
    }

    /// As [`update`](Self::update), and puts every token that the expression makes of the state: one look at the state
    /// decides what follows.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (pages, misses) = (net.place::<u64>("pages"), net.place::<u64>("misses"));
    /// # let cache = net.state("cache", std::collections::HashSet::new());
    /// net.transition("look")
    ///     .input(pages)
    ///     .update_each(cache, misses, |(page,), cache, _| cache.insert(*page).then_some(*page))
    ///     .add();
    /// ```
    pub fn update_each<S, T, C, I, F>(self, state: Place<T>, to: S, change: F) -> Giving<'n, P>
    where
        S: Sink<Colour = C>,
        T: Token,
        C: Colour,
        I: IntoIterator<Item = C>,
        F: for<'a> Fn(Refs<'a, P>, &mut T, &mut Firing<'_>) -> I + Send + Sync + 'static,
    {
        let (from, place) = (state.at.store, to.place());
        let store = place.at.store;
        self.outputs().holds(state).gives(place, None, None, move |refs, firing, marking| {
            let made = marking.change(from, |token| change(refs, token, firing));
            for token in made {
                marking.put(store, token, firing.delay());
            }
        })
    }

    /// As [`update_each`](Self::update_each), into several places: what the expression returns is a tuple of the tokens
    /// for each. The guide has an example.
    pub fn update_into<S, T, I, F>(self, state: Place<T>, to: S, change: F) -> Giving<'n, P>
    where
        S: Sinks<I>,
        T: Token,
        F: for<'a> Fn(Refs<'a, P>, &mut T, &mut Firing<'_>) -> I + Send + Sync + 'static,
    {
        let from = state.at.store;
        let mut giving = self.outputs().holds(state);
        for at in to.addresses() {
            giving.arc_to(at, None, None);
        }
        giving.logic.effects.push(Box::new(move |refs, firing, marking| {
            let made = marking.change(from, |token| change(refs, token, firing));
            to.put(made, marking, firing.delay());
        }));
        giving
    }

    /// Puts `number` black tokens.
    pub fn produce(self, to: impl Sink<Colour = ()>, number: u32) -> Giving<'n, P> {
        let place = to.place();
        let store = place.at.store;
        self.outputs().gives(place, Some(number), None, move |_, firing, marking| {
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
    pub fn record<F>(self, series: Series, observe: F) -> Giving<'n, P>
    where
        F: for<'a> Fn(Refs<'a, P>, &mut Firing<'_>) -> f64 + Send + Sync + 'static,
    {
        let mut giving = self.outputs();
        giving.logic.effects.push(Box::new(move |refs, firing, _| {
            let value = observe(refs, firing);
            firing.observe(series, value);
        }));
        giving
    }
}

impl<P: Pattern> Giving<'_, P> {
    /// The two arcs of an update; several updates of one place by one transition share them.
    fn holds<C: Token>(mut self, state: Place<C>) -> Self {
        self.net.check_handle(state.at, &self.node.name);
        let place = state.at.node;
        if !self.node.arcs.iter().any(|arc| arc.place == place && arc.holds) {
            for kind in [ArcKind::Input(1), ArcKind::Output(Some(1))] {
                self.node.arcs.push(Arc { place, kind, keyed: false, holds: true, delay: None });
            }
        }
        self
    }

    fn gives<C>(
        mut self,
        place: Place<C>,
        number: Option<u32>,
        delay: Option<Distribution>,
        effect: impl Effect<P>,
    ) -> Self {
        self.arc_to(place.at, number, delay);
        self.logic.effects.push(Box::new(effect));
        self
    }

    fn arc_to(&mut self, at: Address, number: Option<u32>, delay: Option<Distribution>) {
        self.net.check_handle(at, &self.node.name);
        let kind = ArcKind::Output(number);
        self.node.arcs.push(Arc { place: at.node, kind, keyed: false, holds: false, delay });
    }
}

#[cfg(test)]
mod tests {
    use crate::{NetBuilder, Simulation};

    #[test]
    fn an_update_wakes_those_who_look_at_the_state_and_an_index_follows_it() {
        let mut net = NetBuilder::new("state");
        let (words, seen) = (net.place::<u32>("words"), net.place::<Vec<u32>>("seen"));
        let (alarm, rung) = (net.place("alarm"), net.place("rung"));
        let by_length = net.index(seen, Vec::len);
        net.initial(words, [3, 1, 2]);
        net.initial(seen, [Vec::new()]);
        net.initial(alarm, [()]);
        net.transition("note").input(words).update(seen, |(word,), seen, _| seen.push(*word)).add();
        let ring = net
            .transition("ring")
            .consume(alarm, 1)
            .read(seen)
            .guard(|(seen,)| seen.len() == 2)
            .priority(1)
            .produce(rung, 1)
            .add();
        let find = net.transition("find").consume(rung, 1).read_by(by_length, |_| 2).priority(1).add();
        let net = net.build().unwrap();
        let mut sim = Simulation::new(&net, 1);
        sim.run();
        assert_eq!((sim.firings(ring), sim.firings(find), sim.count(words)), (1, 1, 0));
        assert_eq!(sim.tokens(seen).next().unwrap().0, &[3, 1, 2]);
    }

    #[test]
    fn a_state_needs_no_order() {
        let mut net = NetBuilder::new("state");
        let words = net.place::<u32>("words");
        let seen = net.state("seen", std::collections::HashMap::<u32, f64>::new());
        net.initial(words, [3, 1, 3]);
        net.transition("note")
            .input(words)
            .update(seen, |(word,), seen, _| *seen.entry(*word).or_default() += 0.5)
            .add();
        let net = net.build().unwrap();
        let mut sim = Simulation::new(&net, 1);
        sim.run();
        assert_eq!(sim.change(seen, |seen| [seen[&1], seen[&3]]), Some([0.5, 1.0]));
    }
}
