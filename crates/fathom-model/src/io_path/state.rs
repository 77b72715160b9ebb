//! The kernel's state: what it remembers between two calls, in layers, and the calls that were made.
//!
//! Each layer is a struct in its own module, with the methods that need no other layer. A method that needs several
//! layers stands here or next to the transition that calls it, and returns its [`Effects`] for the net to put into
//! places.

mod allocation;
mod clock;
mod crowd;
mod effects;
mod files;
mod filling;
mod journal;
mod ledger;
mod near;
mod queue;
mod recency;
mod stdio;
mod write_out;
mod writeback;

use std::fmt;

use fathom_net::Time;

use self::allocation::Allocation;
use self::clock::Clock;
use self::crowd::Crowd;
pub(crate) use self::effects::Effects;
use self::files::{File, Files};
pub(crate) use self::journal::{Change, Journal, Judged, Settling};
pub use self::ledger::Done;
use self::ledger::Ledger;
use self::near::Near;
pub(crate) use self::queue::{Moment, Queue};
use self::recency::Recency;
pub(crate) use self::stdio::{Streams, goes_through_streams};
use self::writeback::{Dirty, Writeback};
use super::request::RequestIds;
use super::work::Work;
use super::{CallKind, Costs, costs};
use crate::file_read::PAGE;
use crate::page_cache::{FileId, PageCache};
use crate::parameters::{Parameters, Reclaim, Scalar};
use crate::read_ahead::{Advice, Limits, Step};

/// The kernel's state, and the calls that were made.
///
/// Cloning it copies every page table; transitions change it in place. It is one token and not one per layer: a single
/// firing of a read or a write changes most of the layers, and a place for each would only add arcs.
#[derive(Clone)]
pub struct State {
    /// The rules of reading ahead, and the largest request.
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    pub(crate) ids: RequestIds,
    pub(crate) files: Files,
    pub(crate) cache: PageCache,
    /// Reads of the device under way.
    pub(crate) reading: u32,
    /// What reading ahead does in one turn; empty between two turns, kept for its memory.
    pub(crate) steps: Vec<Step>,
    pub(crate) recency: Recency,
    pub(crate) writeback: Writeback,
    pub(crate) journal: Journal,
    pub(crate) allocation: Allocation,
    pub(crate) queue: Queue,
    pub(crate) streams: Streams,
    pub(crate) ledger: Ledger,
    pub(crate) crowd: Crowd,
    pub(crate) near: Near,
}

impl Default for State {
    /// A machine at the assumed parameters, with no file.
    fn default() -> Self {
        Self::new(&Parameters::assumed())
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} after {} calls", self.cache, self.ledger.done.len())
    }
}

/// An empty page cache of at most `limit` pages that makes room in this way.
#[must_use]
pub fn page_cache(reclaim: Reclaim, limit: Option<u64>) -> PageCache {
    match reclaim {
        Reclaim::TwoLists => PageCache::new(limit),
        Reclaim::Generations => PageCache::of_generations(limit),
    }
}

impl State {
    /// A machine that has just been started, with no file.
    #[must_use]
    pub fn new(parameters: &Parameters) -> Self {
        let cache = parameters[Scalar::Cache] as u64 / PAGE;
        let limit = (cache > 0).then_some(cache);
        Self {
            limits: costs::limits(parameters),
            clock: Clock::default(),
            ids: RequestIds::default(),
            files: Files::new((parameters[Scalar::Block] as u64).max(512)),
            cache: page_cache(parameters.choices.reclaim, limit),
            reading: 0,
            steps: Vec::new(),
            recency: Recency::default(),
            writeback: Writeback::new(parameters),
            journal: Journal::new(parameters),
            allocation: Allocation::new(parameters),
            queue: Queue::new(parameters),
            streams: Streams::new(parameters[Scalar::StdioBuffer] as u64),
            ledger: Ledger::default(),
            crowd: Crowd::default(),
            near: Near::default(),
        }
    }

    /// A new, empty file.
    pub fn create(&mut self) -> FileId {
        self.recency.add_file();
        self.writeback.add_file();
        self.journal.add_file();
        self.files.add()
    }

    /// A new, empty file takes the place of a file; `now` in ns since the machine was started.
    pub(crate) fn replace(&mut self, file: FileId, now: u64) {
        self.clean(file);
        *self.files.of(file) = File::default();
        *self.writeback.dirty(file) = Dirty::default();
        self.recency.replace_file(file);
        self.journal.replace_file(file, now);
        self.cache.evict_file(file);
        self.allocation.remove(file);
    }

    /// Opens a file anew, with an advice: the new descriptor takes the old one's place. Takes no time.
    pub fn open(&mut self, file: FileId, advice: Advice, is_direct: bool) {
        self.files.open(file, 0, advice, is_direct);
    }

    /// Makes each further write to a file end with a sync of this kind, as for a file opened with `O_SYNC` or `O_DSYNC`.
    pub fn sync_writes(&mut self, file: FileId, syncs: Option<CallKind>) {
        self.files.of(file).syncs = syncs;
    }

    /// Declares that only `bytes` of a file are read and written from now on, again and again. The CPU's caches hold none
    /// of them. Data count as near the CPU as if the file had no others.
    pub fn visit(&mut self, file: FileId, bytes: u64) {
        self.recency.visit(file, bytes);
    }

    /// A file's length in bytes.
    #[must_use]
    pub fn size(&self, file: FileId) -> u64 {
        self.files.get(file).size
    }

    /// Lengthens a file to `size` bytes of data, which are written and synced and stay in the cache; takes no time.
    pub fn fill(&mut self, file: FileId, size: u64) {
        // As a program would that writes so much at once: folios are as large as that.
        const CHUNK: u64 = 1 << 20;
        let mut from = self.size(file);
        while from < size {
            let bytes = CHUNK.min(size - from);
            self.write(file, from, bytes);
            // On its way at once, so that a cache with a limit can let go of it.
            self.clean(file);
            from += bytes;
        }
        self.files.of(file).unsynced = 0;
    }

    /// Lengthens a file by a hole.
    pub fn lengthen(&mut self, file: FileId, size: u64) {
        let length = &mut self.files.of(file).size;
        *length = size.max(*length);
    }

    /// Drops a file's pages; takes no time.
    pub fn evict(&mut self, file: FileId) {
        self.clean(file);
        self.cache.evict_file(file);
        self.allocation.evict(file);
    }

    /// How many pages of a range are cached, and how many pages it has.
    #[must_use]
    pub fn cached(&self, file: FileId, offset: u64, bytes: u64) -> [u32; 2] {
        let pages = offset / PAGE..(offset + bytes).div_ceil(PAGE);
        let there = pages.clone().filter(|&index| self.cache.holds(file, index)).count();
        [there as u32, (pages.end - pages.start) as u32]
    }

    /// The cache.
    #[must_use]
    pub fn cache(&self) -> &PageCache {
        &self.cache
    }

    /// The numbers of dirty pages and of pages under writeback.
    #[must_use]
    pub fn dirty_and_writeback(&self) -> [u64; 2] {
        [self.cache.dirty_pages(), self.writeback.pages()]
    }

    /// When the oldest data of the run became dirty that only their age will have written back, in ns of the run; none where there are
    /// none, or others have the flusher write all that is dirty.
    pub(crate) fn ages_since(&self) -> Option<u64> {
        let since = self.writeback.ages_since(self.cache.dirty_pages())?;
        Some(since.saturating_sub(self.clock.started().as_ticks()))
    }

    /// Every call of the last run, in the order in which they ended.
    #[must_use]
    pub fn done(&self) -> &[Done] {
        &self.ledger.done
    }

    /// The present time: the sum of all runs.
    #[must_use]
    pub fn now(&self) -> Time {
        self.clock.started()
    }

    /// Forgets the calls of the last run.
    pub fn forget_done(&mut self) {
        self.ledger.done.clear();
    }

    /// A run of so many jobs begins.
    pub(crate) fn begin_run(&mut self, jobs: u32, costs: &Costs) {
        self.ledger.jobs_left = jobs;
        self.clock.begin_run();
        self.journal.begin_run();
        self.crowd = Crowd::of(jobs, costs);
        self.near = Near::of(costs);
        self.writeback.begin_run();
    }

    /// A call's next copy begins: how much longer that takes because other CPUs work as well.
    pub(crate) fn slow_down(&mut self, work: &mut Work, costs: &Costs, now: Time) {
        let ns = costs.working(work) as u64 + work.far_ns;
        work.slowed = self.crowd.work(work.turn.job, now.as_ticks(), ns);
    }

    /// Whether all jobs are done and the device is idle. Dirty data may be left.
    pub(crate) fn is_over(&self) -> bool {
        self.ledger.jobs_left == 0 && self.reading == 0 && self.writeback.is_idle() && self.journal.is_idle()
    }
}
