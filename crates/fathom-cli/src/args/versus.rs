//! The options of `fathom versus`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fathom::speed::curve;
use fathom::units::parse_bytes;

use crate::args::measuring::{MeasuringOptions, PrecisionOptions};
use crate::args::{State, block, library};

#[derive(Debug, Args)]
pub(crate) struct VersusOptions {
    /// Compare the jobs of this fio job file instead, each by itself: transfers per second and 99th percentiles.
    #[arg(long, value_name = "JOB.fio", conflicts_with_all = ["block_sizes", "file_size", "ops", "state"])]
    pub(crate) jobs: Option<PathBuf>,
    /// Bytes per call, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "4K,128K,1M", value_parser = block, value_name = "SIZES")]
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
    pub(crate) precision: PrecisionOptions,
    #[command(flatten)]
    pub(crate) measuring: MeasuringOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Operation {
    Read,
    Write,
}

impl VersusOptions {
    /// Checks what the parser can't.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.block_sizes.iter().all(|&size| size <= self.file_size) {
            true => Ok(()),
            false => Err("--block-sizes: a call can't move more than the file has".to_owned()),
        }
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
