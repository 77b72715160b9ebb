//! What to do, never how: passes of experiments and fio jobs, as plain values.
//!
//! In reading order: each module uses only what stands above it.
#![cfg_attr(rustfmt, rustfmt_skip)]

pub mod units;
pub mod shuffle;
pub mod call;
pub mod program;
pub mod workload;
pub mod passes;
pub(crate) mod dice;
pub mod job;
pub(crate) mod distribution;
pub mod offsets;
pub(crate) mod next_file;
pub mod job_calls;
