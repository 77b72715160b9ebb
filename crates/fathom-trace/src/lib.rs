//! Traces: what programs asked of files, or file systems of devices, one operation after the other.
//!
//! [`import`] reads other tools' traces, [`record`] makes new ones, [`mod@format`] keeps them, [`show`] says what they do.

mod calls;
pub mod error;
pub mod export;
pub mod format;
pub mod import;
pub mod operation;
pub mod record;
pub mod replay;
pub mod show;

pub use error::{Error, Result};
pub use operation::{CallKind, Clock, Direction, FileId, Files, Level, Operation, Origin};
