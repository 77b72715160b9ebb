//! Jobs that the model's calibration ran as well: whether the machine still is what the model was made of.
//!
//! Runs that follow each other tell how much a machine differs from minute to minute, and nothing of what has changed since
//! somebody calibrated. No model of then is closer than the two are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibration;
use crate::model::Model;
use crate::prediction;
use crate::trial::Trial;
use fathom_program::job::Job;

/// A job that a calibration ran without fitting anything to it, run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Again {
    /// The name of the job.
    pub name: String,
    /// The class of the job.
    pub class: String,
    /// Bytes per second in both directions when the model was made: the median of its runs.
    pub then: f64,
    /// Bytes per second in both directions now.
    pub now: f64,
}

impl Again {
    /// By how much the job is faster now, as a share.
    pub fn change(&self) -> f64 {
        self.now / self.then - 1.0
    }
}

/// One job of each class, of those whose rate the model knows.
pub(super) fn jobs(model: &Model) -> Vec<Job> {
    let mut jobs = calibration::one_check_of_each(model);
    jobs.retain(|job| model.checks.contains_key(&job.name));
    jobs
}

/// What became of one; nothing where it did not run.
pub(super) fn of(trial: &Trial, model: &Model) -> Option<Again> {
    Some(Again {
        name: trial.job.name.clone(),
        class: prediction::class(&trial.job, &model.parameters),
        then: *model.checks.get(&trial.job.name)?,
        now: trial.bytes_per_second()?,
    })
}

/// How far those of a class have changed, as a share: the mean of the sizes, of all for the class `all`; none where nothing
/// tells.
pub(super) fn drift(again: &[Again], class: &str) -> Option<f64> {
    let changes: Vec<f64> = again
        .iter()
        .filter(|one| class == super::ALL || one.class == class)
        .map(|one| one.change().abs())
        .collect();
    (!changes.is_empty()).then(|| changes.iter().sum::<f64>() / changes.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_run::load::Outcome;

    #[test]
    fn what_the_calibration_ran_is_run_again_and_held_against_its_rate_of_then() {
        let mut model = Model::assumed();
        assert!(jobs(&model).is_empty(), "it was not measured");
        let all = calibration::one_check_of_each(&model);
        let classes: std::collections::BTreeSet<String> =
            all.iter().map(|job| prediction::class(job, &model.parameters)).collect();
        assert!(classes.len() == all.len() && all.len() >= 10, "one of each: {classes:?}");
        model.checks = all[..2].iter().map(|job| (job.name.clone(), 4e6)).collect();
        assert_eq!(jobs(&model), all[..2]);

        let run = |elapsed_ns| {
            let mut run = Outcome { elapsed_ns, ..Outcome::nothing(1.0) };
            run.transfers[0].bytes = 1_000_000;
            run
        };
        let trial =
            |job: &Job, runs: Vec<Outcome>| Trial { job: job.clone(), runs, disturbed: 0, refusal: None };
        let again =
            of(&trial(&all[0], [1e9, 0.5e9, 0.2e9].map(|ns| run(ns as u64)).to_vec()), &model).unwrap();
        assert_eq!((again.then, again.now, again.change()), (4e6, 2e6, -0.5));
        assert_eq!(of(&trial(&all[0], Vec::new()), &model), None);
        assert_eq!(of(&trial(&all[2], vec![run(1)]), &model), None, "its rate is not known");
    }
}
