//! The Linux I/O path as a model.
//!
//! The kernel's *decisions* (which pages it reads ahead, which it keeps, which it evicts) are pure code in
//! [`page_cache`], [`read_ahead`], [`file_read`], [`file_write`] and [`page_writeback`], function by function under the
//! kernel's own names; the C library's decisions, in [`stdio`]. This code knows no time, and is compared with the
//! kernel's tracepoints event by event. How long it all takes is a net, [`io_path`], whose transitions call that code;
//! the times come from a set of [`parameters`].
//!
//! The crate opens no file, asks no kernel and reads no clock.
//!
//! In reading order: each module uses only what stands above it.
#![cfg_attr(rustfmt, rustfmt_skip)]

mod choice;
pub mod kernel;
pub mod bit_set;
pub mod page_cache;
pub mod read_ahead;
pub mod file_read;
pub mod file_write;
pub mod page_writeback;
pub mod allocation;
pub mod scheduler;
pub mod writeback_throttle;
pub mod stdio;
pub mod parameters;
pub mod presets;
pub mod io_path;
