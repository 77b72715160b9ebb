//! `fathom xor`: a file's words folded into one, as fast as the machine can.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use fathom::report;
use fathom::run_folder::Kept;
use fathom::speed::watch::Watch;
use fathom::speed::xor::{self, MOST_THREADS, Method, Request};

use crate::console::{self, Meter};
use crate::failure::Failure;
use crate::guard;
use crate::keep::{self, Place};
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct XorOptions {
    /// The file, pipe or block device to read; '-' is standard input.
    file: PathBuf,
    /// Number of threads; if not given, one per CPU, and at least 16 when reading with O_DIRECT.
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    /// How to read the file.
    #[arg(long, default_value = "auto")]
    method: Way,
    /// Keep the result and its page in a new folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the answer as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Way {
    /// Try the methods on parts of the file, and use the fastest.
    Auto,
    /// read(2): the kernel copies the data.
    Read,
    /// mmap(2): the page cache is read in place.
    Mmap,
    /// O_DIRECT: the device is read without the page cache.
    Direct,
}

pub(crate) fn run(options: &XorOptions) -> Result<ExitCode, Failure> {
    let place = options.out.as_deref().map_or(Place::Nowhere, Place::Folder);
    keep::check(place)?;
    let json = options.json.as_deref().map(Output::open).transpose()?;
    let path = if options.file == Path::new("-") { Path::new("/dev/stdin") } else { &options.file };
    let watch = Watch::new(guard::over_reading(path)?);
    let meter = Meter::over(path.metadata().map_or(0, |about| about.len()), watch.clone());
    let method = match options.method {
        Way::Auto => None,
        Way::Read => Some(Method::Read),
        Way::Mmap => Some(Method::Mmap),
        Way::Direct => Some(Method::Direct),
    };
    let answer = xor::xor(path, Request { method, threads: options.threads }, &watch);
    drop(meter);
    let answer = answer?;
    console::tell(&report::xor(&answer), json.as_ref().is_some_and(Output::is_stdout))?;
    json.map_or(Ok(()), |output| output.write(&answer))?;
    keep::result(place, "xor", "", || Kept::Xor(Box::new(answer)))?;
    Ok(ExitCode::SUCCESS)
}

fn threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|threads| (1..=MOST_THREADS).contains(threads));
    threads.ok_or_else(|| format!("'{text}' is not a number of threads from 1 to {MOST_THREADS}"))
}
