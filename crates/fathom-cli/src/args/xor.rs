//! The options of `fathom xor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fathom::speed::xor::{MOST_THREADS, Method};

use crate::args::library;
use crate::output::JsonOptions;

#[derive(Debug, Args)]
pub(crate) struct XorOptions {
    /// The file, pipe or block device to read; '-' is standard input.
    pub(crate) file: PathBuf,
    /// Number of threads; if not given, one per CPU, and at least 16 when reading with O_DIRECT.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// How to read the file.
    #[arg(long, default_value = "auto")]
    method: Way,
    /// Keep the result and its page in this new folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonOptions,
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

impl XorOptions {
    /// How to read; none where each way is tried.
    pub(crate) fn method(&self) -> Option<Method> {
        if let Way::Auto = self.method { None } else { Some(library(self.method)) }
    }
}

fn threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|threads| (1..=MOST_THREADS).contains(threads));
    threads.ok_or_else(|| format!("'{text}' is not a number of threads from 1 to {MOST_THREADS}"))
}
