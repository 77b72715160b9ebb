//! Traces of other tools as they are imported, kept and looked at.

mod garbage;
mod importing;
mod parts;
mod readers;
#[path = "../support/mod.rs"]
mod support;
mod tools;
