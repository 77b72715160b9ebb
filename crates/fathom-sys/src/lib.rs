//! Clock, system calls, cache control and facts about mounts and devices.
//!
//! This is the only crate with `unsafe`, and every unsafe block says why it is sound. It knows
//! nothing of experiments or statistics: it hands out raw readings, and others make sense of them.
//!
//! A function whose documentation names a call as its source fails with the errors of that call; errors are documented
//! where there is more to say.
//!
//! # Example
//! ```
//! use fathom_sys::clock::{Counter, MonotonicRaw};
//!
//! let clock = MonotonicRaw;
//! let before = clock.start();
//! let after = clock.stop();
//! assert!(after >= before);
//! ```
#![cfg(target_os = "linux")]
#![allow(clippy::missing_errors_doc, reason = "errors of system calls stand in their manual pages")]

pub mod affinity;
pub mod below;
pub mod blocked;
pub mod cache;
pub mod call_number;
pub mod cgroup;
pub mod clock;
pub mod dirty;
pub mod entry;
mod error;
pub mod facts;
pub mod file;
pub mod journal;
pub mod layout;
pub mod loop_device;
pub mod memory;
pub mod mount;
pub mod mountstats;
pub mod placement;
pub mod process;
pub mod queue;
pub mod repeat;
pub mod stripes;
pub mod tracing;
pub mod transfer;
pub mod usage;
pub mod view;

pub use error::{Error, Result, plain};
