//! Place and transition invariants of the uncoloured skeleton.
//!
//! Colours, guards, keys and time are left out: what remains is a place/transition net whose
//! incidence matrix has a row per place (fusion sets count as one) and a column per transition.
//! Whatever its invariants say also holds of the coloured net (Jensen & Kristensen, ch. 1; Murata,
//! "Petri Nets: Properties, Analysis and Applications", 1989, sec. V).

use std::fmt;

use crate::binding::Colour;
use crate::handle::Transition;
use crate::net::Net;
use crate::place::Place;
use crate::simulation::Simulation;

/// Rows that the elimination may hold; their number can grow exponentially with the net.
const MOST_ROWS: usize = 10_000;

/// Weights for the places such that no firing changes the weighted number of tokens.
///
/// The tokens counted include those not available yet. A place into which some arc expression puts
/// a number of tokens of its own choosing is in no invariant.
///
/// ```
/// use fathom_net::{NetBuilder, Simulation, Span};
/// let mut net = NetBuilder::new("cache");
/// let (free, used) = (net.place("free"), net.place::<u64>("used"));
/// net.initial(free, [(); 8]);
/// net.transition("fill").consume(free, 1).delay(Span::ticks(1)).output(used, |_, _| 7).add();
/// net.transition("evict").input(used).delay(Span::ticks(9)).produce(free, 1).add();
/// let net = net.build()?;
/// let invariants = net.place_invariants()?;
/// assert_eq!(invariants[0].to_string(), "free + used = 8"); // no page is lost
/// let mut sim = Simulation::new(&net, 1);
/// sim.run_while(|sim| sim.total_firings() < 1_000);
/// assert!(invariants.iter().all(|invariant| invariant.holds(&sim)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceInvariant {
    /// Weights by store; none is zero.
    weights: Vec<(u32, u64)>,
    names: Vec<String>,
    initial: u64,
}

/// Numbers of firings that together leave the number of tokens in every place as it was.
///
/// ```
/// # let mut net = fathom_net::NetBuilder::new("doc");
/// # let (a, b) = (net.place("a"), net.place("b"));
/// # net.initial(a, [()]);
/// let split = net.transition("split").consume(a, 1).produce(b, 2).add();
/// let eat = net.transition("join").consume(b, 2).produce(a, 1).add();
/// let cycles = net.build()?.transition_invariants()?;
/// assert_eq!(cycles[0].firings(split), 1);
/// assert_eq!(cycles[0].to_string(), "split + join");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionInvariant {
    counts: Vec<(u32, u64)>,
    names: Vec<String>,
}

/// The net has too many minimal invariants to list.
///
/// ```
/// use fathom_net::{NetBuilder, TooManyInvariants};
/// fn weights(net: &fathom_net::Net) -> Result<usize, TooManyInvariants> {
///     Ok(net.place_invariants()?.len())
/// }
/// # assert_eq!(weights(&NetBuilder::new("empty").build()?)?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyInvariants;

impl fmt::Display for TooManyInvariants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the search for invariants passed {MOST_ROWS} candidates; look for them module by module")
    }
}

impl std::error::Error for TooManyInvariants {}

impl Net {
    /// The minimal place invariants: all others are their sums.
    ///
    /// # Errors
    /// If there are too many to list.
    pub fn place_invariants(&self) -> Result<Vec<PlaceInvariant>, TooManyInvariants> {
        let net = &self.structure;
        let transitions = || net.transitions.iter();
        let free: Vec<u32> = transitions().flat_map(|t| net.given_freely(t)).collect();
        let counted: Vec<u32> = (0..net.stores.len() as u32).filter(|store| !free.contains(store)).collect();
        let effects: Vec<Vec<i128>> = transitions().map(|t| self.effect(t)).collect();
        let row = |&store: &u32| effects.iter().map(|effect| effect[store as usize]).collect();
        let found = minimal_solutions(counted.iter().map(row).collect())?;
        let invariant = |solution: Vec<u64>| {
            let weights: Vec<(u32, u64)> = nonzero(solution).map(|(i, w)| (counted[i], w)).collect();
            let tokens = |&(store, w): &(u32, u64)| w * u64::from(self.initial.counts[store as usize].total);
            PlaceInvariant {
                initial: weights.iter().map(tokens).sum(),
                names: weights.iter().map(|&(store, _)| net.store_name(store).into()).collect(),
                weights,
            }
        };
        Ok(found.into_iter().map(invariant).collect())
    }

    /// The minimal transition invariants: the cycles of the net.
    ///
    /// # Errors
    /// If there are too many to list.
    pub fn transition_invariants(&self) -> Result<Vec<TransitionInvariant>, TooManyInvariants> {
        let net = &self.structure;
        let fixed: Vec<usize> = (0..net.transitions.len())
            .filter(|&t| net.given_freely(&net.transitions[t]).is_empty())
            .collect();
        let rows = fixed.iter().map(|&t| self.effect(&net.transitions[t])).collect();
        let invariant = |solution: Vec<u64>| {
            let counts: Vec<(u32, u64)> =
                nonzero(solution).map(|(i, count)| (fixed[i] as u32, count)).collect();
            let name = |&(t, _): &(u32, u64)| net.transitions[t as usize].name.clone();
            TransitionInvariant { names: counts.iter().map(name).collect(), counts }
        };
        Ok(minimal_solutions(rows)?.into_iter().map(invariant).collect())
    }

    /// What a firing adds to each store.
    fn effect(&self, transition: &crate::structure::TransitionNode) -> Vec<i128> {
        let mut effect = vec![0; self.structure.stores.len()];
        for (store, taken) in self.structure.taken(transition) {
            effect[store as usize] -= i128::from(taken);
        }
        for (store, given) in self.structure.given(transition) {
            effect[store as usize] += i128::from(given);
        }
        effect
    }
}

impl PlaceInvariant {
    /// The weight of a place; 0 if the invariant does not count it.
    ///
    /// ```
    /// # let mut net = fathom_net::NetBuilder::new("doc");
    /// # let (a, b) = (net.place("a"), net.place("b"));
    /// # net.initial(a, [()]);
    /// # net.transition("split").consume(a, 1).produce(b, 2).add();
    /// let net = net.build()?;
    /// assert_eq!(net.place_invariants()?[0].weight(a), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn weight<C: Colour>(&self, place: Place<C>) -> u64 {
        let found = self.weights.iter().find(|&&(store, _)| store == place.at.store);
        found.map_or(0, |&(_, weight)| weight)
    }

    /// Whether a simulation's marking has the weighted sum of the initial one.
    #[must_use]
    pub fn holds(&self, sim: &Simulation<'_>) -> bool {
        let tokens = |store: u32| u64::from(sim.marking.counts[store as usize].total);
        self.weights.iter().map(|&(store, weight)| weight * tokens(store)).sum::<u64>() == self.initial
    }
}

impl TransitionInvariant {
    /// How often a transition fires in the cycle.
    #[must_use]
    pub fn firings(&self, transition: Transition) -> u64 {
        let found = self.counts.iter().find(|&&(number, _)| number == transition.0);
        found.map_or(0, |&(_, count)| count)
    }
}

impl fmt::Display for PlaceInvariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_sum(f, &self.names, &self.weights)?;
        write!(f, " = {}", self.initial)
    }
}

impl fmt::Display for TransitionInvariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_sum(f, &self.names, &self.counts)
    }
}

fn write_sum(f: &mut fmt::Formatter<'_>, names: &[String], weights: &[(u32, u64)]) -> fmt::Result {
    for (i, (name, &(_, weight))) in names.iter().zip(weights).enumerate() {
        let plus = if i == 0 { "" } else { " + " };
        match weight {
            1 => write!(f, "{plus}{name}")?,
            weight => write!(f, "{plus}{weight} {name}")?,
        }
    }
    Ok(())
}

fn nonzero(solution: Vec<u64>) -> impl Iterator<Item = (usize, u64)> {
    solution.into_iter().enumerate().filter(|&(_, weight)| weight > 0)
}

/// One non-negative combination of the rows of a matrix, and what it sums to.
#[derive(Clone)]
struct Row {
    sums: Vec<i128>,
    weights: Vec<i128>,
}

/// The minimal non-negative integer combinations of rows that sum to zero.
///
/// The algorithm of Farkas, as given by Martinez & Silva, "A Simple and Fast Algorithm to Obtain
/// All Invariants of a Generalised Petri Net", 1982: column by column, rows of opposite sign are
/// added so that they cancel, and combinations that use more rows than another are dropped.
fn minimal_solutions(matrix: Vec<Vec<i128>>) -> Result<Vec<Vec<u64>>, TooManyInvariants> {
    let (height, width) = (matrix.len(), matrix.first().map_or(0, Vec::len));
    let unit = |i: usize| (0..height).map(|j| i128::from(i == j)).collect();
    let mut rows: Vec<Row> =
        matrix.into_iter().enumerate().map(|(i, sums)| Row { sums, weights: unit(i) }).collect();
    for column in 0..width {
        let (mut kept, others): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| row.sums[column] == 0);
        let (gaining, losing): (Vec<Row>, Vec<Row>) =
            others.into_iter().partition(|row| row.sums[column] > 0);
        for gain in &gaining {
            for loss in &losing {
                kept.push(cancel(gain, loss, column));
            }
            if kept.len() > MOST_ROWS {
                return Err(TooManyInvariants);
            }
        }
        rows = minimal(kept);
    }
    let weights = |row: Row| row.weights.into_iter().map(|weight| weight as u64).collect();
    Ok(rows.into_iter().map(weights).collect())
}

/// The smallest combination of two rows that is zero in a column in which their signs differ.
fn cancel(gain: &Row, loss: &Row, column: usize) -> Row {
    let (up, down) = (gain.sums[column], -loss.sums[column]);
    let add =
        |a: &[i128], b: &[i128]| -> Vec<i128> { a.iter().zip(b).map(|(a, b)| a * down + b * up).collect() };
    let (mut sums, mut weights) = (add(&gain.sums, &loss.sums), add(&gain.weights, &loss.weights));
    let divisor = sums.iter().chain(&weights).fold(0, |divisor, &n| common_divisor(divisor, n));
    if divisor > 1 {
        sums.iter_mut().chain(&mut weights).for_each(|n| *n /= divisor);
    }
    Row { sums, weights }
}

/// The rows that use no superset of the rows that another uses; of equals one.
fn minimal(mut rows: Vec<Row>) -> Vec<Row> {
    let support = |row: &Row| row.weights.iter().filter(|&&weight| weight != 0).count();
    rows.sort_by_cached_key(|row| support(row));
    let mut kept: Vec<Row> = Vec::new();
    for row in rows {
        let uses_all = |other: &Row| {
            other.weights.iter().zip(&row.weights).all(|(&theirs, &ours)| theirs == 0 || ours != 0)
        };
        if !kept.iter().any(uses_all) {
            kept.push(row);
        }
    }
    kept
}

fn common_divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_minimal_solutions() {
        // Places a, b, c; transitions a -> b, b -> a, 2b -> c.
        let by_place = vec![vec![-1, 1, 0], vec![1, -1, -2], vec![0, 0, 1]];
        assert_eq!(minimal_solutions(by_place), Ok(vec![vec![1, 1, 2]]));
        let by_transition = vec![vec![-1, 1, 0], vec![1, -1, 0], vec![0, -2, 1]];
        assert_eq!(minimal_solutions(by_transition), Ok(vec![vec![1, 1, 0]]));
    }
}
