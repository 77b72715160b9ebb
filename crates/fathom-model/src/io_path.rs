//! The net: what the path from a call to the device and back costs.
//!
//! One file per layer, each a module with named ports, so that any of them can be replaced by another of
//! the same ports, as the four of [`device`] are. The kernel's [`State`] is one token, which transitions change in place: a
//! struct of layers, each in a file below `state`. Everything else that moves is a token of its own.
//!
//! Modules in brackets are there where the parameters ask for them.
//!
//! ```text
//! application <-- returned -- system call, read, write, journal
//!      | calls
//!   [stdio]
//!      | system calls
//! system call
//!      | reads              | writes
//!      v                    v
//!    read                 write -- settling, steps, committed, aging --> journal
//!      | | wakes     wakes, | |                                             |
//!      | +----> flusher <---+ |                                             |
//!      |           | dirtied  |                                             |
//!      +-----------+----------+----------------- requests ------------------+
//!                  v
//!            [allocation]
//!                  v
//!             [scheduler]
//!                  v
//!               device -- arrived --> read
//!                      -- written --> write
//! ```
//!
//! ```
//! use fathom_model::io_path::{Call, CallKind, Path, State};
//! use fathom_model::parameters::Parameters;
//! use fathom_program::program::repeated;
//!
//! let parameters = Parameters::assumed();
//! let mut state = State::new(&parameters);
//! let file = state.create();
//! state.fill(file, 1 << 20);
//! state.evict(file);
//! // The file once, in order, 64 KiB at a time.
//! let calls = (0..16).map(|at| Call::new(CallKind::Read, file).at(at << 16, 1 << 16));
//! let after = Path::new(&parameters).run(repeated(calls.collect(), 1), state, 1);
//! assert_eq!(after.done().len(), 16);
//! assert!(after.done()[0].took_ns() > 80_000, "the first read waits for the device");
//! ```

mod allocation;
mod application;
pub mod device;
mod flusher;
mod journal;
mod picture;
mod places;
mod costs;
mod read;
mod request;
mod scheduler;
mod state;
mod stdio;
mod system_call;
mod work;
mod write;

use std::sync::Arc;

pub use fathom_program::call::{Call, CallKind};
use fathom_program::program::{Program, Thread};

pub use fathom_net::{Drawing, Time};
use fathom_net::{Net, NetBuilder, Simulation};

use self::application::Application;
pub use self::application::{Ends, Load, Overhead, Queueing};
pub use self::costs::{Costs, thresholds};
pub use self::device::{DeviceModule, Ports as DevicePorts};
pub use self::picture::View;
use self::places::Shared;
pub use self::request::{At, Request, Urgency};
pub use self::state::{Done, State, page_cache};
use crate::parameters::{Parameters, Scalar};
pub use crate::read_ahead::Advice;

/// The I/O path as a net, with all its layers.
#[derive(Clone, Debug)]
pub struct Path {
    costs: Arc<Costs>,
    device: DeviceModule,
}

impl Path {
    /// The path with the costs of a set of parameters, in front of the device that they name.
    #[must_use]
    pub fn new(parameters: &Parameters) -> Self {
        let device = device::module(parameters.choices.device);
        Self { costs: Arc::new(Costs::of(parameters)), device }
    }

    /// The net that runs a program; it is the same for every program.
    #[must_use]
    pub(crate) fn net(&self, program: Arc<dyn Application>) -> Net {
        let mut net = NetBuilder::new("I/O path");
        let shared = Shared {
            // A machine without files, until a run puts its state there.
            state: net.state("kernel", State::default()),
            cpus: self.cpus_of(program.jobs()).map(|number| net.pool("cpus", number)),
            server: self.costs.serves_in_turn.then(|| net.pool("server", 1)),
            returned: net.place("returned"),
            requests: net.place("requests"),
            wakes: net.place("wakes"),
            dirtied: net.place("dirtied"),
        };
        let (calls, reads, writes) = (net.place("calls"), net.place("reads"), net.place("writes"));
        let (arrived, written) = (net.place("arrived"), net.place("written"));
        // A library that buffers stands between the application and the kernel.
        let is_buffered = self.costs[Scalar::StdioBuffer] > 0.0;
        let (done, system_calls) = match is_buffered {
            true => (net.place("done"), net.place("system calls")),
            false => (shared.returned, calls),
        };
        let above = Shared { returned: done, ..shared };
        net.module("application", |net| application::draw(net, program, calls, above));
        if is_buffered {
            let ports = stdio::Ports { calls, done, system_calls };
            net.module("stdio", |net| stdio::draw(net, &self.costs, ports, shared));
        }
        net.module("system call", |net| {
            system_call::draw(net, &self.costs, system_calls, system_call::Paths { reads, writes }, shared);
        });
        net.module("read", |net| read::draw(net, &self.costs, reads, arrived, shared));
        let journal = journal::Ports {
            settling: net.place("settling"),
            steps: net.place("commit steps"),
            committed: net.place("committed"),
            aging: net.place("aging"),
        };
        net.module("write", |net| write::draw(net, &self.costs, writes, written, journal, shared));
        net.module("journal", |net| journal::draw(net, &self.costs, journal, shared));
        net.module("flusher", |net| flusher::draw(net, shared));
        let (mut requests, mut served) = (shared.requests, [arrived, written]);
        if self.costs.has_map {
            let mapped = net.place("mapped");
            let done = ["reads done", "writes done"].map(|name| net.place(name));
            let ports = allocation::Ports { mapped, served: done, arrived, written };
            net.module("allocation", |net| allocation::draw(net, ports, shared));
            (requests, served) = (mapped, done);
        }
        if self.costs.has_queue {
            let dispatched = net.place("dispatched");
            let done = ["reads served", "writes served"].map(|name| net.place(name));
            let ports = scheduler::Ports { requests, dispatched, served: done, done: served };
            net.module("scheduler", |net| scheduler::draw(net, ports, shared));
            (requests, served) = (dispatched, done);
        }
        net.module("device", |net| {
            let [arrived, written] = served.map(|place| net.port_out(place));
            let requests = net.port_in(requests);
            let cpus = shared.cpus.filter(|_| self.costs.works_on_cpu);
            (self.device)(
                net,
                &self.costs,
                device::Ports { requests, arrived, written, cpus, server: shared.server },
            );
        });
        net.build().expect("the layers fit together")
    }

    /// The CPUs that so many threads of jobs take turns on, with that of the device if it needs one; none where there are enough.
    fn cpus_of(&self, threads: u32) -> Option<u32> {
        let threads = threads + u32::from(self.costs.works_on_cpu);
        Some(self.costs[Scalar::Cpus] as u32).filter(|cpus| (1..threads).contains(cpus))
    }

    /// Runs a program from a state to its end, and returns the state after it.
    #[must_use]
    pub fn run<T: Thread + Send + 'static>(&self, program: Program<T>, state: State, seed: u64) -> State {
        self.run_load(&Arc::new(Load::new(program)), state, seed)
    }

    /// Runs a program whose calls are taken from the load afterwards.
    ///
    /// # Panics
    /// Never: the state is a token that is always there.
    #[must_use]
    pub fn run_load<T: Thread + Send + 'static, K: Send + 'static>(
        &self,
        load: &Arc<Load<T, K>>,
        state: State,
        seed: u64,
    ) -> State {
        self.run_in_slices(load, state, seed, u64::MAX, |_| {})
    }

    /// Runs a program and calls `take` every `firings` firings, and at the end. If `take` takes the calls from the
    /// state and from the load, the memory of a long run stays small.
    ///
    /// # Panics
    /// Never: the state is a token that is always there.
    #[must_use]
    pub fn run_in_slices<T: Thread + Send + 'static, K: Send + 'static>(
        &self,
        load: &Arc<Load<T, K>>,
        mut state: State,
        seed: u64,
        firings: u64,
        mut take: impl FnMut(&mut State),
    ) -> State {
        let jobs = load.jobs();
        let net = self.net(Arc::clone(load) as Arc<dyn Application>);
        let kernel = net.place::<State>("kernel").expect("the path has one");
        let ended = net.place::<()>("application/ended").expect("the application has one");
        let mut simulation = Simulation::new(&net, seed);
        state.begin_run(jobs, &self.costs);
        simulation.change(kernel, |token| std::mem::swap(token, &mut state));
        // The flusher's timer goes on for ever. As long as a job has not ended the state need not be asked.
        let goes_on = |simulation: &Simulation| {
            simulation.count(ended) < jobs as usize
                || simulation.tokens(kernel).next().is_some_and(|(state, _)| !state.is_over())
        };
        let mut left = 0;
        while left == 0 {
            left = firings;
            simulation.run_while(|simulation| {
                left -= 1;
                left > 0 && goes_on(simulation)
            });
            simulation.change(kernel, &mut take);
        }
        simulation.change(kernel, |token| std::mem::swap(token, &mut state));
        state.clock.end_run();
        state
    }
}

#[cfg(test)]
mod tests;
