//! The same jobs run by fio, in turns with Fathom's runs: whether an error is the model's or the runner's.
//!
//! fio tells how long all its calls took to the ns, and how long a job took in whole ms, which is no more than most
//! jobs here take. So the two runners are compared by the time within calls and syncs; what each does between its
//! calls, and the last sync of a job, is left out on both sides.

use fathom_stats::quantile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Held;
use crate::trial::{self, Schedule, Settled, Trial};
use fathom_program::job::Job;
use fathom_run::fault::Fault;
use fathom_run::load::Testbed;
use fathom_run::load::program::{FioReport, is_same_in_fio, run_fio};

/// The results of one job's runs by fio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ByFio {
    /// The median over fio's runs of the bytes per second in both directions: by the time within calls and syncs, or as fio prints
    /// it where each run was made as users make it.
    pub bytes_per_second: f64,
    /// The same figure of Fathom's runs.
    pub fathoms_bytes_per_second: f64,
    /// The figure of each run of fio, in the order of the runs.
    pub runs: Vec<f64>,
}

/// The differences between fio and Fathom over all jobs that both ran.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// The number of jobs.
    pub jobs: usize,
    /// The median over jobs of how much faster fio was, as a share.
    pub faster: f64,
    /// The median over jobs of the size of the difference, as a share.
    pub apart: f64,
}

impl ByFio {
    /// By how much fio was faster, as a share.
    pub fn faster(&self) -> f64 {
        self.bytes_per_second / self.fathoms_bytes_per_second - 1.0
    }
}

/// How well fio and Fathom agree; none where fio ran no job.
pub fn agreement(jobs: &[Held]) -> Option<Agreement> {
    let faster: Vec<f64> = jobs.iter().filter_map(|job| Some(job.fio.as_ref()?.faster())).collect();
    let sizes: Vec<f64> = faster.iter().map(|share| share.abs()).collect();
    let (jobs, apart) = (faster.len(), quantile::median(&sizes)?);
    Some(Agreement { jobs, faster: quantile::median(&faster)?, apart })
}

/// The jobs of a condition that fio can run from the same state as Fathom. Within a group that limits the memory it
/// can't: fio's own takes part of what the files would have.
pub(super) fn runs(job: &Job, state: Settled) -> bool {
    state != Settled::ByDropping && is_same_in_fio(job)
}

/// What fio's runs of some jobs gave so far.
pub(super) struct FioRuns<'a> {
    jobs: &'a [Job],
    schedule: Schedule,
    rates: Vec<Vec<f64>>,
    refusals: Vec<Option<String>>,
}

impl<'a> FioRuns<'a> {
    /// fio runs each job as often as `schedule` says.
    pub(super) fn new(jobs: &'a [Job], schedule: Schedule) -> Self {
        Self { jobs, schedule, rates: vec![Vec::new(); jobs.len()], refusals: vec![None; jobs.len()] }
    }

    /// Runs a job by fio, unless fio has run it often enough.
    pub(super) fn run(&mut self, index: usize, testbed: &mut Testbed) -> Result<(), Fault> {
        let job = &self.jobs[index];
        let is_done = self.rates[index].len() >= self.schedule.repeats || self.refusals[index].is_some();
        if is_done || !runs(job, self.schedule.state) {
            return Ok(());
        }
        match trial::from_its_state(job, self.schedule, testbed, |testbed| run_fio(job, testbed)) {
            Ok(report) => self.rates[index].extend(bytes_per_second_of_calls(job, &report)),
            Err(fault @ (Fault::Interrupted | Fault::OutOfTime)) => return Err(fault),
            Err(fault) => self.refusals[index] = Some(format!("[{}] by fio: {fault}", job.name)),
        }
        Ok(())
    }

    /// What came of a job, next to what Fathom measured of it.
    pub(super) fn of(&self, index: usize, trial: &Trial) -> Option<ByFio> {
        let runs = self.rates[index].clone();
        Some(ByFio {
            bytes_per_second: quantile::median(&runs)?,
            fathoms_bytes_per_second: quantile::median(&trial.each(trial::bytes_per_second_of_calls))?,
            runs,
        })
    }

    /// Why fio did not run what it was to run.
    pub(super) fn refused(self) -> impl Iterator<Item = String> {
        self.refusals.into_iter().flatten()
    }
}

fn bytes_per_second_of_calls(job: &Job, report: &FioReport) -> Option<f64> {
    let mut bytes = 0;
    let mut ns = if job.fsync > 0 { report.syncs_ns()? } else { 0.0 };
    for direction in job.directions() {
        bytes += report.bytes(direction)?;
        ns += report.calls_ns(direction, "clat_ns")?;
    }
    (bytes > 0 && ns > 0.0).then(|| bytes as f64 / ns * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_run::instrument::Instrument;
    use fathom_run::load::program::version;
    use fathom_run::load::{Limits, Needs};
    use fathom_run::watch::Watch;
    use fathom_scripted::support::require;

    #[test]
    fn fio_runs_in_turns_what_it_can_run() {
        if !require("fio_runs_in_turns_what_it_can_run", version("fio").is_some(), "fio is not installed") {
            return;
        }
        let small = |name| Job { size: Some(64 << 10), ..Job::named(name) };
        let jobs = [
            Job { pre_read: true, filename: Some("kept".to_owned()), ..small("read") },
            Job { read_percent: 0, ..small("new") },
            Job { numjobs: 2, ..small("two") },
        ];
        let limits = Limits { max_write: 8 << 20, deadline: None };
        let (instrument, space) = (Instrument::calibrate().unwrap(), Needs::of(&jobs).unwrap().space);
        let mut testbed =
            Testbed::at(&std::env::temp_dir(), space, &instrument, limits, Watch::default()).unwrap();
        let schedule = Schedule::of(3, 1, Settled::AsLeft);
        let mut fio_runs = FioRuns::new(&jobs, Schedule { repeats: 2, ..schedule });
        let trials = trial::run_each(&jobs, schedule, &mut testbed, &mut |index, testbed| {
            fio_runs.run(index, testbed)
        });
        let trials = trials.unwrap();
        let of = |index: usize| fio_runs.of(index, &trials[index]);
        for fio in [of(0).unwrap(), of(1).unwrap()] {
            assert_eq!(fio.runs.len(), 2);
            assert!(fio.bytes_per_second > 0.0 && fio.fathoms_bytes_per_second > 0.0, "{fio:?}");
        }
        assert_eq!(of(2), None, "its threads are not those of a job here");
        assert!(!testbed.path(&jobs[1], 0).exists(), "what was written is gone");
        assert_eq!(fio_runs.refused().count(), 0);
    }
}
