//! Options of `fathom trace`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use fathom_trace::import::Format;

use crate::args::keep::KeepOptions;

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Record what a command and all that comes of it ask of files.
    Record(RecordOptions),
    /// Turn another tool's trace into one of ours, a Parquet file.
    Import(ImportOptions),
    /// Say what a trace does: mix, sizes, order, working set, hit ratios, pauses.
    Show(ShowOptions),
    /// Turn a trace into fio's iolog.
    Export(ExportOptions),
}

#[derive(Debug, Args)]
pub(crate) struct RecordOptions {
    /// The new file to write.
    #[arg(long, value_name = "FILE", default_value = "trace.parquet")]
    pub(crate) out: PathBuf,
    /// Who records; the kernel, as root, costs the program least.
    #[arg(long)]
    pub(crate) method: Option<MethodName>,
    /// Record a process that runs already, and what it starts meanwhile, until all have ended or this command is
    /// interrupted.
    #[arg(long, value_name = "PID", conflicts_with = "command", required_unless_present = "command")]
    pub(crate) pid: Option<u32>,
    /// Draw no page of what was recorded.
    #[arg(long)]
    pub(crate) no_report: bool,
    /// The command and its arguments, after '--'.
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum MethodName {
    Kernel,
    Strace,
}

#[derive(Debug, Args)]
pub(crate) struct ImportOptions {
    /// The trace to import.
    pub(crate) from: PathBuf,
    /// The new file to write.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// The format that it is in; found out from its beginning if it is not given.
    #[arg(long, value_parser = format_name())]
    pub(crate) format: Option<Format>,
    /// Print what was imported as JSON, and draw no page.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw no page of what was imported.
    #[arg(long)]
    pub(crate) no_report: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowOptions {
    /// A trace that `trace import` or `trace record` wrote.
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) keep: KeepOptions,
    /// Write it as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportOptions {
    /// A trace that `trace import` or `trace record` wrote.
    pub(crate) trace: PathBuf,
    /// The new file to write; an iolog of version 3.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// One of the formats, by its name.
fn format_name() -> impl TypedValueParser<Value = Format> {
    let names = PossibleValuesParser::new(Format::ALL.map(Format::name));
    names.try_map(|name| Format::named(&name).ok_or("no such format"))
}
