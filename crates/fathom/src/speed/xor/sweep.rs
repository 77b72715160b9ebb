//! One way to read, over one part of a file: threads that take chunk after chunk until none is left.

use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fathom_sys::clock::monotonic_raw_ns;
use fathom_sys::file::{self, Errno};
use fathom_sys::memory::Mapping;
use fathom_sys::view::FileView;
use fathom_sys::{Error, facts};

use super::Method;
use super::fold::fold_slice;
use super::source::Whole;
use crate::fault::Fault;
use crate::speed::watch::Watch;

/// What all threads together may hold of a file at a time, as far as each has its least.
const HELD: u64 = 32 << 20;
/// The least that a thread takes at a time.
const SMALLEST_CHUNK: u64 = 64 << 10;
/// The most: unmapping stops all threads of the process for a moment, which must not be often.
const LARGEST_CHUNK: u64 = 16 << 20;
/// What a thread takes at least where the part allows it: smaller pieces of a mapping cost more than they even out.
const WORTHWHILE: u64 = 8 << 20;
/// Parts of a file begin at multiples of that: whole folios, and pages of every size.
pub(super) const GRAIN: u64 = 4 << 20;
/// A buffer that stays in the processor's caches while it is filled and folded. Copies from the page cache
/// are faster the longer they are: of a cached file in folios of 128 KiB or more one thread got 11 GiB/s by
/// 512 KiB at a time, 14 by 1 MiB and 15 by 2 MiB (AMD EPYC, L2 1 MiB), and no more by 4 MiB.
const READ_BUFFER: u64 = 2 << 20;
/// What a device is asked for at a time.
const DIRECT_BUFFER: u64 = 1 << 20;

/// What a sweep gave.
pub(super) struct Swept {
    pub(super) word: u64,
    pub(super) threads: usize,
    pub(super) duration_ns: u64,
}

/// Sweeps parts of one file; threads keep their descriptors and buffers from one part to the next.
pub(super) struct Sweeper<'a> {
    whole: &'a Whole,
    watch: &'a Watch,
    readers: Vec<Reader>,
}

/// What one thread reads with.
enum Reader {
    View,
    Copy { method: Method, file: OwnedFd, buffer: Mapping },
}

/// What is left of a part, shared by the threads.
struct Claims {
    next: AtomicU64,
    end: u64,
    chunk: u64,
    is_over: AtomicBool,
}

impl<'a> Sweeper<'a> {
    pub(super) fn new(whole: &'a Whole, watch: &'a Watch) -> Self {
        Self { whole, watch, readers: Vec::new() }
    }

    /// Folds `range`, which must begin at a multiple of [`GRAIN`], by at most `threads` threads.
    pub(super) fn sweep(
        &mut self,
        method: Method,
        threads: usize,
        range: Range<u64>,
    ) -> Result<Swept, Fault> {
        let length = range.end - range.start;
        let threads = threads.max(1);
        let share = 1_u64 << (HELD / threads as u64).max(1).ilog2();
        let share = share.clamp(SMALLEST_CHUNK, LARGEST_CHUNK);
        let (chunk, buffer) = match method {
            Method::Read => (GRAIN, share.min(READ_BUFFER)),
            Method::Mmap => (share, 0),
            Method::Direct => (share.min(DIRECT_BUFFER), share.min(DIRECT_BUFFER)),
        };
        // Four chunks for each thread, so that all end at about the same time.
        let even = length.div_ceil(4 * threads as u64).max(WORTHWHILE.min(length.div_ceil(threads as u64)));
        let even = even.next_power_of_two().max(SMALLEST_CHUNK);
        let chunk = chunk.min(even);
        let threads = threads.min(usize::try_from(length.div_ceil(chunk)).unwrap_or(threads));
        let readers = self.readers(method, threads, buffer.min(even) as usize)?;
        let claims = Claims {
            next: AtomicU64::new(range.start),
            end: range.end,
            chunk,
            is_over: AtomicBool::new(false),
        };
        let started = monotonic_raw_ns();
        let outcome = self.run(&claims, readers);
        let duration_ns = monotonic_raw_ns() - started;
        Ok(Swept { word: outcome?, threads, duration_ns })
    }

    /// The readers that earlier sweeps left, and new ones.
    fn readers(&mut self, method: Method, threads: usize, buffer: usize) -> Result<Vec<Reader>, Fault> {
        let mut kept = Vec::new();
        let mut others = Vec::new();
        for reader in self.readers.drain(..) {
            if kept.len() < threads && reader.method() == method {
                kept.push(reader)
            } else {
                others.push(reader)
            }
        }
        self.readers = others;
        while kept.len() < threads {
            kept.push(Reader::new(method, self.whole, buffer)?);
        }
        Ok(kept)
    }

    /// All readers at once, the last one on this thread.
    fn run(&mut self, claims: &Claims, mut readers: Vec<Reader>) -> Result<u64, Fault> {
        let (whole, watch) = (self.whole, self.watch);
        let outcome = std::thread::scope(|scope| {
            let work = |reader: &mut Reader| {
                let folded = reader.work(whole, claims, watch);
                if folded.is_err() {
                    claims.is_over.store(true, Ordering::Relaxed);
                }
                folded
            };
            let Some((mine, others)) = readers.split_last_mut() else { return Ok(0) };
            let spawned: Vec<_> = others.iter_mut().map(|reader| scope.spawn(move || work(reader))).collect();
            let mut word = work(mine);
            for thread in spawned {
                let folded = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                word = word.and_then(|word| folded.map(|folded| word ^ folded));
            }
            word
        });
        self.readers.append(&mut readers);
        outcome
    }
}

impl Claims {
    /// The next chunk that nobody has taken.
    fn take(&self) -> Option<Range<u64>> {
        if self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        let start = self.next.fetch_add(self.chunk, Ordering::Relaxed);
        (start < self.end).then(|| start..(start + self.chunk).min(self.end))
    }
}

impl Reader {
    fn new(method: Method, whole: &Whole, buffer: usize) -> Result<Self, Fault> {
        let failed = |operation, errno| Error::new(operation, whole.path(), errno);
        let file = match method {
            Method::Mmap => return Ok(Reader::View),
            // Each with a descriptor of its own, because the read-ahead's state hangs on it.
            Method::Read => reopened(whole.file(), file::open_readable)
                .or_else(|_| whole.file().try_clone().map(OwnedFd::from))
                .map_err(|error| Error::from_io("duplicate", whole.path(), &error))?,
            Method::Direct => reopened(whole.file(), file::open_direct).map_err(|error| {
                Error::from_io("open past the page cache (O_DIRECT)", whole.path(), &error)
            })?,
        };
        let buffer = Mapping::touched(buffer).map_err(|errno| failed("map a buffer for", errno))?;
        Ok(Reader::Copy { method, file, buffer })
    }

    fn method(&self) -> Method {
        match self {
            Reader::View => Method::Mmap,
            Reader::Copy { method, .. } => *method,
        }
    }

    fn work(&mut self, whole: &Whole, claims: &Claims, watch: &Watch) -> Result<u64, Fault> {
        let mut word = 0;
        while let Some(chunk) = claims.take() {
            word ^= match self {
                Reader::View => view(whole, &chunk)?,
                Reader::Copy { method, file, buffer } => {
                    let granule = if *method == Method::Direct { facts::page_size() } else { 1 };
                    copies(whole, file.as_fd(), buffer.bytes(), granule, &chunk)?
                }
            };
            watch.advance(chunk.end - chunk.start)?;
        }
        Ok(word)
    }
}

/// The same file once more, whatever its name stands for by now.
fn reopened(
    file: &File,
    open: impl FnOnce(&std::path::Path) -> Result<OwnedFd, Errno>,
) -> std::io::Result<OwnedFd> {
    let link = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    open(&link).map_err(std::io::Error::from)
}

fn view(whole: &Whole, chunk: &Range<u64>) -> Result<u64, Fault> {
    let length = (chunk.end - chunk.start) as usize;
    let view = FileView::of(whole.file().as_fd(), chunk.start, length)
        .map_err(|errno| Error::new("map", whole.path(), errno).at(chunk.start))?;
    let folded = view.xor();
    match folded.lost_from {
        None => Ok(folded.word),
        Some(page) => Err(whole.lost(chunk.start + page as u64)),
    }
}

/// Reads a chunk into `buffer`, as often as it takes, in multiples of `granule` bytes.
fn copies(
    whole: &Whole,
    file: BorrowedFd<'_>,
    buffer: &mut [u8],
    granule: u64,
    chunk: &Range<u64>,
) -> Result<u64, Fault> {
    let mut word = 0;
    let mut at = chunk.start;
    while at < chunk.end {
        let wanted = (chunk.end - at).min(buffer.len() as u64) as usize;
        let mut filled = 0;
        while filled < wanted {
            let end = wanted.next_multiple_of(granule as usize);
            match file::pread(file, &mut buffer[filled..end], at + filled as u64) {
                Ok(0) => return Err(whole.lost(at + filled as u64)),
                Ok(moved) => filled += moved,
                Err(Errno::INTR) => {}
                Err(errno) => {
                    let error = Error::new("read", whole.path(), errno).at(at + filled as u64);
                    return Err(error.into());
                }
            }
        }
        word ^= fold_slice(&buffer[..wanted]);
        at += wanted as u64;
    }
    Ok(word)
}
