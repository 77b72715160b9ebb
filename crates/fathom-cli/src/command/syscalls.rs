//! `fathom syscalls`: what a system call costs.

use std::process::ExitCode;

use fathom::speed::syscalls::SIZES;

use super::{begin, publish};
use crate::args::syscalls::SyscallsOptions;
use crate::console::Progress;
use crate::failure::Failure;

const NEXT: &str = "Next: 'fathom curve' measures the throughput of calls of each size.\n";

pub(crate) fn run(options: &SyscallsOptions) -> Result<ExitCode, Failure> {
    let mut session = begin(&options.measuring)?;
    let sizes = if options.sizes.is_empty() { SIZES.to_vec() } else { options.sizes.clone() };
    let bar = Progress::over(vec![1; options.rounds as usize]);
    let measured =
        session.syscalls(sizes, options.rounds, &mut |round| bar.at(round as usize, "batches of calls"));
    drop(bar);
    let costs = measured?;
    publish(&options.measuring, ("syscalls", NEXT), &costs, &costs.measurements, &costs.provenance)?;
    Ok(ExitCode::SUCCESS)
}
