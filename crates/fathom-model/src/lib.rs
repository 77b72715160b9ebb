//! The Linux I/O path as a model.
//!
//! What the kernel *decides* (which pages it reads ahead, which it keeps, which it gives up) is pure code
//! in [`page_cache`], [`read_ahead`], [`file_read`], [`file_write`] and
//! [`page_writeback`], function by function under the kernel's own
//! names; what the C library asks of it, in [`stdio`]. It knows no time, and is held against the kernel's tracepoints event by event. What that *costs*
//! is a net, [`io_path`], whose transitions call it, at the prices of a set of [`parameters`].
//!
//! The crate opens no file, asks no kernel and reads no clock.

pub mod allocation;
pub mod components;
pub mod file_read;
pub mod file_write;
pub mod io_path;
pub mod page_cache;
pub mod page_set;
pub mod page_writeback;
pub mod parameters;
pub mod presets;
pub mod read_ahead;
pub mod scheduler;
pub mod stdio;
pub mod writeback_throttle;
