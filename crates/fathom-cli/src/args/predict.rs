//! The options of `fathom predict`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::keep::KeepOptions;
use crate::args::model::SetOptions;
use crate::args::run::ReplayOptions;

#[derive(Debug, Args)]
pub(crate) struct PredictOptions {
    /// A job file in fio's format (docs/jobs.md lists the options that are understood), or a trace that
    /// `fathom trace` wrote.
    #[arg(value_name = "JOB.fio|TRACE")]
    pub(crate) job: PathBuf,
    #[command(flatten)]
    pub(crate) replaying: ReplayOptions,
    /// The model of a machine; 'assumed' is one that nobody measured.
    #[arg(long, value_name = "MODEL.json")]
    pub(crate) on: PathBuf,
    #[command(flatten)]
    pub(crate) what_if: SetOptions,
    /// How to write the results.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: PredictFormat,
    #[command(flatten)]
    pub(crate) keep: KeepOptions,
    /// How many sets of parameters to draw from their intervals.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) draws: u32,
    /// Decides the draws and the model's randomness; the job's own order comes from its job file.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PredictFormat {
    /// A table.
    Text,
    /// Every figure with its interval.
    Json,
    /// What fio writes with --output-format=json, and the intervals beside it.
    FioJson,
}
