//! A machine that does not exist: the model of the I/O path, behind the seam.
//!
//! A workload becomes a program of the model's net, and what the net says of each call becomes a sample.
//! So every experiment surveys it, and a what-if is a survey of a changed set of parameters.
//!
//! ```
//! use fathom_run::machine::Machine;
//! use fathom_predict::simulated::{Parameters, Simulated};
//! use fathom_program::workload::{CallKind, Pass, Region, ScratchFile, Workload};
//!
//! let mut parameters = Parameters::assumed();
//! parameters.set("block", "1K")?;
//! let mut machine = Simulated::new(&parameters, 1);
//! let region = Region { offset: 0, size: 256, step: 256, count: 16 };
//! let workload = Workload::new(vec![ScratchFile::empty("append")])
//!     .pass(Pass::untimed(0, &[CallKind::Create]))
//!     .pass(Pass::timed(0, &[CallKind::Write], region));
//! let latencies = machine.run(&workload).unwrap().matrix(1, 0);
//! assert!(latencies[4] > latencies[6], "the first write into a block is slower");
//! # Ok::<(), String>(())
//! ```

use std::collections::HashMap;
use std::path::Path;

use fathom_model::io_path::{self, Done, State};
use fathom_program::call::{Call, CallKind, FileId};
use fathom_program::passes::PassCalls;
use fathom_program::program::{Step, Thread, numbered};
use fathom_sys::file::Errno;

pub use fathom_model::parameters::Parameters;

use fathom_program::units::Ticks;
use fathom_program::workload::{CacheState, Workload};
use fathom_run::machine::{Fault, Machine};
use fathom_run::samples::{Reading, Samples};

/// The simulated machine. Its files and their cached pages outlive a run, as on Linux.
#[derive(Debug)]
pub struct Simulated {
    path: io_path::Path,
    state: State,
    files: HashMap<String, File>,
    page: u64,
    write_budget: u64,
    seed: u64,
    runs: u64,
}

/// What is known of a file without asking the model.
#[derive(Debug, Clone, Copy)]
struct File {
    id: FileId,
    is_open: bool,
}

/// What may be written in all, unless somebody says otherwise.
const WRITE_BUDGET: u64 = 256 << 20;
/// Simulated time is in ns.
const TICKS_PER_SECOND: f64 = 1e9;

impl Simulated {
    /// The machine that the parameters describe, with no file yet. The seed decides its noise.
    pub fn new(parameters: &Parameters, seed: u64) -> Self {
        Self {
            path: io_path::Path::new(parameters),
            state: State::new(parameters),
            files: HashMap::new(),
            page: fathom_model::file_read::PAGE,
            write_budget: WRITE_BUDGET,
            seed,
            runs: 0,
        }
    }

    /// The same machine with a budget of `bytes` for writing.
    #[must_use]
    pub fn may_write(mut self, bytes: u64) -> Self {
        self.write_budget = bytes;
        self
    }

    /// Makes and fills the files of a workload.
    fn provide(&mut self, workload: &Workload) -> Result<u64, Fault> {
        let size = |name: &str| self.files.get(name).map_or(0, |file| self.state.size(file.id));
        let filling: u64 = workload.files.iter().map(|file| file.size.saturating_sub(size(&file.name))).sum();
        let wanted = workload.bytes_written().saturating_add(filling);
        Fault::unless_affordable(wanted, self.write_budget)?;
        for wanted in &workload.files {
            let new = || File { id: self.state.create(), is_open: true };
            let file = self.files.entry(wanted.name.clone()).or_insert_with(new);
            if self.state.size(file.id) < wanted.size {
                self.state.fill(file.id, wanted.size);
            }
            self.state.lengthen(file.id, wanted.hole);
        }
        Ok(filling)
    }
}

impl Machine for Simulated {
    fn run(&mut self, workload: &Workload) -> Result<Samples, Fault> {
        workload.check().map_err(Fault::Unsupported)?;
        if workload.between_rounds.is_some() {
            let reason = "a simulated machine has no commands to run between rounds";
            return Err(Fault::Unsupported(reason.to_owned()));
        }
        let asks = |op: &CallKind| matches!(op, CallKind::Stat | CallKind::StatAnew);
        let is_known = workload.files.iter().all(|file| file.entries.is_none())
            && !workload.passes.iter().any(|pass| pass.ops.iter().any(asks));
        if !is_known {
            return Err(Fault::Unsupported("the model has no directories and no attributes".to_owned()));
        }
        let budget = self.write_budget;
        let filled = self.provide(workload)?;
        let mut list = CallList::new(workload, &self.state, &mut self.files, self.page);
        list.write()?;
        let CallList { actions, moved: [bytes_read, bytes_written], .. } = list;
        let started = self.state.now();
        self.state.forget_done();
        self.runs += 1;
        let seed = self.seed ^ workload.seed.rotate_left(32) ^ self.runs.rotate_left(48);
        let calls: Vec<(u64, Call)> = actions.iter().map(|action| (action.wait_ns, action.call)).collect();
        let program = numbered(1, move |_, number| calls.get(number as usize).copied());
        self.state = self.path.run(program, std::mem::take(&mut self.state), seed);
        self.write_budget -= filled + bytes_written;
        Ok(Samples {
            workload: workload.clone(),
            machine: "simulated".to_owned(),
            ticks_per_second: TICKS_PER_SECOND,
            readings: readings(&actions, self.state.done()),
            bytes_read,
            bytes_written: filled + bytes_written,
            write_budget: budget,
            elapsed_ns: (self.state.now() - started).as_ticks(),
            notes: Vec::new(),
        })
    }

    fn write_budget(&self) -> u64 {
        self.write_budget
    }
}

/// One call of a workload, and which reading it is.
#[derive(Debug, Clone, Copy)]
struct Action {
    call: Call,
    wait_ns: u64,
    /// None where nothing is kept of it.
    reading: Option<Reading>,
}

/// A workload, written out call by call.
struct CallList<'a> {
    workload: &'a Workload,
    files: &'a mut HashMap<String, File>,
    sizes: HashMap<FileId, u64>,
    page: u64,
    actions: Vec<Action>,
    /// A wait that the next call begins with.
    gap_ns: u64,
    /// Bytes that are read and written.
    moved: [u64; 2],
}

impl<'a> CallList<'a> {
    fn new(workload: &'a Workload, state: &State, files: &'a mut HashMap<String, File>, page: u64) -> Self {
        let sizes = files.values().map(|file| (file.id, state.size(file.id))).collect();
        Self { workload, files, sizes, page, actions: Vec::new(), gap_ns: 0, moved: [0, 0] }
    }

    fn write(&mut self) -> Result<(), Fault> {
        for round in 0..self.workload.warmup_rounds.saturating_add(self.workload.rounds) {
            for index in 0..self.workload.passes.len() {
                self.pass(index, round)?;
            }
        }
        Ok(())
    }

    fn pass(&mut self, index: usize, round: u32) -> Result<(), Fault> {
        let workload = self.workload;
        let pass = &workload.passes[index];
        let name = workload.files[pass.file].name.as_str();
        let file = self.files[name].id;
        let opens_itself = pass.ops.iter().any(|op| op.changes_descriptor());
        if !opens_itself && !self.files[name].is_open {
            self.push(Call::new(CallKind::Open, file), None);
            self.opened(name, true);
        }
        let order = workload.order(index, round);
        if pass.needs.is_some() {
            for &position in &order {
                let offset = pass.region.offset + u64::from(position) * pass.region.step;
                self.push(Call::new(CallKind::Look, file).at(offset, pass.region.size), None);
            }
        }
        let kept = round.checked_sub(workload.warmup_rounds).filter(|_| pass.timed);
        let mut calls = PassCalls::new(pass, file, order, TICKS_PER_SECOND, self.page);
        loop {
            let (call, visit) = match calls.next(0) {
                Step::Call(call, visit) => (call, visit),
                Step::Wait(gap_ns) => {
                    self.gap_ns += gap_ns;
                    continue;
                }
                _ => return Ok(()),
            };
            if visit.is_some() {
                self.allow(name, call)?;
            }
            let reading = kept.zip(visit).map(|(round, visit)| Reading {
                offset: call.offset,
                latency: Ticks(0),
                round,
                cache: pass.needs,
                op: call.kind,
                pass: index as u32,
                step: visit.step,
                position: visit.position,
                start: Ticks(0),
            });
            self.push(call, reading);
        }
    }

    fn push(&mut self, call: Call, reading: Option<Reading>) {
        let wait_ns = std::mem::take(&mut self.gap_ns);
        self.actions.push(Action { call, wait_ns, reading });
    }

    fn opened(&mut self, name: &str, is_open: bool) {
        if let Some(file) = self.files.get_mut(name) {
            file.is_open = is_open;
        }
    }

    /// Fails where the kernel would, and keeps account of sizes and descriptors.
    fn allow(&mut self, name: &str, call: Call) -> Result<(), Fault> {
        let op = call.kind;
        if !self.files[name].is_open && !op.changes_descriptor() && op != CallKind::Pause {
            return Err(fathom_sys::Error::new("use the closed", Path::new(name), Errno::BADF).into());
        }
        let size = self.sizes.entry(call.file).or_default();
        match op {
            op if op.is_read() => {
                let there = size.saturating_sub(call.offset);
                if there < call.bytes {
                    let (wanted, moved) = (call.bytes as usize, there as usize);
                    let call = format!("read {name} at byte {}", call.offset);
                    return Err(Fault::Short { call, wanted, moved });
                }
                self.moved[0] += call.bytes;
            }
            op if op.is_write() => {
                *size = (call.offset + call.bytes).max(*size);
                self.moved[1] += call.bytes;
            }
            CallKind::Create => {
                *size = 0;
                self.opened(name, true);
            }
            CallKind::Open | CallKind::OpenDirect => self.opened(name, true),
            CallKind::Close => self.opened(name, false),
            _ => {}
        }
        Ok(())
    }
}

/// The readings of the calls that are kept, with the cache's state as it was before their pass.
fn readings(actions: &[Action], done: &[Done]) -> Vec<Reading> {
    let mut looks: HashMap<u64, CacheState> = HashMap::new();
    let mut in_looks = false;
    let mut readings = Vec::new();
    for done in done {
        let action = &actions[done.number as usize];
        if let Some([there, all]) = done.cached {
            if !std::mem::replace(&mut in_looks, true) {
                looks.clear();
            }
            looks.insert(action.call.offset, state_of(there, all));
            continue;
        }
        in_looks = false;
        let [start, _] = done.span;
        readings.extend(action.reading.map(|reading| Reading {
            latency: Ticks(done.took_ns()),
            start: Ticks(start.as_ticks()),
            cache: reading.cache.map(|_| looks.get(&reading.offset).copied().unwrap_or(CacheState::Unknown)),
            ..reading
        }));
    }
    readings
}

fn state_of(there: u32, all: u32) -> CacheState {
    match there {
        0 => CacheState::Cold,
        _ if there == all => CacheState::Cached,
        _ => CacheState::Unknown,
    }
}
