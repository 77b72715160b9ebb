//! One definition per option drives the parser, the help and its errors.

pub(crate) mod budget;
pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod curve;
pub(crate) mod format;
mod fuse;
pub(crate) mod io;
pub(crate) mod keep;
pub(crate) mod measuring;
pub(crate) mod model;
pub(crate) mod net;
mod plan;
pub(crate) mod predict;
pub(crate) mod run;
pub(crate) mod sweep;
pub(crate) mod syscalls;
pub(crate) mod trace;
pub(crate) mod explain;
pub(crate) mod versus;
pub(crate) mod xor;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

pub(crate) use self::fuse::FuseOptions;
pub(crate) use self::plan::{PlanOptions, known};
use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Parser, Subcommand, ValueEnum};
use fathom::results;
use fathom::speed::transfer::LARGEST_BLOCK;
use fathom::units::{parse_bytes, parse_duration};
use fathom::workload::CacheState;
use serde::de::DeserializeOwned;

use crate::output::JsonOptions;

/// The first commands of a first day, below the help of all.
const START: &str = "\
Start here, without root:
  fathom survey /mnt/data                 what the file system there is like (a minute)
  fathom run JOB.fio /mnt/data            run a job file of fio on it
  fathom calibrate /mnt/data              make MODEL.json of the machine (3 minutes)
  fathom predict JOB.fio --on MODEL.json  how fast the job will be, without running it
'fathom COMMAND --help' has all options of a command.";

/// Measure a file system, explain its behaviour, and predict how long jobs take on it.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, max_term_width = 100, after_help = START)]
pub(crate) struct Arguments {
    /// Show no progress, and do not say where the report is and what to do next.
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a file system's parameters: block size, read-ahead, latencies and more.
    Survey(SurveyOptions),
    /// List the parameters that a survey can measure, with method, cost and source.
    List(ListOptions),
    /// Time system calls at many places of a file, and print every duration.
    Probe(ProbeOptions),
    /// Measure throughput and latency by the number of bytes that a call moves.
    Curve(curve::CurveOptions),
    /// Compare the speed of Fathom, dd and fio in reading or writing the same file.
    Versus(versus::VersusOptions),
    /// Run the jobs of a fio job file, or replay a trace, on the file system at PATH.
    Run(run::RunOptions),
    /// Record, import, show and export traces of file and block I/O.
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Predict the speed of a fio job file or of a trace's replay, without running it.
    Predict(predict::PredictOptions),
    /// Predict a fio job file for each combination of settings, such as block sizes and depths.
    Sweep(sweep::SweepOptions),
    /// Measure the machine and a file system, and write a model for predictions.
    Calibrate(calibrate::CalibrateOptions),
    /// Measure how good predictions are: predict new jobs, then run them.
    Validate(calibrate::ValidateOptions),
    /// Draw the Petri nets that predictions are made with, and list their parameters.
    #[command(subcommand)]
    Net(net::NetCommand),
    /// Test this program on file systems that are made with known parameters (as root).
    #[command(subcommand)]
    Lab(LabCommand),
    /// Write, read and count the blocks of a file, and print the speed.
    #[command(subcommand)]
    Io(io::IoCommand),
    /// Measure how long single system calls take.
    Syscalls(syscalls::SyscallsOptions),
    /// XOR a file's 32-bit words, as fast as the machine can.
    Xor(xor::XorOptions),
    /// Show a result that was kept, and write its page again, without measuring.
    Report(ReportOptions),
    /// Say what differs, beyond noise, between surveys or between curves.
    Compare(compare::CompareOptions),
    /// Say why a job is faster on one machine or mount than on another.
    Explain(explain::ExplainOptions),
    /// Print the JSON Schema of a result.
    Schema(SchemaOptions),
    /// Print a completion script for a shell.
    Completions(completions::CompletionsOptions),
    /// Print this command's manual page, or write one for each subcommand.
    Man(completions::ManOptions),
}

impl Command {
    /// Whether it makes calls on files that may never return, and watches over them.
    pub(crate) fn is_guarded(&self) -> bool {
        matches!(
            self,
            Self::Survey(_)
                | Self::Probe(_)
                | Self::Curve(_)
                | Self::Versus(_)
                | Self::Run(_)
                | Self::Io(_)
                | Self::Syscalls(_)
                | Self::Xor(_)
                | Self::Calibrate(_)
                | Self::Validate(_)
        )
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// List the file systems that can be made, by name.
    List(LabFilter),
    /// Make each file system, survey it, and compare the answers with how it was made.
    Run(LabOptions),
    /// Check a program that finds a parameter: run it in file systems made with known values (as root).
    Exercise(ExerciseOptions),
    /// Mount a FUSE file system in memory that is slow or fails as --plan says, until interrupted.
    Fuse(FuseOptions),
}

#[derive(Debug, Args)]
pub(crate) struct LabFilter {
    /// Only file systems whose name contains one of these, separated by commas; 'fathom lab list' names them.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) cases: Vec<String>,
}

#[derive(Debug, Args)]
#[command(mut_args(changed("max_write", |arg| arg.help("Write at most this much in each file system"))))]
#[command(mut_args(changed("max_time", |arg| arg.help(
    "Take at most this long in each file system, and longer where the kernel's own delays are measured",
))))]
pub(crate) struct LabOptions {
    #[command(flatten)]
    pub(crate) filter: LabFilter,
    #[command(flatten)]
    pub(crate) plan: PlanOptions,
    /// Directory for the file systems' images; one in memory gives the steadiest timings.
    #[arg(long, default_value = "/dev/shm", value_name = "DIR")]
    pub(crate) images: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ExerciseOptions {
    /// The parameter that the program finds; 'fathom list' names them.
    pub(crate) parameter: String,
    #[command(flatten)]
    pub(crate) filter: LabFilter,
    /// Directory for the file systems' images.
    #[arg(long, default_value = "/dev/shm", value_name = "DIR")]
    pub(crate) images: PathBuf,
    /// The program and its arguments, after '--'. A directory of the file system is added as the last argument. The last
    /// line that it prints is its answer: a size such as 4K, a time such as 10ms, a number or a word; 'none' where the
    /// file system has no such thing; '?' where it can't tell.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportOptions {
    /// The folder of a kept result (--out DIR of another command, or one below ~/.local/state/fathom).
    pub(crate) result: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonOptions,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaOptions {
    /// Which result.
    #[arg(default_value = "survey", value_name = "RESULT", value_parser = schema_name())]
    pub(crate) result: String,
    /// Write the schema of every result into this folder, as fathom.RESULT-VERSION.schema.json.
    #[arg(long, value_name = "DIR", conflicts_with = "result")]
    pub(crate) write_all: Option<PathBuf>,
}

fn schema_name() -> PossibleValuesParser {
    PossibleValuesParser::new(results::published().map(|(kind, _)| kind.name))
}

#[derive(Debug, Args)]
pub(crate) struct SurveyOptions {
    /// A directory on the file system to survey.
    #[arg(default_value = ".", conflicts_with = "on")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) on: model::OnOptions,
    #[command(flatten)]
    pub(crate) plan: PlanOptions,
    /// Allow effects on the whole machine, such as filling the page cache; each is listed in the report and undone.
    #[arg(long)]
    pub(crate) intrusive: bool,
    #[command(flatten)]
    pub(crate) json: JsonOptions,
    #[command(flatten)]
    pub(crate) keep: keep::KeepOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Print the list as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeOptions {
    /// A directory on the file system to probe.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Run this experiment from a paper on measuring file systems instead, and say what it shows; --list-recipes names them.
    #[arg(long, value_name = "NAME", conflicts_with_all = [
        "op", "size", "step", "offset", "count", "direction", "prime", "settle", "gap", "rounds", "warmup",
        "fresh", "cold", "cached", "file_size", "between",
    ])]
    pub(crate) recipe: Option<String>,
    /// List the experiments from papers, with what the papers found, and run nothing.
    #[arg(long)]
    pub(crate) list_recipes: bool,
    /// Operations to make at each position of the file, in this order, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "read", value_name = "OPERATIONS")]
    pub(crate) op: Vec<Operation>,
    /// Bytes that each operation moves.
    #[arg(long, default_value = "4K", value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) size: u64,
    /// Bytes from one position to the next; the same as --size if not given.
    #[arg(long, value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) step: Option<u64>,
    /// Offset of the first position in the file.
    #[arg(long, default_value = "0", value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) offset: u64,
    /// Number of positions.
    #[arg(long, default_value_t = 256)]
    pub(crate) count: u64,
    /// The order in which positions are visited.
    #[arg(long, default_value = "forward")]
    pub(crate) direction: Order,
    /// Before each round, read this many bytes from the start of the file, in steps of --size, untimed.
    #[arg(long, value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) prime: Option<u64>,
    /// Wait this long after the reading that --prime asks for.
    #[arg(long, default_value = "0s", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) settle: Duration,
    /// Wait this long after each position.
    #[arg(long, default_value = "0s", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) gap: Duration,
    /// How often to repeat the workload.
    #[arg(long, default_value_t = 1)]
    pub(crate) rounds: u32,
    /// Rounds to run before those, whose samples are not kept.
    #[arg(long, default_value_t = 0)]
    pub(crate) warmup: u32,
    /// Start each round with a new, empty file, as for appends.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Start each round with none of the file in the page cache, and check that.
    #[arg(long, conflicts_with = "fresh")]
    pub(crate) cold: bool,
    /// Start each round with all of the file in the page cache, and check that.
    #[arg(long, conflicts_with_all = ["cold", "fresh"])]
    pub(crate) cached: bool,
    /// Size of the file, which is filled with data; if not given, as large as the positions need.
    #[arg(long, value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) file_size: Option<u64>,
    /// A command to run after each round, its words separated by spaces; no shell is involved.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) between: Option<String>,
    /// Print one line per position with this summary of its rounds, instead of every sample.
    #[arg(long, value_name = "SUMMARY")]
    pub(crate) summary: Option<Summary>,
    /// Write the samples to this new file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the workload as JSON and run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) budget: budget::BudgetOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Order {
    /// From the first position to the last.
    Forward,
    /// From the last position to the first.
    Backward,
    /// In a random order, decided by --seed.
    Random,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Summary {
    Median,
    Mean,
    Min,
    Max,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Operation {
    /// read(2) at the position; the seek to it is not timed.
    Read,
    /// write(2) at the position; the seek to it is not timed.
    Write,
    /// pread(2) at the position.
    Pread,
    /// pwrite(2) at the position.
    Pwrite,
    /// posix_fadvise(2), POSIX_FADV_WILLNEED: read --size bytes into the page cache.
    Prefetch,
    /// lseek(2) to the position.
    Lseek,
    /// fsync(2) of the file.
    Fsync,
    /// fdatasync(2) of the file.
    Fdatasync,
    /// sync(2): write the dirty pages of all files of the machine.
    Sync,
    /// sync_file_range(2): write the dirty pages at the position, without metadata.
    WriteOut,
    /// syncfs(2): write everything that is dirty on the file system.
    Syncfs,
    /// open(2) of the file, which must be closed.
    Open,
    /// open(2) of the file with O_DIRECT: reads and writes then bypass the page cache.
    OpenDirect,
    /// close(2) of the file.
    Close,
    /// Replace the file with a new, empty one, and open it.
    Create,
    /// Write the file's dirty pages and drop all of its pages from the page cache.
    Evict,
    /// Make no call; wait as long as --gap says.
    Pause,
}

/// Changes the option of this name, for `mut_args`, which leaves the options in their order.
pub(crate) fn changed(name: &str, change: fn(Arg) -> Arg) -> impl FnMut(Arg) -> Arg {
    move |option| if option.get_id() == name { change(option) } else { option }
}

/// What a cache holds of a file that is read.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum State {
    /// All of the file is in the page cache.
    Cached,
    /// None of the file is in the page cache.
    Cold,
}

/// A number of bytes that one call can move.
pub(crate) fn block(text: &str) -> Result<u64, String> {
    let size = parse_bytes(text)?;
    let is_block = (1..=LARGEST_BLOCK).contains(&size);
    is_block.then_some(size).ok_or_else(|| format!("'{text}' is not a block size from 1 byte to 1 GiB"))
}

/// The library's value of the same name, as serde reads it.
pub(crate) fn library<T: DeserializeOwned>(word: impl ValueEnum) -> T {
    let name = word.to_possible_value().map(|value| value.get_name().replace('-', "_"));
    serde_json::to_value(name).and_then(serde_json::from_value).expect("the library has each of these words")
}

/// A parser's error as one line: what is wrong and what would have been right, without the usage.
pub(crate) fn complaint(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "no command was given; see 'fathom --help'".to_owned();
    }
    let text = error.render().to_string();
    let paragraphs = text.split("\n\n").take_while(|part| !part.starts_with("Usage:"));
    let said = paragraphs.filter(|part| !part.starts_with("For more information"));
    let lines: Vec<String> = said.map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    lines.join("; ").trim_start_matches("error: ").to_owned()
}

impl ProbeOptions {
    /// The cache state that each round begins with, where one is asked for.
    pub(crate) fn cache_state(&self) -> Option<CacheState> {
        match (self.cold, self.cached) {
            (true, _) => Some(CacheState::Cold),
            (_, true) => Some(CacheState::Cached),
            _ => None,
        }
    }
}
