//! Building a net: places, modules with ports, and fusion sets.

use std::any::type_name;

use crate::binding::{Colour, Token};
use crate::check::{self, NetError};
use crate::draft::Draft;
use crate::index::{HashIndex, Key, KeyOf};
use crate::marking::Marking;
use crate::net::Net;
use crate::pattern::Start;
use crate::place::{In, Index, Out, Place, Sink, Source, short_name};
use crate::store::Store;
use crate::structure::Page;
use crate::time::Span;
use crate::transition::TransitionBuilder;

/// A net being built. [`build`](Self::build) checks it and reports everything that is wrong.
///
/// One queue, one server.
///
/// ```
/// use fathom_net::{NetBuilder, Simulation, Span, Time};
/// let mut net = NetBuilder::new("queue");
/// let (queue, idle, served) = (net.place::<u64>("queue"), net.place("idle"), net.place::<u64>("served"));
/// net.initial(queue, [30, 10]);
/// net.initial(idle, [()]);
/// net.transition("serve").input(queue).consume(idle, 1).delay_by(|(takes,), _| Span::ticks(*takes))
///     .output(served, |(takes,), _| *takes).produce(idle, 1).add();
/// let net = net.build()?;
/// let mut sim = Simulation::new(&net, 1);
/// sim.run();
/// assert_eq!((sim.now(), sim.count(served)), (Time::ticks(40), 2));
/// # Ok::<(), fathom_net::NetError>(())
/// ```
pub struct NetBuilder {
    draft: Draft,
}

impl NetBuilder {
    /// An empty net.
    pub fn new(name: &str) -> Self {
        Self { draft: Draft::new(name) }
    }

    /// Adds a place for tokens of colour `C`.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// let queue = net.place::<u64>("queue");
    /// let idle = net.place::<()>("idle");
    /// # let _ = (queue, idle);
    /// ```
    pub fn place<C: Colour>(&mut self, name: &str) -> Place<C> {
        self.add_place(name, Store::<C>::new())
    }

    /// Adds a place that holds one token of type `S` for the whole run: a state, which need not have an order, and
    /// which transitions change in place by [`update`](TransitionBuilder::update) and its kin.
    ///
    /// ```
    /// # use fathom_net::{NetBuilder, Simulation};
    /// # use std::collections::HashMap;
    /// # let mut net = NetBuilder::new("doc");
    /// let words = net.place::<&str>("words");
    /// let counts = net.state("counts", HashMap::<&str, u32>::new());
    /// net.initial(words, ["to", "be", "or", "not", "to", "be"]);
    /// net.transition("count")
    ///     .input(words)
    ///     .update(counts, |(word,), counts, _| *counts.entry(*word).or_default() += 1)
    ///     .add();
    /// let net = net.build()?;
    /// let mut sim = Simulation::new(&net, 1);
    /// sim.run();
    /// assert_eq!(sim.tokens(counts).next().map(|(counts, _)| counts["be"]), Some(2));
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn state<S: Token>(&mut self, name: &str, initial: S) -> Place<S> {
        let place: Place<S> = self.add_place(name, Store::<S>::unordered());
        self.draft.initial.push(Box::new(move |marking| marking.put(place.at.store, initial, Span::ZERO)));
        place
    }

    /// Adds a place with so many tokens at the start: of a resource, those that are free.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// let cpus = net.pool("cpus", 2);
    /// # let _ = cpus;
    /// ```
    pub fn pool(&mut self, name: &str, tokens: u32) -> Place<()> {
        let place = self.place(name);
        self.initial(place, (0..tokens).map(|_| ()));
        place
    }

    fn add_place<C: Token>(&mut self, name: &str, tokens: Store<C>) -> Place<C> {
        let store = self.draft.stores.len() as u32;
        self.draft.stores.push(Box::new(tokens));
        let colour = short_name(type_name::<C>());
        self.draft.structure.colours.push(colour);
        self.draft.place_node(name, store)
    }

    /// Adds a member to the fusion set of `of`: another place with the very same tokens, so that
    /// far pages share a resource without a line across the drawing.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// let memory = net.place("memory");
    /// net.initial(memory, [(); 4]);
    /// let (busy, also_memory) = (net.place("busy"), net.fusion("reader/memory", memory));
    /// net.transition("allocate").consume(also_memory, 1).produce(busy, 1).add();
    /// let net = net.build()?;
    /// let mut sim = fathom_net::Simulation::new(&net, 1);
    /// sim.step();
    /// assert_eq!((sim.count(memory), sim.count(also_memory)), (3, 3));
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn fusion<C: Token>(&mut self, name: &str, of: Place<C>) -> Place<C> {
        self.draft.check_handle(of.at, name);
        self.draft.place_node(name, of.at.store)
    }

    /// Puts tokens into a place at the start, available at once.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// let idle = net.place("idle");
    /// net.initial(idle, [(), ()]);
    /// ```
    pub fn initial<C, I>(&mut self, place: Place<C>, tokens: I)
    where
        C: Colour,
        I: IntoIterator<Item = C>,
    {
        self.draft.check_handle(place.at, "the initial marking");
        let tokens: Vec<C> = tokens.into_iter().collect();
        self.draft.initial.push(Box::new(move |marking| {
            for token in tokens {
                marking.put(place.at.store, token, Span::ZERO);
            }
        }));
    }

    /// Indexes a place's tokens by a key, for [`input_by`](TransitionBuilder::input_by) and its
    /// kin. The key must depend on the token alone.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// let cache = net.place::<(u64, bool)>("cache");
    /// let by_page = net.index(cache, |entry| entry.0);
    /// # let _ = by_page;
    /// ```
    pub fn index<S, C, K, F>(&mut self, place: S, key: F) -> Index<C, K>
    where
        S: Source<Colour = C>,
        C: Colour,
        K: Key,
        F: Fn(&C) -> K + Send + Sync + 'static,
    {
        let place = place.place();
        let key: KeyOf<C, K> = std::sync::Arc::new(key);
        let number = self.draft.store(place, "an index").map_or(0, |store| {
            store.indexes.push(Box::new(HashIndex::new(key)));
            store.indexes.len() - 1
        });
        Index::new(place, number)
    }

    /// Begins a transition; see [`TransitionBuilder`].
    pub fn transition(&mut self, name: &str) -> TransitionBuilder<'_, Start> {
        TransitionBuilder::new(&mut self.draft, name)
    }

    /// Adds a module as a substitution transition: whatever `draw` builds gets names below `name`
    /// and a page of its own. Give it its places through [`port_in`](Self::port_in) and
    /// [`port_out`](Self::port_out), and any other module of the same ports can stand in.
    ///
    /// ```
    /// use fathom_net::{In, NetBuilder, Out, Span};
    /// fn disk(module: &mut NetBuilder, requests: In<u64>, replies: Out<u64>) {
    ///     module.transition("seek").input(requests).delay_by(|_, _| Span::ticks(8_000))
    ///         .output(replies, |(block,), _| *block).add();
    /// }
    /// let mut net = NetBuilder::new("storage");
    /// let (requests, replies) = (net.place("requests"), net.place("replies"));
    /// net.initial(requests, [7]);
    /// net.module("disk", |module| {
    ///     let (requests, replies) = (module.port_in(requests), module.port_out(replies));
    ///     disk(module, requests, replies);
    /// });
    /// assert!(net.build()?.modules().any(|module| module == "disk"));
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn module<R>(&mut self, name: &str, draw: impl FnOnce(&mut Self) -> R) -> R {
        let path = self.draft.path_of(name);
        self.draft.structure.pages.push(Page { path, parent: Some(self.draft.page), ports: Vec::new() });
        let outer = std::mem::replace(&mut self.draft.page, self.draft.structure.pages.len() - 1);
        let built = draw(self);
        self.draft.page = outer;
        built
    }

    /// Gives a place of the outside to the module being drawn, to take from, read, or be inhibited
    /// by. A port that the module does not use is reported by [`build`](Self::build).
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let jobs = net.place::<u32>("jobs");
    /// net.module("sink", |module| {
    ///     let jobs = module.port_in(jobs);
    ///     module.transition("drop").input(jobs).add();
    /// });
    /// ```
    pub fn port_in<C: Colour>(&mut self, place: impl Source<Colour = C>) -> In<C> {
        let place = place.place();
        self.draft.port(place.at, false);
        In(place)
    }

    /// Gives a place of the outside to the module being drawn, to put tokens into.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (due, ticks) = (net.place("due"), net.place("ticks"));
    /// net.module("clock", |module| {
    ///     let (due, ticks) = (module.port_in(due), module.port_out(ticks));
    ///     module.transition("tick").consume(due, 1).produce(ticks, 1).add();
    /// });
    /// ```
    pub fn port_out<C: Colour>(&mut self, place: impl Sink<Colour = C>) -> Out<C> {
        let place = place.place();
        self.draft.port(place.at, true);
        Out(place)
    }

    /// Checks the net and compiles it.
    ///
    /// ```
    /// let mut net = fathom_net::NetBuilder::new("wrong");
    /// let nowhere = net.place::<u8>("nowhere");
    /// net.transition("wait").input(nowhere).add();
    /// let error = net.build().unwrap_err();
    /// assert!(error.to_string().contains("place `nowhere`"), "{error}");
    /// ```
    ///
    /// # Errors
    /// Lists everything that is wrong: names used twice, ports not used, places that no token can
    /// reach or that no arc touches, and handles of another net.
    pub fn build(mut self) -> Result<Net, NetError> {
        // A foreign handle may point anywhere, so nothing may follow it before it is reported.
        if !self.draft.has_foreign {
            let mut marking = Marking::new(self.draft.stores);
            self.draft.initial.into_iter().for_each(|put| put(&mut marking));
            self.draft.problems.extend(check::problems(&self.draft.structure, &marking.counts));
            if self.draft.problems.is_empty() {
                return Ok(Net::compile(self.draft.structure, self.draft.id, marking, self.draft.logic));
            }
        }
        Err(NetError::new(self.draft.structure.name, self.draft.problems))
    }
}

impl std::fmt::Debug for NetBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetBuilder").field("structure", &self.draft.structure).finish_non_exhaustive()
    }
}
