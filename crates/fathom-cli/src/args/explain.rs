//! The options of `fathom explain`.

use std::path::PathBuf;

use clap::Args;

use crate::output::JsonOptions;

#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    /// The first machine or mount: a model (a file that 'fathom calibrate' wrote), or a survey (its folder or its JSON).
    #[arg(value_name = "FIRST")]
    pub(crate) first: PathBuf,
    /// The second one: a model or a survey, as the first one is.
    #[arg(value_name = "SECOND")]
    pub(crate) second: PathBuf,
    /// The last argument: a job file in fio's format, whose results are to be explained.
    #[arg(value_name = "JOB.fio")]
    pub(crate) job: PathBuf,
    /// For surveys: take from this model what they do not measure; 'assumed' is a built-in example.
    #[arg(long, value_name = "MODEL.json", default_value = "assumed")]
    pub(crate) on: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonOptions,
    /// Seed of the simulations' random numbers.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}
