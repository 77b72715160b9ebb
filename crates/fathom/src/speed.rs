//! How fast: files moved by blocks, the price of a system call, throughput curves, and the XOR of a
//! file at the machine's limit.
//!
//! Whatever is timed again and again becomes a [`measurement::Measurement`]; every output format is
//! written from a list of those.

pub mod curve;
pub mod measurement;
pub mod rounds;
pub mod versus;
pub mod watch;
pub mod xor;
