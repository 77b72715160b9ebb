//! The options of `fathom curve`.

use clap::{Args, ValueEnum};
use fathom::speed::curve;
use fathom::units::parse_bytes;

use crate::args::measuring::{MeasuringOptions, PrecisionOptions};
use crate::args::{block, library};

#[derive(Debug, Args)]
pub(crate) struct CurveOptions {
    /// Bytes per call, separated by commas; if not given, every power of two from 512 B to 64 MiB.
    #[arg(long, value_delimiter = ',', value_parser = block, value_name = "SIZES")]
    pub(crate) block_sizes: Vec<u64>,
    /// Sizes of the files, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "64MiB", value_parser = parse_bytes, value_name = "SIZES")]
    pub(crate) file_size: Vec<u64>,
    /// Operations to measure, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "read,overwrite,append", value_name = "OPERATIONS")]
    pub(crate) ops: Vec<Operation>,
    /// Orders of the calls' offsets, separated by commas; appends are always sequential.
    #[arg(long, value_delimiter = ',', default_value = "sequential,random", value_name = "ORDERS")]
    pub(crate) order: Vec<Order>,
    /// States of the page cache at the start of a sample, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "cached,cold", value_name = "STATES")]
    pub(crate) state: Vec<State>,
    /// Numbers of threads, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "COUNTS")]
    pub(crate) threads: Vec<u32>,
    #[command(flatten)]
    pub(crate) precision: PrecisionOptions,
    /// Also read files larger than the memory, and write more than may be dirty; both limits are lowered meanwhile and restored (as root).
    #[arg(long)]
    pub(crate) intrusive: bool,
    #[command(flatten)]
    pub(crate) measuring: MeasuringOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Operation {
    /// Read the file.
    Read,
    /// Write over the file's data.
    Overwrite,
    /// Write to the end of a new file.
    Append,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Order {
    Sequential,
    Random,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum State {
    /// All of the file is in the page cache.
    Cached,
    /// None of the file is in the page cache.
    Cold,
    /// The calls bypass the page cache, with O_DIRECT.
    Direct,
}

impl CurveOptions {
    /// Checks what the parser can't.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.file_size.contains(&0) {
            return Err("--file-size: a file must have at least one byte".to_owned());
        }
        if !self.threads.iter().all(|&count| (1..=1024).contains(&count)) {
            return Err("--threads: each must be from 1 to 1024".to_owned());
        }
        Ok(())
    }

    /// The values that each dimension takes.
    pub(crate) fn choice(&self) -> curve::Choice {
        let block_bytes = match self.block_sizes.is_empty() {
            true => (9..=26).map(|power| 1 << power).collect(),
            false => self.block_sizes.clone(),
        };
        curve::Choice {
            block_bytes,
            file_bytes: self.file_size.clone(),
            operations: self.ops.iter().map(|&operation| library(operation)).collect(),
            orders: self.order.iter().map(|&order| library(order)).collect(),
            states: self.state.iter().map(|&state| library(state)).collect(),
            threads: self.threads.clone(),
        }
    }
}
