//! The state of the journal: transactions, and the syncs that wait for them. After `fs/jbd2`.
//!
//! Moments are in ns since the machine was started.

use std::collections::BTreeSet;

use crate::file_read::PAGE;
use crate::io_path::CallKind;
use crate::io_path::costs::Costs;
use crate::io_path::request::{At, Request, RequestIds, Urgency};
use crate::io_path::work::Work;
use crate::page_cache::FileId;
use crate::parameters::{Journal as Choice, Parameters, Scalar};

/// What a sync has to write besides the file's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Nothing: a sync of a file that was written to takes the time of a commit.
    None,
    /// This many bytes of a log, as xfs and btrfs write.
    Log(u64),
    /// The transaction's metadata. The data of a synced file are written before, in `ordered` and in `writeback`
    /// mode; what `ordered` writes of other files is not modelled.
    Metadata,
    /// The transaction's metadata and data.
    Data,
}

/// The journal.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    mode: Mode,
    /// The age at which a transaction is committed, in ns.
    interval: u64,
    /// The number of the running transaction.
    running: u64,
    /// The number of the last transaction that is committed.
    committed: u64,
    /// Blocks of metadata in a transaction of one changed file: inode, bitmap, group, directory.
    first_blocks: u64,
    /// Further blocks, for the first block of extents with new extents that lie apart.
    scattered_blocks: u64,
    /// The bios of a write of the log.
    log_requests: u64,
    /// Blocks of metadata in the running transaction; 0 if nothing has changed. In a log the first block stands for
    /// everything but extents.
    blocks: u64,
    /// Pages of data in the running transaction.
    data_pages: u64,
    /// The commit under way.
    commit: Option<Phase>,
    /// Jobs whose sync waits, and the transactions they wait for.
    waiters: Vec<(u32, u64)>,
    /// When the running transaction has to be committed.
    due: Option<u64>,
    /// Whether a timer runs until then.
    is_timer_set: bool,
    /// The block of the journal's file that is written next.
    head: u64,
    /// By file.
    changes: Vec<Changes>,
}

/// The transactions that changed a file.
#[derive(Clone, Debug, Default)]
struct Changes {
    /// The last one that changed anything of it.
    any: u64,
    /// The last one that changed its blocks or its length.
    data: u64,
    /// New blocks that lie apart from those before.
    scattered: Scattered,
}

/// A write into a file, as far as the journal is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// Pages written to.
    pub(crate) pages: u64,
    /// Whether the file has new blocks or a new length.
    pub(crate) is_of_size: bool,
    /// Whether the time of its last write has changed.
    pub(crate) is_of_time: bool,
}

/// What the commit of a transaction, by number, writes next: its blocks, and after a flush its record. A log is flushed
/// before, and its record is all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Blocks(u64),
    Record(u64),
}

/// What a sync waits for once its data are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Settling {
    /// Nothing.
    Nothing,
    /// A flush.
    Flush,
    /// The time of a commit and a flush, without requests.
    Cost,
    /// The commit of a transaction.
    Commit,
}

/// New blocks of a file that lie apart from those before.
#[derive(Clone, Debug, Default)]
struct Scattered {
    /// The last transaction with such blocks, until a sync has written the extents that lead to them.
    transaction: Option<u64>,
    /// The blocks of extents in that transaction.
    leaves: BTreeSet<u64>,
    /// The stretches since a sync has written them.
    stretches: BTreeSet<u64>,
}

impl Scattered {
    /// Adds a stretch, by number, to a transaction. Returns the number of blocks of extents in the transaction if this
    /// stretch has added one.
    ///
    /// A block of 4 KiB holds 340 extents (`ext4_ext_space_block`). It is split where it is full, and after random
    /// writes every second stretch begins an extent.
    fn add(&mut self, transaction: u64, stretch: u64) -> Option<usize> {
        const STRETCHES: u64 = 340 * 2 / 3 * 2;
        if self.transaction.replace(transaction) != Some(transaction) {
            self.leaves.clear();
        }
        self.stretches.insert(stretch);
        self.leaves.insert(stretch / STRETCHES).then_some(self.leaves.len())
    }

    /// Forgets the blocks, which a sync writes; returns their transaction and in how many rows they lay.
    fn write(&mut self) -> Option<(u64, u64)> {
        self.leaves.clear();
        let stretches = std::mem::take(&mut self.stretches);
        let begins_row = |&stretch: &u64| stretch == 0 || !stretches.contains(&(stretch - 1));
        let rows = stretches.iter().copied().filter(begins_row).count() as u64;
        self.transaction.take().map(|transaction| (transaction, rows))
    }
}

/// A sync whose data are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Judged {
    /// What it waits for now.
    pub(crate) settling: Settling,
    /// In how many rows the new blocks lie apart whose extents it writes.
    pub(crate) scattered: u64,
    /// Bytes that were written into its file since the last sync.
    pub(crate) unsynced: u64,
    pub(crate) work: Work,
}

impl Judged {
    /// What the sync takes from here on, where no journal does more, in ns.
    pub(crate) fn cost(&self, costs: &Costs) -> f64 {
        let own = match self.settling {
            Settling::Cost => {
                costs[Scalar::JournalCommit]
                    + costs.scattered(self.scattered)
                    + self.unsynced as f64 * costs[Scalar::SyncedByte]
            }
            _ => 0.0,
        };
        costs[Scalar::DeviceFlush] + own
    }
}

/// The journal's own file.
const FILE: FileId = FileId(u32::MAX);

impl Journal {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        Self {
            mode: match parameters.choices.journal {
                Choice::Price => match parameters[Scalar::LogBytes] as u64 {
                    0 => Mode::None,
                    bytes => Mode::Log(bytes),
                },
                Choice::Data => Mode::Data,
                Choice::Ordered | Choice::Writeback => Mode::Metadata,
            },
            interval: parameters[Scalar::CommitInterval] as u64,
            first_blocks: (parameters[Scalar::JournalBlocks].round() as u64).max(1),
            scattered_blocks: parameters[Scalar::ScatteredBlocks].round() as u64,
            log_requests: (parameters[Scalar::LogRequests].round() as u64).max(1),
            running: 1,
            committed: 0,
            blocks: 0,
            data_pages: 0,
            commit: None,
            waiters: Vec::new(),
            due: None,
            is_timer_set: false,
            head: 0,
            changes: Vec::new(),
        }
    }

    /// A file is new.
    pub(crate) fn add_file(&mut self) {
        self.changes.push(Changes::default());
    }

    /// An empty file takes the place of a file.
    pub(crate) fn replace_file(&mut self, file: FileId, now: u64) {
        let transaction = self.join(0, now);
        let scattered = Scattered::default();
        self.changes[file.0 as usize] = Changes { any: transaction, data: transaction, scattered };
    }

    /// A run begins: the timers of the last one are gone.
    pub(crate) fn begin_run(&mut self) {
        self.is_timer_set = false;
    }

    /// Whether no commit is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.commit.is_none()
    }

    /// Whether data are written to it.
    pub(crate) fn takes_data(&self) -> bool {
        self.mode == Mode::Data
    }

    /// A file is written to.
    pub(crate) fn change(&mut self, file: FileId, change: Change, now: u64) {
        let is_data = change.is_of_size || self.takes_data();
        let is_new = self.changes[file.0 as usize].any == 0;
        if is_data || change.is_of_time || is_new {
            self.changes[file.0 as usize].any = self.join(change.pages, now);
        }
        if is_data {
            let changes = &mut self.changes[file.0 as usize];
            changes.data = changes.any;
        }
    }

    /// Adds a change to the running transaction; returns its number.
    fn join(&mut self, data_pages: u64, now: u64) -> u64 {
        match self.mode {
            Mode::None => return 0,
            // The wait for another's sync is not modelled.
            Mode::Log(_) => self.blocks = self.blocks.max(1),
            _ if self.blocks == 0 => {
                self.blocks = self.first_blocks;
                (self.due, self.is_timer_set) = (Some(now + self.interval), false);
            }
            _ => {}
        }
        if self.takes_data() {
            self.data_pages += data_pages;
        }
        self.running
    }

    /// Whether blocks of pointers are written to it: jbd2 takes them.
    pub(crate) fn takes_pointers(&self) -> bool {
        matches!(self.mode, Mode::Metadata | Mode::Data)
    }

    /// Adds blocks of pointers to the running transaction.
    pub(crate) fn change_pointers(&mut self, blocks: u64) {
        if self.takes_pointers() && self.blocks > 0 {
            self.blocks += blocks;
        }
    }

    /// The running transaction has changed the extents of a file at this stretch, by number, which lies apart from the
    /// one before.
    pub(crate) fn scatter(&mut self, file: FileId, stretch: u64) {
        let Changes { any, scattered, .. } = &mut self.changes[file.0 as usize];
        let Some(leaves) = scattered.add(*any, stretch) else { return };
        if self.blocks > 0 {
            self.blocks += if leaves == 1 { self.scattered_blocks } else { 1 };
        }
    }

    /// Starts to commit the running transaction, unless a commit is under way or nothing has changed. Returns whether
    /// the first step is the record, if it has started.
    fn start(&mut self) -> Option<bool> {
        if self.commit.is_some() || self.blocks == 0 {
            return None;
        }
        let is_log = matches!(self.mode, Mode::Log(_));
        self.commit = Some(if is_log { Phase::Record(self.running) } else { Phase::Blocks(self.running) });
        Some(is_log)
    }

    /// A sync whose data are written: what it waits for, and the first step of a commit if one starts.
    pub(crate) fn settle(&mut self, work: &Work, unsynced: u64) -> (Judged, Option<bool>) {
        let (settling, step) = self.settling(work, unsynced);
        (Judged { settling, scattered: self.written_scattered(work), unsynced, work: *work }, step)
    }

    /// In how many rows new blocks lie apart whose extents a sync writes.
    fn written_scattered(&mut self, work: &Work) -> u64 {
        match work.call.kind {
            CallKind::Fsync | CallKind::Fdatasync => {
                let scattered = self.changes[work.call.file.0 as usize].scattered.write();
                let is_written = |&(of, _): &(u64, u64)| self.mode == Mode::None || of > self.committed;
                scattered.filter(is_written).map_or(0, |(_, rows)| rows)
            }
            CallKind::Sync => {
                self.changes.iter_mut().for_each(|changes| changes.scattered = Scattered::default());
                0
            }
            _ => 0,
        }
    }

    fn settling(&mut self, work: &Work, unsynced: u64) -> (Settling, Option<bool>) {
        let transaction = match work.call.kind {
            CallKind::Fsync => self.changes[work.call.file.0 as usize].any,
            CallKind::Fdatasync => self.changes[work.call.file.0 as usize].data,
            CallKind::Sync => self.running - u64::from(self.blocks == 0),
            _ => return (Settling::Nothing, None),
        };
        let is_clean = match self.mode {
            Mode::None => unsynced == 0 && work.call.kind != CallKind::Sync,
            _ => transaction <= self.committed,
        };
        if is_clean {
            return (Settling::Flush, None);
        }
        if self.mode == Mode::None {
            return (Settling::Cost, None);
        }
        self.waiters.push((work.turn.job, transaction));
        (Settling::Commit, self.start())
    }

    /// The write of the commit's next step: the blocks, or the record that closes it.
    pub(crate) fn commit_step(&mut self, ids: &mut RequestIds) -> Option<Request> {
        let bytes = match self.commit? {
            // Changes from here on belong to the next transaction.
            Phase::Blocks(_) => {
                let pages = 1 + std::mem::take(&mut self.blocks) + std::mem::take(&mut self.data_pages);
                self.running += 1;
                self.due = None;
                pages * PAGE
            }
            Phase::Record(_) => match self.mode {
                Mode::Log(bytes) => {
                    self.running += 1;
                    bytes + std::mem::take(&mut self.blocks).saturating_sub(1) * PAGE
                }
                _ => PAGE,
            },
        };
        let (first, pages) = (self.head, bytes.div_ceil(PAGE));
        self.head += pages;
        // jbd2 hands over each block by itself (`jbd2_journal_commit_transaction`).
        let bios = if let Mode::Log(_) = self.mode { self.log_requests } else { pages };
        let request = Request::write(ids.next(), FILE, first, pages, Urgency::Sync);
        // A log need not write whole pages.
        let at = Some(At { byte: request.place(), bytes });
        Some(Request { at, bios, ..request })
    }

    /// Whether a request writes the journal.
    pub(crate) fn owns(request: &Request) -> bool {
        request.file == FILE
    }

    /// A write of the journal is done. Returns the next step, of this commit or of the next one, and the jobs whose
    /// transaction is committed.
    pub(crate) fn written(&mut self) -> (Option<bool>, Vec<u32>) {
        match self.commit {
            Some(Phase::Blocks(number)) => {
                self.commit = Some(Phase::Record(number));
                (Some(true), Vec::new())
            }
            Some(Phase::Record(number)) => {
                (self.commit, self.committed) = (None, number);
                let done =
                    self.waiters.extract_if(.., |(_, waits)| *waits <= number).map(|(job, _)| job).collect();
                let step = if self.waiters.is_empty() { None } else { self.start() };
                (step, done)
            }
            None => (None, Vec::new()),
        }
    }

    /// The timer has run out: a transaction that is old enough is committed. Returns the first step if that starts.
    pub(crate) fn commit_old(&mut self, now: u64) -> Option<bool> {
        if self.due.is_some_and(|due| due <= now) { self.start() } else { None }
    }

    /// Sets the timer of the running transaction, unless it is set; returns in how many ns it runs out.
    pub(crate) fn set_timer(&mut self, now: u64) -> Option<u64> {
        let due = self.due?;
        let was_set = std::mem::replace(&mut self.is_timer_set, true);
        (!was_set).then(|| due.saturating_sub(now))
    }
}
