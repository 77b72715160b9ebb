//! Fathom: measure, explain and predict a file system.
//!
//! There is one seam: a [`Machine`](machine::Machine) runs a [`Workload`](workload::Workload) and
//! gives back [`Samples`](samples::Samples). An experiment asks its question of *a* machine and
//! cannot know which. The library prints nothing; ARCHITECTURE.md has the map.
//!
//! In reading order: each module uses only what stands above it.
#![cfg_attr(rustfmt, rustfmt_skip)]

pub mod units;
mod shuffle;
pub mod workload;
pub mod job;
pub mod samples;
pub mod instrument;
pub mod scratch;
pub mod intrusion;
pub mod fault;
pub mod provenance;
pub mod witness;
pub mod machine;
pub mod load;
pub mod replay;
pub mod inference;
pub mod recipe;
pub mod finding;
pub mod experiment;
pub mod survey;
pub mod speed;
pub mod model;
pub mod prediction;
pub mod trial;
pub mod calibration;
pub mod validation;
pub mod lab;
pub mod comparison;
pub mod run_folder;
pub mod report;
