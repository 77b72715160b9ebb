//! Threads that take piece after piece of a part of a file until none is left: all by one method, or each by
//! the one that a contest names for it.

use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fathom_sys::clock::monotonic_raw_ns;
use fathom_sys::file::{self, Errno};
use fathom_sys::memory::Mapping;
use fathom_sys::usage::Usage;
use fathom_sys::view::FileView;
use fathom_sys::{Error, facts};

use super::Method;
use super::contest::{Contest, Measured};
use super::fold::fold_slice;
use super::source::Whole;
use fathom_run::fault::Fault;
use fathom_run::watch::Watch;

/// What all threads together may hold of a file at a time, as far as each has its least.
const HELD: u64 = 32 << 20;
/// The least that a thread takes at a time.
const SMALLEST_CHUNK: u64 = 64 << 10;
/// The most: unmapping stops all threads of the process for a moment, which must not be often.
const LARGEST_CHUNK: u64 = 16 << 20;
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

/// What one thread copies with.
struct Reader {
    method: Method,
    file: OwnedFd,
    buffer: Mapping,
}

/// How the pieces of a sweep are read.
pub(super) enum Way<'a> {
    /// All alike.
    By(Method),
    /// Each as the contest says.
    Contest(&'a Contest),
}

/// What is left of a part, shared by the threads.
struct Claims {
    /// Where the next piece begins. What lies before `range` comes last: there it counts on from `wraps`.
    next: AtomicU64,
    end: u64,
    wraps: u64,
    threads: u64,
    /// Bytes of a piece: the least, which all but the last are multiples of, and the most.
    least: u64,
    most: u64,
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
        self.fold(&Way::By(method), threads, range.start, range.end)
    }

    /// Folds the whole file from its middle on, what lies before it last: read-ahead begins small, so that
    /// a file's first folios are like no others.
    pub(super) fn contest(&mut self, contest: &Contest, threads: usize) -> Result<Swept, Fault> {
        let middle = self.whole.size / 2 / GRAIN * GRAIN;
        self.fold(&Way::Contest(contest), threads, middle, middle + self.whole.size)
    }

    fn fold(&mut self, way: &Way<'_>, threads: usize, start: u64, end: u64) -> Result<Swept, Fault> {
        let length = end - start;
        let threads = threads.max(1);
        let share = 1_u64 << (HELD / threads as u64).max(1).ilog2();
        let share = share.clamp(SMALLEST_CHUNK, LARGEST_CHUNK);
        let (most, buffer) = match way {
            Way::By(Method::Read) => (GRAIN.min(share), READ_BUFFER),
            Way::By(Method::Mmap) => (share, 0),
            Way::By(Method::Direct) => (DIRECT_BUFFER.min(share), DIRECT_BUFFER),
            Way::Contest(_) => (share, READ_BUFFER),
        };
        // Of a small part each thread gets something.
        let even = length.div_ceil(threads as u64).next_power_of_two().max(SMALLEST_CHUNK);
        let least = GRAIN.min(most).min(even);
        let threads = threads.min(usize::try_from(length.div_ceil(least)).unwrap_or(threads));
        let claims = Claims {
            next: AtomicU64::new(start),
            end,
            wraps: self.whole.size,
            threads: threads as u64,
            least,
            most,
            is_over: AtomicBool::new(false),
        };
        let started = monotonic_raw_ns();
        let outcome = self.run(way, &claims, threads, buffer.min(share).min(even) as usize);
        let duration_ns = monotonic_raw_ns() - started;
        Ok(Swept { word: outcome?, threads, duration_ns })
    }

    /// So many threads at once, this one among them. What they copied with stays for the next part.
    fn run(&mut self, way: &Way<'_>, claims: &Claims, threads: usize, buffer: usize) -> Result<u64, Fault> {
        let (whole, watch) = (self.whole, self.watch);
        let work = |reader: Option<Reader>| {
            let mut worker = Worker { whole, watch, buffer, reader };
            let folded = worker.work(way, claims);
            if folded.is_err() {
                claims.is_over.store(true, Ordering::Relaxed);
            }
            (folded, worker.reader)
        };
        let copies_by = if let Way::By(method) = way { *method } else { Method::Read };
        let ended = std::thread::scope(|scope| {
            let spawned: Vec<_> = (1..threads)
                .map(|_| self.kept(copies_by))
                .map(|reader| scope.spawn(move || work(reader)))
                .collect();
            let mut ended = vec![work(self.kept(copies_by))];
            for thread in spawned {
                ended.push(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            ended
        });
        let mut word = Ok(0);
        for (folded, reader) in ended {
            word = word.and_then(|word| folded.map(|folded| word ^ folded));
            self.readers.extend(reader);
        }
        word
    }

    /// What a thread of an earlier part copied with.
    fn kept(&mut self, method: Method) -> Option<Reader> {
        let index = self.readers.iter().position(|reader| reader.method == method)?;
        Some(self.readers.swap_remove(index))
    }
}

impl Claims {
    /// The next piece that is still free, of at most so many bytes. Towards the end pieces become smaller,
    /// so that all threads end at about the same time.
    fn take(&self, most: u64) -> Option<Range<u64>> {
        if self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        let behind = |start: u64| {
            let share = ((self.end - start) / (2 * self.threads)).min(most) / self.least * self.least;
            let until = if start < self.wraps { self.wraps } else { self.end };
            (start + share.max(self.least)).min(until).min(self.end)
        };
        let take = |start: u64| (start < self.end).then(|| behind(start));
        let start = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        let skipped = if start < self.wraps { 0 } else { self.wraps };
        Some(start - skipped..behind(start) - skipped)
    }
}

/// One thread of a sweep.
struct Worker<'a> {
    whole: &'a Whole,
    watch: &'a Watch,
    /// Bytes that it copies at a time.
    buffer: usize,
    /// Made when it copies first.
    reader: Option<Reader>,
}

impl Worker<'_> {
    fn work(&mut self, way: &Way<'_>, claims: &Claims) -> Result<u64, Fault> {
        let mut word = 0;
        let mut turn = 0;
        loop {
            let most = match way {
                Way::Contest(contest) if !contest.is_over() => claims.least,
                _ => claims.most,
            };
            let Some(piece) = claims.take(most) else { return Ok(word) };
            word ^= match way {
                Way::By(method) => self.fold(*method, &piece)?,
                Way::Contest(contest) => self.compete(contest, turn, &piece)?,
            };
            turn += 1;
            self.watch.advance(piece.end - piece.start)?;
        }
    }

    /// By the method whose turn it is. One that the file does not allow is out, and the next takes its place.
    fn compete(&mut self, contest: &Contest, turn: usize, piece: &Range<u64>) -> Result<u64, Fault> {
        let mut method = contest.method(turn);
        if contest.is_over() {
            return self.fold(method, piece);
        }
        loop {
            if method == Method::Read {
                self.reader(method)?;
            }
            let (faults, started) = (Usage::of_this_thread(), monotonic_raw_ns());
            match self.fold(method, piece) {
                Ok(word) => {
                    contest.note(Measured {
                        method,
                        bytes: piece.end - piece.start,
                        duration_ns: monotonic_raw_ns() - started,
                        faults: Usage::of_this_thread().since(faults).minor_faults,
                    });
                    return Ok(word);
                }
                Err(fault) => method = contest.without(method).ok_or(fault)?,
            }
        }
    }

    fn fold(&mut self, method: Method, piece: &Range<u64>) -> Result<u64, Fault> {
        if method == Method::Mmap {
            return view(self.whole, piece);
        }
        let whole = self.whole;
        let granule = if method == Method::Direct { facts::page_size() } else { 1 };
        let Reader { file, buffer, .. } = self.reader(method)?;
        copies(whole, file.as_fd(), buffer.bytes(), granule, piece)
    }

    fn reader(&mut self, method: Method) -> Result<&mut Reader, Fault> {
        let reader = match self.reader.take() {
            Some(reader) => reader,
            None => Reader::new(method, self.whole, self.buffer)?,
        };
        Ok(self.reader.insert(reader))
    }
}

impl Reader {
    fn new(method: Method, whole: &Whole, buffer: usize) -> Result<Self, Fault> {
        let file = match method {
            // Each with a descriptor of its own, because the read-ahead's state hangs on it.
            Method::Read | Method::Mmap => reopened(&whole.file, file::open_readable)
                .or_else(|_| whole.file.try_clone().map(OwnedFd::from))
                .map_err(|error| Error::from_io("duplicate", &whole.path, &error))?,
            Method::Direct => reopened(&whole.file, file::open_direct).map_err(|error| {
                Error::from_io("open past the page cache (O_DIRECT)", &whole.path, &error)
            })?,
        };
        let buffer =
            Mapping::large(buffer).map_err(|errno| Error::new("map a buffer for", &whole.path, errno))?;
        Ok(Self { method, file, buffer })
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
    let view = FileView::of(whole.file.as_fd(), chunk.start, length)
        .map_err(|errno| Error::new("map", &whole.path, errno).at(chunk.start))?;
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
                Ok(0) => return Err(whole.ended(at + filled as u64)),
                Ok(moved) => filled += moved,
                Err(Errno::INTR) => {}
                Err(errno) => {
                    let error = Error::new("read", &whole.path, errno).at(at + filled as u64);
                    return Err(error.into());
                }
            }
        }
        word ^= fold_slice(&buffer[..wanted]);
        at += wanted as u64;
    }
    Ok(word)
}
