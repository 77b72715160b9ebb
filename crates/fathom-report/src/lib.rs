//! Values in, text, pages and files out.
//!
//! In reading order: each module uses only what stands above it.
#![cfg_attr(rustfmt, rustfmt_skip)]

pub mod comparison;
pub mod run_folder;
pub mod report;
pub mod results;
