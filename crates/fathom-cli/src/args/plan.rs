//! What is asked and how far it may go: of a survey, and of each case of the lab.

use clap::{Args, ValueEnum};
use fathom::experiment::{self, Experiment, REGISTRY};
use fathom::survey::Plan;

use crate::args::budget::BudgetOptions;
use crate::args::{changed, library};
use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(mut_args(changed("max_time", |arg| arg.default_value("50s"))))]
pub(crate) struct PlanOptions {
    /// Ask for these parameters only, separated by commas; 'fathom list' names them.
    #[arg(long, value_delimiter = ',', value_name = "PARAMETERS")]
    pub(crate) only: Vec<String>,
    /// Use these kinds of evidence only, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "timing,witness,declared", value_name = "KINDS")]
    pub(crate) evidence: Vec<EvidenceKind>,
    /// How often to repeat the measurements.
    #[arg(long, default_value = "full")]
    pub(crate) effort: EffortLevel,
    #[command(flatten)]
    pub(crate) budget: BudgetOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum EvidenceKind {
    /// Durations of system calls.
    Timing,
    /// Side effects that a program can see, such as st_blocks.
    Witness,
    /// What the system says of itself, such as statfs.
    Declared,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum EffortLevel {
    /// About a third of the repeats of 'full': faster, and more parameters stay unknown.
    Quick,
    /// As often as each parameter needs.
    Full,
}

impl PlanOptions {
    /// The plan; `intrusive` allows effects on the whole machine.
    ///
    /// # Errors
    /// A name that is no parameter's.
    pub(crate) fn plan(&self, intrusive: bool) -> Result<Plan, Failure> {
        Ok(Plan {
            experiments: chosen(&self.only)?,
            evidence: self.evidence.iter().map(|&kind| library(kind)).collect(),
            effort: library(self.effort),
            seed: self.budget.seed,
            max_time: self.budget.limits.max_time,
            intrusive,
        })
    }
}

/// The experiments of these names, in the registry's order, or all.
fn chosen(only: &[String]) -> Result<Vec<&'static dyn Experiment>, Failure> {
    if only.is_empty() {
        return Ok(REGISTRY.to_vec());
    }
    let wanted: Vec<&str> = only
        .iter()
        .map(|name| known(name, "--only: ").map(|one| one.about().parameter))
        .collect::<Result<_, _>>()?;
    Ok(REGISTRY.iter().copied().filter(|one| wanted.contains(&one.about().parameter)).collect())
}

/// The experiment of this name; `option` is what named it.
pub(crate) fn known(name: &str, option: &str) -> Result<&'static dyn Experiment, Failure> {
    experiment::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = REGISTRY.iter().map(|experiment| experiment.about().parameter).collect();
        Failure::Usage(format!("{option}there is no parameter '{name}'; there are {}", names.join(", ")))
    })
}
