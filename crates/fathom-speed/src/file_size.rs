//! The size of a file that takes a given time to read (paper B, part 2).
//!
//! A scratch file grows until reading it takes that long; the size in proportion is then read again and
//! again, and corrected, so that what is answered was measured and not extrapolated.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fathom_sys::clock::monotonic_raw_ns;
use fathom_sys::memory::Mapping;
use fathom_sys::{Error, cache, facts, file};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measurement::Measurement;
use crate::pattern::Pattern;
use fathom_run::fault::Fault;
use fathom_run::scratch::{Scratch, remove_leftovers};
use fathom_run::watch::Watch;

/// The name of the schema that [`FileSize`] is published under.
pub const SCHEMA: &str = "fathom.io-size/1";

/// The first size tried, in bytes.
const FIRST: u64 = 1 << 20;
/// How much the file grows at most from one try to the next.
const GROWTH: f64 = 8.0;
/// Reads that confirm a size: as many as an interval of the median at 95 % needs.
const READS: usize = 6;
/// How far the median may be from what was asked for, as a share of it.
const TOLERANCE: f64 = 0.05;
/// How often the size is corrected before the machine counts as too restless.
const CORRECTIONS: u32 = 4;

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// How long reading is to take.
    pub time: Duration,
    /// Bytes of each `read(2)`.
    pub block: u64,
    /// Whether the file's pages are dropped before each reading.
    pub cold: bool,
    /// The largest file, in bytes.
    pub max_write: u64,
    /// When to end.
    pub deadline: Instant,
}

/// The answer, as it is written with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.io-size/1")]
pub struct FileSize {
    /// Always `fathom.io-size/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The version of Fathom that wrote it.
    pub version: String,
    /// The directory.
    pub path: String,
    /// How long reading is to take, in ns.
    pub wanted_ns: u64,
    /// Bytes of each `read(2)`.
    pub block_bytes: u64,
    /// Whether the file's pages were dropped before each reading.
    pub cold: bool,
    /// The size; nothing where none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The readings of that size, or of the largest that was tried; a call is one whole reading.
    pub measurement: Measurement,
    /// Bytes per second at the median.
    pub bytes_per_second: f64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Why there is no answer, and what to know before relying on one.
    pub caveats: Vec<String>,
}

/// A scratch file that grows.
struct Growing<'a> {
    question: Question,
    watch: &'a Watch,
    path: PathBuf,
    file: OwnedFd,
    buffer: Mapping,
    size: u64,
    /// Whether a reading found the cache in another state than it should.
    is_unproven: bool,
    // Last, so that it outlives the file in it.
    _scratch: Scratch,
}

/// Looks for the size in a scratch file below `path`.
///
/// # Errors
/// What making, writing and reading the file gives.
pub fn find(path: &Path, question: Question, watch: &Watch) -> Result<FileSize, Fault> {
    let mut growing = Growing::below(path, question, watch)?;
    let wanted = question.time.as_nanos() as f64;
    let limit = growing.limit(path)?;
    let mut size = FIRST.next_multiple_of(question.block).min(limit);
    let mut samples = vec![growing.read(size)?];
    let mut caveats = Vec::new();
    while samples[0] < wanted && size < limit {
        size = growing.scaled(size, (1.1 * wanted / samples[0]).clamp(2.0, GROWTH)).min(limit);
        samples = vec![growing.read(size)?];
    }
    let mut found = None;
    if samples[0] < wanted {
        let estimate = fathom_program::units::Bytes((size as f64 * wanted / samples[0]) as u64);
        caveats.push(format!(
            "no size up to the limit takes that long; in proportion it would be about {estimate}: raise --max-write"
        ));
    } else {
        for _ in 0..CORRECTIONS {
            let middle = fathom_stats::quantile::median(&samples).unwrap_or(wanted);
            size = growing.scaled(size, wanted / middle).min(limit);
            samples = growing.readings(size)?;
            let middle = fathom_stats::quantile::median(&samples).unwrap_or(f64::NAN);
            if (middle / wanted - 1.0).abs() <= TOLERANCE {
                found = Some(size);
                break;
            }
        }
        if found.is_none() {
            caveats.push(
                "the machine is not steady enough: reading the same size took a different time in each try"
                    .to_owned(),
            );
        }
    }
    if growing.is_unproven {
        let state = if question.cold { "cold" } else { "cached" };
        caveats.push(format!("the file could not be shown to be {state} at each reading"));
    }
    let measurement = Measurement::new("read", 1, size, samples)
        .ok_or_else(|| Fault::Unsupported("nothing was read".to_owned()))?
        .with("block_bytes", question.block);
    Ok(FileSize {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        path: path.display().to_string(),
        wanted_ns: question.time.as_nanos() as u64,
        block_bytes: question.block,
        cold: question.cold,
        bytes: found,
        bytes_per_second: measurement.bytes_per_second(),
        measurement,
        bytes_written: growing.size,
        caveats,
    })
}

impl<'a> Growing<'a> {
    fn below(path: &Path, question: Question, watch: &'a Watch) -> Result<Self, Fault> {
        remove_leftovers(path);
        let scratch = Scratch::create(path)?;
        let path = scratch.path().join("growing");
        let file = file::create_new(&path)?;
        let buffer = Mapping::touched(question.block.max(FIRST) as usize)
            .map_err(|errno| Error::new("map a buffer for", &path, errno))?;
        Ok(Self { question, watch, path, file, buffer, size: 0, is_unproven: false, _scratch: scratch })
    }

    /// The largest size that budget and space allow, in whole blocks.
    fn limit(&self, path: &Path) -> Result<u64, Fault> {
        let space = facts::space(path)?;
        let free = if space.total_bytes > 0 { space.free_bytes } else { u64::MAX };
        let limit = self.question.max_write.min(free) / self.question.block * self.question.block;
        let left = self.question.max_write.min(free);
        if limit > 0 { Ok(limit) } else { Err(Fault::OverBudget { wanted: self.question.block, left }) }
    }

    /// A size in whole blocks, one at least.
    fn scaled(&self, size: u64, factor: f64) -> u64 {
        let block = self.question.block;
        ((size as f64 * factor / block as f64).round() as u64).max(1) * block
    }

    /// Several readings of one size, as far as time allows.
    fn readings(&mut self, size: u64) -> Result<Vec<f64>, Fault> {
        let mut samples = vec![self.read(size)?];
        while samples.len() < READS && Instant::now() < self.question.deadline {
            samples.push(self.read(size)?);
        }
        Ok(samples)
    }

    /// Reads the first `size` bytes in the state asked for; gives the time in ns.
    fn read(&mut self, size: u64) -> Result<f64, Fault> {
        if Instant::now() >= self.question.deadline {
            return Err(Fault::OutOfTime);
        }
        self.grow(size)?;
        match self.question.cold {
            true => cache::evict(&self.file, 0, 0).map_err(|errno| self.error("evict", errno))?,
            false => drop(self.pass(size)?),
        }
        let cached = cache::cachestat(&self.file, 0, size).ok().map(|stat| stat.nr_cache);
        let expected = if self.question.cold { 0 } else { size.div_ceil(facts::page_size()) };
        self.is_unproven |= cached != Some(expected);
        self.pass(size)
    }

    /// One pass over the first `size` bytes.
    fn pass(&mut self, size: u64) -> Result<f64, Fault> {
        let block = self.question.block as usize;
        file::seek(self.file.as_fd(), 0).map_err(|errno| self.error("lseek", errno))?;
        let started = monotonic_raw_ns();
        let mut left = size;
        while left > 0 {
            let buffer = &mut self.buffer.bytes()[..block];
            match file::read(self.file.as_fd(), buffer) {
                Ok(0) => return Err(self.error("read", file::Errno::IO).into()),
                Ok(moved) => left = left.saturating_sub(moved as u64),
                Err(file::Errno::INTR) => {}
                Err(errno) => return Err(self.error("read", errno).into()),
            }
        }
        let elapsed = monotonic_raw_ns() - started;
        self.watch.advance(0)?;
        Ok(elapsed as f64)
    }

    fn grow(&mut self, size: u64) -> Result<(), Fault> {
        let before = self.size;
        while self.size < size {
            let length = (size - self.size).min(FIRST) as usize;
            let bytes = &mut self.buffer.bytes()[..length];
            Pattern::Random.fill(self.size, bytes);
            let moved = file::pwrite(self.file.as_fd(), bytes, self.size);
            self.size += moved.map_err(|errno| self.error("write", errno).at(self.size))? as u64;
            self.watch.advance(length as u64)?;
        }
        if self.size > before {
            file::fsync(&self.file).map_err(|errno| self.error("fsync", errno))?;
        }
        Ok(())
    }

    fn error(&self, operation: &'static str, errno: file::Errno) -> Error {
        Error::new(operation, &self.path, errno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(time: Duration, max_write: u64) -> Question {
        let deadline = Instant::now() + Duration::from_secs(60);
        Question { time, block: 4096, cold: false, max_write, deadline }
    }

    fn watch() -> Watch {
        Watch::default()
    }

    #[test]
    #[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
    fn a_size_that_was_found_was_measured_to_take_that_long() {
        let directory = Scratch::create(&std::env::temp_dir()).unwrap();
        let find = || find(directory.path(), question(Duration::from_millis(3), 64 << 20), &watch()).unwrap();
        // A busy machine leaves some without an answer.
        let found = (0..20).map(|_| find()).find(|found| {
            assert!(found.bytes.is_some() || !found.caveats.is_empty(), "{found:?}");
            found.bytes.is_some()
        });
        match found {
            Some(found) => {
                assert!((found.measurement.call_ns / 3e6 - 1.0).abs() <= TOLERANCE, "{found:?}");
                assert_eq!(found.measurement.samples_ns.len(), READS);
            }
            None => {
                println!("skipped: a_size_that_was_found_was_measured_to_take_that_long: the machine is busy")
            }
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "only the lock is left");
    }

    #[test]
    fn a_limit_that_is_too_low_gives_no_answer_but_an_estimate_and_the_reason() {
        let at = std::env::temp_dir();
        let found = find(&at, question(Duration::from_secs(1000), 2 << 20), &watch()).unwrap();
        assert_eq!((found.bytes, found.bytes_written), (None, 2 << 20));
        assert!(found.caveats[0].contains("raise --max-write"), "{:?}", found.caveats);
        let none = find(&at, question(Duration::from_secs(1), 100), &watch()).unwrap_err();
        assert!(matches!(none, Fault::OverBudget { wanted: 4096, left: 100 }), "{none}");
    }
}
