//! Surveys and probes: workloads of the kernel, or of a model.

use std::path::Path;
use std::time::Instant;

use fathom_predict::model::Model;
use fathom_predict::simulated::Simulated;
use fathom_program::workload::Workload;
use fathom_run::machine::Machine;
use fathom_run::provenance::Provenance;
use fathom_run::samples::Samples;
use fathom_survey::survey::{self, Answer, Plan, SCHEMA, Survey};

use super::{Error, Session};

/// A survey, and what is behind it.
#[derive(Debug)]
pub struct Surveyed {
    /// The survey.
    pub survey: Survey,
    /// Its answers, with the runs that each experiment made.
    pub answers: Vec<Answer>,
    /// What could not be removed afterwards, which the survey's effects tell as well.
    pub left_behind: Option<String>,
}

impl Session {
    /// Asks the questions of a plan. The plan's own time is what it shares out; the session's bounds it.
    ///
    /// # Errors
    /// What ends the runs: an interrupt, the end of the time, a directory that can't be written.
    pub fn survey(&mut self, plan: &Plan, progress: &mut dyn FnMut(usize, &str)) -> Result<Surveyed, Error> {
        let begun = self.begin()?;
        let mut linux = self.linux(&begun, self.limits())?;
        let answers = match survey::ask(&mut linux, plan, progress) {
            Ok(answers) => answers,
            Err(fault) => return self.close(Err(fault), linux),
        };
        let (written, bytes_read) = (linux.bytes_written(), linux.bytes_read());
        let closed = self.close(Ok(()), linux);
        let left_behind = closed.err().map(|error| error.to_string());
        let done = answers.iter().flat_map(|answer| answer.effects.clone());
        let survey = Survey {
            schema: SCHEMA.to_owned(),
            provenance: begun.provenance,
            findings: answers.iter().map(|answer| answer.finding.clone()).collect(),
            effects: left_behind.clone().into_iter().chain(begun.restored).chain(done).collect(),
            duration_ns: self.elapsed_ns(),
            bytes_written: written,
            bytes_read,
        };
        Ok(Surveyed { survey, answers, left_behind })
    }

    /// Runs one workload and gives every sample of it.
    ///
    /// # Errors
    /// A workload that makes no sense, an interrupt, the end of the time before one round is complete, a call that
    /// fails.
    pub fn probe(&mut self, workload: &Workload) -> Result<Samples, Error> {
        let begun = self.begin()?;
        let mut linux = self.linux(&begun, self.limits())?;
        let outcome = linux.run(workload);
        self.close(outcome, linux)
    }
}

/// Asks the questions of a plan of a machine that is only a model. `name` and `settings` say in the survey which model
/// it was, and what was set on it.
///
/// # Errors
/// A workload that the model can't run.
pub fn survey_model(
    model: &Model,
    (name, settings): (&Path, &[String]),
    plan: &Plan,
    max_write: u64,
    progress: &mut dyn FnMut(usize, &str),
) -> Result<Surveyed, Error> {
    let started = Instant::now();
    let mut machine = Simulated::new(&model.parameters, plan.seed).may_write(max_write);
    let answers = survey::ask(&mut machine, plan, progress)?;
    let made = model.made.as_ref().map(|made| (&made.machine, &made.mount));
    let runs = || answers.iter().flat_map(|answer| &answer.runs);
    let survey = Survey {
        schema: SCHEMA.to_owned(),
        provenance: Provenance::simulated(name, settings, made, plan.seed),
        findings: answers.iter().map(|answer| answer.finding.clone()).collect(),
        effects: Vec::new(),
        duration_ns: started.elapsed().as_nanos() as u64,
        bytes_written: runs().map(|run| run.bytes_written).sum(),
        bytes_read: runs().map(|run| run.bytes_read).sum(),
    };
    Ok(Surveyed { survey, answers, left_behind: None })
}
