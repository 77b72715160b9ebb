//! The options of `fathom predict`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use fathom::model::Runner;

use crate::args::keep::KeepOptions;
use crate::args::model::SetOptions;
use crate::args::run::{Jobs, ReplayOptions};

#[derive(Debug, Args)]
pub(crate) struct PredictOptions {
    /// A job file in fio's format ('fathom run --dry-run' says whether its options are supported; '-' is standard input), or a trace that
    /// 'fathom trace record' or 'fathom trace import' wrote.
    #[arg(value_name = "JOB.fio|TRACE", required_unless_present = "fio", conflicts_with = "fio")]
    job: Option<PathBuf>,
    /// A command line of fio or IOR instead of a job file: fathom predict --on MODEL.json -- fio --name=x --size=1g.
    #[arg(last = true, value_name = "FIO")]
    fio: Vec<String>,
    #[command(flatten)]
    pub(crate) replaying: ReplayOptions,
    /// The model to predict with (a file that 'fathom calibrate' wrote); 'assumed' is a built-in example.
    #[arg(long, value_name = "MODEL.json")]
    pub(crate) on: PathBuf,
    #[command(flatten)]
    pub(crate) what_if: SetOptions,
    /// Which program runs the jobs: fio, whose own work between calls takes time as well, or 'fathom run'. Without this option:
    /// fio, if it was installed when the machine was calibrated.
    #[arg(long = "as", value_name = "PROGRAM", value_parser = runners())]
    pub(crate) runner: Option<Runner>,
    /// Format of the results.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: PredictFormat,
    #[command(flatten)]
    pub(crate) keep: KeepOptions,
    /// How many simulations to make for the intervals at most, each with every parameter drawn from its own interval; fewer of
    /// jobs where more would hardly make an interval wider.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) draws: u32,
    /// Seed of the simulations' random numbers; the job's own random order comes from its job file.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

impl PredictOptions {
    /// The jobs, or a trace.
    pub(crate) fn work(&self) -> Jobs<'_> {
        match &self.job {
            Some(job) => Jobs::File(job),
            None => Jobs::Command(&self.fio),
        }
    }
}

/// The words for programs that run jobs.
fn runners() -> impl TypedValueParser<Value = Runner> {
    let words =
        [("fio", "fio"), ("fathom", "Fathom")].map(|(word, about)| PossibleValue::new(word).help(about));
    PossibleValuesParser::new(words).map(|word| if word == "fio" { Runner::Fio } else { Runner::Fathom })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PredictFormat {
    /// A table.
    Text,
    /// Every figure with its interval.
    Json,
    /// What fio writes with --output-format=json, with the intervals added.
    FioJson,
}
