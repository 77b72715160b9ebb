//! What a file system hides: experiments, inference, findings, and the lab that proves them.
//!
//! In reading order: each module uses only what stands above it.
#![cfg_attr(rustfmt, rustfmt_skip)]

pub mod inference;
pub mod recipe;
pub mod finding;
pub mod case;
pub mod experiment;
pub mod recorded;
pub mod survey;
pub mod lab;
