//! A net as built: immutable, shared by every simulation of it.

use std::any::Any;

use crate::binding::Token;
use crate::logic::Logic;
use crate::marking::Marking;
use crate::place::{Address, Place};
use crate::store::{Store, StoreSet};
use crate::structure::{Arc, ArcKind, Structure, TransitionNode};

/// A checked and compiled net. Simulations borrow it, on any number of threads.
///
/// ```
/// let mut net = fathom_net::NetBuilder::new("handover");
/// let (from, to) = (net.place("from"), net.place("to"));
/// net.initial(from, [()]);
/// net.transition("hand over").consume(from, 1).produce(to, 1).add();
/// let net = net.build()?;
/// assert_eq!(net.name(), "handover");
/// # Ok::<(), fathom_net::NetError>(())
/// ```
pub struct Net {
    pub(crate) structure: Structure,
    pub(crate) id: u64,
    pub(crate) initial: Marking,
    pub(crate) logic: Vec<Box<dyn Logic>>,
    pub(crate) rules: Vec<Rule>,
    /// Priority level of each transition; 0 fires first.
    pub(crate) levels: Vec<u32>,
    /// Transitions that a token becoming available in a store may enable.
    pub(crate) consumers: Vec<Box<[u32]>>,
}

/// When a transition is enabled, and which others its firing concerns.
pub(crate) struct Rule {
    /// Stores that must hold an available token.
    filled: StoreSet,
    /// Whether that is all that is asked for.
    simple: bool,
    /// Stores that must hold at least this many available tokens, where one is not enough or the set has no room.
    needs: Box<[(u32, u32)]>,
    /// Stores that may hold at most this many tokens: inhibitor arcs.
    ceilings: Box<[(u32, u32)]>,
    /// Guards or keys have a say too.
    selective: bool,
    /// Transitions that its firing may only disable, only enable, or change either way.
    pub(crate) disables: Box<[u32]>,
    pub(crate) enables: Box<[u32]>,
    pub(crate) changes: Box<[u32]>,
}

impl Net {
    /// The name given to the builder.
    pub fn name(&self) -> &str {
        &self.structure.name
    }

    /// The place of a name and colour; `None` if no place has both.
    ///
    /// ```
    /// let mut net = fathom_net::NetBuilder::new("doc");
    /// let jobs = net.place::<u8>("jobs");
    /// net.initial(jobs, [1]);
    /// net.transition("drop").input(jobs).add();
    /// let net = net.build()?;
    /// assert!(net.place::<u8>("jobs").is_some() && net.place::<u16>("jobs").is_none());
    /// # Ok::<(), fathom_net::NetError>(())
    /// ```
    pub fn place<C: Token>(&self, name: &str) -> Option<Place<C>> {
        let node = self.structure.places.iter().position(|place| place.name == name)?;
        let store = self.structure.places[node].store;
        let tokens: &dyn Any = self.initial.stores[store as usize].as_ref();
        tokens.is::<Store<C>>().then(|| Place::new(Address { net: self.id, node: node as u32, store }))
    }

    /// The path of every module, those around it before it; the first is the whole net, and empty.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.structure.pages.iter().map(|page| page.path.as_str())
    }

    pub(crate) fn compile(
        structure: Structure,
        id: u64,
        initial: Marking,
        logic: Vec<Box<dyn Logic>>,
    ) -> Self {
        let consumers = per_store(&structure, |kind| matches!(kind, ArcKind::Input(_) | ArcKind::Read));
        let limited = per_store(&structure, |kind| matches!(kind, ArcKind::Inhibitor(_)));
        let rules = (0..logic.len() as u32)
            .map(|transition| Rule::new(&structure, transition, &consumers, &limited))
            .collect();
        let mut priorities: Vec<i32> = structure.transitions.iter().map(|t| t.priority).collect();
        let all = priorities.clone();
        priorities.sort_by(|a, b| b.cmp(a));
        priorities.dedup();
        let level = |priority: &i32| priorities.iter().position(|p| p == priority).unwrap_or(0);
        let levels = all.iter().map(|priority| level(priority) as u32).collect();
        Self { structure, id, initial, logic, rules, levels, consumers }
    }

    /// Whether some binding of a transition is enabled.
    #[inline]
    pub(crate) fn is_enabled(&self, transition: u32, marking: &Marking) -> bool {
        let rule = &self.rules[transition as usize];
        marking.filled.holds(rule.filled)
            && (rule.simple
                || rule.has_tokens(marking)
                    && (!rule.selective || self.logic[transition as usize].is_satisfiable(marking)))
    }
}

impl std::fmt::Debug for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Net").field("structure", &self.structure).finish_non_exhaustive()
    }
}

impl Rule {
    fn new(net: &Structure, transition: u32, consumers: &[Box<[u32]>], limited: &[Box<[u32]>]) -> Self {
        let node = &net.transitions[transition as usize];
        let (taken, given) = (net.taken(node), net.given(node));
        let held = net.held(node);
        // Where tokens are only changed in place, only those concern themselves who look at their colours.
        let concerns = |store: u32, &other: &u32| {
            !held.contains(&store) || other == transition || net.transitions[other as usize].selective
        };
        let touching = |stores: &mut dyn Iterator<Item = u32>, lists: &[Box<[u32]>]| {
            let of = |store: u32| lists[store as usize].iter().copied().filter(move |t| concerns(store, t));
            stores.flat_map(of).collect::<Vec<u32>>()
        };
        let mut disables = vec![transition];
        disables.extend(touching(&mut taken.keys().copied(), consumers));
        disables.extend(touching(&mut given.iter().copied(), limited));
        let mut enables = touching(&mut given.iter().copied(), consumers);
        enables.extend(touching(&mut taken.keys().copied(), limited));
        let mut filled = StoreSet::default();
        let needs: Box<[_]> =
            net.needed(node).into_iter().filter(|&(store, least)| !filled.add(store) || least > 1).collect();
        let ceilings = ceilings(net, node);
        Self {
            filled,
            simple: needs.is_empty() && ceilings.is_empty() && !node.selective,
            needs,
            ceilings,
            selective: node.selective,
            disables: sorted(disables.iter().copied().filter(|t| !enables.contains(t)).collect()),
            enables: sorted(enables.iter().copied().filter(|t| !disables.contains(t)).collect()),
            changes: sorted(enables.iter().copied().filter(|t| disables.contains(t)).collect()),
        }
    }

    /// Whether every place holds enough tokens, and none too many, once none is empty that must not be.
    fn has_tokens(&self, marking: &Marking) -> bool {
        let count = |store: u32| &marking.counts[store as usize];
        self.needs.iter().all(|&(store, least)| count(store).available >= least)
            && self.ceilings.iter().all(|&(store, most)| count(store).total <= most)
    }
}

/// The most tokens that each store may hold for a transition to be enabled.
fn ceilings(net: &Structure, transition: &TransitionNode) -> Box<[(u32, u32)]> {
    let ceiling = |arc: &Arc| match (arc.kind, arc.keyed) {
        (ArcKind::Inhibitor(limit), false) => Some((net.store_of(arc), limit.saturating_sub(1))),
        _ => None,
    };
    transition.arcs.iter().filter_map(ceiling).collect()
}

/// For each store, the transitions with an arc that `concerns` it.
fn per_store(net: &Structure, concerns: impl Fn(ArcKind) -> bool) -> Vec<Box<[u32]>> {
    let mut lists = vec![Vec::new(); net.colours.len()];
    for (number, transition) in net.transitions.iter().enumerate() {
        for arc in transition.arcs.iter().filter(|arc| concerns(arc.kind)) {
            lists[net.store_of(arc) as usize].push(number as u32);
        }
    }
    lists.into_iter().map(sorted).collect()
}

fn sorted(mut list: Vec<u32>) -> Box<[u32]> {
    list.sort_unstable();
    list.dedup();
    list.into()
}
