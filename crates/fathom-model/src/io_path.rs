//! The net: what the path from a call to the device and back costs.
//!
//! One file per layer, each a module with named ports, so that any of them can be replaced by another of
//! the same ports: [`device`] has five. The kernel's [`State`] is one token, which transitions change in place: a struct
//! of layers, each in a file below `state`. Everything else that moves is a token of its own.
//!
//! ```text
//! application --calls--> system call --reads----> read  --requests--> device
//!      ^                     |  \-----writes---> write --requests-->   |
//!      |                  (others)              ^  | wakes, dirtied    |
//!      |                     |                  |  v                   |
//!      |                     |                  | flusher --requests-> |
//!      +------returned-------+----- read, write +---- arrived, written-+
//! ```
//!
//! ```
//! use fathom_model::io_path::{Call, Kind, Laps, Path, State};
//! use fathom_model::page_cache::FileId;
//! use fathom_model::parameters::Parameters;
//!
//! let parameters = Parameters::assumed();
//! let mut state = State::new(&parameters);
//! let file = state.create();
//! state.fill(file, 1 << 20);
//! state.evict(file);
//! // The file once, in order, 64 KiB at a time.
//! let calls = (0..16).map(|at| Call { kind: Kind::Read, file, offset: at << 16, bytes: 1 << 16, fresh_pages: 0 });
//! let after = Path::new(&parameters).run(Laps::once(calls.collect()), state, 1);
//! assert_eq!(after.totals().bytes, 1 << 20);
//! assert!(after.done()[0].took_ns() > 80_000, "the first read waits for the device");
//! ```

mod allocation;
mod application;
pub mod device;
mod flusher;
mod journal;
mod picture;
mod places;
mod prices;
mod read;
mod request;
mod scheduler;
mod service_times;
mod state;
mod stdio;
mod system_call;
mod work;
mod write;

use std::sync::Arc;

pub use fathom_net::{Drawing, Time};
use fathom_net::{Net, NetBuilder, Simulation};

pub use self::device::DeviceModule;
pub use self::picture::View;
use self::places::Shared;
pub use self::prices::{Prices, thresholds};
pub use self::request::{At, Request, Urgency};
pub use self::state::{Done, State, Totals};
use crate::page_cache::FileId;
use crate::parameters::Parameters;
pub use crate::read_ahead::Advice;

/// One system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Which.
    pub kind: Kind,
    /// Of which file.
    pub file: FileId,
    /// At which byte, where that matters.
    pub offset: u64,
    /// How many bytes, where that matters.
    pub bytes: u64,
    /// Pages of the caller's buffer that this call is the first to touch.
    pub fresh_pages: u32,
}

/// The system calls that the model knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `pread(2)`, or `read(2)` at the file position.
    Read,
    /// `pwrite(2)`, or `write(2)` at the file position.
    Write,
    /// `posix_fadvise(2)`, POSIX_FADV_WILLNEED.
    Prefetch,
    /// `fsync(2)`.
    Sync,
    /// `fdatasync(2)`: times that changed are left.
    SyncData,
    /// `sync(2)` or `syncfs(2)`: all files.
    SyncAll,
    /// `sync_file_range(2)` that writes a range and waits for it: no journal, no flush.
    WriteOut,
    /// `lseek(2)`.
    Seek,
    /// `open(2)`: a new reader.
    Open,
    /// `open(2)` with O_DIRECT: reads go past the cache.
    OpenDirect,
    /// `close(2)`.
    Close,
    /// A new, empty file takes the place of the old one, and is open.
    Create,
    /// The file's dirty pages are written, and all of them dropped; takes no time but the device's.
    Evict,
    /// Notes how many of the call's pages are cached; takes no time.
    Look,
    /// Nothing.
    Pause,
}

impl Kind {
    /// Whether the read path serves it.
    fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Prefetch)
    }

    /// Whether the write path serves it.
    fn writes(self) -> bool {
        self == Self::Write || self.syncs()
    }

    /// Whether it waits for writes of the device.
    fn syncs(self) -> bool {
        matches!(self, Self::Sync | Self::SyncData | Self::SyncAll | Self::WriteOut | Self::Evict)
    }
}

/// What a program does: its calls, one after the other, per job.
pub trait Program: Send + Sync + 'static {
    /// How many jobs run side by side.
    fn jobs(&self) -> u32 {
        1
    }

    /// The call of a number; none once the job is done.
    fn call(&self, job: u32, number: u64) -> Option<Call>;

    /// The same for programs that look at the clock: `now` is the time since the run began.
    fn call_at(&self, job: u32, number: u64, now: Time) -> Option<Call> {
        let _ = now;
        self.call(job, number)
    }

    /// How long the job waits before that call, in ns.
    fn think_ns(&self, job: u32, number: u64) -> u64 {
        let _ = (job, number);
        0
    }

    /// Which of its file's descriptors the call goes through: each has its own state of reading ahead.
    fn descriptor(&self, job: u32, number: u64) -> u32 {
        let _ = (job, number);
        0
    }

    /// Whether a job begins at once; one that does not waits until [`returned`](Self::returned) names it.
    fn begins(&self, job: u32) -> bool {
        let _ = job;
        true
    }

    /// Who goes on now that a call has returned.
    fn returned(&self, job: u32, number: u64, now: Time) -> GoOn {
        let _ = (job, number, now);
        GoOn::default()
    }
}

/// Who goes on after a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoOn {
    /// Whether the job that made it does: else it waits until another's call names it.
    pub itself: bool,
    /// Jobs that waited, and the numbers of the calls that they make next.
    pub others: Vec<(u32, u64)>,
}

impl Default for GoOn {
    /// The job itself, and nobody waits.
    fn default() -> Self {
        Self { itself: true, others: Vec::new() }
    }
}

/// For whoever wants to ask a program afterwards what it did.
impl<P: Program> Program for Arc<P> {
    fn jobs(&self) -> u32 {
        self.as_ref().jobs()
    }

    fn call(&self, job: u32, number: u64) -> Option<Call> {
        self.as_ref().call(job, number)
    }

    fn call_at(&self, job: u32, number: u64, now: Time) -> Option<Call> {
        self.as_ref().call_at(job, number, now)
    }

    fn think_ns(&self, job: u32, number: u64) -> u64 {
        self.as_ref().think_ns(job, number)
    }

    fn descriptor(&self, job: u32, number: u64) -> u32 {
        self.as_ref().descriptor(job, number)
    }

    fn begins(&self, job: u32) -> bool {
        self.as_ref().begins(job)
    }

    fn returned(&self, job: u32, number: u64, now: Time) -> GoOn {
        self.as_ref().returned(job, number, now)
    }
}

/// A list of calls, made once or several times over by one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Laps {
    calls: Vec<Call>,
    laps: u64,
}

impl Laps {
    /// Each call once.
    #[must_use]
    pub fn once(calls: Vec<Call>) -> Self {
        Self::times(calls, 1)
    }

    /// The list `laps` times.
    #[must_use]
    pub fn times(calls: Vec<Call>, laps: u64) -> Self {
        Self { calls, laps }
    }
}

impl Program for Laps {
    fn call(&self, _: u32, number: u64) -> Option<Call> {
        let length = self.calls.len() as u64;
        (number < length * self.laps).then(|| self.calls[(number % length) as usize])
    }
}

/// The path with all its layers.
#[derive(Clone, Debug)]
pub struct Path {
    prices: Arc<Prices>,
    device: DeviceModule,
}

impl Path {
    /// The path at the prices of a set of parameters, before the device that they name.
    #[must_use]
    pub fn new(parameters: &Parameters) -> Self {
        let device = device::module(parameters.choices.device);
        Self { prices: Arc::new(Prices::of(parameters)), device }
    }

    /// The same path before a device that takes as long as one like it took.
    #[must_use]
    pub fn before_one_like(mut self, times: device::ServiceTimes) -> Self {
        Arc::make_mut(&mut self.prices).service_times = times;
        self.before(device::empirical)
    }

    /// The same path before another device.
    #[must_use]
    pub fn before(mut self, device: DeviceModule) -> Self {
        self.device = device;
        self
    }

    /// The net that runs a program.
    ///
    /// # Panics
    /// Never: the net is the same for every program.
    #[must_use]
    pub fn net(&self, program: Arc<dyn Program>) -> Net {
        let mut net = NetBuilder::new("I/O path");
        let shared = Shared {
            // A machine without files, until a run puts its state there.
            state: net.state("kernel", State::default()),
            returned: net.place("returned"),
            requests: net.place("requests"),
            wakes: net.place("wakes"),
            dirtied: net.place("dirtied"),
        };
        let (calls, reads, writes) = (net.place("calls"), net.place("reads"), net.place("writes"));
        let (arrived, written) = (net.place("arrived"), net.place("written"));
        // A library that buffers stands between the application and the kernel.
        let (done, system_calls) = match self.prices.stdio_buffer {
            0 => (shared.returned, calls),
            _ => (net.place("done"), net.place("system calls")),
        };
        let above = Shared { returned: done, ..shared };
        net.module("application", |net| application::draw(net, program, calls, above));
        if self.prices.stdio_buffer > 0 {
            let ports = stdio::Ports { calls, done, system_calls };
            net.module("stdio", |net| stdio::draw(net, &self.prices, ports, shared));
        }
        net.module("system call", |net| {
            system_call::draw(net, &self.prices, system_calls, system_call::Paths { reads, writes }, shared);
        });
        net.module("read", |net| read::draw(net, &self.prices, reads, arrived, shared));
        let journal = journal::Ports {
            settling: net.place("settling"),
            steps: net.place("commit steps"),
            committed: net.place("committed"),
            aging: net.place("aging"),
        };
        net.module("write", |net| write::draw(net, &self.prices, writes, written, journal, shared));
        net.module("journal", |net| journal::draw(net, &self.prices, journal, shared));
        net.module("flusher", |net| flusher::draw(net, shared));
        let (mut requests, mut served) = (shared.requests, [arrived, written]);
        if self.prices.has_map {
            let mapped = net.place("mapped");
            let done = ["reads done", "writes done"].map(|name| net.place(name));
            let ports = allocation::Ports { mapped, served: done, arrived, written };
            net.module("allocation", |net| allocation::draw(net, ports, shared));
            (requests, served) = (mapped, done);
        }
        if self.prices.has_queue {
            let dispatched = net.place("dispatched");
            let done = ["reads served", "writes served"].map(|name| net.place(name));
            let ports = scheduler::Ports { requests, dispatched, served: done, done: served };
            net.module("scheduler", |net| scheduler::draw(net, ports, shared));
            (requests, served) = (dispatched, done);
        }
        net.module("device", |net| {
            let [arrived, written] = served.map(|place| net.port_out(place));
            let requests = net.port_in(requests);
            (self.device)(net, &self.prices, requests, arrived, written);
        });
        net.build().expect("the layers fit together")
    }

    /// Runs a program from a state to its end, and gives the state after it.
    ///
    /// # Panics
    /// Never: the state is a token that is always there.
    #[must_use]
    pub fn run(&self, program: impl Program, mut state: State, seed: u64) -> State {
        let jobs = program.jobs();
        let net = self.net(Arc::new(program));
        let kernel = net.place::<State>("kernel").expect("the path has one");
        let ended = net.place::<()>("application/ended").expect("the application has one");
        let mut simulation = Simulation::new(&net, seed);
        state.begin_run(jobs);
        simulation.change(kernel, |token| std::mem::swap(token, &mut state));
        // The flusher's timer goes on for ever. As long as a job has not ended the state need not be asked.
        simulation.run_while(|simulation| {
            simulation.count(ended) < jobs as usize
                || simulation.tokens(kernel).next().is_some_and(|(state, _)| !state.is_over())
        });
        simulation.change(kernel, |token| std::mem::swap(token, &mut state));
        state.clock.end_run();
        state
    }
}

#[cfg(test)]
mod tests;
