//! What a net looks like: its pages, places, transitions and arcs, without colours or functions.
//!
//! Checks and drawing read this and nothing else of a net.

use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct Structure {
    pub(crate) name: String,
    /// The first page is the net itself.
    pub(crate) pages: Vec<Page>,
    pub(crate) places: Vec<PlaceNode>,
    /// The colour of each store's tokens. A store is what is behind one place or fusion set.
    pub(crate) colours: Vec<String>,
    pub(crate) transitions: Vec<TransitionNode>,
}

/// A module's page.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// The path, `read/cache`; empty for the net itself.
    pub(crate) path: String,
    pub(crate) parent: Option<usize>,
    pub(crate) ports: Vec<Port>,
}

/// A place of the outside that a module was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    pub(crate) place: u32,
    pub(crate) gives: bool,
}

/// A place as drawn. Members of a fusion set share a store.
#[derive(Clone, Debug)]
pub(crate) struct PlaceNode {
    pub(crate) name: String,
    pub(crate) page: usize,
    pub(crate) store: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct TransitionNode {
    pub(crate) name: String,
    pub(crate) page: usize,
    pub(crate) priority: i32,
    /// Whether it takes time.
    pub(crate) is_delayed: bool,
    pub(crate) arcs: Vec<Arc>,
    pub(crate) guarded: bool,
    /// Bindings are refused by more than the number of tokens: a guard, or an arc by key.
    pub(crate) selective: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Arc {
    pub(crate) place: u32,
    pub(crate) kind: ArcKind,
    pub(crate) keyed: bool,
    /// One of the two arcs of an update: the token is there again when the firing is over.
    pub(crate) holds: bool,
}

/// What an arc does with tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArcKind {
    /// Takes this many.
    Input(u32),
    /// Needs one and leaves it.
    Read,
    /// Needs fewer than this many.
    Inhibitor(u32),
    /// Puts this many; `None` when the arc expression decides.
    Output(Option<u32>),
}

impl Structure {
    pub(crate) fn store_of(&self, arc: &Arc) -> u32 {
        self.places[arc.place as usize].store
    }

    /// Tokens that a transition takes from each store.
    pub(crate) fn taken(&self, transition: &TransitionNode) -> BTreeMap<u32, u32> {
        self.sum(transition, |kind| match kind {
            ArcKind::Input(weight) => weight,
            _ => 0,
        })
    }

    /// Tokens that must be available in each store for a transition to be enabled.
    pub(crate) fn needed(&self, transition: &TransitionNode) -> BTreeMap<u32, u32> {
        self.sum(transition, |kind| match kind {
            ArcKind::Input(weight) => weight,
            ArcKind::Read => 1,
            _ => 0,
        })
    }

    /// Stores into which a transition puts tokens.
    pub(crate) fn given(&self, transition: &TransitionNode) -> Vec<u32> {
        let out = transition.arcs.iter().filter(|arc| matches!(arc.kind, ArcKind::Output(_)));
        out.map(|arc| self.store_of(arc)).collect()
    }

    /// Stores of which a transition only changes tokens in place, so that as many are available after.
    pub(crate) fn held(&self, transition: &TransitionNode) -> Vec<u32> {
        let store = |arc: &Arc| self.store_of(arc);
        let moved: Vec<u32> = transition.arcs.iter().filter(|arc| !arc.holds).map(store).collect();
        let held = transition.arcs.iter().filter(|arc| arc.holds).map(store);
        held.filter(|store| !moved.contains(store)).collect()
    }

    fn sum(&self, transition: &TransitionNode, weight: impl Fn(ArcKind) -> u32) -> BTreeMap<u32, u32> {
        let mut sums = BTreeMap::new();
        for arc in &transition.arcs {
            let weight = weight(arc.kind);
            if weight > 0 {
                *sums.entry(self.store_of(arc)).or_insert(0) += weight;
            }
        }
        sums
    }

    /// The name of a store: that of the first place that has it.
    pub(crate) fn store_name(&self, store: u32) -> &str {
        let first = self.places.iter().find(|place| place.store == store);
        first.map_or("", |place| &place.name)
    }
}
