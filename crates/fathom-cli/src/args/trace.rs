//! Options of `fathom trace`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use fathom_trace::import::Format;

use crate::args::keep::KeepOptions;
use crate::output::JsonOptions;

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Record the file operations of a command and of the processes that it starts.
    Record(RecordOptions),
    /// Convert a trace of another tool to Fathom's format, a Parquet file.
    Import(ImportOptions),
    /// Show what a trace does: mix, sizes, order, working set, hit ratios, pauses.
    Show(ShowOptions),
    /// Convert a trace to fio's iolog.
    Export(ExportOptions),
}

#[derive(Debug, Args)]
pub(crate) struct RecordOptions {
    /// Write the trace to this new file.
    #[arg(long, value_name = "FILE", default_value = "trace.parquet")]
    pub(crate) out: PathBuf,
    /// Which recorder to use; if not given, the kernel's as root, strace otherwise.
    #[arg(long)]
    pub(crate) method: Option<MethodName>,
    /// Record this running process, and the processes that it starts, until all have ended or this command is
    /// interrupted.
    #[arg(long, value_name = "PID", conflicts_with = "command", required_unless_present = "command")]
    pub(crate) pid: Option<u32>,
    /// Make no page of the recorded trace.
    #[arg(long)]
    pub(crate) no_report: bool,
    /// The command and its arguments, after '--'.
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum MethodName {
    /// The kernel's tracer (as root); slows the program down least.
    Kernel,
    /// strace; needs no root.
    Strace,
}

#[derive(Debug, Args)]
pub(crate) struct ImportOptions {
    /// The trace to import.
    pub(crate) from: PathBuf,
    /// Write the trace to this new file, or with --rows-per-part to this new folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Write parts of so many operations each, for traces that several machines read.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rows_per_part: Option<u64>,
    /// The format of the trace; if not given, found out from its beginning.
    #[arg(long, value_parser = format_name())]
    pub(crate) format: Option<Format>,
    /// Print what was imported as JSON, and make no page.
    #[arg(long)]
    pub(crate) json: bool,
    /// Make no page of the imported trace.
    #[arg(long)]
    pub(crate) no_report: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowOptions {
    /// A trace that 'fathom trace record' or 'fathom trace import' wrote; a folder of parts, or a pattern of their names in quotes.
    pub(crate) trace: PathBuf,
    /// Show the hit ratios of LRU caches alone, by following at most this part of the blocks [default without a part: 1]. It is
    /// quicker, and makes no page.
    #[arg(
        long,
        value_name = "PART",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1",
        value_parser = part,
        conflicts_with = "out"
    )]
    pub(crate) hit_ratios: Option<f64>,
    #[command(flatten)]
    pub(crate) keep: KeepOptions,
    #[command(flatten)]
    pub(crate) json: JsonOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ExportOptions {
    /// A trace that 'fathom trace record' or 'fathom trace import' wrote.
    pub(crate) trace: PathBuf,
    /// Write the iolog (version 3) to this new file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// A part of the blocks.
fn part(typed: &str) -> Result<f64, &'static str> {
    let part = typed.parse().ok().filter(|part| (1e-9..=1.0).contains(part));
    part.ok_or("a part of the blocks is above 0 and at most 1, such as 0.01")
}

/// One of the formats, by its name.
fn format_name() -> impl TypedValueParser<Value = Format> {
    let names = PossibleValuesParser::new(Format::ALL.iter().map(|format| format.name()));
    names.try_map(|name| Format::named(&name).ok_or("no such format"))
}
