//! One file per command.

pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod curve;
pub(crate) mod io;
pub(crate) mod lab;
pub(crate) mod list;
pub(crate) mod net;
pub(crate) mod predict;
pub(crate) mod probe;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod survey;
pub(crate) mod syscalls;
pub(crate) mod trace;
pub(crate) mod validate;
pub(crate) mod versus;
pub(crate) mod xor;
