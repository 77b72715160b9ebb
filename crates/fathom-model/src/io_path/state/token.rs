//! The kernel's memory as a token of a net.

use std::cmp::Ordering;
use std::fmt;

use super::State;

// A net orders the tokens of a place; of this one there is only ever one.
impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.0.cache == other.0.cache && self.0.totals == other.0.totals
    }
}

impl Eq for State {}

impl PartialOrd for State {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for State {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cache.cmp(&other.0.cache).then(self.0.totals.calls.cmp(&other.0.totals.calls))
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} after {} calls", self.0.cache, self.0.totals.calls)
    }
}
