//! From samples to an estimate. Nothing here touches a machine, a witness or a declaration.

pub mod combs;
pub mod pointers;
pub mod ramp;
pub mod reach;
pub mod stalls;
