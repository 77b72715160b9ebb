//! Fathom: measure, explain and predict a file system.
//!
//! There is one seam: a [`Machine`](machine::Machine) runs a [`Workload`](workload::Workload) and
//! gives back [`Samples`](samples::Samples). An experiment asks its question of *a* machine and
//! cannot know which. The library prints nothing; ARCHITECTURE.md has the map.
//!
//! Each room is a crate of its own; this one gathers what they offer under one name. Begin with a
//! [`Session`](session::Session): it measures, surveys, calibrates and validates within a budget.

pub mod watchdog;
pub mod session;

pub use fathom_predict::{
    calibration, explanation, kernel_cache, model, prediction, simulated, sweep, trial, validation,
};
pub use fathom_program::{job, units, workload};
pub use fathom_report::{comparison, report, results, run_folder};
pub use fathom_run::{
    fault, instrument, intrusion, load, machine, provenance, replay, samples, scratch, watch, witness,
};
pub use fathom_speed as speed;
pub use fathom_survey::{case, experiment, finding, inference, lab, recipe, recorded, survey};
