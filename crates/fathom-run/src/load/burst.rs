//! A burst of writes over a file that is in memory, every write timed by itself and kept.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use fathom_program::call::{Call, CallKind, FileId};
use fathom_program::job::{Direction, Job};
use fathom_program::program::repeated;
use fathom_sys::clock::Counter;

use super::testbed::Testbed;
use crate::executor::{self, Buffer, Control, Counters, OfJob, Recorder, System, Window};
use crate::fault::Fault;
use crate::instrument::Clock;

/// How long the calls of a burst took, in ns, including the cost of reading the clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Burst {
    /// The time of each write, in order.
    pub writes_ns: Vec<f64>,
    /// The time of the fsync after the writes.
    pub sync_ns: f64,
}

/// Writes `count` blocks of a job's size in order over the beginning of its file, which is read into the cache
/// before, and syncs it. Everything that was dirty on the machine is written first.
///
/// # Errors
/// More to write than the budget allows, before the first byte; what the calls give; an interrupt.
pub fn burst(job: &Job, count: u64, testbed: &mut Testbed) -> Result<Burst, Fault> {
    // What is written over must have been written.
    testbed.lay_out(&[Job { read_percent: 100, io_size: None, ..job.clone() }])?;
    let size = job.blocks[Direction::Write as usize].most;
    let wanted = count * size;
    Fault::unless_affordable(wanted, testbed.write_budget())?;
    testbed.ready(&Job { pre_read: true, ..job.clone() })?;
    let path = testbed.path(job, 0);
    let buffer = Buffer::touched(size, &path)?;
    let open = OfJob::open(job, &path)?;
    let own = OfJob::new(job, vec![(path, open)]);
    fathom_sys::dirty::sync();
    let write = |index| Call::new(CallKind::Pwrite, FileId(0)).at(index * size, size);
    let calls = (0..count).map(write).chain([Call::new(CallKind::Fsync, FileId(0))]).collect();
    let ticks = match testbed.clock() {
        Clock::Cycles(clock) => timed(clock, calls, System::new(own, buffer), testbed),
        Clock::Monotonic(clock) => timed(clock, calls, System::new(own, buffer), testbed),
    }?;
    testbed.count_written(wanted);
    let mut writes_ns: Vec<f64> =
        ticks.iter().map(|&one| one as f64 * 1e9 / testbed.ticks_per_second()).collect();
    let sync_ns = writes_ns.pop().unwrap_or(0.0);
    Ok(Burst { writes_ns, sync_ns })
}

/// What each call took, in ticks.
fn timed<C: Counter>(
    clock: C,
    calls: Vec<Call>,
    mut engine: System<OfJob>,
    testbed: &Testbed,
) -> Result<Vec<u64>, Fault> {
    let mut ticks = Each(Vec::with_capacity(calls.len()));
    let control = Control {
        interrupt: testbed.interrupt(),
        failed: &AtomicBool::new(false),
        budget: &AtomicU64::new(u64::MAX),
        deadline: u64::MAX,
        ticks_per_second: testbed.ticks_per_second(),
        counters: &Counters::default(),
        spin: Duration::ZERO,
    };
    for mut thread in repeated(calls, 1).threads {
        executor::run(clock, &mut thread, &mut engine, &mut ticks, &control, None)?;
    }
    Ok(ticks.0)
}

struct Each(Vec<u64>);

impl Recorder<()> for Each {
    #[inline(always)]
    fn record(&mut self, _: &Call, (): (), window: Window, _: u64) {
        self.0.push(window.ticks());
    }
}
