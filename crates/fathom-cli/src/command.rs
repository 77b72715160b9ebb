//! One file per command.

pub(crate) mod list;
pub(crate) mod probe;
pub(crate) mod survey;
