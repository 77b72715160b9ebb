//! The options of `fathom compare`.

use std::path::PathBuf;

use clap::Args;

use crate::output::JsonOptions;

#[derive(Debug, Args)]
pub(crate) struct CompareOptions {
    /// Folders of kept surveys or curves, or their JSON files; the first one is compared with each of the others.
    #[arg(required = true, num_args = 2.., value_name = "RESULT")]
    pub(crate) runs: Vec<PathBuf>,
    /// How much a time or rate must differ to count, in percent: 50 means 1.5 times as much, or a third less. For
    /// thresholds and capacities half of it is enough, for syncs it takes ten times as much.
    #[arg(long, default_value_t = 75.0, value_name = "PERCENT")]
    pub(crate) margin: f64,
    /// Rate of false alarms, in percent: how often a comparison of equal machines may find any difference.
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT")]
    pub(crate) rate: f64,
    #[command(flatten)]
    pub(crate) json: JsonOptions,
    /// Write the comparison as a page to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) page: Option<PathBuf>,
}

impl CompareOptions {
    /// Checks what the parser can't.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(0.0..=10_000.0).contains(&self.margin) {
            return Err("--margin must be from 0 to 10000 percent; 75 is usual".to_owned());
        }
        if !(self.rate > 0.0 && self.rate < 50.0) {
            return Err("--rate must be more than 0 and less than 50 percent; 5 is usual".to_owned());
        }
        Ok(())
    }
}
