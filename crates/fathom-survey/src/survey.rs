//! A survey: every question asked of one machine, with the facts a reader needs next to the answers.

mod schedule;

use std::fmt;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::schedule::Schedule;
use crate::experiment::{Demands, Effort, Experiment, Memory, Session};
use crate::finding::{Evidence, Finding, Kind, Status};
use fathom_run::machine::{Fault, Machine};
use fathom_run::provenance::Provenance;
use fathom_run::samples::{Samples, state_caveats};

/// The schema of a written [`Survey`].
pub const SCHEMA: &str = "fathom.survey/1";

/// A whole survey, as it is written to `survey.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.survey/1")]
pub struct Survey {
    /// Always `fathom.survey/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Where and when it was measured, and by which clock.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// One finding per parameter, in the order of the registry.
    pub findings: Vec<Finding>,
    /// What was changed on the machine besides scratch files, and restored.
    pub effects: Vec<String>,
    /// How long the survey took, in ns.
    pub duration_ns: u64,
    /// Bytes that the survey wrote.
    pub bytes_written: u64,
    /// Bytes that the survey read.
    pub bytes_read: u64,
}

/// The plan of a survey: what to ask, and how.
#[derive(Clone)]
pub struct Plan {
    /// The questions, in order.
    pub experiments: Vec<&'static dyn Experiment>,
    /// The kinds of evidence to gather.
    pub evidence: Vec<Kind>,
    /// How thoroughly to measure.
    pub effort: Effort,
    /// The seed of random orders.
    pub seed: u64,
    /// Time for all questions together.
    pub max_time: Duration,
    /// Whether effects on the whole machine are allowed.
    pub intrusive: bool,
}

/// A finding with the samples it rests on.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The finding.
    pub finding: Finding,
    /// The runs that the timing made, in order.
    pub runs: Vec<Samples>,
    /// The effects of asking on other programs, where that was allowed.
    pub effects: Vec<String>,
    /// How long asking took.
    pub took: Duration,
}

/// Asks every question of the plan; `progress` is told how many questions have been answered and
/// which one is next. What users of a mount with a server ask comes first there, so that time does not run out before.
///
/// # Errors
/// [`Fault`] where going on makes no sense: interrupted, the disk full, the mount read-only. Other
/// faults silence the one question that met them.
pub fn ask(
    machine: &mut dyn Machine,
    plan: &Plan,
    progress: &mut dyn FnMut(usize, &str),
) -> Result<Vec<Answer>, Fault> {
    let started = Instant::now();
    let mut memory = Memory::default();
    let mut answers = Vec::new();
    let mut demands: Vec<(usize, Demands)> = demands_of(machine, plan).into_iter().enumerate().collect();
    demands.sort_by_key(|(_, demands)| !demands.comes_first);
    let (order, demands): (Vec<usize>, Vec<Demands>) = demands.into_iter().unzip();
    let experiments = order.iter().map(|&at| plan.experiments[at]).collect();
    let plan = &Plan { experiments, ..plan.clone() };
    let schedule = Schedule::new(plan, &demands, machine.write_budget());
    for (index, (experiment, demands)) in plan.experiments.iter().zip(demands).enumerate() {
        let begun = Instant::now();
        progress(index, experiment.about().parameter);
        let time = schedule.share(index, plan.max_time.saturating_sub(started.elapsed()));
        // What was asked before may have used up what this one needs.
        let answer = match demands.refusal(plan.intrusive, machine.write_budget(), time) {
            Some(reason) if demands.spares_witness => {
                ask_one(*experiment, machine, plan, &mut memory, Err(reason))?
            }
            Some(reason) => refused(*experiment, machine, plan, &reason),
            None => Answer {
                effects: demands.effects,
                ..ask_one(*experiment, machine, plan, &mut memory, Ok(time))?
            },
        };
        answers.push((order[index], Answer { took: begun.elapsed(), ..answer }));
    }
    progress(plan.experiments.len(), "");
    answers.sort_by_key(|(at, _)| *at);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// What each question would take here; nothing on a machine that declares nothing, which has no others to harm.
fn demands_of(machine: &mut dyn Machine, plan: &Plan) -> Vec<Demands> {
    match machine.witness() {
        Some(witness) => {
            plan.experiments.iter().map(|experiment| experiment.demands(witness.declared())).collect()
        }
        None => vec![Demands::default(); plan.experiments.len()],
    }
}

/// Asks one question by every kind of evidence that is wanted; by timing within a time, or not for a reason.
fn ask_one(
    experiment: &dyn Experiment,
    machine: &mut dyn Machine,
    plan: &Plan,
    memory: &mut Memory,
    time: Result<Duration, String>,
) -> Result<Answer, Fault> {
    let about = experiment.about();
    let mut evidence = Vec::new();
    let mut runs = Vec::new();
    match time {
        _ if !plan.evidence.contains(&Kind::Timing) => {}
        Err(reason) => evidence.push(Evidence::silent(Kind::Timing, "none", Status::Refused, reason)),
        Ok(time) => {
            let mut session = Session::new(machine, memory, plan.seed, plan.effort, time);
            let outcome = experiment.timing(&mut session);
            runs = session.into_runs();
            evidence.push(match outcome {
                Ok(timed) => with_state_caveats(timed, &runs),
                Err(fault) => silenced(fault, Kind::Timing)?,
            });
        }
    }
    if let Some(witness) = machine.witness() {
        if plan.evidence.contains(&Kind::Witness) {
            match experiment.witness(witness) {
                Ok(seen) => evidence.extend(seen),
                Err(fault) => evidence.push(silenced(fault, Kind::Witness)?),
            }
        }
        if plan.evidence.contains(&Kind::Declared) {
            evidence.extend(experiment.declared(witness.declared()));
        }
    }
    let mut finding = Finding::from_evidence(about.parameter, about.unit, evidence);
    finding.explanation = experiment.explanation(&finding);
    Ok(Answer { finding, runs, effects: Vec::new(), took: Duration::ZERO })
}

/// The answer to a question that is not asked; what the kernel declares is told in words.
fn refused(experiment: &dyn Experiment, machine: &mut dyn Machine, plan: &Plan, reason: &str) -> Answer {
    let about = experiment.about();
    let silent = |kind| Evidence::silent(kind, "none", Status::Refused, reason);
    let asked = [Kind::Timing, Kind::Witness].into_iter().filter(|kind| plan.evidence.contains(kind));
    let mut evidence: Vec<Evidence> = asked.map(silent).collect();
    if let Some(witness) = machine.witness().filter(|_| plan.evidence.contains(&Kind::Declared)) {
        let declared = experiment.declared(witness.declared()).into_iter().map(|piece| match &piece.value {
            Some(value) => {
                let words = format!("{} declares {}", piece.method, value.in_words(about.unit));
                let value = piece.value.clone();
                // Reported, and kept for comparisons of surveys, but not weighed.
                Evidence { value, ..Evidence::silent(Kind::Declared, &piece.method, Status::Refused, words) }
            }
            None => piece,
        });
        evidence.extend(declared);
    }
    let mut finding = Finding::from_evidence(about.parameter, about.unit, evidence);
    finding.explanation = "It was not asked.".to_owned();
    Answer { finding, runs: Vec::new(), effects: Vec::new(), took: Duration::ZERO }
}

/// A fault that concerns one question alone, as evidence that gives no answer.
fn silenced(fault: Fault, kind: Kind) -> Result<Evidence, Fault> {
    let status = match &fault {
        Fault::Interrupted => return Err(fault),
        Fault::System(error) if error.is_full() || error.is_read_only() => return Err(fault),
        Fault::OutOfTime | Fault::OverBudget { .. } | Fault::Unsupported(_) => Status::Refused,
        Fault::System(error) if error.is_permission() => Status::Refused,
        Fault::System(_) | Fault::Short { .. } | Fault::Mismatch(_) => Status::Inconclusive,
    };
    Ok(Evidence::silent(kind, "none", status, fault.to_string()))
}

/// Tells of readings whose cache state was wrong or could not be proven.
fn with_state_caveats(mut evidence: Evidence, runs: &[Samples]) -> Evidence {
    let [wrong, unproven] = state_caveats(runs);
    let wrong = wrong.filter(|_| evidence.status != Status::NotApplicable);
    let notes = runs.iter().flat_map(|run| run.notes.iter().cloned());
    for caveat in wrong.into_iter().chain(unproven).chain(notes) {
        if !evidence.caveats.contains(&caveat) {
            evidence.caveats.push(caveat);
        }
    }
    evidence
}

impl Survey {
    /// Whether a question that was asked for has no answer, although it could have one.
    ///
    /// A question that was refused counts where it was asked for by name: a survey of everything may
    /// leave out what needs a permission or more time.
    pub fn is_inconclusive(&self, by_name: bool) -> bool {
        self.findings.iter().any(|finding| match finding.status {
            Status::Inconclusive => true,
            Status::Refused => by_name,
            Status::Measured | Status::NotApplicable => false,
        })
    }

    /// The finding of a parameter.
    pub fn finding(&self, parameter: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.parameter == parameter)
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> =
            self.experiments.iter().map(|experiment| experiment.about().parameter).collect();
        f.debug_struct("Plan").field("experiments", &names).field("seed", &self.seed).finish_non_exhaustive()
    }
}
