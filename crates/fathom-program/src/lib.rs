//! What to do, never how: passes of experiments and fio jobs, as plain values.
//!
//! In reading order: each module uses only what stands above it.
#![cfg_attr(rustfmt, rustfmt_skip)]

pub mod units;
pub mod shuffle;
pub mod workload;
pub mod job;
pub mod offsets;
