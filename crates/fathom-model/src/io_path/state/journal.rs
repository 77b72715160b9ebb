//! The journal's half of the kernel's memory: transactions, and who waits for them. After `fs/jbd2`.

use std::collections::BTreeSet;

use fathom_net::Time;

use super::{Inner, State};
use crate::file_read::PAGE;
use crate::io_path::{At, Kind, Request, Urgency, Work};
use crate::page_cache::FileId;
use crate::parameters::{Journal as Choice, Parameters, Scalar};

/// What the journal does for a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// There is none: a sync costs what a commit costs, always.
    None,
    /// Each sync writes so many bytes of what it has changed, as the logs of xfs and btrfs do.
    Log(u64),
    /// Metadata are written to it. The data of a file that is synced are written before, in both modes of
    /// the same name; what `ordered` writes of other files is not modelled.
    Metadata,
    /// Data are written to it, too.
    Data,
}

/// Transactions.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    mode: Mode,
    /// How old a transaction may get, in ns.
    interval: u64,
    /// The number of the running transaction, and of the last that is committed.
    running: u64,
    committed: u64,
    /// Blocks of metadata that the first change of a file brings in: inode, bitmap, group, directory.
    first_blocks: u64,
    /// And what the first block of extents brings in beside them that gets new ones which lie apart.
    scattered_blocks: u64,
    /// As how many bios a log is handed over.
    log_requests: u64,
    /// Pages that the running one holds; none if it has not begun. Of a log the first stands for all but extents.
    blocks: u64,
    data_pages: u64,
    /// What the commit under way does next.
    commit: Option<Phase>,
    /// Jobs, and the transaction that they wait for.
    waiters: Vec<(u32, u64)>,
    /// Jobs whose transaction is committed.
    done: Vec<u32>,
    /// When the running transaction has to be committed, in ns since the machine was started.
    due: Option<u64>,
    sets_timer: bool,
    steps: bool,
    head: u64,
}

/// A commit: its blocks, then a flush and its last block. A log is flushed before and written at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Blocks(u64),
    Record(u64),
}

/// What a sync has to wait for once its data are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::io_path) enum Settling {
    /// Nothing.
    Nothing,
    /// A flush.
    Flush,
    /// What is said of a commit, and a flush.
    Price,
    /// A transaction.
    Commit,
}

/// New blocks of a file that lie apart from those before.
#[derive(Clone, Debug, Default)]
pub(super) struct Scattered {
    /// The last transaction that has some, until a sync has written what leads to them.
    transaction: Option<u64>,
    /// Which blocks of extents that transaction has.
    leaves: BTreeSet<u64>,
}

impl Scattered {
    /// The transaction has the stretch of this number as well; gives how many blocks of extents it has now, if they are more
    /// than before.
    ///
    /// Such a block of 4 KiB holds 340 extents (`ext4_ext_space_block`). It is split where it is full, and written at random
    /// every second stretch begins one.
    pub(super) fn add(&mut self, transaction: u64, stretch: u64) -> Option<usize> {
        const STRETCHES: u64 = 340 * 2 / 3 * 2;
        if self.transaction.replace(transaction) != Some(transaction) {
            self.leaves.clear();
        }
        self.leaves.insert(stretch / STRETCHES).then_some(self.leaves.len())
    }

    /// The transaction of those that no sync has written.
    fn take(&mut self) -> Option<u64> {
        self.leaves.clear();
        self.transaction.take()
    }
}

/// A call whose data are written, and what it has still to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::io_path) struct Judged {
    pub(in crate::io_path) settling: Settling,
    /// Whether new blocks among its data lie apart: then more of what leads to them has changed.
    pub(in crate::io_path) is_scattered: bool,
    pub(in crate::io_path) work: Work,
}

/// The journal's own file.
const FILE: FileId = FileId(u32::MAX);

impl Journal {
    pub(super) fn new(parameters: &Parameters) -> Self {
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
            done: Vec::new(),
            due: None,
            sets_timer: false,
            steps: false,
            head: 0,
        }
    }

    /// Before a run: nothing of the last net is left.
    pub(super) fn begin_run(&mut self) {
        self.sets_timer = self.due.is_some();
    }

    /// Whether no commit is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.commit.is_none()
    }

    /// Whether data go through it.
    pub(super) fn takes_data(&self) -> bool {
        self.mode == Mode::Data
    }

    /// A change joins the running transaction; gives its number.
    pub(super) fn join(&mut self, data_pages: u64, now: u64) -> u64 {
        match self.mode {
            Mode::None => return 0,
            // How long one waits for who syncs is not modelled.
            Mode::Log(_) => self.blocks = self.blocks.max(1),
            _ if self.blocks == 0 => {
                self.blocks = self.first_blocks;
                (self.due, self.sets_timer) = (Some(now + self.interval), true);
            }
            _ => {}
        }
        if self.takes_data() {
            self.data_pages += data_pages;
        }
        self.running
    }

    /// Whether it takes what leads to data: jbd2 does.
    pub(super) fn takes_pointers(&self) -> bool {
        matches!(self.mode, Mode::Metadata | Mode::Data)
    }

    /// So many blocks more than every change has belong to the running transaction.
    pub(super) fn change_more(&mut self, blocks: u64) {
        if self.takes_pointers() && self.blocks > 0 {
            self.blocks += blocks;
        }
    }

    /// So many blocks of a file's extents belong to the running transaction now, the last of which did not before.
    pub(super) fn scatter(&mut self, blocks: usize) {
        if self.blocks > 0 {
            self.blocks += if blocks == 1 { self.scattered_blocks } else { 1 };
        }
    }

    /// Begins to commit the running transaction, unless a commit is under way or there is nothing.
    fn start(&mut self) {
        if self.commit.is_none() && self.blocks > 0 {
            let phase = match self.mode {
                Mode::Log(_) => Phase::Record(self.running),
                _ => Phase::Blocks(self.running),
            };
            (self.commit, self.steps) = (Some(phase), true);
        }
    }
}

impl State {
    /// What a call waits for whose data are written.
    pub(in crate::io_path) fn settle(&mut self, work: &Work) -> Judged {
        Judged { settling: self.settling(work), is_scattered: self.take_scattered(work), work: *work }
    }

    /// Whether what a sync of a file waits for has new blocks that lie apart; asked once.
    fn take_scattered(&mut self, work: &Work) -> bool {
        let Inner { journal, files, .. } = &mut *self.0;
        match work.call.kind {
            Kind::Sync | Kind::SyncData => {
                let scattered = files[work.call.file.0 as usize].scattered.take();
                scattered.is_some_and(|of| journal.mode == Mode::None || of > journal.committed)
            }
            Kind::SyncAll => {
                files.iter_mut().for_each(|file| file.scattered = Scattered::default());
                false
            }
            _ => false,
        }
    }

    fn settling(&mut self, work: &Work) -> Settling {
        let Inner { journal, files, .. } = &mut *self.0;
        let transaction = match work.call.kind {
            Kind::Sync => files[work.call.file.0 as usize].transaction,
            Kind::SyncData => files[work.call.file.0 as usize].data_transaction,
            Kind::SyncAll => journal.running - u64::from(journal.blocks == 0),
            _ => return Settling::Nothing,
        };
        if journal.mode == Mode::None {
            return Settling::Price;
        }
        if transaction <= journal.committed {
            return Settling::Flush;
        }
        journal.waiters.push((work.turn.job, transaction));
        journal.start();
        Settling::Commit
    }

    /// The next step of a commit: the blocks, or the record that closes it.
    pub(in crate::io_path) fn commit_step(&mut self, now: Time) {
        self.note(now);
        let journal = &mut self.0.journal;
        let bytes = match journal.commit {
            // Changes from here on are the next one's.
            Some(Phase::Blocks(_)) => {
                let pages = 1 + std::mem::take(&mut journal.blocks) + std::mem::take(&mut journal.data_pages);
                journal.running += 1;
                journal.due = None;
                pages * PAGE
            }
            Some(Phase::Record(_)) => match journal.mode {
                Mode::Log(bytes) => {
                    journal.running += 1;
                    bytes + std::mem::take(&mut journal.blocks).saturating_sub(1) * PAGE
                }
                _ => PAGE,
            },
            None => return,
        };
        let (first, pages) = (journal.head, bytes.div_ceil(PAGE));
        journal.head += pages;
        // jbd2 hands over each block by itself (`jbd2_journal_commit_transaction`).
        let bios = if let Mode::Log(_) = journal.mode { journal.log_requests } else { pages };
        let id = self.0.fetch_id();
        let request = Request::write(id, FILE, first, pages, Urgency::Sync);
        // A log need not write whole pages.
        let at = Some(At { byte: request.place(), bytes });
        self.0.requests.push(Request { at, bios, ..request });
    }

    /// A write of the journal is done. Gives whether it was one.
    pub(super) fn journal_written(&mut self, request: &Request) -> bool {
        if request.file != FILE {
            return false;
        }
        let journal = &mut self.0.journal;
        match journal.commit {
            Some(Phase::Blocks(number)) => {
                (journal.commit, journal.steps) = (Some(Phase::Record(number)), true);
            }
            Some(Phase::Record(number)) => {
                (journal.commit, journal.committed) = (None, number);
                let done = journal.waiters.extract_if(.., |(_, waits)| *waits <= number);
                journal.done.extend(done.map(|(job, _)| job));
                if !journal.waiters.is_empty() {
                    journal.start();
                }
            }
            None => {}
        }
        true
    }

    /// Whether the commit is to go on, and whether with its record, before which the device is flushed;
    /// asked once.
    pub(in crate::io_path) fn take_step(&mut self) -> Option<bool> {
        let journal = &mut self.0.journal;
        let is_record = matches!(journal.commit, Some(Phase::Record(_)));
        std::mem::take(&mut journal.steps).then_some(is_record)
    }

    /// The journal's timer has run out: what is old enough is committed.
    pub(in crate::io_path) fn commit_old(&mut self, now: Time) {
        let now = self.since_start(now);
        let journal = &mut self.0.journal;
        if journal.due.is_some_and(|due| due <= now) {
            journal.start();
        }
    }

    /// In how many ns the running transaction has to be committed, if its timer has still to be set.
    pub(in crate::io_path) fn take_timer(&mut self, now: Time) -> Option<u64> {
        let now = self.since_start(now);
        let journal = &mut self.0.journal;
        let sets = std::mem::take(&mut journal.sets_timer);
        journal.due.filter(|_| sets).map(|due| due.saturating_sub(now))
    }

    /// Jobs whose transaction is committed; asked once.
    pub(in crate::io_path) fn take_committed(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.0.journal.done)
    }
}
