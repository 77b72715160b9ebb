//! The options of `fathom compare`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct CompareOptions {
    /// Run folders, or the JSON of surveys or curves; the others are held against the first.
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// By how much a time or rate must differ, in percent: 50 is half as much again, or a third less. Thresholds and
    /// capacities: by half of that.
    #[arg(long, default_value_t = 75.0, value_name = "PERCENT")]
    pub(crate) margin: f64,
    /// How often, in percent, comparing equal things may tell of any difference at all.
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT")]
    pub(crate) rate: f64,
    /// Write the comparison as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the comparison as a page to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) page: Option<PathBuf>,
}

impl CompareOptions {
    /// Checks what the parser can't.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(0.0..=10_000.0).contains(&self.margin) {
            return Err("--margin: it is a share in percent; 75 is usual".to_owned());
        }
        if !(self.rate > 0.0 && self.rate < 50.0) {
            return Err("--rate: it is more than 0 and less than 50 percent; 5 is usual".to_owned());
        }
        Ok(())
    }
}
