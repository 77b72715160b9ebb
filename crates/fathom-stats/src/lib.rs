//! Estimators as pure functions: slices in, estimate and interval out.
//!
//! Nothing here reads a clock, a file or a source of entropy. Where an estimator needs random
//! numbers the caller passes the generator, so that the same samples and the same seed give the
//! same answer on any machine.
//!
//! The first modules hold general statistics, the later ones the questions that latencies of
//! system calls raise:
//!
//! | module | question |
//! |---|---|
//! | [`quantile`] | where is the middle, how wide is the spread |
//! | [`interval`] | how sure is that: order statistics |
//! | [`linear`] | how does one quantity grow with another |
//! | [`nonlinear`] | which positive numbers of a model explain what was measured |
//! | [`matrix`] | rounds of the same sequence of operations, drift removed |
//! | [`comb`] | which operations of a sequence are regularly slower: nested periods |
//! | [`peak`] | is one operation of a sequence slower than its neighbours, time and again |
//! | [`levels`] | which reads hit the cache and which stalled |
//! | [`steady`] | at which period do the stalls of a sequence recur once it has settled |
//! | [`knee`] | does a unit cost more once there are many of them, and from where on |
//! | [`boundary`] | up to where are probes hits |
//! | [`difference`] | do two estimates differ by more than a factor |
//! | [`bend`] | where does a call's time, as it grows with its size, change its law |
//!
//! Two habits run through all of them. An answer that the data do not carry is an `Err` with the
//! reason, never a guess. And latencies are compared on a log scale, because everything that
//! disturbs them (clock frequency, a busy neighbour, a slower device) multiplies.

pub mod bend;
pub mod boundary;
pub mod comb;
pub mod difference;
pub mod distribution;
pub mod interval;
pub mod knee;
pub mod levels;
pub mod linear;
pub mod matrix;
pub mod nonlinear;
pub mod peak;
pub mod quantile;
pub mod steady;

pub use interval::{Estimate, Interval};
pub use matrix::Rounds;

#[cfg(test)]
mod tests;
