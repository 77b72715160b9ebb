//! What the kernel remembers between two calls: files, readers, cached pages; and what was done so far.

mod allocation;
mod journal;
mod outcome;
mod queue;
mod run;
mod stdio;
mod token;
mod writing;

use std::num::NonZeroU32;

use fathom_net::{Span, Time};

use self::allocation::Allocation;
use self::journal::Journal;
pub(super) use self::journal::{Judged, Settling};
pub(super) use self::outcome::Outcome;
use self::queue::Queue;
use self::run::{Run, Walks};
use self::stdio::Streams;
use self::writing::Writeback;
use super::{Done, Kind, Prices, Request, Totals, Turn, Work, prices};
use crate::file_read::{Batch, PAGE};
use crate::page_cache::{FetchId, FileId, PageCache};
use crate::page_set::PageSet;
use crate::parameters::{Parameters, Scalar};
use crate::read_ahead::{Advice, Limits, ReadAhead, Reader, Step};

/// The kernel's memory, and the ledger of what was done.
///
/// Cloning it copies every page table; transitions change it in place.
#[derive(Clone)]
pub struct State(Box<Inner>);

#[derive(Clone)]
struct Inner {
    limits: Limits,
    block: u64,
    cache: PageCache,
    files: Vec<File>,
    next_fetch: u32,
    /// Reads of the device under way.
    reading: u32,
    writeback: Writeback,
    journal: Journal,
    allocation: Allocation,
    streams: Streams,
    queue: Queue,
    walks: Walks,
    /// Jobs that still have calls to make.
    jobs_left: u32,
    /// When something last happened in the run under way.
    latest: Time,
    requests: Vec<Request>,
    steps: Vec<Step>,
    keeps_each: bool,
    done: Vec<Done>,
    totals: Totals,
    /// When the run under way began.
    started: Time,
}

#[derive(Clone, Debug, Default)]
struct File {
    size: u64,
    /// How many bytes of it are read and written again and again; 0 for all.
    visited: u64,
    /// How many were read and written since that was said.
    moved: [u64; 2],
    /// One per descriptor that was ever used.
    readers: Vec<Reader>,
    is_direct: bool,
    advice: Advice,
    /// Whether each block was ever written.
    blocks: Vec<bool>,
    dirty: PageSet,
    /// When the first of them became dirty, in ns since the machine was started.
    dirtied_at: u64,
    /// The flusher's last chunk of it, while it stays dirty.
    round: u64,
    /// The transactions of its last change, and of the last of its blocks or its length.
    transaction: u64,
    data_transaction: u64,
    /// New blocks that lie apart from those before.
    scattered: journal::Scattered,
    /// The jiffy of its last write.
    mtime: u64,
    /// Where the flusher goes on: `writeback_index`.
    cursor: u64,
    /// What was last read and written in one go: what one of them has just touched is near for the other.
    runs: [Run; 2],
}

/// What reading ahead took.
#[derive(Clone, Copy, Debug, Default)]
struct Submitted {
    /// Requests of the device.
    requests: u64,
    /// Pages of a hole; folios that await the device, and their pages.
    zeroed: u64,
    folios: u64,
    pages: u64,
}

impl Default for State {
    /// A machine of which nothing is known, with no file.
    fn default() -> Self {
        Self::new(&Parameters::assumed())
    }
}

impl State {
    /// A machine that has just been started, with no file.
    #[must_use]
    pub fn new(parameters: &Parameters) -> Self {
        let cache = parameters[Scalar::Cache] as u64 / PAGE;
        Self(Box::new(Inner {
            limits: prices::limits(parameters),
            block: (parameters[Scalar::Block] as u64).max(512),
            cache: PageCache::new((cache > 0).then_some(cache)),
            files: Vec::new(),
            next_fetch: 1,
            reading: 0,
            writeback: Writeback::new(parameters),
            journal: Journal::new(parameters),
            allocation: Allocation::new(parameters),
            queue: Queue::new(parameters),
            walks: Walks::default(),
            streams: Streams::new(parameters[Scalar::StdioBuffer] as u64),
            jobs_left: 0,
            latest: Time::ZERO,
            requests: Vec::new(),
            steps: Vec::new(),
            keeps_each: true,
            done: Vec::new(),
            totals: Totals::default(),
            started: Time::ZERO,
        }))
    }

    /// Keeps the totals alone, not every call: for runs of millions.
    #[must_use]
    pub fn totals_only(mut self) -> Self {
        self.0.keeps_each = false;
        self
    }

    /// A new, empty file.
    pub fn create(&mut self) -> FileId {
        self.0.files.push(File::default());
        FileId(self.0.files.len() as u32 - 1)
    }

    /// Another descriptor takes the place of a file's, with its advice; in no time.
    pub fn open(&mut self, file: FileId, advice: Advice, is_direct: bool) {
        self.open_as(file, 0, advice, is_direct);
    }

    fn open_as(&mut self, file: FileId, descriptor: u32, advice: Advice, is_direct: bool) {
        *self.reader(file, descriptor) = Reader::default();
        let of = &mut self.0.files[file.0 as usize];
        (of.is_direct, of.advice) = (is_direct, advice);
    }

    /// Says that no more than so many bytes of a file are read and written from now on: what comes round is as near as if
    /// it had no others. At first the CPU's caches hold none of them.
    pub fn visit(&mut self, file: FileId, bytes: u64) {
        self.0.walks.forget(file);
        let file = &mut self.0.files[file.0 as usize];
        (file.visited, file.moved, file.runs) = (bytes, [0; 2], Default::default());
    }

    /// A file's length in bytes.
    #[must_use]
    pub fn size(&self, file: FileId) -> u64 {
        self.0.files[file.0 as usize].size
    }

    /// Lengthens a file to `size` bytes of data, written and synced, that stay in the cache; in no time.
    pub fn fill(&mut self, file: FileId, size: u64) {
        // As a program would that writes so much at once: folios are as large as that.
        const CHUNK: u64 = 1 << 20;
        let mut from = self.size(file);
        while from < size {
            let bytes = CHUNK.min(size - from);
            self.write(file, from, bytes);
            // On its way at once, so that a cache with a limit can let go of it.
            self.0.clean(file);
            from += bytes;
        }
    }

    /// Lengthens a file by a hole.
    pub fn lengthen(&mut self, file: FileId, size: u64) {
        let length = &mut self.0.files[file.0 as usize].size;
        *length = size.max(*length);
    }

    /// Drops a file's pages; in no time.
    pub fn evict(&mut self, file: FileId) {
        self.0.clean(file);
        self.0.cache.evict_file(file);
        self.0.allocation.evict(file);
    }

    /// How many of the pages of a range are cached, of how many.
    #[must_use]
    pub fn cached(&self, file: FileId, offset: u64, bytes: u64) -> [u32; 2] {
        let pages = offset / PAGE..(offset + bytes).div_ceil(PAGE);
        let there = pages.clone().filter(|&index| self.0.cache.holds(file, index)).count();
        [there as u32, (pages.end - pages.start) as u32]
    }

    /// The cache.
    #[must_use]
    pub fn cache(&self) -> &PageCache {
        &self.0.cache
    }

    /// Every call of the last run, in the order in which they ended; empty where totals alone are kept.
    #[must_use]
    pub fn done(&self) -> &[Done] {
        &self.0.done
    }

    /// What the calls of the last run were together.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.0.totals
    }

    /// What time it is: the sum of all runs.
    #[must_use]
    pub fn now(&self) -> Time {
        self.0.started
    }

    /// Forgets what was done, before another run.
    pub fn forget_done(&mut self) {
        self.0.done.clear();
        self.0.totals = Totals::default();
    }

    /// A run is over.
    pub(super) fn end_run(&mut self) {
        self.0.started = self.0.started + (self.0.latest - Time::ZERO);
    }

    /// A job has made its last call.
    pub(super) fn end_job(&mut self) {
        self.0.jobs_left = self.0.jobs_left.saturating_sub(1);
    }

    /// Whether all jobs are done and the device is idle. Dirty data may be left.
    pub(super) fn is_over(&self) -> bool {
        let inner = &*self.0;
        inner.jobs_left == 0 && inner.reading == 0 && inner.writeback.is_idle() && inner.journal.is_idle()
    }

    /// A moment of the run under way in ns since the machine was started.
    fn since_start(&self, now: Time) -> u64 {
        self.0.started.as_ticks() + now.as_ticks()
    }

    fn note(&mut self, now: Time) {
        self.0.latest = self.0.latest.max(now);
    }

    /// One turn of a read, or a prefetch. Afterwards [`take_requests`](Self::take_requests) gives what it asks for.
    pub(super) fn look(&mut self, work: &mut Work, prices: &Prices) -> Outcome {
        if work.call.kind == Kind::Prefetch {
            self.prefetch(work);
            return Outcome::Return;
        }
        let begun = self.since_start(work.begun);
        let inner = &mut *self.0;
        let number = work.call.file.0 as usize;
        let size = inner.files[number].size;
        if inner.files[number].is_direct {
            return self.look_past_cache(work, size);
        }
        let limits = inner.limits_of(work.call.file);
        // What is added awaits a fetch that gets its number below.
        let unknown = Some(FetchId(NonZeroU32::MAX));
        let reader = inner.files[number].reader(work.descriptor);
        let before = work.read.position;
        let jumped = before == work.call.offset && reader.previous != Some(before);
        let batch = work.read.turn(&mut inner.cache, reader, limits, size, unknown, &mut inner.steps);
        inner.write_for_room(begun);
        let Submitted { requests, zeroed, folios, pages } = self.submit(work.call.file);
        let adding = folios as f64 * prices.added_folio + pages as f64 * prices.added_page;
        work.owed_ns += (zeroed as f64 * prices.zeroed_page + adding) as u64;
        let inner = &mut *self.0;
        match batch {
            Batch::Done => Outcome::Return,
            Batch::Copy { bytes, folios } => {
                work.copied = bytes;
                // Reading ahead costs the reader the submission; one who waits for it anyway does not notice.
                work.far_ns = inner.read_far(work, [before, before + bytes], jumped, prices) as u64;
                let across = prices.caches.being_across(bytes, work.call.bytes, work.call.offset);
                let more = (folios - 1) as f64 * prices.folio + across;
                work.owed_ns += (requests as f64 * prices.submission + more) as u64;
                Outcome::Copy
            }
            Batch::Wait(_) => {
                let awaited = inner.cache.folio(work.call.file, work.read.position / PAGE);
                match awaited.and_then(|folio| folio.awaits) {
                    Some(fetch) => {
                        work.owed_ns += prices.wake as u64;
                        Outcome::Wait(fetch)
                    }
                    // A hole: there at once.
                    None => Outcome::Again,
                }
            }
        }
    }

    /// A read with O_DIRECT: one request, and no page stays.
    fn look_past_cache(&mut self, work: &mut Work, size: u64) -> Outcome {
        let inner = &mut *self.0;
        let end = work.read.end.min(size);
        if work.read.position >= end {
            return Outcome::Return;
        }
        let (first, beyond) = (work.read.position / PAGE, end.div_ceil(PAGE));
        work.read.position = end;
        let id = inner.fetch_id();
        let (file, pages) = (work.call.file, beyond - first);
        inner.reading += 1;
        inner.requests.push(Request::read(id, file, first, pages));
        Outcome::Wait(id)
    }

    /// POSIX_FADV_WILLNEED.
    fn prefetch(&mut self, work: &Work) {
        let inner = &mut *self.0;
        let file = work.call.file;
        let limits = inner.limits_of(file);
        let reader = inner.files[file.0 as usize].reader(work.descriptor);
        let (cache, steps) = (&mut inner.cache, &mut inner.steps);
        let fetch = Some(FetchId(NonZeroU32::MAX));
        let first = work.call.offset / PAGE;
        let pages = (work.call.offset + work.call.bytes).div_ceil(PAGE) - first;
        ReadAhead { limits, cache, file, reader, fetch, steps }.force_page_cache_ra(first, pages);
        self.submit(file);
    }

    /// Makes requests of the folios that were added: one for each run of them, of at most what the
    /// device takes. Folios of a hole take no device.
    fn submit(&mut self, file: FileId) -> Submitted {
        let inner = &mut *self.0;
        let before = inner.requests.len();
        let steps = std::mem::take(&mut inner.steps);
        let mut run: Option<(u64, u64)> = None;
        let mut made = Submitted::default();
        for step in &steps {
            let Step::Added { first, order } = *step else { continue };
            let end = first + (1 << order);
            if inner.is_hole(file, first, end) {
                inner.cache.arrive(file, first, end - first);
                made.zeroed += end - first;
                continue;
            }
            made.folios += 1;
            made.pages += end - first;
            run = match run {
                Some((start, last)) if last == first && end - start <= inner.limits.largest_io => {
                    Some((start, end))
                }
                _ => {
                    inner.request(file, run);
                    Some((first, end))
                }
            };
        }
        inner.request(file, run);
        inner.steps = steps;
        inner.steps.clear();
        made.requests = (inner.requests.len() - before) as u64;
        made
    }

    /// What the calls do that move no data.
    pub(super) fn others(&mut self, work: &Work) {
        let file = work.call.file;
        match work.call.kind {
            Kind::Open | Kind::OpenDirect => {
                let is_direct = work.call.kind == Kind::OpenDirect;
                self.open_as(file, work.descriptor, Advice::Normal, is_direct);
            }
            Kind::Create => {
                self.0.clean(file);
                let transaction = self.0.journal.join(0, self.since_start(work.begun));
                self.0.files[file.0 as usize] =
                    File { transaction, data_transaction: transaction, ..File::default() };
                self.0.cache.evict_file(file);
                self.0.allocation.remove(file);
            }
            _ => {}
        }
    }

    pub(super) fn arrive(&mut self, request: &Request, now: Time) {
        self.note(now);
        self.0.reading -= 1;
        self.0.cache.arrive(request.file, request.first, request.pages);
    }

    /// The requests made since this was last asked.
    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.0.requests)
    }

    /// Enters a call that has returned.
    pub(super) fn enter(&mut self, work: &Work, now: Time) {
        let Work { turn: Turn { job, number }, call, begun, .. } = *work;
        self.note(now);
        let looked = (call.kind == Kind::Look).then(|| self.cached(call.file, call.offset, call.bytes));
        let inner = &mut *self.0;
        let moves = matches!(call.kind, Kind::Read | Kind::Write);
        inner.totals.calls += 1;
        inner.totals.bytes += if moves { call.bytes } else { 0 };
        inner.totals.took_ns += (now - begun).as_ticks();
        if inner.keeps_each {
            let shift = inner.started - Time::ZERO;
            let span = [begun + shift, now + shift];
            inner.done.push(Done { job, number, span, cached: looked });
        }
    }

    pub(super) fn reader(&mut self, file: FileId, descriptor: u32) -> &mut Reader {
        self.0.files[file.0 as usize].reader(descriptor)
    }
}

impl File {
    fn reader(&mut self, descriptor: u32) -> &mut Reader {
        let at = descriptor as usize;
        if at >= self.readers.len() {
            self.readers.resize_with(at + 1, Reader::default);
        }
        &mut self.readers[at]
    }
}

impl Inner {
    fn fetch_id(&mut self) -> FetchId {
        let id = NonZeroU32::new(self.next_fetch).unwrap_or(NonZeroU32::MIN);
        self.next_fetch = (self.next_fetch + 1) % (u32::MAX - 1);
        FetchId(id)
    }

    /// The rules of read-ahead for the one descriptor of a file.
    fn limits_of(&self, file: FileId) -> Limits {
        let File { size, advice, .. } = &self.files[file.0 as usize];
        let window = self.limits.window << u32::from(*advice == Advice::Sequential);
        let is_random = *advice == Advice::Random;
        Limits { window, is_random, file_pages: size.div_ceil(PAGE), ..self.limits }
    }

    /// Whether none of a folio's blocks was ever written.
    fn is_hole(&self, file: FileId, first: u64, end: u64) -> bool {
        let blocks = &self.files[file.0 as usize].blocks;
        let range = (first * PAGE / self.block) as usize..(end * PAGE).div_ceil(self.block) as usize;
        !blocks[range.start.min(blocks.len())..range.end.min(blocks.len())].contains(&true)
    }

    /// One request of a run of pages, if there is a run.
    fn request(&mut self, file: FileId, run: Option<(u64, u64)>) {
        let Some((first, end)) = run else { return };
        let id = self.fetch_id();
        self.cache.expect(file, first, end - first, id);
        self.reading += 1;
        self.requests.push(Request::read(id, file, first, end - first));
    }
}

/// The length of a run's simulated time.
pub(super) fn ns(nanoseconds: u64) -> Span {
    Span::ticks(nanoseconds)
}
