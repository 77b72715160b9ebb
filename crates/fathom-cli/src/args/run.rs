//! The options of `fathom run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use fathom::replay::{Cache, How, Pace};
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
    #[command(flatten)]
    pub(crate) replaying: ReplayOptions,
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

/// How a trace is replayed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ReplayOptions {
    /// When a trace's operations begin: after pauses as in the trace, at once, or at the recorded times.
    #[arg(long, default_value = "think", value_name = "PACE")]
    pub(crate) pace: PaceName,
    /// What the page cache holds of a trace's files at first: nothing, or all of them.
    #[arg(long, default_value = "cold", value_name = "STATE")]
    pub(crate) cache: CacheName,
}

impl ReplayOptions {
    pub(crate) fn how(self) -> How {
        let pace = match self.pace {
            PaceName::Think => Pace::Think,
            PaceName::Fast => Pace::Fast,
            PaceName::Recorded => Pace::Recorded,
        };
        let cache = match self.cache {
            CacheName::Cold => Cache::Cold,
            CacheName::Warm => Cache::Warm,
        };
        How { pace, cache }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheName {
    Cold,
    Warm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaceName {
    Think,
    Fast,
    Recorded,
}
