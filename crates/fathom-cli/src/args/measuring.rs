//! The options that everything shares that is measured in rounds.

use std::time::Duration;

use clap::Args;
use fathom::units::{parse_bytes, parse_duration};

use crate::args::format::Format;

/// How a result is shown, and how far the measuring may go.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct MeasuringOptions {
    /// Print the result in this format.
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
    /// Write at most this much in all.
    #[arg(long, default_value = "256MiB", value_parser = parse_bytes, value_name = "SIZE")]
    pub(crate) max_write: u64,
    /// Take at most this long.
    #[arg(long, default_value = "100s", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) max_time: Duration,
    /// Seed of the random orders.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// When enough is known.
#[derive(Debug, Args)]
pub(crate) struct PrecisionOptions {
    /// Measure until the 95 % interval of every median is narrower than this, in percent of the median.
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT")]
    width: f64,
}

impl PrecisionOptions {
    /// The width of intervals as a share of the median.
    ///
    /// # Errors
    /// No interval is as narrow as that.
    pub(crate) fn width(&self) -> Result<f64, String> {
        match self.width > 0.0 {
            true => Ok(self.width / 100.0),
            false => Err("--width: an interval has some width; 5 is usual".to_owned()),
        }
    }
}
