//! Key indexes: the tokens of a place by a key, so that a join is a look-up.

use std::any::Any;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use crate::binding::Token;
use crate::chain::{Chain, ChainIter, Links, SlotId};

/// What keys are made of: any type that can be hashed.
///
/// ```
/// fn is_key<K: fathom_net::Key>() {}
/// is_key::<(u64, &'static str)>();
/// ```
pub trait Key: Hash + Eq + Clone + Send + Sync + 'static {}

impl<K: Hash + Eq + Clone + Send + Sync + 'static> Key for K {}

/// An index of a store, told of every token that comes, becomes available, and goes.
pub(crate) trait KeyIndex<C>: Any + Send + Sync {
    fn added(&mut self, slot: SlotId, token: &C, available: bool);
    fn released(&mut self, slot: SlotId, token: &C);
    fn removed(&mut self, slot: SlotId, token: &C);
    fn copy(&self) -> Box<dyn KeyIndex<C>>;
}

impl<C: 'static> Clone for Box<dyn KeyIndex<C>> {
    fn clone(&self) -> Self {
        self.copy()
    }
}

pub(crate) type KeyOf<C, K> = Arc<dyn Fn(&C) -> K + Send + Sync>;

/// Tokens by key.
pub(crate) struct HashIndex<C, K> {
    key_of: KeyOf<C, K>,
    entries: HashMap<K, Tokens, FxBuildHasher>,
    links: Links,
}

/// The tokens of one key.
#[derive(Clone, Copy)]
struct Tokens {
    available: Chain,
    /// Tokens of this key, available or not.
    total: u32,
}

impl<C, K: Key> HashIndex<C, K> {
    pub(crate) fn new(key_of: KeyOf<C, K>) -> Self {
        Self { key_of, entries: HashMap::default(), links: Links::default() }
    }

    /// The available tokens of a key.
    #[inline]
    pub(crate) fn offers(&self, key: &K) -> ChainIter<'_> {
        let chain = self.entries.get(key).map_or(Chain::EMPTY, |tokens| tokens.available);
        chain.iter(&self.links)
    }

    /// Whether any token has the key, available or not.
    #[inline]
    pub(crate) fn contains(&self, key: &K) -> bool {
        self.entries.contains_key(key)
    }
}

impl<C: Token, K: Key> KeyIndex<C> for HashIndex<C, K> {
    #[inline]
    fn added(&mut self, slot: SlotId, token: &C, available: bool) {
        let tokens =
            self.entries.entry((self.key_of)(token)).or_insert(Tokens { available: Chain::EMPTY, total: 0 });
        tokens.total += 1;
        if available {
            tokens.available.push(&mut self.links, slot);
        }
    }

    #[inline]
    fn released(&mut self, slot: SlotId, token: &C) {
        if let Some(tokens) = self.entries.get_mut(&(self.key_of)(token)) {
            tokens.available.push(&mut self.links, slot);
        }
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, token: &C) {
        if let Entry::Occupied(mut entry) = self.entries.entry((self.key_of)(token)) {
            let tokens = entry.get_mut();
            tokens.available.remove(&mut self.links, slot);
            tokens.total -= 1;
            if tokens.total == 0 {
                entry.remove();
            }
        }
    }

    fn copy(&self) -> Box<dyn KeyIndex<C>> {
        Box::new(Self {
            key_of: Arc::clone(&self.key_of),
            entries: self.entries.clone(),
            links: self.links.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_available_tokens_by_key() {
        let mut index = HashIndex::<(u32, u32), u32>::new(Arc::new(|token| token.0));
        index.added(0, &(7, 1), true);
        index.added(1, &(7, 2), false);
        index.added(2, &(8, 3), true);
        let found = |index: &HashIndex<_, _>, key| index.offers(&key).collect::<Vec<_>>();
        assert_eq!(found(&index, 7), [0]);
        index.released(1, &(7, 2));
        assert_eq!(found(&index, 7), [0, 1]);
        index.removed(0, &(7, 1));
        index.removed(1, &(7, 2));
        assert!(!index.contains(&7) && index.contains(&8));
    }
}
