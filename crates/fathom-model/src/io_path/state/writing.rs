//! The writing half of the kernel's memory: folios made dirty, and what brings them to the device.

mod sync;

use std::num::NonZeroU64;

use fathom_net::Time;

use super::{Inner, State, prices};
use crate::file_read::PAGE;
use crate::file_write::write_begin;
use crate::io_path::{Prices, Request, Urgency, Work};
use crate::page_cache::FileId;
use crate::page_writeback::{Dirtier, Found, Speed, Thresholds, writeback_chunk_size};
use crate::parameters::{Parameters, Scalar};

/// What is known of dirty data beside the pages themselves.
#[derive(Clone, Debug)]
pub(super) struct Writeback {
    thresholds: Thresholds,
    speed: Speed,
    /// All in ns.
    jiffy: u64,
    period: u64,
    expire: u64,
    /// Writes under way before the flusher waits.
    queue: usize,
    /// By job.
    dirtiers: Vec<Dirtier>,
    flying: Vec<Flying>,
    /// Pages of folios that are on their way: NR_WRITEBACK.
    pages: u64,
    /// When a writer last began to pause, in ns since the machine was started: `dirty_sleep`.
    slept_at: Option<u64>,
    written_out: u64,
    flusher: Flusher,
    /// How many chunks it has written.
    round: u64,
    /// Whether the flusher is to be sent off.
    wakes: bool,
    /// When the flusher next looks for old data, since the machine was started.
    alarm: Option<u64>,
    /// Whether the alarm has still to be set.
    sets_alarm: bool,
    barriers: Vec<Barrier>,
    /// Jobs whose sync has nothing more to wait for.
    synced: Vec<u32>,
}

/// A write of the device under way.
#[derive(Clone, Copy, Debug)]
struct Flying {
    request: Request,
    number: u64,
    /// Pages of the folios that it holds.
    held: u64,
}

/// A sync that waits for writes.
#[derive(Clone, Copy, Debug)]
struct Barrier {
    job: u32,
    /// None for all files.
    file: Option<FileId>,
    /// Writes from this number on came later.
    before: u64,
    left: usize,
}

/// What the flusher is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flusher {
    Asleep,
    /// Writes files that were dirtied by then; none for as long as the background threshold is exceeded.
    Writes(Option<NonZeroU64>),
    /// The same, once the device has room.
    Waits(Option<NonZeroU64>),
}

impl Writeback {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let value = |scalar| parameters[scalar] as u64;
        let jiffy = value(Scalar::Jiffy).max(1);
        let thresholds = prices::thresholds(parameters);
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
            flying: Vec::new(),
            pages: 0,
            slept_at: None,
            written_out: 0,
            flusher: Flusher::Asleep,
            round: 0,
            wakes: false,
            alarm: None,
            sets_alarm: false,
            barriers: Vec::new(),
            synced: Vec::new(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.flying.is_empty()
    }

    pub(super) fn slept_at(&self) -> Option<u64> {
        self.slept_at
    }

    fn call(&mut self, flusher: Flusher) {
        if self.flusher == Flusher::Asleep {
            (self.flusher, self.wakes) = (flusher, true);
        }
    }
}

impl State {
    /// One turn of a write: fills folios until all is written or the writer has to pause.
    pub(in crate::io_path) fn write_turn(&mut self, work: &Work, prices: &Prices, now: Time) -> Work {
        let mut work = Work { owed_ns: 0, far_ns: 0, copied: 0, pause_ns: 0, ..*work };
        let begun = self.since_start(now);
        if self.0.jumps(&work, work.read.position) {
            work.owed_ns = prices.jumped_write as u64;
        }
        while work.has_more() {
            let spent = work.owed_ns + work.far_ns + prices.copying(work.copied, work.call.bytes) as u64;
            work.pause_ns = self.0.balance(work.turn.job, begun + spent);
            if work.pause_ns > 0 {
                break;
            }
            let position = work.read.position;
            let number = work.call.file.0 as usize;
            let (jumps, appends) = (self.0.jumps(&work, position), position == self.0.files[number].size);
            let filled = self.0.fill_folio(work.call.file, position, work.read.end, begun + spent);
            let far = self.0.write_far(&work, [position, filled.end], filled.old_pages > 0, prices);
            let bytes = filled.end - position;
            work.owed_ns += filled.cost(bytes, prices);
            let file = &mut self.0.files[number];
            if filled.new_blocks > 0 && jumps && !appends {
                let stretch = position / work.call.bytes.max(1);
                if let Some(blocks) = file.scattered.add(file.transaction, stretch) {
                    self.0.journal.scatter(blocks);
                }
            } else if filled.new_blocks == 0 && jumps && filled.marked > 0 {
                work.owed_ns += prices.jumped_over as u64;
            }
            work.far_ns += far;
            work.copied += bytes;
            work.read.position = filled.end;
            self.0.dirtier(work.turn.job).nr_dirtied += filled.dirtied;
        }
        work
    }

    /// Writes data into a file that stay in the cache, by nobody and in no time.
    pub(super) fn write(&mut self, file: FileId, offset: u64, bytes: u64) {
        // As programs do that write a file: not all at once.
        const AT_ONCE: u64 = 1 << 20;
        let (mut at, end, now) = (offset, offset + bytes, self.since_start(Time::ZERO));
        while at < end {
            let beyond = end.min((at / AT_ONCE + 1) * AT_ONCE);
            at = self.0.fill_folio(file, at, beyond, now).end;
        }
    }

    /// One turn of the flusher: a chunk of a file. Source: `wb_writeback`, `writeback_sb_inodes`.
    pub(in crate::io_path) fn flush(&mut self, now: Time) {
        let now = self.since_start(now);
        let is_over = self.0.jobs_left == 0;
        let inner = &mut *self.0;
        let jiffy = now / inner.writeback.jiffy;
        let Flusher::Writes(reason) = inner.writeback.flusher else { return };
        let by = reason.map_or(u64::MAX, NonZeroU64::get);
        let is_due = reason.is_some() || inner.is_over_background();
        let oldest = inner.oldest_dirty(by).filter(|_| is_due && !is_over);
        let Some(file) = oldest else {
            let goes_on = reason.is_some() && inner.is_over_background() && !is_over;
            inner.writeback.flusher = if goes_on { Flusher::Writes(None) } else { Flusher::Asleep };
            inner.writeback.wakes = goes_on;
            return;
        };
        inner.writeback.speed.start_estimate(jiffy, inner.writeback.flying.is_empty());
        let most = writeback_chunk_size(&inner.writeback.speed);
        // Where the last chunk ended, and round.
        let cursor = inner.files[file.0 as usize].cursor;
        let written = inner.write_out(file, [cursor, u64::MAX], most, Urgency::Background);
        if written < most {
            inner.write_out(file, [0, cursor], most - written, Urgency::Background);
        }
        inner.writeback.speed.estimate(jiffy);
        // One that is still dirty comes after the others: `requeue_io`.
        inner.writeback.round += 1;
        let round = inner.writeback.round;
        inner.files[file.0 as usize].round = round;
        let has_room = inner.writeback.flying.len() < inner.writeback.queue;
        inner.writeback.flusher = if has_room { Flusher::Writes(reason) } else { Flusher::Waits(reason) };
        inner.writeback.wakes = has_room;
    }

    /// The flusher's timer has run out. Source: `wb_check_old_data_flush`.
    pub(in crate::io_path) fn look_for_old_data(&mut self, now: Time) {
        let now = self.since_start(now);
        let inner = &mut *self.0;
        inner.writeback.alarm = None;
        // Zero is for what is not dirty; nothing is older than the machine.
        if let Some(by) = now.checked_sub(inner.writeback.expire).and_then(NonZeroU64::new)
            && inner.oldest_dirty(by.get()).is_some()
        {
            inner.writeback.call(Flusher::Writes(Some(by)));
        } else if inner.is_over_background() {
            inner.writeback.call(Flusher::Writes(None));
        }
        if inner.cache.dirty_pages() > 0 {
            inner.set_alarm(now);
        }
    }

    /// Whether the flusher is to be sent off; asked once.
    pub(in crate::io_path) fn take_wake(&mut self) -> Option<()> {
        std::mem::take(&mut self.0.writeback.wakes).then_some(())
    }

    /// In how many ns the flusher looks for old data, if that has still to be set; asked once.
    pub(in crate::io_path) fn take_alarm(&mut self, now: Time) -> Option<u64> {
        let sets = std::mem::take(&mut self.0.writeback.sets_alarm);
        let now = self.since_start(now);
        self.0.writeback.alarm.filter(|_| sets).map(|alarm| alarm.saturating_sub(now))
    }

    /// Before a run: nothing of the last net is left.
    pub(in crate::io_path) fn begin_run(&mut self, jobs: u32) {
        let inner = &mut *self.0;
        (inner.jobs_left, inner.latest) = (jobs, Time::ZERO);
        inner.journal.begin_run();
        inner.writeback.sets_alarm = inner.writeback.alarm.is_some();
    }

    /// Jobs whose syncs have nothing to wait for any more; asked once.
    pub(in crate::io_path) fn take_synced(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.0.writeback.synced)
    }

    /// Pages that are dirty, and pages that are on their way to the device.
    #[must_use]
    pub fn dirty_and_writeback(&self) -> [u64; 2] {
        [self.0.cache.dirty_pages(), self.0.writeback.pages]
    }
}

/// A stretch of a write that lies in one folio.
#[derive(Clone, Copy, Debug)]
struct Filled {
    /// The byte after its last.
    end: u64,
    /// Pages of the folio, if it is new.
    new_pages: u64,
    /// Pages of the folio, if it was there before, and what the caches took since its buffers were looked at.
    old_pages: u64,
    since: u64,
    new_blocks: u64,
    /// Pages that are counted as dirty from now on: a folio is as a whole.
    dirtied: u64,
    /// Pages whose own marks are set: those written to. Source: `mark_buffer_dirty`, `ifs_set_range_dirty`.
    marked: u64,
}

impl Filled {
    /// What so many bytes cost that are written there.
    fn cost(self, bytes: u64, prices: &Prices) -> u64 {
        let folio = prices.new_folio(self.new_pages);
        let walked = prices.caches.walking(self.old_pages, self.since, bytes);
        // What a new page costs, its mark is part of.
        let marked = if self.new_pages == 0 { self.marked as f64 * prices.dirtied_page } else { 0.0 };
        (prices.write_call + folio + walked + marked + self.new_blocks as f64 * prices.new_block) as u64
    }
}

impl Inner {
    fn dirtier(&mut self, job: u32) -> &mut Dirtier {
        let dirtiers = &mut self.writeback.dirtiers;
        if dirtiers.len() <= job as usize {
            dirtiers.resize(job as usize + 1, Dirtier::default());
        }
        &mut dirtiers[job as usize]
    }

    /// Has a job look at what is dirty, if that is due; gives how long it pauses, in ns.
    fn balance(&mut self, job: u32, now: u64) -> u64 {
        let mut task = *self.dirtier(job);
        if !task.must_look(&self.writeback.speed) {
            return 0;
        }
        let Writeback { thresholds, flusher, pages, jiffy, .. } = self.writeback;
        let found = Found {
            dirty: self.cache.dirty_pages(),
            writeback: pages,
            is_flushing: flusher != Flusher::Asleep,
        };
        let at = now / jiffy;
        let balance = self.writeback.speed.balance_dirty_pages(&mut task, found, thresholds, at);
        *self.dirtier(job) = task;
        if balance.wakes_flusher {
            self.writeback.call(Flusher::Writes(None));
        }
        if balance.pause > 0 {
            self.writeback.slept_at = Some(now);
        }
        // A timer runs out at the tick after its time: `calc_index` of `kernel/time/timer.c`.
        if balance.pause > 0 { (at + balance.pause + 1) * jiffy - now } else { 0 }
    }

    /// Writes into the folio at `position`, which may be new, at most to `end`.
    fn fill_folio(&mut self, file: FileId, position: u64, end: u64, now: u64) -> Filled {
        let index = position / PAGE;
        let (folio, is_new) = write_begin(&mut self.cache, self.limits, file, position, end);
        self.write_for_room(now);
        let end = end.min((folio.first + folio.pages) * PAGE);
        self.cache.mark_accessed(folio);
        let dirtied = if self.cache.set_dirty(folio, true) { folio.pages } else { 0 };
        self.writeback.speed.dirtied += dirtied;
        let (block, jiffy) = (self.block, now / self.writeback.jiffy);
        let of = &mut self.files[file.0 as usize];
        let grows = end > of.size;
        of.size = end.max(of.size);
        let dirty = of.dirty.pages();
        if dirty == 0 {
            (of.dirtied_at, of.round) = (now.max(1), 0);
        }
        of.dirty.insert(index, end.div_ceil(PAGE));
        let marked = of.dirty.pages() - dirty;
        let range = (position / block) as usize..end.div_ceil(block) as usize;
        if of.blocks.len() < range.end {
            of.blocks.resize(range.end, false);
        }
        let is_new_block = |block: &mut bool| !std::mem::replace(block, true);
        let new_blocks = of.blocks[range].iter_mut().map(is_new_block).filter(|new| *new).count() as u64;
        // A time that is the same to the tick is no change.
        let is_touched = std::mem::replace(&mut of.mtime, jiffy) != jiffy || of.transaction == 0;
        if grows || new_blocks > 0 || is_touched || self.journal.takes_data() {
            of.transaction = self.journal.join(end.div_ceil(PAGE) - index, now);
        }
        if grows || new_blocks > 0 || self.journal.takes_data() {
            of.data_transaction = of.transaction;
        }
        let pointers = self.allocation.written(file, [index, end.div_ceil(PAGE)]);
        self.journal.change_more(pointers);
        if self.writeback.alarm.is_none() {
            self.set_alarm(now);
        }
        // Whoever wrote them back walked through all of its buffers.
        let before = self.files[file.0 as usize].footprint();
        let since = self.walks.walk(file, [folio.first, folio.pages], end - position, before);
        let [new_pages, old_pages] = if is_new { [folio.pages, 0] } else { [0, folio.pages] };
        Filled { end, new_pages, old_pages, since, new_blocks, dirtied, marked }
    }

    /// Sends the flusher off for all that is dirty where memory is short of folios that can go. Source:
    /// `wakeup_flusher_threads`.
    pub(super) fn write_for_room(&mut self, now: u64) {
        if self.cache.take_lack_of_writeback() {
            self.writeback.call(Flusher::Writes(NonZeroU64::new(now.max(1))));
        }
    }

    fn set_alarm(&mut self, now: u64) {
        if self.writeback.period > 0 {
            self.writeback.alarm = Some(now + self.writeback.period);
            self.writeback.sets_alarm = true;
        }
    }

    fn is_over_background(&self) -> bool {
        self.cache.dirty_pages() > self.writeback.thresholds.background
    }

    /// Of the files that were dirtied by then the one whose turn it is: the one that was dirtied first.
    fn oldest_dirty(&self, by: u64) -> Option<FileId> {
        let is_due = |file: &u32| {
            let file = &self.files[*file as usize];
            file.dirty.pages() > 0 && file.dirtied_at <= by
        };
        let turn = |file: &u32| {
            let file = &self.files[*file as usize];
            (file.round, file.dirtied_at)
        };
        (0..self.files.len() as u32).filter(is_due).min_by_key(turn).map(FileId)
    }

    /// Sends dirty folios of a range of pages to the device until those have `most` pages; gives how many
    /// they have.
    fn write_out(&mut self, file: FileId, [first, end]: [u64; 2], most: u64, urgency: Urgency) -> u64 {
        let (mut at, mut taken) = (first, 0);
        let mut run: Option<([u64; 2], u64)> = None;
        while taken < most {
            let Some(next) = self.files[file.0 as usize].dirty.next(at).filter(|&next| next < end) else {
                break;
            };
            let Some(folio) = self.cache.folio(file, next) else {
                self.files[file.0 as usize].dirty.remove(next, next + 1);
                continue;
            };
            self.cache.set_dirty(folio, false);
            taken += folio.pages;
            let (mut held, mut from) = (folio.pages, next);
            at = folio.first + folio.pages;
            while from < at {
                let dirty = &mut self.files[file.0 as usize].dirty;
                let until = dirty.run_end(from, at.min(from + self.limits.largest_io));
                dirty.remove(from, until);
                run = match run {
                    Some(([start, last], pages))
                        if last == from && until - start <= self.limits.largest_io =>
                    {
                        Some(([start, until], pages + held))
                    }
                    earlier => {
                        self.send(file, earlier, urgency);
                        Some(([from, until], held))
                    }
                };
                held = 0;
                from = self.files[file.0 as usize].dirty.next(until).unwrap_or(at);
            }
        }
        self.send(file, run, urgency);
        self.files[file.0 as usize].cursor = at;
        taken
    }

    /// One write of a run of pages, if there is a run.
    fn send(&mut self, file: FileId, run: Option<([u64; 2], u64)>, urgency: Urgency) {
        let Some(([first, end], held)) = run else { return };
        let id = self.fetch_id();
        let request = Request::write(id, file, first, end - first, urgency);
        let pointers = self.allocation.written_back(file, [first, end]);
        self.journal.change_more(pointers);
        self.cache.set_writeback(file, first, end - first, true);
        self.fly(request, held);
    }

    fn fly(&mut self, request: Request, held: u64) {
        self.requests.push(request);
        let number = self.writeback.written_out;
        self.writeback.flying.push(Flying { request, number, held });
        self.writeback.written_out += 1;
        self.writeback.pages += held;
    }

    /// Makes a file's dirty folios clean in no time.
    pub(super) fn clean(&mut self, file: FileId) {
        let dirty = std::mem::take(&mut self.files[file.0 as usize].dirty);
        let mut at = 0;
        while let Some(next) = dirty.next(at) {
            self.allocation.written_back(file, [next, dirty.run_end(next, u64::MAX)]);
            let folio = self.cache.folio(file, next);
            at = folio.map_or(next + 1, |folio| folio.first + folio.pages);
            if let Some(folio) = folio {
                self.cache.set_dirty(folio, false);
            }
        }
        self.allocation.take_dirty(file);
    }
}
