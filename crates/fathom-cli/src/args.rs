//! One definition per option drives the parser, the help and its errors.

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
pub(crate) mod syscalls;
pub(crate) mod trace;
pub(crate) mod versus;
pub(crate) mod xor;

use std::path::PathBuf;
use std::time::Duration;

pub(crate) use self::fuse::FuseOptions;
pub(crate) use self::plan::PlanOptions;
use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use fathom::results;
use fathom::units::{parse_bytes, parse_duration};
use fathom::workload::{CacheState, Direction, Op};

/// Measure, explain and predict a file system.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find every parameter of the file system at PATH.
    Survey(SurveyOptions),
    /// List the experiments: question, method, cost, privileges, source.
    List(ListOptions),
    /// Run one workload with every option open and print the raw samples.
    Probe(ProbeOptions),
    /// Measure throughput and latency against the size of a call.
    Curve(curve::CurveOptions),
    /// Let Fathom, dd and fio read or write the same file, and compare.
    Versus(versus::VersusOptions),
    /// Run the jobs of a fio job file, or replay a trace, on the file system at PATH.
    Run(run::RunOptions),
    /// Record, import, show and export traces of file and block I/O.
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Predict the jobs of a fio job file on a machine that is only a model.
    Predict(predict::PredictOptions),
    /// Make a model of the machine and the file system at PATH, by measuring.
    Calibrate(calibrate::CalibrateOptions),
    /// Hold a model to jobs that it has never seen: each is predicted, and then run.
    Validate(calibrate::ValidateOptions),
    /// Draw the nets that the model is made of.
    #[command(subcommand)]
    Net(net::NetCommand),
    /// Build file systems of known truth and score the instrument on this kernel (as root).
    #[command(subcommand)]
    Lab(LabCommand),
    /// Write, read and count files by blocks.
    #[command(subcommand)]
    Io(io::IoCommand),
    /// Find what system calls cost.
    Syscalls(syscalls::SyscallsOptions),
    /// XOR a file's 32-bit words, as fast as the machine can.
    Xor(xor::XorOptions),
    /// Infer again from a run folder, without a machine, and write its page anew.
    Report(ReportOptions),
    /// Find what differs between surveys or curves of different kernels, mounts or days.
    Compare(compare::CompareOptions),
    /// Print the JSON Schema of a report.
    Schema(SchemaOptions),
    /// Print what a shell needs to complete this command's options.
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
    /// List the cases.
    List(LabFilter),
    /// Build, survey and score them, one after the other.
    Run(LabOptions),
    /// Mount a FUSE file system in memory that is slow and broken as planned, until it is interrupted.
    Fuse(FuseOptions),
}

#[derive(Debug, Args)]
pub(crate) struct LabFilter {
    /// Only cases whose name contains one of these, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) cases: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LabOptions {
    #[command(flatten)]
    pub(crate) filter: LabFilter,
    #[command(flatten)]
    pub(crate) plan: PlanOptions,
    /// Where images are kept; a file system in memory holds still.
    #[arg(long, default_value = "/dev/shm", value_name = "DIR")]
    pub(crate) images: PathBuf,
    /// Write the scores as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportOptions {
    /// A folder that another command kept its result in.
    pub(crate) run: PathBuf,
    /// Write the survey as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaOptions {
    /// Which kind of result.
    #[arg(default_value = "survey", value_name = "RESULT", value_parser = schema_name())]
    pub(crate) result: String,
    /// Write every schema into this folder instead, as fathom.RESULT-1.schema.json.
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
    /// Allow machine-wide effects; each is listed in the report and undone.
    #[arg(long)]
    pub(crate) intrusive: bool,
    /// Write the survey as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keep: keep::KeepOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeOptions {
    /// A directory on the file system to probe.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Run an experiment of a paper instead, and say what it shows; --list-recipes names them.
    #[arg(long, value_name = "NAME", conflicts_with_all = [
        "op", "size", "step", "offset", "count", "direction", "prime", "settle", "gap", "rounds", "warmup",
        "fresh", "cold", "cached", "file_size", "between",
    ])]
    pub(crate) recipe: Option<String>,
    /// List the papers' experiments and run nothing.
    #[arg(long)]
    pub(crate) list_recipes: bool,
    /// What to do at each position, in order and separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "read", value_name = "OPERATIONS")]
    pub(crate) op: Vec<Operation>,
    /// Bytes that each operation moves.
    #[arg(long, default_value = "4K", value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) size: u64,
    /// Bytes from one position to the next; the size if it is not given.
    #[arg(long, value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) step: Option<u64>,
    /// Where the first position is.
    #[arg(long, default_value = "0", value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) offset: u64,
    /// How many positions there are.
    #[arg(long, default_value_t = 256)]
    pub(crate) count: u64,
    /// The order in which positions are visited.
    #[arg(long, default_value = "forward")]
    pub(crate) direction: Order,
    /// Read this much from the start of the file first, in steps of SIZE, untimed.
    #[arg(long, value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) prime: Option<u64>,
    /// Wait this long after priming.
    #[arg(long, default_value = "0s", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) settle: Duration,
    /// Wait this long after each position.
    #[arg(long, default_value = "0s", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) gap: Duration,
    /// How often to repeat it all.
    #[arg(long, default_value_t = 1)]
    pub(crate) rounds: u32,
    /// Rounds before that, which are not kept.
    #[arg(long, default_value_t = 0)]
    pub(crate) warmup: u32,
    /// Start each round with a new, empty file, as for appends.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Start each round with the file's pages dropped from the cache, and prove it.
    #[arg(long, conflicts_with = "fresh")]
    pub(crate) cold: bool,
    /// Start each round with all of the file in the cache, and prove it.
    #[arg(long, conflicts_with_all = ["cold", "fresh"])]
    pub(crate) cached: bool,
    /// Size of the file, filled with data; as large as the positions need if it is not given.
    #[arg(long, value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) file_size: Option<u64>,
    /// A command to run after each round, its words separated by spaces; no shell is involved.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) between: Option<String>,
    /// Print one line per position with this summary of its rounds, instead of every sample.
    #[arg(long, value_name = "SUMMARY")]
    pub(crate) summary: Option<Summary>,
    /// Write to this new file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the workload as JSON and run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write at most this much in all.
    #[arg(long, default_value = "256MiB", value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) max_write: u64,
    /// Take at most this long.
    #[arg(long, default_value = "60s", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) max_time: Duration,
    /// Decides random orders.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Order {
    Forward,
    Backward,
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
    Read,
    Write,
    Pread,
    Pwrite,
    Prefetch,
    Lseek,
    Fsync,
    Fdatasync,
    Sync,
    WriteOut,
    Syncfs,
    Open,
    OpenDirect,
    Close,
    Create,
    Evict,
    Pause,
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

impl From<Order> for Direction {
    fn from(order: Order) -> Self {
        match order {
            Order::Forward => Direction::Forward,
            Order::Backward => Direction::Backward,
            Order::Random => Direction::Random,
        }
    }
}

impl From<Operation> for Op {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Read => Op::Read,
            Operation::Write => Op::Write,
            Operation::Pread => Op::Pread,
            Operation::Pwrite => Op::Pwrite,
            Operation::Prefetch => Op::Prefetch,
            Operation::Lseek => Op::Lseek,
            Operation::Fsync => Op::Fsync,
            Operation::Fdatasync => Op::Fdatasync,
            Operation::Sync => Op::Sync,
            Operation::WriteOut => Op::WriteOut,
            Operation::Syncfs => Op::Syncfs,
            Operation::Open => Op::Open,
            Operation::OpenDirect => Op::OpenDirect,
            Operation::Close => Op::Close,
            Operation::Create => Op::Create,
            Operation::Evict => Op::Evict,
            Operation::Pause => Op::Pause,
        }
    }
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
