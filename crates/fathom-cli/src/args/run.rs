//! The options of `fathom run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use fathom::replay::Pace;
use fathom::units::{parse_bytes, parse_duration};

use crate::args::keep::KeepOptions;

#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// A job file in fio's format (docs/jobs.md lists the options that are understood), or a trace that
    /// `fathom trace` wrote.
    #[arg(value_name = "JOB.fio|TRACE")]
    pub(crate) job: PathBuf,
    /// A directory on the file system to run the jobs on.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// How to write the results.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: JobFormat,
    #[command(flatten)]
    pub(crate) keep: KeepOptions,
    /// When a trace's operations begin: after pauses as in the trace, at once, or at the recorded times.
    #[arg(long, default_value = "think", value_name = "PACE")]
    pub(crate) pace: PaceName,
    /// Write at most this much in all, with what is laid out.
    #[arg(long, default_value = "16GiB", value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) max_write: u64,
    /// Take at most this long.
    #[arg(long, default_value = "10m", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) max_time: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum JobFormat {
    /// A table.
    Text,
    /// Everything, as the published schema has it: fathom.run/1.
    Json,
    /// What fio writes with --output-format=json.
    FioJson,
    /// The same with every bucket of the latencies: --output-format=json+.
    #[value(name = "fio-json+")]
    FioJsonPlus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaceName {
    Think,
    Fast,
    Recorded,
}

impl From<PaceName> for Pace {
    fn from(name: PaceName) -> Self {
        match name {
            PaceName::Think => Self::Think,
            PaceName::Fast => Self::Fast,
            PaceName::Recorded => Self::Recorded,
        }
    }
}
