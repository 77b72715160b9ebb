//! What nearly every experiment speaks of.

pub(super) use super::{About, Along, Cost, Demands, Experiment, Figure, Nature, Others, Session};
pub(super) use crate::case::{Basis, Case, Kernel, Truth};
pub(super) use crate::finding::{Distribution, Evidence, Finding, Kind, Status, Value};
pub(super) use fathom_program::units::{Bytes, Nanos};
pub(super) use fathom_program::workload::{
    CacheState, CallKind, Pass, Region, ScratchFile, Traversal, Workload,
};
pub(super) use fathom_run::machine::Fault;
pub(super) use fathom_run::samples::Samples;
pub(super) use fathom_run::witness::{Declared, Witness};
