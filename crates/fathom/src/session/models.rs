//! Models: calibrated on a mount, and validated there.

use std::path::PathBuf;

use fathom_predict::calibration::{self, Account};
use fathom_predict::model::{Made, Model, Runner};
use fathom_predict::single_runs;
use fathom_predict::validation::{self, Condition, Outcomes, SCHEMA, Trials, Validation, validate_traces};
use fathom_program::job::JobFile;
use fathom_program::units::Bytes;
use fathom_run::fault::Fault;
use fathom_run::load::{self, program};
use fathom_run::machine::linux::Limits;
use fathom_run::replay::How;

use super::{Begun, Error, Session};

/// What the survey of a calibration may write.
const SURVEY: u64 = 256 << 20;

/// How often fio runs each job of a validation at most.
pub const BY_FIO: usize = 3;

/// What a model is held against.
#[derive(Debug, Clone)]
pub enum Against {
    /// Single runs of job files as users make them, by fio where it is installed, and by Fathom.
    Field {
        /// The job files; a built-in one of what people write where there are none.
        files: Vec<JobFile>,
        /// Whether fio runs them.
        by_fio: bool,
    },
    /// Jobs that no calibration runs, on a machine that is brought to rest before each run.
    Jobs {
        /// What is changed on the machine meanwhile, one condition after the other.
        conditions: Vec<Condition>,
        /// How often fio runs each as well, up to [`BY_FIO`] times: never where it is not installed.
        by_fio: usize,
    },
    /// Replays.
    Traces {
        /// The traces' files.
        traces: Vec<PathBuf>,
        /// How they are replayed.
        how: How,
    },
}

impl Session {
    /// Makes a model of the machine and the file system, by measuring; gives how its stages went as well.
    ///
    /// # Errors
    /// A budget that is too small, an interrupt, the end of the time, a call that fails.
    pub fn calibrate(&mut self) -> Result<(Model, Vec<Account>), Error> {
        let needs = calibration::needs().map_err(Error::Failed)?;
        self.afford("the jobs of a calibration", needs.writes)?;
        let begun = self.begin()?;
        let before = self.bytes_written;
        let mut model = Model::assumed();
        // The survey never needs more, and asks for as much to be free.
        let limits = Limits { max_write: SURVEY.min(self.left() - needs.writes), ..self.limits() };
        let mut linux = self.linux(&begun, limits)?;
        let found = calibration::found_by_other_means(&mut model, &mut linux, &self.path, self.seed);
        self.close(found, linux)?;
        let mut testbed = self.testbed(&begun, needs.space, self.limits())?;
        let accounts = match calibration::calibrate(&mut model, &mut testbed, self.seed) {
            Err(Fault::OutOfTime) => {
                let reason = "the time allowed ran out before each job had run once: raise --max-time";
                return Err(Error::Failed(reason.to_owned()));
            }
            other => other?,
        };
        self.bytes_written += testbed.bytes_written();
        let from = begun.provenance;
        model.made = Some(Made {
            version: from.version,
            started: from.started,
            duration_ns: self.elapsed_ns(),
            bytes_written: self.bytes_written - before,
            reclaimed_bytes: testbed.reclaimed_bytes(),
            machine: from.machine,
            mount: from.mount,
        });
        Ok((model, accounts))
    }

    /// Predicts jobs or replays that a model has never seen, runs each so many times, and compares. `notice` is told
    /// at once what will not be done for want of a program or of budget.
    ///
    /// # Errors
    /// A budget that is too small, an interrupt, the end of the time before anything was compared, a call that fails.
    pub fn validate(
        &mut self,
        model: &Model,
        against: &Against,
        repeats: usize,
        notice: &mut dyn FnMut(&str),
    ) -> Result<Validation, Error> {
        let begun = self.begin()?;
        // How many runs there will be is known once all is predicted.
        self.watch.expect(0);
        let mut trials = Trials { model, path: &self.path.clone(), repeats, by_fio: 0, seed: self.seed };
        let (outcomes, written) = match against {
            Against::Field { files, by_fio } => {
                let has_fio = *by_fio && program::version("fio").is_some();
                if *by_fio && !has_fio {
                    notice("fio is not installed: the jobs are run by Fathom only");
                }
                trials.by_fio = usize::from(has_fio);
                let mut model = model.clone();
                if !has_fio {
                    model.parameters.choices.runner = Runner::Fathom;
                }
                self.in_field(&begun, files.clone(), &Trials { model: &model, ..trials })?
            }
            Against::Jobs { conditions, by_fio } => {
                trials.by_fio = self.by_fio(conditions, &trials, *by_fio, notice)?;
                self.against_jobs(&begun, conditions, &trials)?
            }
            Against::Traces { traces, how } => {
                validate_traces(traces, *how, &trials, &self.bounds(begun.instrument.clone()))?
            }
        };
        self.bytes_written += written;
        let Outcomes { jobs, again, refused, effects, reclaimed_bytes } = outcomes;
        Ok(Validation {
            schema: SCHEMA.to_owned(),
            provenance: begun.provenance,
            classes: validation::classes(&jobs, &again),
            jobs,
            again,
            refused,
            repeats,
            effects: begun.restored.into_iter().chain(effects).collect(),
            duration_ns: self.elapsed_ns(),
            bytes_written: self.bytes_written,
            reclaimed_bytes,
        })
    }

    /// Holds the model against runs of job files as users make them; gives the bytes written as well.
    fn in_field(
        &self,
        begun: &Begun,
        mut files: Vec<JobFile>,
        trials: &Trials<'_>,
    ) -> Result<(Outcomes, u64), Error> {
        if files.is_empty() {
            let usual = validation::usual_jobs(&load::surroundings(&|_| None));
            files.push(usual.map_err(Error::Failed)?);
        }
        files.iter_mut().try_for_each(|file| self.fit(file).map(drop))?;
        let runs = trials.repeats * (1 + trials.by_fio);
        let jobs = files.iter().flat_map(|file| &file.jobs);
        let needs = single_runs::needs(jobs, runs).map_err(Error::Failed)?;
        if let Some(reason) = self.unaffordable(&needs).into_iter().next() {
            return Err(Error::Failed(reason));
        }
        let mut testbed = self.testbed(begun, needs.space, self.limits())?;
        let outcomes = validation::validate_in_field(&files, trials, &mut testbed)?;
        Ok((outcomes, testbed.bytes_written()))
    }

    /// How often fio runs each job: never where it is not installed, or where its runs write more than is left.
    fn by_fio(
        &self,
        conditions: &[Condition],
        trials: &Trials<'_>,
        wanted: usize,
        notice: &mut dyn FnMut(&str),
    ) -> Result<usize, Error> {
        let wanted = wanted.min(BY_FIO);
        if wanted == 0 {
            return Ok(0);
        }
        if program::version("fio").is_none() {
            notice("fio is not installed: the jobs are run by Fathom only");
            return Ok(0);
        }
        let writes = |by_fio| {
            let needs = validation::needs(conditions, trials.model, trials.repeats, by_fio);
            needs.map(|needs| needs.writes).map_err(Error::Failed)
        };
        let (alone, with_fio) = (writes(0)?, writes(wanted)?);
        // Where even Fathom's runs write too much, that ends everything.
        if alone <= self.left() && with_fio > self.left() {
            notice(&format!(
                "fio does not run the jobs: with its runs they would write {}, and {} are allowed: raise --max-write",
                Bytes(with_fio),
                Bytes(self.left())
            ));
            return Ok(0);
        }
        Ok(wanted)
    }

    /// Holds the model against jobs; gives the bytes written as well.
    fn against_jobs(
        &self,
        begun: &Begun,
        conditions: &[Condition],
        trials: &Trials<'_>,
    ) -> Result<(Outcomes, u64), Error> {
        let needs = validation::needs(conditions, trials.model, trials.repeats, trials.by_fio)
            .map_err(Error::Failed)?;
        self.afford("the jobs", needs.writes)?;
        let mut testbed = self.testbed(begun, needs.space, self.limits())?;
        let mut outcomes = Outcomes::default();
        for &condition in conditions {
            let one = match validation::validate(condition, trials, &mut testbed) {
                // What was compared so far is worth something.
                Err(fault @ Fault::OutOfTime) if !outcomes.jobs.is_empty() => {
                    let jobs = condition.word().unwrap_or("all jobs");
                    outcomes.refused.push(format!("{jobs}: {fault}: raise --max-time"));
                    break;
                }
                one => one?,
            };
            outcomes.jobs.extend(one.jobs);
            outcomes.again.extend(one.again);
            outcomes.refused.extend(one.refused);
            outcomes.effects.extend(one.effects);
            outcomes.reclaimed_bytes = outcomes.reclaimed_bytes.or(one.reclaimed_bytes);
        }
        Ok((outcomes, testbed.bytes_written()))
    }
}
