//! How fast: files moved by blocks, the cost of a system call, throughput curves, and the XOR of a
//! file at the machine's limit.
//!
//! Whatever is timed again and again becomes a [`measurement::Measurement`]; every output format is
//! written from a list of those.

pub mod curve;
pub mod file_size;
pub mod jobs;
pub mod measurement;
pub mod pattern;
pub mod rounds;
pub mod syscalls;
pub mod transfer;
pub mod versus;
pub mod xor;
