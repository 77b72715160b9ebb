//! From samples to an estimate. Nothing here touches a machine, a witness or a declaration.

pub mod ahead;
pub mod carrying;
pub mod combs;
pub mod commits;
pub mod copies;
pub mod cost_line;
pub mod in_flight;
pub mod latency;
pub mod pointers;
pub mod primed;
pub mod quiet;
pub mod ramp;
pub mod reach;
pub mod replacement;
pub mod stalls;
pub mod steps;
pub mod survivors;
pub mod throttle;
