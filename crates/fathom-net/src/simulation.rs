//! Running a net, and what can be seen of a run.

use crate::binding::Token;
use crate::enabled::EnabledSet;
use crate::handle::Transition;
use crate::logic::Firing;
use crate::marking::Marking;
use crate::net::Net;
use crate::place::{Address, Place, Source};
use crate::rng::Rng;
use crate::time::Time;

/// One run of a net from its initial marking. A clone goes on from the same moment on its own.
///
/// # The rule
///
/// A token is available from its time stamp on. As long as some binding is enabled, one fires, at
/// the same instant; otherwise time advances to the earliest instant at which one is (Jensen &
/// Kristensen, *Coloured Petri Nets*, 2009, ch. 10). What fires is chosen so:
///
/// 1. among the transitions that have an enabled binding, those of the highest priority;
/// 2. among these one at random, each as likely as any other;
/// 3. of its bindings the first in the order of its arcs, each offered the tokens of its place, that which became
///    available first before the others. Tokens of one stamp count in the order in which they were produced.
///
/// All draws come from one generator, so a net and a seed make one run, whatever the machine.
/// Inhibitor arcs count all tokens of a place, also those not available yet.
///
/// ```
/// use fathom_net::{NetBuilder, Simulation, Span, Time};
/// let mut net = NetBuilder::new("kettle");
/// let (cold, hot) = (net.place("cold"), net.place("hot"));
/// net.initial(cold, [()]);
/// net.transition("boil").consume(cold, 1).delay_by(|_, _| Span::ticks(180)).produce(hot, 1).add();
/// let net = net.build()?;
/// let mut sim = Simulation::new(&net, 1);
/// sim.step();
/// assert_eq!((sim.now(), sim.count(hot), sim.available(hot)), (Time::ZERO, 1, 0));
/// sim.run();
/// assert_eq!((sim.now(), sim.available(hot)), (Time::ticks(180), 1));
/// # Ok::<(), fathom_net::NetError>(())
/// ```
#[derive(Clone)]
pub struct Simulation<'n> {
    net: &'n Net,
    pub(crate) marking: Marking,
    enabled: EnabledSet,
    rng: Rng,
    /// Places that gained a token as time advanced; empty between advances, kept for its memory.
    gained: Vec<u32>,
}

impl<'n> Simulation<'n> {
    /// A run from the initial marking at time zero.
    pub fn new(net: &'n Net, seed: u64) -> Self {
        let mut simulation = Self {
            net,
            marking: net.initial.clone(),
            enabled: EnabledSet::new(&net.levels),
            rng: Rng::new(seed),
            gained: Vec::new(),
        };
        simulation.refresh();
        simulation
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.marking.now
    }

    /// Tokens in a place, available or not.
    ///
    /// # Panics
    /// If the place belongs to another net.
    pub fn count<C: Token>(&self, place: Place<C>) -> usize {
        self.marking.counts[self.store(place.at)].total as usize
    }

    /// Tokens in a place that are available now.
    ///
    /// # Panics
    /// If the place belongs to another net.
    pub fn available<C: Token>(&self, place: Place<C>) -> usize {
        self.marking.counts[self.store(place.at)].available as usize
    }

    /// The tokens in a place with their stamps, in no particular order.
    ///
    /// ```
    /// # use fathom_net::Time;
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u8>("jobs");
    /// # net.initial(jobs, [7, 9]);
    /// # net.transition("drop").input(jobs).add();
    /// # let net = net.build()?;
    /// let sim = fathom_net::Simulation::new(&net, 1);
    /// assert!(sim.tokens(jobs).any(|token| token == (&9, Time::ZERO)));
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    ///
    /// # Panics
    /// If the place belongs to another net.
    pub fn tokens<C: Token>(&self, place: Place<C>) -> impl Iterator<Item = (&C, Time)> {
        self.marking.store::<C>(self.store(place.at) as u32).tokens()
    }

    /// Changes the token that a place offers first, from outside of the net: to put a large state into a
    /// run, or to take it out again, without a copy. `None` where no token is available.
    ///
    /// # Panics
    /// If the place is of another net.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// let (words, seen) = (net.place::<u32>("words"), net.place::<Vec<u32>>("seen"));
    /// net.initial(words, [3, 1, 2]);
    /// net.initial(seen, [Vec::new()]);
    /// net.transition("note").input(words).update(seen, |(word,), seen, _| seen.push(*word)).add();
    /// let net = net.build()?;
    /// let mut sim = fathom_net::Simulation::new(&net, 1);
    /// sim.change(seen, |seen| seen.push(9));
    /// sim.run();
    /// assert_eq!(sim.change(seen, std::mem::take), Some(vec![9, 3, 1, 2]));
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn change<C: Token, T>(
        &mut self,
        place: impl Source<Colour = C>,
        change: impl FnOnce(&mut C) -> T,
    ) -> Option<T> {
        let store = self.store(place.place().at);
        if self.marking.counts[store].available == 0 {
            return None;
        }
        let made = self.marking.change(store as u32, change);
        self.refresh();
        Some(made)
    }

    /// Fires one binding, after advancing time to it if need be; `None` if the net is dead.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u8>("jobs");
    /// # net.initial(jobs, [7]);
    /// let drop = net.transition("drop").input(jobs).add();
    /// let net = net.build()?;
    /// let mut sim = fathom_net::Simulation::new(&net, 1);
    /// assert_eq!((sim.step(), sim.step()), (Some(drop), None));
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn step(&mut self) -> Option<Transition> {
        let transition = self.next()?;
        self.fire_first(transition);
        Some(Transition(transition))
    }

    /// Runs until nothing is enabled any more.
    pub fn run(&mut self) {
        self.run_while(|_| true);
    }

    /// Runs as long as the predicate holds, which is asked before every firing, once time has advanced to it: of a
    /// marking, of the time, of anything the simulation shows. Ends, too, where nothing is enabled any more.
    ///
    /// ```
    /// # use fathom_net::{NetBuilder, Simulation};
    /// # let mut net = NetBuilder::new("doc");
    /// # let (coins, spent) = (net.place("coins"), net.place("spent"));
    /// # net.initial(coins, [(); 9]);
    /// # net.transition("spend").consume(coins, 1).produce(spent, 1).add();
    /// # let net = net.build()?;
    /// let mut sim = Simulation::new(&net, 1);
    /// sim.run_while(|sim| sim.count(coins) > 4);
    /// assert_eq!(sim.count(spent), 5);
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn run_while(&mut self, mut predicate: impl FnMut(&Self) -> bool) {
        while let Some(transition) = self.next() {
            if !predicate(self) {
                return;
            }
            self.fire_first(transition);
        }
    }

    /// The next transition to fire, once time has advanced to it.
    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(transition) = self.enabled.pick(&mut self.rng) {
                return Some(transition);
            }
            if !self.advance() {
                return None;
            }
        }
    }

    /// Advances time to the next instant at which a token becomes available; false where there is none.
    #[inline]
    fn advance(&mut self) -> bool {
        let Self { net, marking, enabled, gained, .. } = self;
        let advanced = marking.advance(|place| gained.push(place));
        for place in gained.drain(..) {
            for &transition in &net.consumers[place as usize] {
                if !enabled.contains(transition) && net.is_enabled(transition, marking) {
                    enabled.set(transition, true);
                }
            }
        }
        advanced
    }

    #[inline]
    fn fire_first(&mut self, transition: u32) {
        let mut firing = Firing::new(self.marking.now, &mut self.rng);
        self.net.logic[transition as usize].fire_first(&mut self.marking, &mut firing);
        self.look_again(transition);
    }

    /// Looks at the transitions that a firing concerns.
    #[inline]
    fn look_again(&mut self, fired: u32) {
        let Self { net, marking, enabled, .. } = self;
        let rule = &net.rules[fired as usize];
        for &transition in &rule.changes {
            enabled.set(transition, net.is_enabled(transition, marking));
        }
        for &transition in &rule.disables {
            if enabled.contains(transition) && !net.is_enabled(transition, marking) {
                enabled.set(transition, false);
            }
        }
        for &transition in &rule.enables {
            if !enabled.contains(transition) && net.is_enabled(transition, marking) {
                enabled.set(transition, true);
            }
        }
    }

    /// Looks at every transition.
    fn refresh(&mut self) {
        for transition in 0..self.net.logic.len() as u32 {
            self.enabled.set(transition, self.net.is_enabled(transition, &self.marking));
        }
    }

    fn store(&self, at: Address) -> usize {
        assert!(at.net == self.net.id, "a place of another net; use a handle of `{}`", self.net.name());
        at.store as usize
    }
}

impl std::fmt::Debug for Simulation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulation")
            .field("net", &self.net.name())
            .field("now", &self.marking.now)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
