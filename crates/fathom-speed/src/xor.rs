//! The XOR of a file's 32-bit words, read as fast as the machine can (paper B, part 6).
//!
//! Words are little-endian and the last one is padded with zeros. XOR doesn't care for order, so a file
//! is folded in pieces by as many threads as there are; what decides the speed is how the bytes come:
//! by `read(2)` through a copy, by `mmap(2)` from the page cache itself, or past it with O_DIRECT.

mod contest;
mod fold;
mod source;
mod sweep;
mod trial;

use std::path::Path;

use fathom_sys::{affinity, clock::monotonic_raw_ns};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::source::{Source, Whole};
use fathom_run::fault::Fault;
use fathom_run::watch::Watch;

/// The name of the schema that [`Xor`] is published under.
pub const SCHEMA: &str = "fathom.xor/1";

/// More threads than that are refused.
pub const MOST_THREADS: usize = 1024;

/// How bytes come from a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Method {
    /// `pread(2)` into a buffer that stays in the processor's cache.
    Read,
    /// `mmap(2)`: the page cache itself, without a copy.
    Mmap,
    /// `pread(2)` with O_DIRECT, past the page cache.
    Direct,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request {
    /// How to read; by trial where it is not given.
    pub method: Option<Method>,
    /// Threads that read; as many as there are CPUs where it is not given.
    pub threads: Option<usize>,
}

/// The answer, as it is written with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.xor/1")]
pub struct Xor {
    /// Always `fathom.xor/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The version of Fathom that wrote it.
    pub version: String,
    /// The file.
    pub path: String,
    /// Bytes that were folded.
    pub bytes: u64,
    /// The XOR of all little-endian 32-bit words: eight hexadecimal digits.
    pub xor: String,
    /// Wall time from opening the file to the last word, in ns.
    pub duration_ns: u64,
    /// Bytes per second over that time.
    pub bytes_per_second: f64,
    /// How most of it was read.
    pub method: Method,
    /// Threads that read.
    pub threads: usize,
    /// Why it was read so, one sentence.
    pub reason: String,
    /// The share of the file's pages that were in the page cache at the start; of those of 64 parts of 256 KiB,
    /// spread over it, where it is larger than these. Nothing where that can't be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_share: Option<f64>,
    /// What was tried on parts of the file before the choice. They count in the answer.
    pub trials: Vec<Trial>,
}

/// One way to read, tried on a part of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// How it was read.
    pub method: Method,
    /// Threads that read a part: one where each takes its own parts while the others take theirs.
    pub threads: usize,
    /// Bytes read so.
    pub bytes: u64,
    /// The time that took, in ns.
    pub duration_ns: u64,
    /// Bytes per second over the fastest of its parts, by which the choice was made.
    pub bytes_per_second: f64,
}

/// What folding gave, before it is a report.
struct Folding {
    word: u64,
    bytes: u64,
    method: Method,
    threads: usize,
    reason: String,
    cached_share: Option<f64>,
    trials: Vec<Trial>,
}

/// Folds the file at `path`.
///
/// # Errors
/// What opening and reading give; [`Fault::Unsupported`] for a directory, for a method that the file does
/// not allow, and where somebody wrote to the file or cut it off meanwhile: then there is no right answer.
pub fn xor(path: &Path, request: Request, watch: &Watch) -> Result<Xor, Fault> {
    let started = monotonic_raw_ns();
    let folding = match source::open(path)? {
        Source::Stream(stream) => stream.fold(request, watch)?,
        Source::Whole(whole) => {
            let folding = fold(&whole, request, watch)?;
            whole.is_unchanged()?;
            folding
        }
    };
    let duration_ns = monotonic_raw_ns() - started;
    Ok(Xor {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        path: path.display().to_string(),
        bytes: folding.bytes,
        xor: format!("{:08x}", narrow(folding.word)),
        duration_ns,
        bytes_per_second: per_second(folding.bytes, duration_ns),
        method: folding.method,
        threads: folding.threads,
        reason: folding.reason,
        cached_share: folding.cached_share,
        trials: folding.trials,
    })
}

/// By the method asked for, or by the one that trials choose.
fn fold(whole: &Whole, request: Request, watch: &Watch) -> Result<Folding, Fault> {
    let cpus = affinity::allowed_cpus().len();
    let Some(method) = request.method else { return trial::fold(whole, request.threads, cpus, watch) };
    let threads = request.threads.unwrap_or_else(|| method.usual_threads(cpus));
    let mut sweeper = sweep::Sweeper::new(whole, watch);
    let done = sweeper.sweep(method, threads, 0..whole.size)?;
    Ok(Folding {
        word: done.word,
        bytes: whole.size,
        method,
        threads: done.threads,
        reason: "it was asked for".to_owned(),
        cached_share: whole.cached_share(),
        trials: Vec::new(),
    })
}

impl Method {
    /// Reads past the cache wait for the device: more of them than CPUs keep its queue filled.
    fn usual_threads(self, cpus: usize) -> usize {
        match self {
            Method::Read | Method::Mmap => cpus,
            Method::Direct => cpus.max(16),
        }
    }
}

/// Two 32-bit words, one behind the other in memory, as one: their XOR.
fn narrow(word: u64) -> u32 {
    let little = u64::from_le(word);
    (little >> 32) as u32 ^ little as u32
}

fn per_second(bytes: u64, ns: u64) -> f64 {
    bytes as f64 / ns.max(1) as f64 * 1e9
}

#[cfg(test)]
mod tests;
