//! The options of `fathom run`.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fathom::replay::How;

use crate::args::budget::LimitOptions;
use crate::args::keep::KeepOptions;
use crate::args::{changed, library};

#[derive(Debug, Args)]
#[command(mut_args(changed("max_write", |arg| {
    arg.default_value("16GiB").help("Write at most this much in all, including the files that jobs read")
})))]
#[command(mut_args(changed("max_time", |arg| arg.default_value("10m"))))]
pub(crate) struct RunOptions {
    /// A job file in fio's format ('fathom run --dry-run' says whether its options are supported; '-' is standard input), or a
    /// trace that 'fathom trace record' or 'fathom trace import' wrote.
    #[arg(value_name = "JOB.fio|TRACE", required_unless_present = "fio")]
    job: Option<PathBuf>,
    /// A directory on the file system to run the jobs on [default: .].
    path: Option<PathBuf>,
    /// A command line of fio, IOR or mdtest instead of a job file: fathom run [PATH] -- fio --name=x --rw=randread --size=1g.
    #[arg(last = true, value_name = "FIO|IOR|MDTEST")]
    fio: Vec<String>,
    /// Say what the jobs would do, and which scratch files stand for their paths, and run and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Let the jobs read files of yours below DIR, by the names in the job file, instead of scratch files. A job that writes
    /// is refused.
    #[arg(long, value_name = "DIR")]
    pub(crate) on_files: Option<PathBuf>,
    /// Format of the results [default: text, or what --output-format of fio's command line says].
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<JobFormat>,
    /// The version of fio's terse format, 2 to 5 [default: 3].
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u8).range(2..=5))]
    pub(crate) terse_version: Option<u8>,
    #[command(flatten)]
    pub(crate) keep: KeepOptions,
    #[command(flatten)]
    pub(crate) replaying: ReplayOptions,
    #[command(flatten)]
    pub(crate) limits: LimitOptions,
}

/// Where jobs are described.
#[derive(Debug)]
pub(crate) enum Jobs<'a> {
    /// In a job file; or a trace.
    File(&'a Path),
    /// By a command line.
    Command(&'a [String]),
}

impl fmt::Display for Jobs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Command(_) => f.write_str("the command line"),
        }
    }
}

impl RunOptions {
    /// The jobs, and the directory to run them in: with a command line the first operand is the directory.
    ///
    /// # Errors
    /// One sentence where there are operands too many.
    pub(crate) fn work(&self) -> Result<(Jobs<'_>, &Path), String> {
        let here = Path::new(".");
        match (&self.job, &self.path, self.fio.as_slice()) {
            (Some(path), Some(job), []) if path.is_dir() => Ok((Jobs::File(job), path)),
            (Some(job), path, []) => Ok((Jobs::File(job), path.as_deref().unwrap_or(here))),
            (path, None, words) => Ok((Jobs::Command(words), path.as_deref().unwrap_or(here))),
            (_, Some(path), _) => Err(format!(
                "{}: give only the directory before --, if a command line follows",
                path.display()
            )),
        }
    }
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
    /// What fio writes with --output-format=terse: a line of fields for each job.
    FioTerse,
    /// What fio writes by default.
    FioNormal,
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
        How { pace: library(self.pace), cache: library(self.cache) }
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
