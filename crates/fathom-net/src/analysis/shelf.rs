//! Markings of one place, numbered as they are first seen.
//!
//! A state of the state space is then a row of numbers, one per place, and places that many states
//! share are kept once (Jensen & Kristensen, ch. 8, on storing state spaces).

use crate::store::AnyStore;

/// The distinct markings of a place, as canonical stores.
#[derive(Default)]
pub(crate) struct Shelf {
    /// By number.
    markings: Vec<Box<dyn AnyStore>>,
    /// The numbers, in the order of the markings.
    sorted: Vec<u32>,
}

impl Shelf {
    /// The number of a store's marking. The store's tokens have an order.
    pub(crate) fn number(&mut self, store: &dyn AnyStore) -> u32 {
        let marking = store.canonical().expect("the tokens have an order");
        let number = self.markings.len() as u32;
        match self.sorted.binary_search_by(|known| self.marking(*known).compare(marking.as_ref())) {
            Ok(at) => self.sorted[at],
            Err(at) => {
                self.sorted.insert(at, number);
                self.markings.push(marking);
                number
            }
        }
    }

    /// The marking of a number.
    pub(crate) fn marking(&self, number: u32) -> &dyn AnyStore {
        self.markings[number as usize].as_ref()
    }
}
