//! `fathom syscalls`: what a system call costs.

use std::process::ExitCode;

use fathom::speed::syscalls::SIZES;

use super::{begin, print};
use crate::args::syscalls::SyscallsOptions;
use crate::console::Progress;
use crate::failure::Failure;
use crate::keep;

const NEXT: &str = "Next: 'fathom curve' measures the throughput of calls of each size.\n";

pub(crate) fn run(options: &SyscallsOptions) -> Result<ExitCode, Failure> {
    let (mut session, place) = begin(&options.path, &options.measuring, &options.keep)?;
    let sizes = if options.sizes.is_empty() { SIZES.to_vec() } else { options.sizes.clone() };
    let bar = Progress::over(vec![1; options.rounds as usize]);
    let measured =
        session.syscalls(sizes, options.rounds, &mut |round| bar.at(round as usize, "batches of calls"));
    drop(bar);
    let prices = measured?;
    print(options.measuring.format, &prices, &prices.measurements, &prices.provenance)?;
    keep::result(place, "syscalls", NEXT, &prices)?;
    Ok(ExitCode::SUCCESS)
}
