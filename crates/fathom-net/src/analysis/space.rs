//! The state space of a bounded net.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use rustc_hash::FxBuildHasher;

use super::components::{Components, components};
use super::shelf::Shelf;
use crate::binding::Colour;
use crate::handle::Transition;
use crate::net::Net;
use crate::place::Place;
use crate::simulation::Simulation;
use crate::structure::{ArcKind, Structure, TransitionNode};

/// Every marking that a net can reach, and the firings between them (Jensen & Kristensen, ch. 7).
///
/// Time is left out: tokens are available at once and delays do not count, so the space holds what
/// could happen under any delays. Priorities do count.
///
/// ```
/// use fathom_net::{NetBuilder, StateSpace};
/// let mut net = NetBuilder::new("philosophers");
/// let forks: Vec<_> = (0..3).map(|i| net.place(&format!("fork {i}"))).collect();
/// for (i, &left) in forks.iter().enumerate() {
///     let right = forks[(i + 1) % 3];
///     net.initial(left, [()]);
///     let (thinking, waiting) = (net.place(&format!("thinking {i}")), net.place(&format!("waiting {i}")));
///     net.initial(thinking, [()]);
///     net.transition(&format!("take {i}")).consume(thinking, 1).consume(left, 1).produce(waiting, 1).add();
///     net.transition(&format!("eat {i}")).consume(waiting, 1).consume(right, 1)
///         .produce(thinking, 1).produce(left, 1).produce(right, 1).add();
/// }
/// let net = net.build()?;
/// let space = StateSpace::explore(&net, 1_000)?;
/// let deadlock = space.deadlocks()[0]; // each holds one fork
/// let path = space.path_to(deadlock);
/// assert_eq!((space.deadlocks().len(), path.len()), (1, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StateSpace<'n> {
    net: &'n Net,
    /// The number of each store's marking, per state.
    states: Vec<Box<[u32]>>,
    /// Firings out of each state.
    firings: Vec<Vec<Step>>,
    /// The state and firing from which each state was first reached.
    reached_from: Vec<Option<(State, u32)>>,
    shelves: Vec<Shelf>,
    components: Components,
}

/// A reachable marking. The first is the initial one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State(u32);

/// A firing out of a state.
///
/// ```
/// # let net = fathom_net::NetBuilder::new("empty").build()?;
/// let space = fathom_net::StateSpace::explore(&net, 10)?;
/// for step in space.steps(fathom_net::State::INITIAL) {
///     assert!(step.binding.starts_with('('));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What fires.
    pub transition: Transition,
    /// The tokens bound, printed in the order of the arcs.
    pub binding: String,
    /// The state it leads to.
    pub to: State,
}

/// Why there is no state space.
///
/// ```
/// use fathom_net::{NetBuilder, StateSpace, StateSpaceError};
/// let mut net = NetBuilder::new("counter");
/// let count = net.place::<u64>("count");
/// net.initial(count, [0]);
/// net.transition("add").input(count).output(count, |(n,), _| n + 1).add();
/// let net = net.build()?;
/// let error = StateSpace::explore(&net, 100).map(|_| ()).unwrap_err();
/// assert_eq!(error, StateSpaceError::TooLarge { limit: 100 });
/// # Ok::<(), fathom_net::NetError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateSpaceError {
    /// There are more states than the limit; perhaps infinitely many.
    TooLarge {
        /// The limit given.
        limit: usize,
    },
    /// An arc expression of this transition draws random numbers, so a firing has no one result.
    Random {
        /// The transition's name.
        transition: String,
    },
    /// This place holds a [state](crate::NetBuilder::state): whether two of them are the same is not known.
    State {
        /// The place's name.
        place: String,
    },
}

impl fmt::Display for StateSpaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit } => {
                write!(f, "the state space has more than {limit} states; bound the net or raise the limit")
            }
            Self::Random { transition } => write!(
                f,
                "an arc expression of transition `{transition}` draws random numbers; for a state \
                 space make each outcome a transition of its own"
            ),
            Self::State { place } => write!(
                f,
                "place `{place}` holds a state, which has no order and no equality; for a state space give it a \
                 colour"
            ),
        }
    }
}

impl std::error::Error for StateSpaceError {}

impl State {
    /// The initial marking.
    pub const INITIAL: Self = Self(0);

    /// The position in [`StateSpace::states`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl<'n> StateSpace<'n> {
    /// Explores the net from its initial marking, breadth first.
    ///
    /// ```
    /// let mut net = fathom_net::NetBuilder::new("ring");
    /// let (a, b) = (net.place("a"), net.place("b"));
    /// net.initial(a, [(); 3]);
    /// net.transition("ab").consume(a, 1).produce(b, 1).add();
    /// net.transition("ba").consume(b, 1).produce(a, 1).add();
    /// let net = net.build()?;
    /// assert_eq!(fathom_net::StateSpace::explore(&net, 100)?.states().count(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there are more than `limit` states, or an arc expression draws random numbers.
    pub fn explore(net: &'n Net, limit: usize) -> Result<Self, StateSpaceError> {
        let has_no_order = |store: &usize| net.initial.stores[*store].canonical().is_none();
        if let Some(store) = (0..net.initial.stores.len()).find(has_no_order) {
            return Err(StateSpaceError::State { place: net.structure.store_name(store as u32).into() });
        }
        let mut explorer = Explorer::new(net, limit);
        explorer.explore()?;
        let Explorer { states, firings, reached_from, shelves, .. } = explorer;
        let targets = |state: usize| firings[state].iter().map(|step| step.to.index());
        let components = components(states.len(), |state| targets(state).collect());
        Ok(Self { net, states, firings, reached_from, shelves, components })
    }

    /// Every state, in the order of discovery.
    pub fn states(&self) -> impl ExactSizeIterator<Item = State> + use<> {
        (0..self.states.len() as u32).map(State)
    }

    /// The firings out of a state.
    #[must_use]
    pub fn steps(&self, state: State) -> &[Step] {
        &self.firings[state.index()]
    }

    /// The tokens of a place in a state, printed, in the order of the colours.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u8>("jobs");
    /// # net.initial(jobs, [9, 7]);
    /// # net.transition("drop").input(jobs).add();
    /// # let net = net.build()?;
    /// let space = fathom_net::StateSpace::explore(&net, 10)?;
    /// assert_eq!(space.tokens(fathom_net::State::INITIAL, jobs), ["7", "9"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn tokens<C: Colour>(&self, state: State, place: Place<C>) -> Vec<String> {
        let store = place.at.store as usize;
        let marking = self.shelves[store].marking(self.states[state.index()][store]);
        marking.printed().into_iter().map(|(token, _)| token).collect()
    }

    /// The shortest sequence of firings from the initial marking to a state, with their bindings.
    #[must_use]
    pub fn path_to(&self, state: State) -> Vec<&Step> {
        let mut path = Vec::new();
        let mut at = state;
        while let Some((from, step)) = self.reached_from[at.index()] {
            path.push(&self.firings[from.index()][step as usize]);
            at = from;
        }
        path.reverse();
        path
    }

    /// States in which nothing is enabled.
    #[must_use]
    pub fn deadlocks(&self) -> Vec<State> {
        self.states().filter(|&state| self.steps(state).is_empty()).collect()
    }

    /// The smallest and the largest number of tokens in a place over all states.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u8>("jobs");
    /// # net.initial(jobs, [9, 7]);
    /// # net.transition("drop").input(jobs).add();
    /// # let net = net.build()?;
    /// let space = fathom_net::StateSpace::explore(&net, 10)?;
    /// assert_eq!(space.bounds(jobs), (0, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn bounds<C: Colour>(&self, place: Place<C>) -> (usize, usize) {
        let store = place.at.store as usize;
        let sizes = || self.states.iter().map(|state| self.shelves[store].marking(state[store]).len());
        (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0))
    }

    /// Home markings: the states that can be reached from every state. There are some exactly when
    /// one strongly connected component is left by no firing.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u8>("jobs");
    /// # net.initial(jobs, [9, 7]);
    /// # net.transition("drop").input(jobs).add();
    /// # let net = net.build()?;
    /// let space = fathom_net::StateSpace::explore(&net, 10)?;
    /// assert_eq!(space.home_markings(), space.deadlocks());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn home_markings(&self) -> Vec<State> {
        match self.components.terminal.as_slice() {
            &[home] => self.members(home).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether a transition is live: from every state it can be made to fire again.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u8>("jobs");
    /// # net.initial(jobs, [9, 7]);
    /// let drop = net.transition("drop").input(jobs).add();
    /// let net = net.build()?;
    /// assert!(!fathom_net::StateSpace::explore(&net, 10)?.is_live(drop));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_live(&self, transition: Transition) -> bool {
        let fires = |state: State| self.steps(state).iter().any(|s| s.transition == transition);
        self.components.terminal.iter().all(|&component| self.members(component).any(fires))
    }

    /// Whether a transition can never fire.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u8>("jobs");
    /// # net.initial(jobs, [9, 7]);
    /// let huge = net.transition("huge").input(jobs).guard(|(job,)| *job > 100).add();
    /// let net = net.build()?;
    /// assert!(fathom_net::StateSpace::explore(&net, 10)?.is_dead(huge));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_dead(&self, transition: Transition) -> bool {
        !self.firings.iter().flatten().any(|step| step.transition == transition)
    }

    fn members(&self, component: u32) -> impl Iterator<Item = State> {
        self.states().filter(move |state| self.components.of[state.index()] == component)
    }
}

impl fmt::Debug for StateSpace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateSpace")
            .field("net", &self.net.name())
            .field("states", &self.states.len())
            .finish_non_exhaustive()
    }
}

/// The exploration under way: a simulation that is put into one state after the other.
struct Explorer<'n> {
    sim: Simulation<'n>,
    limit: usize,
    shelves: Vec<Shelf>,
    /// Stores that each transition changes.
    touched: Vec<Vec<u32>>,
    numbers: HashMap<Box<[u32]>, State, FxBuildHasher>,
    states: Vec<Box<[u32]>>,
    firings: Vec<Vec<Step>>,
    reached_from: Vec<Option<(State, u32)>>,
}

impl<'n> Explorer<'n> {
    fn new(net: &'n Net, limit: usize) -> Self {
        let mut sim = Simulation::new(net, 0);
        sim.marking.ignore_time();
        let shelves = sim.marking.stores.iter().map(|_| Shelf::default()).collect();
        let touched = net.structure.transitions.iter().map(|t| changed(&net.structure, t)).collect();
        Self {
            sim,
            limit,
            shelves,
            touched,
            numbers: HashMap::default(),
            states: Vec::new(),
            firings: Vec::new(),
            reached_from: Vec::new(),
        }
    }

    fn explore(&mut self) -> Result<(), StateSpaceError> {
        let all: Vec<u32> = (0..self.shelves.len() as u32).collect();
        let mut initial = vec![0; all.len()].into_boxed_slice();
        self.read(&all, &mut initial);
        self.discover(initial, None)?;
        while self.firings.len() < self.states.len() {
            let from = State(self.firings.len() as u32);
            self.write(&all, from);
            let steps = self.fire_all(from)?;
            self.firings.push(steps);
        }
        Ok(())
    }

    /// Fires every binding enabled in the state that the simulation is in.
    fn fire_all(&mut self, from: State) -> Result<Vec<Step>, StateSpaceError> {
        self.sim.refresh();
        let mut steps = Vec::new();
        for (number, enabled) in self.sim.enabled().into_iter().enumerate() {
            let transition = enabled.transition();
            let drew = self.sim.fire_binding(transition.0, &enabled.slots);
            if drew {
                let transition = self.sim.net().transition_name(transition).into();
                return Err(StateSpaceError::Random { transition });
            }
            let touched = std::mem::take(&mut self.touched[transition.0 as usize]);
            let mut reached = self.states[from.index()].clone();
            self.read(&touched, &mut reached);
            let to = self.discover(reached, Some((from, number as u32)))?;
            self.write(&touched, from);
            self.touched[transition.0 as usize] = touched;
            steps.push(Step { transition, binding: enabled.binding, to });
        }
        Ok(steps)
    }

    fn discover(
        &mut self,
        marking: Box<[u32]>,
        from: Option<(State, u32)>,
    ) -> Result<State, StateSpaceError> {
        let next = State(self.states.len() as u32);
        match self.numbers.entry(marking) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(_) if self.states.len() == self.limit => {
                Err(StateSpaceError::TooLarge { limit: self.limit })
            }
            Entry::Vacant(new) => {
                self.states.push(new.key().clone());
                new.insert(next);
                self.reached_from.push(from);
                Ok(next)
            }
        }
    }

    /// Numbers the markings of some stores of the simulation.
    fn read(&mut self, stores: &[u32], state: &mut [u32]) {
        for &store in stores {
            let store = store as usize;
            state[store] = self.shelves[store].number(self.sim.marking.stores[store].as_ref());
        }
    }

    /// Puts some stores of the simulation into a state, the same slots for the same marking.
    fn write(&mut self, stores: &[u32], state: State) {
        for &store in stores {
            let number = self.states[state.index()][store as usize];
            self.sim.marking.refill(store, self.shelves[store as usize].marking(number));
        }
    }
}

/// Stores whose tokens a firing changes.
fn changed(net: &Structure, transition: &TransitionNode) -> Vec<u32> {
    let moves = |kind| matches!(kind, ArcKind::Input(_) | ArcKind::Output(_));
    let moving = transition.arcs.iter().filter(|arc| moves(arc.kind));
    let mut stores: Vec<u32> = moving.map(|arc| net.store_of(arc)).collect();
    stores.sort_unstable();
    stores.dedup();
    stores
}
