//! A machine with planted parameters: what an experiment says of it can be held against the truth.
//!
//! The latency of each operation is a function of what a script says and of what the machine has
//! done before: a page cache per file, windows on their way from the device, the reader's state of
//! each open file. Time is simulated, and noise, outliers and drift are laid over it. It is a fake
//! for tests and for teaching, after the rules of Linux 6.18; it gives the cost of calls, and explains nothing.
//!
//! ```
//! use fathom_run::machine::Machine;
//! use fathom_scripted::{Script, Scripted};
//! use fathom_program::workload::{CallKind, Pass, Region, ScratchFile, Workload};
//!
//! let mut machine = Scripted::new(Script { block: 1024, ..Script::new(1) });
//! let region = Region { offset: 0, size: 256, step: 256, count: 16 };
//! let workload = Workload::new(vec![ScratchFile::empty("append")])
//!     .pass(Pass::untimed(0, &[CallKind::Create]))
//!     .pass(Pass::timed(0, &[CallKind::Write], region));
//! let latencies = machine.run(&workload).unwrap().matrix(1, 0);
//! assert!(latencies[4] > latencies[6], "the first write into a block is slower");
//! ```

mod cache;
mod directory;
pub mod support;
mod dirty;
mod file;
mod noise;
mod quiet;
mod read_ahead;
mod replacement;
mod server;

use std::collections::HashMap;
use std::path::Path;

use fathom_sys::file::Errno;

pub use self::directory::Metadata;
use self::dirty::Dirty;
use self::file::{Device, File};
use self::noise::Disturbance;
pub use self::noise::{Noise, Pure};
use self::quiet::Journal;
pub use self::quiet::Quiet;
use self::replacement::Memory;
pub use self::replacement::Replacement;
pub use self::server::{Server, Writes};
use fathom_program::units::Ticks;
use fathom_program::workload::{Buffer, CallKind, Pass, Workload};
use fathom_run::machine::{Fault, Machine};
use fathom_run::samples::{Reading, Samples};

/// What is planted. Sizes are in bytes and powers of two, but for the window; times are in ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The page: of the cache, and of fresh memory.
    pub page: u64,
    /// The block. Where it is larger than a page the cache holds whole blocks, as Linux's does.
    pub block: u64,
    /// The unit in which blocks are handed out together, as by the bigalloc feature of ext4; the block
    /// where there is none.
    pub cluster: u64,
    /// Blocks that an inode points to, where files are made of single blocks: a block of pointers
    /// then leads to a quarter as many blocks as it has bytes.
    pub direct_pointers: Option<u64>,
    /// What is read ahead.
    pub read_ahead: ReadAhead,
    /// What things cost.
    pub costs: Costs,
    /// What disturbs the latencies.
    pub noise: Noise,
    /// Where this is given, latencies are this noise and nothing else, whatever is done.
    pub pure: Option<Pure>,
    /// Whether pages can be dropped from the cache; on tmpfs they can't.
    pub evictable: bool,
    /// The pages that all files together may have in the cache, in bytes. None where there is no end to it.
    pub cache: Option<u64>,
    /// Which pages go when there are more.
    pub replacement: Replacement,
    /// What makes writers wait; none where nothing does.
    pub throttle: Option<Throttle>,
    /// What is written by itself, after a while; none where nothing is.
    pub quiet: Option<Quiet>,
    /// What names and attributes cost.
    pub metadata: Metadata,
    /// How data go to the server that keeps the files; none where they are on a device.
    pub server: Option<Server>,
    /// Bytes that may be written in all.
    pub write_budget: u64,
    /// Decides the noise, together with the workload's seed.
    pub seed: u64,
}

/// The read-ahead rule of Linux 6.18, `mm/readahead.c`. Sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadAhead {
    /// The largest window: `read_ahead_kb`. Nothing is read ahead where it is zero.
    pub window: u64,
    /// The largest request that the device takes, which one large read may fill: `max_sectors_kb`.
    pub largest_io: u64,
    /// Whether the file system has folios of several pages, which align the windows.
    pub large_folios: bool,
}

/// The rule of `balance_dirty_pages`, without its feedback. Sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throttle {
    /// With more dirty data than this the device begins to write them.
    pub background: u64,
    /// There are never more dirty data than this; writers wait from the mean of the two on.
    pub limit: u64,
    /// Bytes that the device writes in a second.
    pub device_rate: f64,
    /// The device takes what it writes in so many ns at once, at their end; zero where it writes evenly.
    pub period: f64,
}

/// What things cost, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// Two readings of the clock around nothing; part of every latency.
    pub clock: f64,
    /// A system call that finds everything in place.
    pub call: f64,
    /// Each byte copied.
    pub copied_byte: f64,
    /// Bytes of one read that fit into a cache of the CPU together with its data, and what each byte beyond
    /// them costs on top: t(x) of paper E, section 5.5.
    pub copy_knee: u64,
    /// See there.
    pub byte_beyond_knee: f64,
    /// The first write into a block, on top.
    pub first_in_block: f64,
    /// The first write into a cluster of several blocks, on top.
    pub first_in_cluster: f64,
    /// A new block of pointers, on top.
    pub pointer_block: f64,
    /// The first write into a page, on top.
    pub first_in_page: f64,
    /// The write after that into the same page, on top: it is elevated on some file systems.
    pub second_in_page: f64,
    /// A page of a hole that is not in the cache, on top.
    pub zeroed_page: f64,
    /// The first access to a page of a fresh buffer.
    pub buffer_fault: f64,
    /// Handing a window to the device.
    pub submission: f64,
    /// From there until the first byte is there.
    pub device_latency: f64,
    /// Each byte that the device moves.
    pub device_byte: f64,
}

/// The machine. Its files and their cached pages outlive a run, as on Linux.
#[derive(Debug)]
pub struct Scripted {
    script: Script,
    files: HashMap<String, File>,
    device: Device,
    /// What all files have in the cache, where there is an end to it.
    memory: Option<Memory>,
    dirty: Dirty,
    journal: Journal,
    /// Simulated ns since the machine was made.
    now: f64,
    bytes_read: u64,
    bytes_written: u64,
}

const TICKS_PER_NS: f64 = 2.1;

impl Script {
    /// An ext4 with 4 KiB blocks and a window of 128 KiB on a quiet virtual disk.
    pub fn new(seed: u64) -> Self {
        Self {
            page: 4096,
            block: 4096,
            cluster: 4096,
            direct_pointers: None,
            read_ahead: ReadAhead { window: 128 << 10, largest_io: 1 << 20, large_folios: true },
            costs: Costs::default(),
            noise: Noise::none(),
            pure: None,
            evictable: true,
            cache: None,
            replacement: Replacement::Lru,
            throttle: None,
            quiet: None,
            metadata: Metadata::default(),
            server: None,
            write_budget: 256 << 20,
            seed,
        }
    }

    /// A machine whose latencies say nothing: every experiment must be inconclusive on it.
    pub fn noise_only(pure: Pure, seed: u64) -> Self {
        Self { pure: Some(pure), ..Self::new(seed) }
    }
}

impl Default for Costs {
    /// As on an ext4 with 1 KiB blocks and a virtio disk at 2.1 GHz.
    fn default() -> Self {
        Self {
            clock: 20.0,
            call: 400.0,
            copied_byte: 0.1,
            copy_knee: u64::MAX,
            byte_beyond_knee: 0.0,
            first_in_block: 300.0,
            first_in_cluster: 600.0,
            pointer_block: 2_000.0,
            first_in_page: 1_300.0,
            second_in_page: 0.0,
            zeroed_page: 0.0,
            buffer_fault: 500.0,
            submission: 12_000.0,
            device_latency: 80_000.0,
            device_byte: 1.0,
        }
    }
}

/// One run in progress.
struct Run<'a> {
    workload: &'a Workload,
    disturbance: Disturbance,
    readings: Vec<Reading>,
}

/// Where in a run an operation stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// How much of the run and of the pass is over, from 0 to 1.
    of_run: f64,
    of_pass: f64,
}

impl Scripted {
    /// A machine that does as the script says, with no file yet.
    pub fn new(script: Script) -> Self {
        let pages = script.cache.map(|bytes| bytes / script.page);
        let memory = pages.map(|pages| Memory::new(script.replacement, pages, script.page, script.seed));
        Self {
            script,
            files: HashMap::new(),
            device: Device::default(),
            memory,
            dirty: Dirty::default(),
            journal: Journal::default(),
            now: 0.0,
            bytes_read: 0,
            bytes_written: 0,
        }
    }

    /// What is planted.
    pub fn script(&self) -> &Script {
        &self.script
    }

    fn provide(&mut self, workload: &Workload) -> Result<(), Fault> {
        let size = |name: &str| self.files.get(name).map_or(0, File::size);
        let filling: u64 = workload.files.iter().map(|file| file.size.saturating_sub(size(&file.name))).sum();
        let wanted = workload.bytes_written().saturating_add(filling);
        Fault::unless_affordable(wanted, self.write_budget())?;
        for wanted in &workload.files {
            let script = &self.script;
            let file = self.files.entry(wanted.name.clone()).or_insert_with(|| {
                let mut file = File::new(script);
                file.open();
                file
            });
            if file.size() < wanted.size {
                file.fill(script, wanted.size);
            }
            file.lengthen(wanted.hole);
            file.is_directory(wanted.entries);
        }
        self.bytes_written += filling;
        Ok(())
    }

    fn pass(&mut self, run: &mut Run<'_>, index: usize, round: u32) -> Result<(), Fault> {
        let pass = &run.workload.passes[index];
        let name = &run.workload.files[pass.file].name;
        let Some((name, mut file)) = self.files.remove_entry(name) else { return Ok(()) };
        let opens_itself = pass.ops.iter().any(|op| op.changes_descriptor());
        if !opens_itself && !file.is_open() {
            file.open();
        }
        let outcome = self.visit(run, &name, &mut file, index, round);
        self.files.insert(name, file);
        outcome
    }

    /// Visits every position of a pass.
    fn visit(
        &mut self,
        run: &mut Run<'_>,
        name: &str,
        file: &mut File,
        index: usize,
        round: u32,
    ) -> Result<(), Fault> {
        let workload = run.workload;
        let pass = &workload.passes[index];
        let order = workload.order(index, round);
        let kept = round.checked_sub(workload.warmup_rounds).filter(|_| pass.timed);
        let offset = |at: u32| pass.region.offset + u64::from(at) * pass.region.step;
        let states = pass.needs.map(|_| {
            let state = |&at: &u32| file.state(&self.script, offset(at), pass.region.size);
            order.iter().map(state).collect::<Vec<_>>()
        });
        let mut touched = Vec::new();
        let rounds = f64::from(workload.rounds) + f64::from(workload.warmup_rounds);
        for (visit, &position) in order.iter().enumerate() {
            let of_pass = visit as f64 / order.len() as f64;
            let of_round = (index as f64 + of_pass) / workload.passes.len() as f64;
            let place = Place { of_run: (f64::from(round) + of_round) / rounds, of_pass };
            for (step, &op) in pass.ops.iter().enumerate() {
                let fault = self.fault_in(pass, op, position, &mut touched);
                let clean = self.perform(name, file, op, offset(position), pass.region.size)? + fault;
                self.make_room(name, file);
                let start = self.now;
                self.now += self.disturbed(&mut run.disturbance, clean, place);
                if let Some(round) = kept {
                    run.readings.push(Reading {
                        offset: offset(position),
                        latency: Ticks(ticks(self.now) - ticks(start)),
                        round,
                        cache: states.as_ref().map(|states| states[visit]),
                        op,
                        pass: index as u32,
                        step: step as u32,
                        position,
                        start: Ticks(ticks(start)),
                    });
                }
            }
            self.now += pass.gap_ns as f64;
        }
        Ok(())
    }

    /// The latency that is observed where `clean` is due.
    fn disturbed(&self, disturbance: &mut Disturbance, clean: f64, place: Place) -> f64 {
        match self.script.pure {
            Some(pure) => self.script.costs.call * disturbance.pure(pure),
            None => clean * disturbance.factor(&self.script.noise, place.of_run, place.of_pass),
        }
    }

    /// The ns of one operation without noise.
    fn perform(
        &mut self,
        name: &str,
        file: &mut File,
        op: CallKind,
        offset: u64,
        size: u64,
    ) -> Result<f64, Fault> {
        let script = &self.script;
        if let Some(directory) = &mut file.directory {
            let cost = directory.perform(&script.metadata, op, offset, self.now);
            let missing = || fathom_sys::Error::new(op.name(), Path::new(name), Errno::NOENT);
            let call = if op == CallKind::Pause { 0.0 } else { script.costs.call };
            return Ok(script.costs.clock + call + cost.ok_or_else(missing)?);
        }
        if !file.is_open() && !op.changes_descriptor() && op != CallKind::Pause {
            return Err(fathom_sys::Error::new("use the closed", Path::new(name), Errno::BADF).into());
        }
        self.journal.advance(script.quiet, self.now);
        file.expire(script.quiet, self.now);
        let cost = match op {
            CallKind::Read | CallKind::Pread => {
                let there = file.size().saturating_sub(offset);
                if there < size {
                    let call = format!("read {name} at byte {offset}");
                    return Err(Fault::Short { call, wanted: size as usize, moved: there as usize });
                }
                self.bytes_read += size;
                file.read(script, &mut self.device, self.now, offset, size)
            }
            CallKind::Write | CallKind::Pwrite => {
                self.bytes_written += size;
                file.dirty_from(self.now);
                file.changed_in(self.journal.join(self.now));
                let wait = self.dirty.write(script.throttle, self.now, size);
                file.write(script, offset, size) + wait
            }
            CallKind::Fsync => {
                let commit = self.journal.commit(script, file.transaction());
                self.dirty.settle(script.throttle, self.now) + file.sync(script) + commit
            }
            CallKind::Fdatasync | CallKind::SyncRange | CallKind::Sync => {
                self.dirty.settle(script.throttle, self.now) + file.sync(script)
            }
            CallKind::Syncfs => {
                let data: f64 = self.files.values_mut().map(|other| other.sync(script)).sum();
                let settled = self.dirty.settle(script.throttle, self.now);
                settled + data + file.sync(script) + self.journal.commit(script, self.journal.open())
            }
            CallKind::Evict => self.dirty.settle(script.throttle, self.now) + file.evict(script),
            CallKind::Prefetch => file.prefetch(script, &mut self.device, self.now, offset, size),
            CallKind::Seek => 0.0,
            CallKind::Stat | CallKind::StatAnew => file.stat(script, self.now, op == CallKind::StatAnew),
            CallKind::Open => {
                file.open();
                0.0
            }
            CallKind::OpenDirect => {
                file.open_direct();
                0.0
            }
            CallKind::Create => {
                *file = File::new(script);
                file.open();
                file.changed_in(self.journal.join(self.now));
                file.stat(script, self.now, true)
            }
            CallKind::Close => file.close(script),
            // A workload's check lets no other kind pass.
            _ => return Ok(script.costs.clock),
        };
        Ok(script.costs.clock + script.costs.call + cost)
    }

    /// Forgets pages where the cache holds more than it may. The file in use is not among the others.
    fn make_room(&mut self, name: &str, file: &mut File) {
        let events = file.drain_events();
        let (Some(memory), Some(capacity)) = (&mut self.memory, self.script.cache) else { return };
        memory.note(name, events);
        while memory.len() * self.script.page > capacity
            && let Some((of, index)) = memory.evict()
        {
            let owner = if of == name { Some(&mut *file) } else { self.files.get_mut(of) };
            owner.into_iter().for_each(|file| file.forget(index));
        }
    }

    /// The ns of faults in a buffer of which `touched` pages are known, for an operation at `position`.
    fn fault_in(&self, pass: &Pass, op: CallKind, position: u32, touched: &mut Vec<bool>) -> f64 {
        let Buffer::Fresh { step } = pass.buffer else { return 0.0 };
        if !matches!(op, CallKind::Read | CallKind::Pread | CallKind::Write | CallKind::Pwrite) {
            return 0.0;
        }
        let from = u64::from(position) * step;
        let pages = from / self.script.page..(from + pass.region.size).div_ceil(self.script.page);
        if touched.len() < pages.end as usize {
            touched.resize(pages.end as usize, false);
        }
        let new = pages.filter(|&page| !std::mem::replace(&mut touched[page as usize], true)).count();
        new as f64 * self.script.costs.buffer_fault
    }
}

impl Machine for Scripted {
    fn run(&mut self, workload: &Workload) -> Result<Samples, Fault> {
        workload.check().map_err(Fault::Unsupported)?;
        if workload.between_rounds.is_some() {
            let reason = "a scripted machine has no commands to run between rounds";
            return Err(Fault::Unsupported(reason.to_owned()));
        }
        let (read, written, started) = (self.bytes_read, self.bytes_written, self.now);
        let write_budget = self.write_budget();
        self.provide(workload)?;
        let disturbance = Disturbance::new(self.script.seed, workload.seed);
        let mut run = Run { workload, disturbance, readings: Vec::new() };
        for round in 0..workload.warmup_rounds.saturating_add(workload.rounds) {
            for index in 0..workload.passes.len() {
                self.pass(&mut run, index, round)?;
            }
        }
        Ok(Samples {
            workload: workload.clone(),
            machine: "scripted".to_owned(),
            ticks_per_second: TICKS_PER_NS * 1e9,
            readings: run.readings,
            bytes_read: self.bytes_read - read,
            bytes_written: self.bytes_written - written,
            write_budget,
            elapsed_ns: (self.now - started) as u64,
            notes: Vec::new(),
        })
    }

    fn write_budget(&self) -> u64 {
        self.script.write_budget.saturating_sub(self.bytes_written)
    }
}

fn ticks(ns: f64) -> u64 {
    (ns * TICKS_PER_NS).round() as u64
}
