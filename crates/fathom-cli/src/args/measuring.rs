//! The options that everything shares that is measured in rounds.

use std::path::PathBuf;

use clap::Args;

use crate::args::budget::BudgetOptions;
use crate::args::changed;
use crate::args::format::Format;
use crate::args::keep::KeepOptions;
use crate::keep::Destination;

/// Where to measure, how a result is shown and kept, and how far the measuring may go.
#[derive(Debug, Args)]
#[command(mut_args(changed("max_time", |arg| arg.default_value("100s"))))]
pub(crate) struct MeasuringOptions {
    /// A directory on the file system to measure.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) keep: KeepOptions,
    /// Print the result in this format.
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) budget: BudgetOptions,
}

impl MeasuringOptions {
    /// Where the result goes.
    pub(crate) fn destination(&self) -> Destination<'_> {
        self.keep.destination(self.format == Format::Text)
    }
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
            false => Err("--width must be more than 0 percent; 5 is usual".to_owned()),
        }
    }
}
