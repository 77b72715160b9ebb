//! What can be seen of a simulation: its marking, its monitors and its log.

use crate::binding::Token;
use crate::event::Event;
use crate::handle::{Series, Transition};
use crate::net::Net;
use crate::place::{Address, Place};
use crate::simulation::Simulation;
use crate::tally::Tally;
use crate::time::Time;

impl<'n> Simulation<'n> {
    /// The time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.marking.now
    }

    /// The net.
    #[must_use]
    pub fn net(&self) -> &'n Net {
        self.net
    }

    /// Tokens in a place, available or not.
    ///
    /// # Panics
    /// If the place belongs to another net.
    #[must_use]
    pub fn count<C: Token>(&self, place: Place<C>) -> usize {
        self.marking.counts[self.store(place.at)].total as usize
    }

    /// Tokens in a place that are available now.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u8>("jobs");
    /// # net.initial_at(jobs, fathom_net::Time::ticks(1), [7, 9]);
    /// # net.transition("drop").input(jobs).add();
    /// # let net = net.build()?;
    /// assert_eq!(fathom_net::Simulation::new(&net, 1).available(jobs), 0);
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    ///
    /// # Panics
    /// If the place belongs to another net.
    #[must_use]
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

    /// How often a transition has fired since the start or [`restart_monitors`](Self::restart_monitors).
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u8>("jobs");
    /// # net.initial(jobs, [7, 9]);
    /// let drop = net.transition("drop").input(jobs).add();
    /// let net = net.build()?;
    /// let mut sim = fathom_net::Simulation::new(&net, 1);
    /// sim.run();
    /// assert_eq!(sim.firings(drop), 2);
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    #[must_use]
    pub fn firings(&self, transition: Transition) -> u64 {
        self.firings[transition.0 as usize]
    }

    /// Firings of all transitions since the start.
    #[must_use]
    pub fn total_firings(&self) -> u64 {
        self.fired
    }

    /// What a series has collected.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u8>("jobs");
    /// # net.initial(jobs, [7, 9]);
    /// let sizes = net.series("sizes");
    /// net.transition("drop").input(jobs).record(sizes, |(job,), _| f64::from(*job)).add();
    /// let net = net.build()?;
    /// let mut sim = fathom_net::Simulation::new(&net, 1);
    /// sim.run();
    /// assert_eq!(sim.observed(sizes).mean(), 8.0);
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    #[must_use]
    pub fn observed(&self, series: Series) -> &Tally {
        &self.tallies[series.0 as usize]
    }

    /// Follows the number of tokens in a place over time from now on; see [`level`](Self::level).
    ///
    /// ```
    /// # use fathom_net::{NetBuilder, Simulation, Span, Time};
    /// # let mut net = NetBuilder::new("doc");
    /// # let (off, on) = (net.place("off"), net.place("on"));
    /// # net.initial_at(off, Time::ticks(30), [()]);
    /// # net.transition("switch").consume(off, 1).produce(on, 1).add();
    /// # let net = net.build()?;
    /// let mut sim = Simulation::new(&net, 1);
    /// sim.watch(on);
    /// sim.run_until(Time::ticks(30));
    /// assert_eq!(sim.level(on).map(|level| level.mean()), Some(0.0));
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    ///
    /// # Panics
    /// If the place belongs to another net.
    pub fn watch<C: Token>(&mut self, place: Place<C>) {
        self.marking.watch(self.store(place.at) as u32);
    }

    /// The time average of the number of tokens in a place since it was watched, or `None` if it
    /// is not.
    ///
    /// # Panics
    /// If the place belongs to another net.
    #[must_use]
    pub fn level<C: Token>(&self, place: Place<C>) -> Option<Tally> {
        let level = self.marking.level(self.store(place.at) as u32)?;
        Some(level.until(self.now()))
    }

    /// Forgets what the monitors have seen: firings, series and levels begin anew. Call it when the
    /// initial transient is over.
    ///
    /// ```
    /// # let net = fathom_net::NetBuilder::new("empty").build()?;
    /// # let mut sim = fathom_net::Simulation::new(&net, 1);
    /// sim.run_until(fathom_net::Time::ticks(1_000));
    /// sim.restart_monitors();
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn restart_monitors(&mut self) {
        self.tallies.fill(Tally::default());
        self.firings.fill(0);
        self.marking.restart_levels();
    }

    /// Logs every firing from now on.
    ///
    /// ```
    /// # let net = fathom_net::NetBuilder::new("empty").build()?;
    /// # let mut sim = fathom_net::Simulation::new(&net, 1);
    /// sim.log();
    /// assert!(sim.events().is_empty());
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn log(&mut self) {
        self.log.get_or_insert_default();
    }

    /// The firings logged.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        self.log.as_deref().unwrap_or_default()
    }

    fn store(&self, at: Address) -> usize {
        assert!(at.net == self.net.id, "a place of another net; use a handle of `{}`", self.net.name());
        at.store as usize
    }
}
