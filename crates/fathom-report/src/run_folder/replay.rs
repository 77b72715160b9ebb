//! Inference again from a run folder, without a machine.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use super::{Error, Recording};
use fathom_program::workload::Workload;
use fathom_run::machine::{Fault, Machine};
use fathom_run::samples::Samples;
use fathom_survey::experiment::{self, Effort, Experiment};
use fathom_survey::finding::{Evidence, Finding, Kind};
use fathom_survey::recorded::Recorded;
use fathom_survey::survey::{self, Plan, Survey};

/// Asks every timing question of a survey again, of the samples that [`read`](super::read) returned with it, and infers the
/// findings anew.
///
/// What witnesses showed and what the kernel declared stays as it was recorded, and so does a
/// timing that ended in a fault of the machine: neither is in the samples. All questions are asked
/// in the recorded order, because one may build on what another has found.
///
/// # Errors
/// [`Error::Mismatch`] where an experiment asks for something that was not recorded.
pub fn infer_again(survey: &Survey, recordings: Vec<Recording>) -> Result<Survey, Error> {
    let mut tapes = Vec::new();
    let mut experiments: Vec<&'static dyn Experiment> = Vec::new();
    let mut effort = Effort::default();
    for (finding, recording) in survey.findings.iter().zip(recordings) {
        let parameter = &finding.parameter;
        let unknown = || mismatch(parameter, "this version has no such experiment");
        let experiment = experiment::by_name(parameter).ok_or_else(unknown)?;
        if finding.evidence.iter().any(|piece| piece.kind == Kind::Timing) {
            experiments.push(experiment);
            effort = recording.effort;
            tapes.push(tape(finding, recording));
        }
    }
    let plan = Plan {
        experiments,
        evidence: vec![Kind::Timing],
        effort,
        seed: survey.provenance.seed,
        max_time: ENDLESS,
        intrusive: false,
    };
    let current = Rc::new(Cell::new(0));
    let mut player = Player { tapes, current: Rc::clone(&current) };
    let answers = survey::ask(&mut player, &plan, &mut |index, _| current.set(index))
        .map_err(|fault| mismatch("the survey", &fault.to_string()))?;
    let mut again = survey.clone();
    for answer in answers {
        if let Some(finding) = again.findings.iter_mut().find(|old| old.parameter == answer.finding.parameter)
        {
            *finding = combined(finding, &answer.finding)?;
        }
    }
    Ok(again)
}

/// More time than any survey takes: the recording ends where the time ended then. Finite, because
/// shares of it are computed.
const ENDLESS: Duration = Duration::from_secs(1 << 32);

/// The tapes of all experiments; `current` is turned to the one whose question is being asked.
struct Player {
    tapes: Vec<Recorded>,
    current: Rc<Cell<usize>>,
}

impl Machine for Player {
    fn run(&mut self, workload: &Workload) -> Result<Samples, Fault> {
        match self.tapes.get_mut(self.current.get()) {
            Some(tape) => tape.run(workload),
            None => Err(Fault::OutOfTime),
        }
    }

    fn write_budget(&self) -> u64 {
        self.tapes.get(self.current.get()).map_or(0, Recorded::write_budget)
    }
}

/// An experiment that asks for more runs than were recorded got no more then: either it ended in a
/// fault, or it made do with what it had when time or budget ran out.
fn tape(finding: &Finding, recording: Recording) -> Recorded {
    let end = match faulted(finding) {
        Some(timing) => Fault::Unsupported(timing.caveats.join("; ")),
        None => Fault::OutOfTime,
    };
    Recorded::new(&finding.parameter, recording.runs, end)
}

/// The timing evidence of a finding, where it is no more than a fault of the machine.
fn faulted(finding: &Finding) -> Option<&Evidence> {
    finding.evidence.iter().find(|piece| piece.kind == Kind::Timing && piece.method == "none")
}

/// The recorded finding with the new timing in the place of the old one.
fn combined(old: &Finding, timed: &Finding) -> Result<Finding, Error> {
    if faulted(old).is_some() {
        return Ok(old.clone());
    }
    if let Some(refused) = faulted(timed) {
        return Err(mismatch(&old.parameter, &refused.caveats.join("; ")));
    }
    let kept = old.evidence.iter().filter(|piece| piece.kind != Kind::Timing);
    let evidence = timed.evidence.iter().chain(kept).cloned().collect();
    let mut finding = Finding::from_evidence(&old.parameter, &old.unit, evidence);
    if let Some(experiment) = experiment::by_name(&old.parameter) {
        finding.explanation = experiment.explanation(&finding);
    }
    Ok(finding)
}

fn mismatch(parameter: &str, reason: &str) -> Error {
    Error::Mismatch { parameter: parameter.to_owned(), reason: reason.to_owned() }
}
