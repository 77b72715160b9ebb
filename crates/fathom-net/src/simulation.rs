//! Running a net.

use crate::binding::Token;
use crate::enabled::EnabledSet;
use crate::event::Event;
use crate::handle::Transition;
use crate::logic::{Firing, Logic, Slots};
use crate::marking::Marking;
use crate::net::Net;
use crate::place::Source;
use crate::rng::Rng;
use crate::tally::Tally;
use crate::time::Time;

/// One run of a net from its initial marking.
///
/// # The rule
///
/// A token is available from its time stamp on. As long as some binding is enabled, one fires, at
/// the same instant; otherwise time advances to the earliest instant at which one is (Jensen &
/// Kristensen, *Coloured Petri Nets*, 2009, ch. 10). What fires is chosen so:
///
/// 1. among the transitions that have an enabled binding, those of the highest priority;
/// 2. among these one at random, each as likely as any other;
/// 3. of its bindings the first in the order of its arcs, each offered the tokens of its place by
///    the place's [`Selection`](crate::Selection). Tokens of one stamp count in the order in which
///    they were produced.
///
/// All draws come from one generator, so a net and a seed make one run, whatever the machine.
/// Inhibitor arcs and capacities count all tokens of a place, also those not available yet.
///
/// ```
/// use fathom_net::{NetBuilder, Simulation, Span, Stop, Time};
/// let mut net = NetBuilder::new("kettle");
/// let (cold, hot) = (net.place("cold"), net.place("hot"));
/// net.initial(cold, [()]);
/// net.transition("boil").consume(cold, 1).delay(Span::ticks(180)).produce(hot, 1).add();
/// let net = net.build()?;
/// let mut sim = Simulation::new(&net, 1);
/// assert_eq!(sim.run_until(Time::ticks(100)), Stop::Time);
/// assert_eq!((sim.count(hot), sim.available(hot)), (1, 0));
/// assert_eq!(sim.run_until(Time::ticks(200)), Stop::Dead);
/// assert_eq!(sim.available(hot), 1);
/// # Ok::<(), fathom_net::NetError>(())
/// ```
#[derive(Clone)]
pub struct Simulation<'n> {
    pub(crate) net: &'n Net,
    pub(crate) marking: Marking,
    enabled: EnabledSet,
    rng: Rng,
    pub(crate) tallies: Vec<Tally>,
    pub(crate) firings: Vec<u64>,
    pub(crate) fired: u64,
    pub(crate) log: Option<Vec<Event>>,
    /// Firings since time last advanced.
    here: u64,
    /// Places that gained a token as time advanced; empty between advances, kept for its memory.
    gained: Vec<u32>,
}

/// A binding that may fire now, from [`Simulation::enabled`].
///
/// ```
/// # let mut net = fathom_net::NetBuilder::new("doc");
/// # let jobs = net.place::<u8>("jobs");
/// # net.initial(jobs, [7, 9]);
/// # let drop = net.transition("drop").input(jobs).add();
/// # let net = net.build()?;
/// let sim = fathom_net::Simulation::new(&net, 1);
/// let bindings: Vec<String> = sim.enabled().iter().map(|e| e.binding().to_string()).collect();
/// assert_eq!(bindings, ["(7,)", "(9,)"]);
/// # Ok::<(), fathom_net::NetError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Enabled {
    transition: Transition,
    binding: String,
    slots: Slots,
    /// Firings before this binding was found: it is stale after the next.
    found_at: u64,
}

/// Why a run stopped.
///
/// ```
/// let net = fathom_net::NetBuilder::new("empty").build()?;
/// let mut sim = fathom_net::Simulation::new(&net, 1);
/// assert_eq!(sim.run(), fathom_net::Stop::Dead);
/// # Ok::<(), fathom_net::NetError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The next binding is enabled only after the time given.
    Time,
    /// The predicate holds.
    Predicate,
    /// Nothing is enabled, now or ever.
    Dead,
    /// More than ten million firings passed without time advancing: most likely a loop of
    /// transitions without delay.
    Livelock,
}

/// Firings at one instant after which a run until a time gives up.
const LIVELOCK: u64 = 10_000_000;

impl Enabled {
    /// The transition.
    #[must_use]
    pub fn transition(&self) -> Transition {
        self.transition
    }

    /// The tokens bound, printed in the order of the arcs.
    #[must_use]
    pub fn binding(&self) -> &str {
        &self.binding
    }
}

impl<'n> Simulation<'n> {
    /// A run from the initial marking at time zero.
    #[must_use]
    pub fn new(net: &'n Net, seed: u64) -> Self {
        let transitions = net.logic.len();
        let mut simulation = Self {
            net,
            marking: net.initial.clone(),
            enabled: EnabledSet::new(&net.levels),
            rng: Rng::new(seed),
            tallies: vec![Tally::default(); net.structure.series.len()],
            firings: vec![0; transitions],
            fired: 0,
            log: None,
            here: 0,
            gained: Vec::new(),
        };
        simulation.refresh();
        simulation
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
        let at = place.place().at;
        assert!(at.net == self.net.id, "the place is of another net");
        if self.marking.counts[at.store as usize].available == 0 {
            return None;
        }
        let made = self.marking.change(at.store, change);
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
        let transition = self.next(Time::MAX)?;
        self.fire_next(transition);
        Some(Transition(transition))
    }

    /// Runs until nothing is enabled any more.
    pub fn run(&mut self) -> Stop {
        self.run_while(|_| true)
    }

    /// Runs every firing up to and at `end`, and leaves the clock there unless the net is dead
    /// before.
    ///
    /// ```
    /// # use fathom_net::{NetBuilder, Simulation, Span, Stop, Time};
    /// # let mut net = NetBuilder::new("doc");
    /// # let due = net.place("due");
    /// # net.initial(due, [()]);
    /// # net.transition("tick").consume(due, 1).delay(Span::ticks(10)).produce(due, 1).add();
    /// # let net = net.build()?;
    /// let mut sim = Simulation::new(&net, 1);
    /// assert_eq!(sim.run_until(Time::ticks(25)), Stop::Time);
    /// assert_eq!((sim.now(), sim.total_firings()), (Time::ticks(25), 3));
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn run_until(&mut self, end: Time) -> Stop {
        while let Some(transition) = self.next(end) {
            if self.here >= LIVELOCK {
                return Stop::Livelock;
            }
            self.fire_next(transition);
        }
        if !self.marking.is_waiting() {
            return Stop::Dead;
        }
        self.marking.now = self.marking.now.max(end);
        Stop::Time
    }

    /// Runs as long as the predicate holds, which is asked before every firing: of a marking, of
    /// the number of firings, of anything the simulation shows.
    ///
    /// ```
    /// # use fathom_net::{NetBuilder, Simulation, Span, Stop};
    /// # let mut net = NetBuilder::new("doc");
    /// # let (coins, spent) = (net.place("coins"), net.place("spent"));
    /// # net.initial(coins, [(); 9]);
    /// # net.transition("spend").consume(coins, 1).produce(spent, 1).add();
    /// # let net = net.build()?;
    /// let mut sim = Simulation::new(&net, 1);
    /// assert_eq!(sim.run_while(|sim| sim.count(coins) > 4), Stop::Predicate);
    /// assert_eq!(sim.count(spent), 5);
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn run_while(&mut self, mut predicate: impl FnMut(&Self) -> bool) -> Stop {
        while let Some(transition) = self.next(Time::MAX) {
            if !predicate(self) {
                return Stop::Predicate;
            }
            self.fire_next(transition);
        }
        Stop::Dead
    }

    /// Every binding that may fire now: all those enabled, of the highest priority that has any,
    /// by transition and in the order of the colours. Empty between two instants at which
    /// something is enabled; [`advance`](Self::advance) moves on to the next.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u8>("jobs");
    /// # net.initial(jobs, [7, 7, 9]);
    /// # net.transition("drop").input(jobs).add();
    /// # let net = net.build()?;
    /// let mut sim = fathom_net::Simulation::new(&net, 1);
    /// let enabled = sim.enabled();
    /// assert_eq!(enabled.len(), 2, "two tokens of one colour make one binding");
    /// sim.fire(&enabled[1]);
    /// assert_eq!(sim.enabled().len(), 1);
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    #[must_use]
    pub fn enabled(&self) -> Vec<Enabled> {
        let mut eligible = self.enabled.eligible().to_vec();
        eligible.sort_unstable();
        let bindings = |&transition: &u32| {
            let found = self.net.logic[transition as usize].bindings(&self.marking);
            found.into_iter().map(move |(slots, binding)| Enabled {
                transition: Transition(transition),
                binding,
                slots,
                found_at: self.fired,
            })
        };
        eligible.iter().flat_map(bindings).collect()
    }

    /// Fires a binding that [`enabled`](Self::enabled) gave.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u8>("jobs");
    /// # net.initial(jobs, [7]);
    /// # net.transition("drop").input(jobs).add();
    /// # let net = net.build()?;
    /// let mut sim = fathom_net::Simulation::new(&net, 1);
    /// let enabled = sim.enabled();
    /// sim.fire(&enabled[0]);
    /// assert_eq!(sim.count(jobs), 0);
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    ///
    /// # Panics
    /// If something fired since the binding was found.
    pub fn fire(&mut self, enabled: &Enabled) {
        assert!(
            enabled.found_at == self.fired,
            "binding {} of transition `{}` is stale: something fired since; ask `enabled` again",
            enabled.binding,
            self.net.transition_name(enabled.transition)
        );
        self.fire_binding(enabled.transition.0, &enabled.slots);
    }

    /// Advances time to the earliest instant at which a binding is enabled, which may be now;
    /// `None` if there is none.
    ///
    /// ```
    /// # use fathom_net::{NetBuilder, Simulation, Span, Time};
    /// # let mut net = NetBuilder::new("doc");
    /// # let due = net.place("due");
    /// # net.initial_at(due, Time::ticks(30), [()]);
    /// # net.transition("ring").consume(due, 1).add();
    /// # let net = net.build()?;
    /// let mut sim = Simulation::new(&net, 1);
    /// assert!(sim.enabled().is_empty());
    /// assert_eq!(sim.advance(), Some(Time::ticks(30)));
    /// assert_eq!(sim.enabled().len(), 1);
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn advance(&mut self) -> Option<Time> {
        while self.enabled.eligible().is_empty() {
            self.advance_once(Time::MAX)?;
        }
        Some(self.now())
    }

    /// The next transition to fire, once time has advanced to it; `None` if that is after `end`.
    #[inline]
    fn next(&mut self, end: Time) -> Option<u32> {
        loop {
            if let Some(transition) = self.enabled.pick(&mut self.rng) {
                return Some(transition);
            }
            self.advance_once(end)?;
        }
    }

    #[inline]
    fn advance_once(&mut self, end: Time) -> Option<Time> {
        let Self { net, marking, enabled, gained, here, .. } = self;
        let reached = marking.advance(end, |place| gained.push(place))?;
        *here = 0;
        for place in gained.drain(..) {
            for &transition in &net.consumers[place as usize] {
                if !enabled.contains(transition) && net.is_enabled(transition, marking) {
                    enabled.set(transition, true);
                }
            }
        }
        Some(reached)
    }

    #[inline]
    fn fire_next(&mut self, transition: u32) {
        if self.log.is_none() {
            self.fire_with(transition, |logic, marking, firing| {
                logic.fire_preferred(marking, firing);
            });
            return;
        }
        let logic = &self.net.logic[transition as usize];
        let slots = logic.choose(&self.marking, &mut self.rng);
        self.fire_binding(transition, &slots.expect("an enabled transition has a binding"));
    }

    /// Fires a binding, and logs it if asked to.
    fn fire_binding(&mut self, transition: u32, slots: &Slots) {
        if let Some(events) = &mut self.log {
            let binding = self.net.logic[transition as usize].printed(&self.marking, slots);
            events.push(Event { time: self.marking.now, transition: Transition(transition), binding });
        }
        self.fire_with(transition, |logic, marking, firing| logic.fire(slots, marking, firing));
    }

    /// Fires, and looks again at the transitions that this concerns.
    #[inline]
    fn fire_with(&mut self, transition: u32, fire: impl FnOnce(&dyn Logic, &mut Marking, &mut Firing<'_>)) {
        let logic = self.net.logic[transition as usize].as_ref();
        let mut firing = Firing::new(self.marking.now, &mut self.rng, &mut self.tallies);
        fire(logic, &mut self.marking, &mut firing);
        self.firings[transition as usize] += 1;
        self.fired += 1;
        self.here += 1;
        self.look_again(transition);
    }

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
        for transition in 0..self.firings.len() as u32 {
            self.enabled.set(transition, self.net.is_enabled(transition, &self.marking));
        }
    }
}

impl std::fmt::Debug for Simulation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulation")
            .field("net", &self.net.name())
            .field("now", &self.marking.now)
            .field("firings", &self.fired)
            .finish_non_exhaustive()
    }
}
