//! What one thread of a job records while it runs.

use fathom_program::call::{Call, CallKind, DIRECTIONS, Direction};
use fathom_program::job::Job;
use fathom_program::program::stopwatch;
use fathom_sys::file::Errno;
use fathom_sys::usage::Usage;

use super::sampling::Sampling;
use super::{JobThread, Outcome, Wrote, log};
use crate::executor::{Recorder, Window};

/// What one thread did so far. Times are in ticks.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    /// Without what is worked out at the end: the times in ns, the rates, and what the device wrote.
    pub(super) outcome: Outcome,
    /// When it began to count.
    pub(super) began: u64,
    pub(super) elapsed: u64,
    /// Of that, how long what was written was read again, less when it began where it still is.
    pub(super) verified: u64,
    /// Errors of reads and of writes, by number, that do not end the job.
    pub(super) forgiven: [Vec<u32>; DIRECTIONS],
    /// Whether blocks that are not what was written do not end it either.
    pub(super) goes_on_after_mismatches: bool,
    pub(super) sampling: Sampling,
}

impl Recorder<bool> for Record {
    #[inline(always)]
    fn record(&mut self, call: &Call, counts: bool, window: Window, moved: u64) {
        let outcome = &mut self.outcome;
        if let Some(calls) = &mut outcome.calls
            && calls.len() < log::MOST
        {
            calls.push(log::Made { call: *call, start: window.start, counts });
        }
        if counts && window.stop >= self.sampling.due {
            sample(&mut self.sampling, outcome, window.stop);
        }
        match call.kind.direction() {
            _ if !counts => {}
            // No job does both to blocks and to names.
            None if matches!(
                call.kind,
                CallKind::Discard | CallKind::Create | CallKind::Stat | CallKind::Unlink
            ) =>
            {
                outcome.trims.bytes += call.bytes;
                outcome.trims.latency.record(window.ticks());
                if let Some(log) = &mut outcome.log {
                    log.name([window.start, window.stop]);
                }
            }
            Some(direction) => {
                let transfers = &mut outcome.transfers[direction as usize];
                transfers.bytes += moved;
                transfers.latency.record(window.ticks());
                if let Some(log) = &mut outcome.log {
                    log.transfer(direction, call.offset, moved, [window.start, window.stop]);
                }
            }
            None => outcome.syncs.record(window.ticks()),
        }
    }

    #[inline(always)]
    fn submitted(&mut self, call: &Call, counts: bool, [begun, issued, done]: [u64; 3]) {
        if let (true, Some(direction)) = (counts, call.kind.direction()) {
            let transfers = &mut self.outcome.transfers[direction as usize];
            transfers.submission.record(issued.saturating_sub(begun));
            transfers.total.record(done.saturating_sub(begun));
            if let Some(log) = &mut self.outcome.log {
                log.submitted(issued.saturating_sub(begun));
            }
        }
    }

    fn prioritized(&mut self, call: &Call, counts: bool, priority: u16, [begun, issued, done]: [u64; 3]) {
        if let (true, Some(direction)) = (counts, call.kind.direction()) {
            let latencies = self.outcome.transfers[direction as usize].of_priority(priority);
            latencies.latency.record(done.saturating_sub(issued));
            latencies.total.record(done.saturating_sub(begun));
        }
    }

    #[cold]
    fn forgives(&mut self, call: &Call, errno: Errno) -> bool {
        // Whatever does not read may fail for what was written.
        let side = call.kind.direction().unwrap_or(Direction::Write) as usize;
        let number = errno.raw_os_error().unsigned_abs();
        let is_forgiven = self.forgiven[side].contains(&number);
        self.outcome.errors.add(u32::from(is_forgiven), errno);
        is_forgiven
    }

    #[cold]
    fn forgives_mismatch(&mut self) -> bool {
        self.outcome.errors.add(u32::from(self.goes_on_after_mismatches), Errno::ILSEQ);
        self.goes_on_after_mismatches
    }

    #[cold]
    fn start_counting(&mut self, now: u64) {
        let outcome = &mut self.outcome;
        for transfers in outcome.transfers.iter_mut().chain([&mut outcome.trims]) {
            transfers.bytes = 0;
            transfers.latency.clear();
            transfers.submission.clear();
            transfers.total.clear();
            transfers.by_priority.clear();
        }
        outcome.syncs.clear();
        self.sampling.begin(now);
        (self.began, outcome.usage) = (now, Usage::of_this_thread());
    }

    #[cold]
    fn verify(&mut self, now: u64, begins: bool) {
        self.verified = stopwatch(self.verified, now, begins);
    }
}

#[cold]
fn sample(sampling: &mut Sampling, outcome: &Outcome, now: u64) {
    let [reads, writes] = &outcome.transfers;
    let sides = [reads, writes, &outcome.trims];
    sampling.take(now, sides.map(|side| side.bytes), sides.map(|side| side.latency.count()));
}

/// The errors that `continue_on_error` names: those of `ignore_error`, else what a device gives.
pub(super) fn forgiven(job: &Job) -> [Vec<u32>; DIRECTIONS] {
    let course = &job.course;
    [0, 1].map(|side: usize| match (course.continues[side], course.ignored[side].is_empty()) {
        (false, _) => Vec::new(),
        (true, true) => vec![Errno::IO.raw_os_error().unsigned_abs()],
        (true, false) => course.ignored[side].clone(),
    })
}

pub(super) fn outcome(
    thread: &JobThread<'_>,
    record: Record,
    ns_per_tick: f64,
    device_wrote: Option<Wrote>,
) -> Outcome {
    let elapsed_ns = (record.elapsed as f64 * ns_per_tick) as u64;
    let sampled = record.sampling.rates;
    let outcome = Outcome { elapsed_ns, ns_per_tick, device_wrote, sampled, ..record.outcome };
    let verified_ns = (record.verified as f64 * ns_per_tick) as u64;
    let outcome = outcome.apart(thread.job, verified_ns);
    if thread.job.engine.on_names().is_some() { outcome.of_names(thread.job) } else { outcome }
}
