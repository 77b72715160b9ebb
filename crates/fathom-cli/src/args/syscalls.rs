//! The options of `fathom syscalls`.

use clap::Args;
use fathom::units::parse_bytes;

use crate::args::measuring::MeasuringOptions;

#[derive(Debug, Args)]
pub(crate) struct SyscallsOptions {
    /// Sizes of the files, separated by commas; if not given, several from 10 KiB to 64 MiB.
    #[arg(long, value_delimiter = ',', value_parser = size, value_name = "SIZES")]
    pub(crate) sizes: Vec<u64>,
    /// Samples of each call on each file; one sample is a batch of 4096 calls.
    #[arg(long, default_value_t = 41, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) rounds: u32,
    #[command(flatten)]
    pub(crate) measuring: MeasuringOptions,
}

fn size(text: &str) -> Result<u64, String> {
    let size = parse_bytes(text)?;
    if size > 0 { Ok(size) } else { Err("a file must have at least one byte".to_owned()) }
}
