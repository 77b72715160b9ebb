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
    /// Format of the results.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: JobFormat,
    #[command(flatten)]
    pub(crate) keep: KeepOptions,
    #[command(flatten)]
    pub(crate) replaying: ReplayOptions,
    /// Write at most this much in all, including the files that jobs read.
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
    /// All figures, by the schema fathom.run/1.
    Json,
    /// What fio writes with --output-format=json.
    FioJson,
    /// What fio writes with --output-format=json+: every bucket of the latencies as well.
    #[value(name = "fio-json+")]
    FioJsonPlus,
}

/// How a trace is replayed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ReplayOptions {
    /// For a trace: when its operations begin.
    #[arg(long, default_value = "think", value_name = "PACE")]
    pub(crate) pace: PaceName,
    /// For a trace: what the page cache holds of its files at the start.
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
    /// Nothing.
    Cold,
    /// All of them.
    Warm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaceName {
    /// After the pauses that the thread made in the trace.
    Think,
    /// At once.
    Fast,
    /// At the recorded times.
    Recorded,
}
