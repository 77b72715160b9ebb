//! The state of writeback: which pages are dirty, what is on its way to the device, what the flusher does, and which
//! syncs wait.
//!
//! Moments are in ns since the machine was started.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use crate::bit_set::BitSet;
use crate::file_read::PAGE;
use crate::io_path::costs;
use crate::io_path::request::Request;
use crate::page_cache::{FetchId, FileId};
use crate::page_writeback::{Dirtier, Found, Speed, Thresholds, writeback_chunk_size};
use crate::parameters::{Parameters, Scalar};

/// Writeback.
#[derive(Clone, Debug)]
pub(crate) struct Writeback {
    thresholds: Thresholds,
    speed: Speed,
    /// The kernel's tick, in ns.
    jiffy: u64,
    /// How often the flusher looks for old data, in ns; 0 for never.
    period: u64,
    /// The age at which data are old, in ns.
    expire: u64,
    /// Writes under way before the flusher waits.
    queue: usize,
    /// By job.
    dirtiers: Vec<Dirtier>,
    /// By file.
    files: Vec<Dirty>,
    flying: BTreeMap<FetchId, Flying>,
    /// Pages of folios that are on their way: NR_WRITEBACK.
    pages: u64,
    /// When a writer last began to pause: `dirty_sleep`.
    slept_at: Option<u64>,
    /// Writes sent to the device so far.
    written_out: u64,
    flusher: Flusher,
    /// Chunks that the flusher has written.
    round: u64,
    /// When the flusher next looks for old data.
    next_look: Option<u64>,
    /// Whether a timer runs until then.
    is_timer_set: bool,
    barriers: Vec<Barrier>,
}

/// The dirty pages of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dirty {
    pub(crate) pages: BitSet,
    /// When the first of them became dirty.
    since: u64,
    /// The number of the flusher's last chunk of it, as long as it stays dirty.
    round: u64,
    /// The page at which the flusher goes on: `writeback_index`.
    pub(crate) cursor: u64,
}

/// A write of the device under way.
#[derive(Clone, Copy, Debug)]
struct Flying {
    file: FileId,
    number: u64,
    /// Pages of its folios.
    held: u64,
}

/// A sync that waits for writes.
#[derive(Clone, Copy, Debug)]
struct Barrier {
    job: u32,
    /// None for all files.
    file: Option<FileId>,
    /// It does not wait for writes from this number on.
    before: u64,
    /// Writes that it waits for.
    left: usize,
}

/// What the flusher does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flusher {
    Asleep,
    /// It writes files that were dirtied by then; if none, as long as the background threshold is exceeded.
    Writes(Option<NonZeroU64>),
    /// The same, once the device has room.
    Waits(Option<NonZeroU64>),
}

/// How long a pause of a writer is recent: a second.
const RECENT: u64 = 1_000_000_000;

impl Writeback {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let value = |scalar| parameters[scalar] as u64;
        let jiffy = value(Scalar::Jiffy).max(1);
        let thresholds = costs::thresholds(parameters);
        let speed = Speed::unknown((1_000_000_000 / jiffy).max(1), thresholds);
        let mut speed = speed.expecting(value(Scalar::WriteBandwidth) / PAGE);
        speed.dirty_limit = speed.dirty_limit.max(value(Scalar::DirtyLimit) / PAGE);
        Self {
            thresholds,
            speed,
            jiffy,
            period: value(Scalar::DirtyWriteback),
            expire: value(Scalar::DirtyExpire),
            queue: value(Scalar::Queue).max(1) as usize,
            dirtiers: Vec::new(),
            files: Vec::new(),
            flying: BTreeMap::new(),
            pages: 0,
            slept_at: None,
            written_out: 0,
            flusher: Flusher::Asleep,
            round: 0,
            next_look: None,
            is_timer_set: false,
            barriers: Vec::new(),
        }
    }

    /// A file is new.
    pub(crate) fn add_file(&mut self) {
        self.files.push(Dirty::default());
    }

    /// A run begins: the timers of the last one are gone.
    pub(crate) fn begin_run(&mut self) {
        self.is_timer_set = false;
    }

    /// Whether no write is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.flying.is_empty()
    }

    /// Pages of folios on their way to the device.
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    /// The jiffy of a moment.
    pub(crate) fn jiffy_of(&self, now: u64) -> u64 {
        now / self.jiffy
    }

    /// Whether a writer has paused lately. Source: `wb_recent_wait` of `block/blk-wbt.c`.
    pub(crate) fn paused_lately(&self, now: u64) -> bool {
        self.slept_at.is_some_and(|slept| now < slept + RECENT)
    }

    /// The dirty pages of a file.
    pub(crate) fn dirty(&mut self, file: FileId) -> &mut Dirty {
        &mut self.files[file.0 as usize]
    }

    fn dirtier(&mut self, job: u32) -> &mut Dirtier {
        if self.dirtiers.len() <= job as usize {
            self.dirtiers.resize(job as usize + 1, Dirtier::default());
        }
        &mut self.dirtiers[job as usize]
    }

    /// A job has made pages of folios dirty.
    pub(crate) fn count_dirtied(&mut self, job: u32, pages: u64) {
        self.dirtier(job).nr_dirtied += pages;
    }

    /// Has a job look at the dirty pages of the cache, if that is due. Returns how long it pauses, in ns, and whether
    /// the flusher is to run.
    pub(crate) fn balance(&mut self, job: u32, dirty: u64, now: u64) -> (u64, Option<()>) {
        let mut task = *self.dirtier(job);
        if !task.must_look(&self.speed) {
            return (0, None);
        }
        let found = Found { dirty, writeback: self.pages, is_flushing: self.flusher != Flusher::Asleep };
        let at = self.jiffy_of(now);
        let balance = self.speed.balance_dirty_pages(&mut task, found, self.thresholds, at);
        *self.dirtier(job) = task;
        let wake = if balance.wakes_flusher { self.wake(Flusher::Writes(None)) } else { None };
        if balance.pause == 0 {
            return (0, wake);
        }
        self.slept_at = Some(now);
        // A timer runs out at the tick after its time: `calc_index` of `kernel/time/timer.c`.
        ((at + balance.pause + 1) * self.jiffy - now, wake)
    }

    /// The pages from `first` to before `end` of a file are written to, which makes `dirtied` pages of folios dirty.
    /// Returns how many of the pages were clean.
    pub(crate) fn mark(&mut self, file: FileId, [first, end]: [u64; 2], dirtied: u64, now: u64) -> u64 {
        self.speed.dirtied += dirtied;
        let dirty = self.dirty(file);
        if dirty.pages.count() == 0 {
            (dirty.since, dirty.round) = (now.max(1), 0);
        }
        let marked = dirty.pages.insert(first, end);
        if self.next_look.is_none() {
            self.plan_look(now);
        }
        marked
    }

    /// A write goes to the device that holds pages of folios.
    pub(crate) fn send(&mut self, request: Request, held: u64) {
        self.flying.insert(request.id, Flying { file: request.file, number: self.written_out, held });
        self.written_out += 1;
        self.pages += held;
    }

    /// A write of the device is done. Returns the jobs whose sync has no write left to wait for, and whether the flusher
    /// is to run; none if writeback has not sent it.
    pub(crate) fn land(&mut self, request: &Request) -> Option<(Vec<u32>, Option<()>)> {
        let Flying { number, held, .. } = self.flying.remove(&request.id)?;
        self.pages -= held;
        self.speed.written += held;
        let mut synced = Vec::new();
        for barrier in &mut self.barriers {
            if barrier.file.is_none_or(|file| file == request.file) && number < barrier.before {
                barrier.left -= 1;
                if barrier.left == 0 {
                    synced.push(barrier.job);
                }
            }
        }
        self.barriers.retain(|barrier| barrier.left > 0);
        let mut wake = None;
        if let Flusher::Waits(reason) = self.flusher
            && self.flying.len() < self.queue
        {
            (self.flusher, wake) = (Flusher::Writes(reason), Some(()));
        }
        Some((synced, wake))
    }

    /// A job's sync waits for the writes under way of a file, or of all files; false if there are none.
    pub(crate) fn wait(&mut self, job: u32, file: Option<FileId>) -> bool {
        let is_of = |flying: &&Flying| file.is_none_or(|file| file == flying.file);
        let left = self.flying.values().filter(is_of).count();
        if left > 0 {
            self.barriers.push(Barrier { job, file, before: self.written_out, left });
        }
        left > 0
    }

    /// Before writes are sent: they count for the device's bandwidth from now on.
    pub(crate) fn start_estimate(&mut self, now: u64) {
        self.speed.start_estimate(now / self.jiffy, self.flying.is_empty());
    }

    /// After writes are sent: the device's bandwidth, as far as it is known.
    pub(crate) fn estimate(&mut self, now: u64) {
        self.speed.estimate(now / self.jiffy);
    }

    /// Wakes the flusher if it is asleep; returns whether it is to run.
    fn wake(&mut self, flusher: Flusher) -> Option<()> {
        let is_asleep = self.flusher == Flusher::Asleep;
        is_asleep.then(|| self.flusher = flusher)
    }

    /// Wakes the flusher for all that is dirty by now. Source: `wakeup_flusher_threads`.
    pub(crate) fn wake_for_all(&mut self, now: u64) -> Option<()> {
        self.wake(Flusher::Writes(NonZeroU64::new(now.max(1))))
    }

    /// The file that the flusher writes next. If there is none, whether the flusher is to run again for another reason.
    /// Source: `wb_writeback`.
    pub(crate) fn next_file(&mut self, dirty: u64, is_over: bool) -> Result<FileId, Option<()>> {
        let Flusher::Writes(reason) = self.flusher else { return Err(None) };
        let is_over_background = self.is_over_background(dirty);
        let is_due = reason.is_some() || is_over_background;
        let oldest = self.oldest_dirty(reason.map_or(u64::MAX, NonZeroU64::get));
        oldest.filter(|_| is_due && !is_over).ok_or_else(|| {
            let goes_on = reason.is_some() && is_over_background && !is_over;
            self.flusher = if goes_on { Flusher::Writes(None) } else { Flusher::Asleep };
            goes_on.then_some(())
        })
    }

    /// Pages of one chunk of the flusher.
    pub(crate) fn chunk(&self) -> u64 {
        writeback_chunk_size(&self.speed)
    }

    /// The flusher has written a chunk of a file; returns whether it is to run again at once.
    pub(crate) fn end_chunk(&mut self, file: FileId, now: u64) -> Option<()> {
        self.estimate(now);
        // A file that is still dirty comes after the others: `requeue_io`.
        self.round += 1;
        self.dirty(file).round = self.round;
        let Flusher::Writes(reason) = self.flusher else { return None };
        let has_room = self.flying.len() < self.queue;
        self.flusher = if has_room { Flusher::Writes(reason) } else { Flusher::Waits(reason) };
        has_room.then_some(())
    }

    /// The flusher's timer has run out; returns whether the flusher is to run. Source: `wb_check_old_data_flush`.
    pub(crate) fn look_for_old_data(&mut self, dirty: u64, now: u64) -> Option<()> {
        self.next_look = None;
        let old = now.checked_sub(self.expire).and_then(NonZeroU64::new);
        let wake = if let Some(by) = old.filter(|by| self.oldest_dirty(by.get()).is_some()) {
            self.wake(Flusher::Writes(Some(by)))
        } else if self.is_over_background(dirty) {
            self.wake(Flusher::Writes(None))
        } else {
            None
        };
        if dirty > 0 {
            self.plan_look(now);
        }
        wake
    }

    fn plan_look(&mut self, now: u64) {
        if self.period > 0 {
            (self.next_look, self.is_timer_set) = (Some(now + self.period), false);
        }
    }

    /// Sets the flusher's timer if it has to look for old data, unless it is set; returns in how many ns it runs out.
    pub(crate) fn set_timer(&mut self, now: u64) -> Option<u64> {
        let next = self.next_look?;
        let was_set = std::mem::replace(&mut self.is_timer_set, true);
        (!was_set).then(|| next.saturating_sub(now))
    }

    fn is_over_background(&self, dirty: u64) -> bool {
        dirty > self.thresholds.background
    }

    /// When the oldest data became dirty that nothing but their age will have the flusher write; none where it writes anyway.
    pub(crate) fn ages_since(&self, dirty: u64) -> Option<u64> {
        let dirty_files = self.files.iter().filter(|file| file.pages.count() > 0);
        dirty_files.map(|file| file.since).min().filter(|_| !self.is_over_background(dirty))
    }

    /// Of the files that were dirtied by then the one whose turn it is: the one that was dirtied first.
    fn oldest_dirty(&self, by: u64) -> Option<FileId> {
        let is_due = |dirty: &Dirty| dirty.pages.count() > 0 && dirty.since <= by;
        let due = (0..).zip(&self.files).filter(|(_, dirty)| is_due(dirty));
        due.min_by_key(|(_, dirty)| (dirty.round, dirty.since)).map(|(file, _)| FileId(file))
    }
}
