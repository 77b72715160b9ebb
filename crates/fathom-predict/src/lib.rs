//! Forecasts of runs that were never made: the model of a machine, its calibration and its validation.
//!
//! In reading order: each module uses only what stands above it.
#![cfg_attr(rustfmt, rustfmt_skip)]

pub mod model;
pub mod simulated;
pub mod prediction;
pub mod trial;
pub mod single_runs;
pub mod calibration;
pub mod sweep;
pub mod kernel_cache;
pub mod explanation;
pub mod validation;
