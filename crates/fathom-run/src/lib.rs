//! Programs on Linux: what to do goes in, raw readings come out.
//!
//! In reading order: each module uses only what stands above it.
#![cfg_attr(rustfmt, rustfmt_skip)]

pub mod samples;
pub mod instrument;
pub mod scratch;
pub mod intrusion;
pub mod fault;
pub mod watch;
pub mod provenance;
pub mod witness;
mod executor;
pub mod machine;
pub mod load;
pub mod replay;
