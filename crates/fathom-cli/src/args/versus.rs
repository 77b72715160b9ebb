//! The options of `fathom versus`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use fathom::speed::curve;
use fathom::units::{parse_bytes, parse_duration};

use crate::args::format::Format;

#[derive(Debug, Args)]
pub(crate) struct VersusOptions {
    /// A directory on the file system to read from.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Bytes per call, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "4K,128K,1M", value_parser = parse_bytes, value_name = "SIZES")]
    pub(crate) block_sizes: Vec<u64>,
    /// Size of the file.
    #[arg(long, default_value = "192MiB", value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) file_size: u64,
    /// What the page cache holds of the file at the start.
    #[arg(long, value_delimiter = ',', default_value = "cached,cold", value_name = "STATES")]
    pub(crate) state: Vec<State>,
    /// Go on until the 95 % interval of every median is narrower than this, in percent of the median.
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT")]
    pub(crate) width: f64,
    /// Print the result in this format.
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
    /// Write at most this much in all.
    #[arg(long, default_value = "256MiB", value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) max_write: u64,
    /// Take at most this long.
    #[arg(long, default_value = "100s", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) max_time: Duration,
    /// Decides random orders.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum State {
    Cached,
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
        if self.width.is_nan() || self.width <= 0.0 {
            return Err("--width: an interval has some width; 5 is usual".to_owned());
        }
        Ok(())
    }

    /// The states of the cache that are asked for.
    pub(crate) fn states(&self) -> Vec<curve::State> {
        let of = |state: &State| match state {
            State::Cached => curve::State::Cached,
            State::Cold => curve::State::Cold,
        };
        self.state.iter().map(of).collect()
    }
}
