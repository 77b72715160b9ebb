//! The side of a transition that gives: its delay and the arcs out.

use crate::binding::{Colour, Token};
use crate::logic::{Effect, Firing};
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
    /// Tokens produced become available this much later: the time inscription `@+` of CPN ML. It is computed once per
    /// firing, before the arc expressions run.
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
        giving.node.is_delayed = true;
        giving.logic.delay = Some(Box::new(delay));
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
        self.outputs().gives(place, Some(1), move |refs, firing, marking| {
            let token = expression(refs, firing);
            marking.put(store, token, firing.delay());
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
        self.outputs().gives(place, None, move |refs, firing, marking| {
            for token in expression(refs, firing) {
                marking.put(store, token, firing.delay());
            }
        })
    }

    /// Changes a [state](crate::NetBuilder::state) in place, without copying it: an arc in and an arc out of a token
    /// that is available again at once.
    ///
    /// It works on other places, too: on the oldest token. Guards do not see the token. Updates happen in order with the arc expressions.
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
        self.outputs().holds(state).gives(place, None, move |refs, firing, marking| {
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
            giving.arc_to(at, None);
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
        self.outputs().gives(place, Some(number), move |_, firing, marking| {
            for _ in 0..number {
                marking.put(store, (), firing.delay());
            }
        })
    }
}

impl<P: Pattern> Giving<'_, P> {
    /// The two arcs of an update; several updates of one place by one transition share them.
    fn holds<C: Token>(mut self, state: Place<C>) -> Self {
        self.net.check_handle(state.at, &self.node.name);
        let place = state.at.node;
        if !self.node.arcs.iter().any(|arc| arc.place == place && arc.holds) {
            for kind in [ArcKind::Input(1), ArcKind::Output(Some(1))] {
                self.node.arcs.push(Arc { place, kind, keyed: false, holds: true });
            }
        }
        self
    }

    fn gives<C>(mut self, place: Place<C>, number: Option<u32>, effect: impl Effect<P>) -> Self {
        self.arc_to(place.at, number);
        self.logic.effects.push(Box::new(effect));
        self
    }

    fn arc_to(&mut self, at: Address, number: Option<u32>) {
        self.net.check_handle(at, &self.node.name);
        let kind = ArcKind::Output(number);
        self.node.arcs.push(Arc { place: at.node, kind, keyed: false, holds: false });
    }
}

#[cfg(test)]
mod tests {
    use crate::{NetBuilder, Simulation};

    #[test]
    fn an_update_wakes_those_who_look_at_the_state_and_an_index_follows_it() {
        let mut net = NetBuilder::new("state");
        let (words, seen) = (net.place::<u32>("words"), net.place::<Vec<u32>>("seen"));
        let [alarm, rung, found] = ["alarm", "rung", "found"].map(|name| net.place(name));
        let by_length = net.index(seen, Vec::len);
        net.initial(words, [3, 1, 2]);
        net.initial(seen, [Vec::new()]);
        net.initial(alarm, [()]);
        net.transition("note").input(words).update(seen, |(word,), seen, _| seen.push(*word)).add();
        net.transition("ring")
            .consume(alarm, 1)
            .read(seen)
            .guard(|(seen,)| seen.len() == 2)
            .priority(1)
            .produce(rung, 1)
            .add();
        net.transition("find")
            .consume(rung, 1)
            .input_by(by_length, |_| 2)
            .priority(1)
            .output(seen, |(seen,), _| seen.clone())
            .produce(found, 1)
            .add();
        let net = net.build().unwrap();
        let mut sim = Simulation::new(&net, 1);
        sim.run();
        assert_eq!([sim.count(alarm), sim.count(rung), sim.count(found)], [0, 0, 1]);
        assert_eq!(sim.count(words), 0);
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
