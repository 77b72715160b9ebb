//! The options of `fathom versus`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fathom::speed::curve;
use fathom::units::parse_bytes;

use crate::args::keep::KeepOptions;
use crate::args::library;
use crate::args::measuring::{MeasuringOptions, PrecisionOptions};

#[derive(Debug, Args)]
pub(crate) struct VersusOptions {
    /// A directory on the file system to measure.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Compare the jobs of this fio job file instead, each by itself: transfers per second and 99th percentiles.
    #[arg(long, value_name = "JOB.fio", conflicts_with_all = ["block_sizes", "file_size", "ops", "state"])]
    pub(crate) jobs: Option<PathBuf>,
    /// Bytes per call, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "4K,128K,1M", value_parser = parse_bytes, value_name = "SIZES")]
    pub(crate) block_sizes: Vec<u64>,
    /// Size of the file that is read or written.
    #[arg(long, default_value = "192MiB", value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) file_size: u64,
    /// Whether to read the file, to overwrite it in the page cache, or both, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "read", value_name = "OPERATIONS")]
    pub(crate) ops: Vec<Operation>,
    /// What the page cache holds of the file before it is read, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "cached,cold", value_name = "STATES")]
    pub(crate) state: Vec<State>,
    #[command(flatten)]
    pub(crate) keep: KeepOptions,
    #[command(flatten)]
    pub(crate) precision: PrecisionOptions,
    #[command(flatten)]
    pub(crate) measuring: MeasuringOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Operation {
    Read,
    Write,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum State {
    /// All of it.
    Cached,
    /// Nothing of it.
    Cold,
}

impl VersusOptions {
    /// Checks what the parser can't.
    pub(crate) fn check(&self) -> Result<(), String> {
        let largest = self.block_sizes.iter().copied().max().unwrap_or(1);
        if self.block_sizes.contains(&0) || largest > 1 << 30 || largest > self.file_size {
            return Err(
                "--block-sizes: a call moves 1 byte to 1 GiB, and no more than the file has".to_owned()
            );
        }
        Ok(())
    }

    /// What is done from which states of the cache.
    pub(crate) fn works(&self) -> Vec<(curve::Operation, curve::State)> {
        let mut works = Vec::new();
        if self.ops.contains(&Operation::Read) {
            works.extend(self.state.iter().map(|one| (curve::Operation::Read, library(*one))));
        }
        if self.ops.contains(&Operation::Write) {
            works.push((curve::Operation::Overwrite, curve::State::Cached));
        }
        works
    }
}
