//! Markings of one place, numbered as they are first seen.
//!
//! A state of the state space is then a row of numbers, one per place, and places that many states
//! share are kept once (Jensen & Kristensen, ch. 8, on storing state spaces).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::binding::Colour;
use crate::store::{AnyStore, typed, typed_mut};

/// The distinct markings of a place whose colour is `C`.
pub(crate) struct Shelf<C> {
    numbers: BTreeMap<Arc<[C]>, u32>,
    markings: Vec<Arc<[C]>>,
}

/// A shelf without its colour.
pub(crate) trait AnyShelf {
    /// The number of the store's marking.
    fn number(&mut self, store: &dyn AnyStore) -> u32;
    /// Puts a numbered marking into the store.
    fn refill(&self, number: u32, store: &mut dyn AnyStore);
    /// The tokens of a numbered marking.
    fn len(&self, number: u32) -> usize;
    /// The tokens of a numbered marking, printed, in the order of the colours.
    fn printed(&self, number: u32) -> Vec<String>;
}

impl<C: Colour> Shelf<C> {
    pub(crate) fn new() -> Self {
        Self { numbers: BTreeMap::new(), markings: Vec::new() }
    }
}

impl<C: Colour> AnyShelf for Shelf<C> {
    fn number(&mut self, store: &dyn AnyStore) -> u32 {
        let mut tokens: Vec<C> = typed::<C>(store).tokens().map(|(token, _)| token.clone()).collect();
        tokens.sort();
        if let Some(&number) = self.numbers.get(tokens.as_slice()) {
            return number;
        }
        let marking: Arc<[C]> = tokens.into();
        let number = self.markings.len() as u32;
        self.markings.push(Arc::clone(&marking));
        self.numbers.insert(marking, number);
        number
    }

    fn refill(&self, number: u32, store: &mut dyn AnyStore) {
        let store = typed_mut::<C>(store);
        store.refill(&self.markings[number as usize]);
    }

    fn len(&self, number: u32) -> usize {
        self.markings[number as usize].len()
    }

    fn printed(&self, number: u32) -> Vec<String> {
        self.markings[number as usize].iter().map(|token| format!("{token:?}")).collect()
    }
}
