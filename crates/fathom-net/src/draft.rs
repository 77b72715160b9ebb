//! A net while it is drawn: what the builders of nets and of transitions add to.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::binding::Token;
use crate::handle::Transition;
use crate::logic::Logic;
use crate::marking::Marking;
use crate::place::{Address, Place};
use crate::store::{AnyStore, Store};
use crate::structure::{Page, PlaceNode, Port, Structure, TransitionNode};

/// The parts of a net so far, and what is wrong with them.
pub(crate) struct Draft {
    pub(crate) id: u64,
    pub(crate) structure: Structure,
    /// The page that is being drawn.
    pub(crate) page: usize,
    pub(crate) stores: Vec<Box<dyn AnyStore>>,
    pub(crate) initial: Vec<Put>,
    pub(crate) logic: Vec<Box<dyn Logic>>,
    pub(crate) problems: Vec<String>,
    /// Whether another net gave out one of its places.
    pub(crate) has_foreign: bool,
}

/// Puts tokens of the initial marking where they belong, once the whole net is known.
pub(crate) type Put = Box<dyn FnOnce(&mut Marking)>;

/// Tells the handles of one net from those of another.
static NETS: AtomicU64 = AtomicU64::new(0);

impl Draft {
    pub(crate) fn new(name: &str) -> Self {
        let top = Page { path: String::new(), parent: None, ports: Vec::new() };
        Self {
            id: NETS.fetch_add(1, Ordering::Relaxed),
            structure: Structure { name: name.into(), pages: vec![top], ..Structure::default() },
            page: 0,
            stores: Vec::new(),
            initial: Vec::new(),
            logic: Vec::new(),
            problems: Vec::new(),
            has_foreign: false,
        }
    }

    /// A name below the page being drawn.
    pub(crate) fn path_of(&self, name: &str) -> String {
        match self.structure.pages[self.page].path.as_str() {
            "" => name.into(),
            path => format!("{path}/{name}"),
        }
    }

    /// Notes a place handle that another net gave out.
    pub(crate) fn check_handle(&mut self, at: Address, user: &str) {
        if at.net != self.id {
            self.has_foreign = true;
            self.problems
                .push(format!("{user} uses a place of another net; use a handle that this net gave out"));
        }
    }

    pub(crate) fn add_transition(&mut self, node: TransitionNode, logic: Box<dyn Logic>) -> Transition {
        self.structure.transitions.push(node);
        self.logic.push(logic);
        Transition(self.logic.len() as u32 - 1)
    }

    /// Draws a place on the page, with the tokens of a store.
    pub(crate) fn place_node<C>(&mut self, name: &str, store: u32) -> Place<C> {
        let name = self.path_of(name);
        self.structure.places.push(PlaceNode { name, page: self.page, store });
        let node = self.structure.places.len() as u32 - 1;
        Place::new(Address { net: self.id, node, store })
    }

    /// Makes a place a port of the module being drawn.
    pub(crate) fn port(&mut self, at: Address, gives: bool) {
        let path = self.structure.pages[self.page].path.clone();
        self.check_handle(at, &path);
        if self.page == 0 {
            let place = at.node;
            self.problems
                .push(format!("place #{place} is made a port outside any module; use the place itself"));
        }
        self.structure.pages[self.page].ports.push(Port { place: at.node, gives });
    }

    /// The store of a place, unless another net gave out the handle.
    pub(crate) fn store<C: Token>(&mut self, place: Place<C>, user: &str) -> Option<&mut Store<C>> {
        self.check_handle(place.at, user);
        let store: &mut dyn Any = self.stores.get_mut(place.at.store as usize)?.as_mut();
        store.downcast_mut()
    }
}
