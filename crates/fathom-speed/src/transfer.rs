//! Files moved by blocks: written, read, and counted (paper B, parts 1 and 2).

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use fathom_sys::clock::monotonic_raw_ns;
use fathom_sys::{Error, cache, facts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pattern::Pattern;
use fathom_program::units::Bytes;
use fathom_run::fault::Fault;
use fathom_run::scratch::{self, Scratch};
use fathom_run::watch::Watch;

/// The name of the schema that [`Transfer`] is published under.
pub const SCHEMA: &str = "fathom.io/1";

/// Blocks larger than that are refused: they must be held in memory.
pub const LARGEST_BLOCK: u64 = 1 << 30;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// A file was written.
    Write,
    /// A file was read.
    Read,
    /// A file was read to count its blocks.
    Count,
}

/// One file moved by blocks, as it is written with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.io/1")]
pub struct Transfer {
    /// Always `fathom.io/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The version of Fathom that wrote it.
    pub version: String,
    /// What was done.
    pub operation: Operation,
    /// The file.
    pub path: String,
    /// Bytes of a block: what each call was asked to move.
    pub block_bytes: u64,
    /// Blocks moved whole.
    pub whole_blocks: u64,
    /// Bytes of the last block, where it is not whole; otherwise zero.
    pub last_block_bytes: u64,
    /// Bytes moved in all.
    pub bytes: u64,
    /// Time in `read(2)` or `write(2)`, and in `fsync(2)` where that was asked for, in ns.
    pub duration_ns: u64,
    /// Bytes per second over that time.
    pub bytes_per_second: f64,
    /// The share of the file that was in the page cache before it was read; nothing where that can't be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_share: Option<f64>,
    /// What was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// Whether the time holds the way to the device (`fsync(2)`); otherwise only that to the page cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced: Option<bool>,
    /// The size that `fstat(2)` declares after counting; nothing for what has no size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared_bytes: Option<u64>,
    /// What to know before relying on it.
    pub caveats: Vec<String>,
}

/// What to write.
#[derive(Debug, Clone, Copy)]
pub struct Writing {
    /// Bytes of a block.
    pub block: u64,
    /// How many blocks.
    pub count: u64,
    /// What they hold.
    pub pattern: Pattern,
    /// Whether a file that exists is replaced.
    pub force: bool,
    /// Whether the clock runs until the device has it.
    pub sync: bool,
}

/// The bytes that calls moved, and the time they took.
#[derive(Debug, Default)]
struct Moved {
    bytes: u64,
    duration_ns: u64,
}

/// Writes a new file. A file that is replaced keeps what it holds until the new one is complete.
///
/// # Errors
/// [`Fault::Unsupported`] where the file exists and force is not asked for, where it is not a regular file, and
/// where there is too little space; what writing gives. Nothing is left behind then.
pub fn write(path: &Path, writing: Writing, watch: &Watch) -> Result<Transfer, Fault> {
    let bytes = writing.block.saturating_mul(writing.count);
    let target = Target::open(path, bytes, writing.force)?;
    let failed = |operation, error: &std::io::Error| Error::from_io(operation, path, error);
    let mut file = &target.file;
    let mut buffer = vec![0; writing.block as usize];
    let mut moved = Moved::default();
    for _ in 0..writing.count {
        writing.pattern.fill(moved.bytes, &mut buffer);
        let started = monotonic_raw_ns();
        file.write_all(&buffer).map_err(|error| failed("write", &error).at(moved.bytes))?;
        moved.duration_ns += monotonic_raw_ns() - started;
        moved.bytes += writing.block;
        watch.advance(writing.block)?;
    }
    if writing.sync {
        let started = monotonic_raw_ns();
        file.sync_all().map_err(|error| failed("fsync", &error))?;
        moved.duration_ns += monotonic_raw_ns() - started;
    }
    target.keep()?;
    let mut transfer = moved.transfer(Operation::Write, path, writing.block);
    transfer.pattern = Some(writing.pattern);
    transfer.synced = Some(writing.sync);
    Ok(transfer)
}

/// Reads `count` blocks from the start, or all, and hands each to `sink`, whose time does not count.
///
/// # Errors
/// What opening and reading give, and what `sink` gives.
pub fn read(
    path: &Path,
    block: u64,
    count: Option<u64>,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), Fault>,
    watch: &Watch,
) -> Result<Transfer, Fault> {
    let mut file = opened(path)?;
    let cached_share = cached_share(&file);
    let mut buffer = vec![0; block as usize];
    let mut moved = Moved::default();
    for _ in 0..count.unwrap_or(u64::MAX) {
        let started = monotonic_raw_ns();
        let filled = filled(&mut file, &mut buffer)
            .map_err(|error| Error::from_io("read", path, &error).at(moved.bytes))?;
        moved.duration_ns += monotonic_raw_ns() - started;
        moved.bytes += filled as u64;
        sink(&buffer[..filled])?;
        watch.advance(filled as u64)?;
        if filled < buffer.len() {
            break;
        }
    }
    let mut transfer = moved.transfer(Operation::Read, path, block);
    transfer.cached_share = cached_share;
    if let Some(short) = count.map(|count| count.saturating_mul(block)).filter(|&all| moved.bytes < all) {
        transfer.caveats.push(format!("it ends after {} of {short} bytes", moved.bytes));
    }
    Ok(transfer)
}

/// Counts a file's blocks by reading all of it, and also asks `fstat(2)` for its size.
///
/// # Errors
/// What opening and reading give.
pub fn count(path: &Path, block: u64, watch: &Watch) -> Result<Transfer, Fault> {
    let mut transfer = read(path, block, None, &mut |_| Ok(()), watch)?;
    transfer.operation = Operation::Count;
    let about = fs::metadata(path).map_err(|error| Error::from_io("stat", path, &error))?;
    transfer.declared_bytes = about.is_file().then_some(about.len());
    let counted = transfer.bytes;
    if let Some(declared) = transfer.declared_bytes.filter(|&declared| declared != counted) {
        transfer.caveats.push(match declared {
            0 => "fstat says that it is empty: the kernel makes up such files while they are read".to_owned(),
            _ => format!(
                "fstat says {declared} bytes and {counted} were read: another program changes the file"
            ),
        });
    }
    Ok(transfer)
}

impl Moved {
    fn transfer(&self, operation: Operation, path: &Path, block: u64) -> Transfer {
        Transfer {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            operation,
            path: path.display().to_string(),
            block_bytes: block,
            whole_blocks: self.bytes / block,
            last_block_bytes: self.bytes % block,
            bytes: self.bytes,
            duration_ns: self.duration_ns,
            bytes_per_second: self.bytes as f64 / self.duration_ns.max(1) as f64 * 1e9,
            cached_share: None,
            pattern: None,
            synced: None,
            declared_bytes: None,
            caveats: Vec::new(),
        }
    }
}

/// The file that is being written: removed unless it is kept.
struct Target {
    file: File,
    /// Where it is written.
    path: PathBuf,
    /// The directory that it is written in, and the file that it replaces in the end.
    replaces: Option<(Scratch, PathBuf)>,
    is_kept: bool,
}

impl Target {
    fn open(path: &Path, bytes: u64, force: bool) -> Result<Self, Fault> {
        let existing = fs::canonicalize(path).ok().filter(|_| force);
        let written = existing.as_deref().unwrap_or(path);
        let directory = match written.parent() {
            Some(directory) if directory != Path::new("") => directory,
            _ => Path::new("."),
        };
        let Some(existing) = &existing else {
            let file =
                OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| {
                    match error.kind() {
                        ErrorKind::AlreadyExists => Fault::Unsupported(format!(
                            "{} exists: choose another name, or replace it with --force",
                            path.display()
                        )),
                        _ => Error::from_io("create", path, &error).into(),
                    }
                })?;
            scratch::begin(path);
            let target = Self { file, path: path.to_owned(), replaces: None, is_kept: false };
            has_room(directory, bytes)?;
            return Ok(target);
        };
        let failed = |operation, error: &std::io::Error| Error::from_io(operation, existing, error);
        let about = fs::metadata(existing).map_err(|error| failed("stat", &error))?;
        if !about.is_file() {
            let path = path.display();
            return Err(Fault::Unsupported(format!(
                "{path} is not a regular file, and only those are replaced"
            )));
        }
        has_room(directory, bytes)?;
        let scratch = Scratch::create(directory)?;
        let path = scratch.path().join("new");
        let file = File::create_new(&path).map_err(|error| Error::from_io("create", &path, &error))?;
        file.set_permissions(about.permissions())
            .map_err(|error| failed("keep the permissions of", &error))?;
        Ok(Self { file, path, replaces: Some((scratch, existing.clone())), is_kept: false })
    }

    fn keep(mut self) -> Result<(), Fault> {
        if let Some((_, existing)) = &self.replaces {
            fs::rename(&self.path, existing).map_err(|error| Error::from_io("replace", existing, &error))?;
        }
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.is_kept && self.replaces.is_none() {
            // Made by this process a moment ago; what can't be removed can't be told from here.
            let _ = fs::remove_file(&self.path);
        }
        if self.replaces.is_none() {
            scratch::keep(&self.path);
        }
    }
}

fn has_room(directory: &Path, bytes: u64) -> Result<(), Fault> {
    let space = facts::space(directory)?;
    // A file system without a size of its own, as ramfs, declares none at all.
    if space.total_bytes > 0 && space.free_bytes < bytes {
        return Err(Fault::Unsupported(format!(
            "{} has {} free, and {} are to be written: write less",
            directory.display(),
            Bytes(space.free_bytes),
            Bytes(bytes)
        )));
    }
    Ok(())
}

/// Opens what is to be read.
pub(crate) fn opened(path: &Path) -> Result<File, Fault> {
    let file = File::open(path).map_err(|error| Error::from_io("open", path, &error))?;
    let about = file.metadata().map_err(|error| Error::from_io("stat", path, &error))?;
    if about.is_dir() {
        return Err(Fault::Unsupported(format!("{} is a directory: name a file in it", path.display())));
    }
    Ok(file)
}

/// The share of a file's pages in the page cache; nothing where the kernel does not tell.
pub(super) fn cached_share(file: &File) -> Option<f64> {
    let about = file.metadata().ok().filter(|about| about.is_file() && about.len() > 0)?;
    let stat = cache::cachestat(file.as_fd(), 0, about.len()).ok()?;
    Some((stat.nr_cache as f64 / about.len().div_ceil(facts::page_size()) as f64).min(1.0))
}

/// Fills a buffer unless the file ends before; gives the bytes that it has.
pub(crate) fn filled(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(moved) => filled += moved,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
