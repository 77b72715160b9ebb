//! The options of `fathom io`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use fathom::units::parse_duration;

use crate::args::budget::LimitOptions;
use crate::args::{State, block, changed};
use crate::output::JsonOptions;

#[derive(Debug, Subcommand)]
pub(crate) enum IoCommand {
    /// Write a new file of a given number of blocks.
    Write(WriteOptions),
    /// Read a file block by block, to standard output.
    Read(ReadOptions),
    /// Count a file's blocks by reading them, and compare with what fstat says.
    Count(CountOptions),
    /// Find the size of a file that takes a given time to read.
    Size(SizeOptions),
}

#[derive(Debug, Args)]
pub(crate) struct WriteOptions {
    /// The file to write.
    pub(crate) file: PathBuf,
    /// Bytes that each write moves.
    #[arg(long, value_parser = block, value_name = "SIZE")]
    pub(crate) block_size: u64,
    /// Number of blocks.
    #[arg(long)]
    pub(crate) count: u64,
    /// What the blocks contain.
    #[arg(long, default_value = "random")]
    pub(crate) pattern: Filling,
    /// Replace a file that exists; it stays as it is until the new one is complete.
    #[arg(long)]
    pub(crate) force: bool,
    /// Include the time until the device has all data (fsync).
    #[arg(long)]
    pub(crate) sync: bool,
    #[command(flatten)]
    pub(crate) json: JsonOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ReadOptions {
    /// The file to read; '-' is standard input.
    pub(crate) file: PathBuf,
    /// Bytes that each read moves.
    #[arg(long, value_parser = block, value_name = "SIZE")]
    pub(crate) block_size: u64,
    /// Read this many blocks only.
    #[arg(long)]
    pub(crate) count: Option<u64>,
    /// Do not write the data to standard output.
    #[arg(long)]
    pub(crate) discard: bool,
    #[command(flatten)]
    pub(crate) json: JsonOptions,
}

#[derive(Debug, Args)]
pub(crate) struct CountOptions {
    /// The file to read; '-' is standard input.
    pub(crate) file: PathBuf,
    /// Bytes of a block.
    #[arg(long, value_parser = block, value_name = "SIZE")]
    pub(crate) block_size: u64,
    #[command(flatten)]
    pub(crate) json: JsonOptions,
}

#[derive(Debug, Args)]
#[command(mut_args(changed("max_time", |arg| arg.default_value("120s"))))]
pub(crate) struct SizeOptions {
    /// A directory on the file system to measure.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// How long reading the file should take.
    #[arg(long, value_parser = parse_duration, value_name = "TIME")]
    pub(crate) time: Duration,
    /// Bytes that each read moves.
    #[arg(long, default_value = "4K", value_parser = block, value_name = "SIZE")]
    pub(crate) block_size: u64,
    /// Where the file's data are when it is read.
    #[arg(long, default_value = "cached")]
    pub(crate) state: State,
    #[command(flatten)]
    pub(crate) limits: LimitOptions,
    #[command(flatten)]
    pub(crate) json: JsonOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Filling {
    /// Bytes that cannot be compressed.
    Random,
    /// Zeros.
    Zero,
    /// Numbered lines.
    Text,
}
