//! `fathom syscalls`: what a system call costs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use fathom::instrument::Instrument;
use fathom::provenance::Provenance;
use fathom::report;
use fathom::run_folder::Kept;
use fathom::speed::syscalls::{self, Plan, SCHEMA, SIZES, Syscalls};
use fathom::units::parse_bytes;

use crate::args::format::Format;
use crate::args::keep::KeepOptions;
use crate::args::measuring::MeasuringOptions;
use crate::command::survey::directory;
use crate::console::Progress;
use crate::failure::Failure;
use crate::{guard, interrupt, keep, print};

#[derive(Debug, Args)]
pub(crate) struct SyscallsOptions {
    /// A directory on the file system to measure.
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Sizes of the files, separated by commas; if not given, several from 10 KiB to 64 MiB.
    #[arg(long, value_delimiter = ',', value_parser = size, value_name = "SIZES")]
    sizes: Vec<u64>,
    /// Samples of each call on each file; one sample is a batch of 4096 calls.
    #[arg(long, default_value_t = 41, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: u32,
    #[command(flatten)]
    keep: KeepOptions,
    #[command(flatten)]
    measuring: MeasuringOptions,
}

const NEXT: &str = "Next: 'fathom curve' measures what calls of each size move.\n";

pub(crate) fn run(options: &SyscallsOptions) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    let MeasuringOptions { format, max_write, max_time, seed } = options.measuring;
    let path = directory(&options.path)?;
    let place = options.keep.place(format == Format::Text);
    keep::check(place)?;
    let interrupt = interrupt::flag()?;
    guard::watch(started + max_time, interrupt.clone());
    let instrument = Instrument::calibrate().map_err(Failure::Failed)?;
    let mut result = preamble(options, &path, &instrument)?;
    let plan = Plan {
        sizes: if options.sizes.is_empty() { SIZES.to_vec() } else { options.sizes.clone() },
        rounds: options.rounds,
        seed,
        max_write,
        deadline: started + max_time,
    };
    let progress = Progress::over(vec![1; options.rounds as usize]);
    let outcome = syscalls::measure(&path, &instrument, &plan, &interrupt, &mut |round| {
        progress.at(round as usize, "batches of calls");
    });
    progress.finish();
    let prices = outcome?;
    result.measurements = prices.measurements;
    result.rounds = prices.rounds;
    result.bytes_written = prices.bytes_written;
    result.caveats = prices.caveats;
    result.duration_ns = started.elapsed().as_nanos() as u64;
    let text = || report::syscalls(&result);
    print::result(format, text, &result, &result.measurements, &result.provenance)?;
    keep::result(place, "syscalls", NEXT, || Kept::Syscalls(Box::new(result)))?;
    Ok(ExitCode::SUCCESS)
}

fn preamble(options: &SyscallsOptions, path: &Path, instrument: &Instrument) -> Result<Syscalls, Failure> {
    Ok(Syscalls {
        schema: SCHEMA.to_owned(),
        provenance: Provenance::of(path, &instrument.certificate, options.measuring.seed)?,
        clock_ns: instrument.certificate.overhead_ns,
        measurements: Vec::new(),
        rounds: 0,
        duration_ns: 0,
        bytes_written: 0,
        caveats: Vec::new(),
    })
}

fn size(text: &str) -> Result<u64, String> {
    let size = parse_bytes(text)?;
    if size > 0 { Ok(size) } else { Err("a file of no bytes has none to read".to_owned()) }
}
