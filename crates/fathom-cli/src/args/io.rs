//! The options of `fathom io`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use fathom::speed::transfer::LARGEST_BLOCK;
use fathom::units::{parse_bytes, parse_duration};

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
    /// Write the figures as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
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
    /// Write the figures as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CountOptions {
    /// The file to read; '-' is standard input.
    pub(crate) file: PathBuf,
    /// Bytes of a block.
    #[arg(long, value_parser = block, value_name = "SIZE")]
    pub(crate) block_size: u64,
    /// Write the figures as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
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
    /// Write at most this much.
    #[arg(long, default_value = "256MiB", value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) max_write: u64,
    /// Take at most this long.
    #[arg(long, default_value = "120s", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) max_time: Duration,
    /// Write the answer as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
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

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum State {
    /// In the page cache.
    Cached,
    /// Only on the device.
    Cold,
}

fn block(text: &str) -> Result<u64, String> {
    let size = parse_bytes(text)?;
    if (1..=LARGEST_BLOCK).contains(&size) {
        Ok(size)
    } else {
        Err(format!("'{text}' is not from 1 to 1 GiB"))
    }
}
