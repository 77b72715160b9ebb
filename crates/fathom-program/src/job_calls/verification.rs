//! What a job with `verify=` has written and has still to read again, in fio's order.

use std::collections::{BTreeMap, VecDeque};

use super::{JobCalls, Phase};
use crate::call::{Call, CallKind};
use crate::job::{Direction, Job, Pattern};
use crate::offsets::Span;
use crate::program::Step;

/// A block of one of the thread's files that was written, and the number of that write: from one, and never [`ANY_WRITE`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    pub(super) file: usize,
    pub(super) span: Span,
    pub(super) number: u32,
}

/// The number of a read whose block any write may have made, as [`Call::flags`](crate::call::Call::flags) has it.
pub const ANY_WRITE: u32 = u32::MAX;

/// Blocks that were written and not yet verified. Source: `log_io_piece` of fio's `iolog.c`.
#[derive(Debug)]
pub(super) struct Verification {
    /// Where no block is written twice before it is verified: in the order of the writes.
    listed: VecDeque<Written>,
    /// Else by file and offset; a write takes the place of those that it touches.
    sorted: BTreeMap<(usize, u64), Written>,
    is_listed: bool,
    /// `verify_backlog`, zero for none, and how many are verified then.
    backlog: (u64, u64),
    /// How many are still to be verified before the next write.
    batch: u64,
    /// How many steps the reads that follow the writes have come.
    pub(super) steps: usize,
    /// Bytes that were read again.
    read_bytes: u64,
}

impl Verification {
    /// None where a job does not read again what it wrote.
    pub(super) fn of(job: &Job) -> Option<Self> {
        let verify = job.verify.as_ref().filter(|verify| !verify.no_reading && job.does(Direction::Write))?;
        let (backlog, batch) = verify.backlog;
        Some(Self {
            listed: VecDeque::new(),
            sorted: BTreeMap::new(),
            is_listed: job.pattern == Pattern::Random && job.random_map,
            backlog: (backlog, if batch == 0 { backlog } else { u64::from(batch) }),
            batch: 0,
            steps: 0,
            read_bytes: 0,
        })
    }

    fn len(&self) -> usize {
        self.listed.len() + self.sorted.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a batch is to be read before the next write.
    pub(super) fn is_due(&self) -> bool {
        self.batch > 0 && !self.is_empty()
    }

    /// Notes a write.
    pub(super) fn note(&mut self, written: Written) {
        let Written { file, span, .. } = written;
        if self.is_listed {
            self.listed.push_back(written);
        } else {
            let before = (file, 0)..(file, span.offset + span.length);
            let touches = |other: &Written| other.span.offset + other.span.length > span.offset;
            while let Some((&key, _)) =
                self.sorted.range(before.clone()).next_back().filter(|(_, other)| touches(other))
            {
                self.sorted.remove(&key);
            }
            self.sorted.insert((file, span.offset), written);
        }
        let is_due = self.backlog.0 > 0 && (self.len() as u64).is_multiple_of(self.backlog.0);
        if is_due && self.batch == 0 {
            self.batch = self.backlog.1;
        }
    }

    /// The next block of the batch that is due.
    pub(super) fn next_of_batch(&mut self) -> Option<Written> {
        let next = self.next()?;
        self.batch -= 1;
        Some(next)
    }

    /// The next block.
    pub(super) fn next(&mut self) -> Option<Written> {
        self.listed.pop_front().or_else(|| self.sorted.pop_first().map(|(_, one)| one))
    }

    /// What is left is not verified; writes begin again.
    pub(super) fn clear(&mut self) {
        self.listed.clear();
        self.sorted.clear();
        (self.batch, self.steps) = (0, 0);
    }
}

impl JobCalls {
    /// Gives a transfer of a job that verifies its number, and notes a write to be read again.
    #[cold]
    pub(super) fn number(&mut self, call: &mut Call, direction: Direction, span: Span) {
        match direction {
            Direction::Write => {
                call.flags = (self.writes % u64::from(ANY_WRITE - 1)) as u32 + 1;
                if let Some(verification) = &mut self.verification {
                    verification.note(Written { file: self.file, span, number: call.flags });
                    self.phase = Phase::Transfers;
                }
                if self.job.verify.as_ref().is_some_and(|verify| verify.only) {
                    call.kind = CallKind::Pause;
                }
            }
            // Where nothing is written, an earlier job did.
            Direction::Read if !self.job.does(Direction::Write) => call.flags = ANY_WRITE,
            Direction::Read => {}
        }
    }

    /// A block is read again, after a seek where the engine needs one.
    #[cold]
    pub(super) fn read_again(&mut self, written: Written) -> Step<bool> {
        let Written { file, span, number } = written;
        self.file = file;
        let kind = self.kind(Direction::Read);
        let file = &mut self.files[file];
        let call = Call { kind, flags: number, ..file.call }.at(span.offset, span.length);
        if let Some(seek) = file.position.seek_before(&call) {
            self.verifying = Some(written);
            return Step::Call(seek, false);
        }
        if let Some(verification) = &mut self.verification {
            verification.read_bytes += span.length;
        }
        self.was_sync = false;
        Step::Call(call, true)
    }

    /// The next step of a batch of `verify_backlog`.
    #[inline(always)]
    pub(super) fn batch(&mut self) -> Option<Step<bool>> {
        let verification = self.verification.as_mut().filter(|all| all.is_due())?;
        if self.job.is_queued() && self.phase < Phase::Drained {
            self.phase = Phase::Drained;
            return Some(Step::Drain);
        }
        let next = verification.next_of_batch()?;
        Some(self.read_again(next))
    }

    /// The next step of the reads that follow the writes, none where all is read or there is no time for it: what is under way
    /// is awaited, the files are synced and dropped from the cache. Source: `do_verify` of fio's `backend.c`.
    #[cold]
    pub(super) fn verify(&mut self, has_time: bool) -> Option<Step<bool>> {
        let verification = self.verification.as_mut()?;
        if verification.is_empty() || !has_time {
            let has_begun = verification.steps > 1;
            verification.clear();
            return has_begun.then_some(Step::Verify(false));
        }
        let count = self.files.len();
        let step = verification.steps;
        verification.steps += 1;
        let alone = |kind, file: usize| Some(Step::Call(Call { kind, ..self.files[file].call }, false));
        match step {
            0 => Some(Step::Drain),
            1 => Some(Step::Verify(true)),
            step if step <= count + 1 => alone(CallKind::Fsync, step - 2),
            step if step <= 2 * count + 1 => alone(CallKind::DontNeed, step - count - 2),
            _ => {
                let next = verification.next()?;
                Some(self.read_again(next))
            }
        }
    }

    /// The most bytes of the next pass.
    pub(super) fn bytes_of_pass(&self) -> u64 {
        match self.verification.is_some() && self.job.passes_to_the_end() {
            true => self.whole.saturating_mul(self.job.loops_of_size()).saturating_sub(self.moved),
            false => self.whole,
        }
    }

    /// Whether a job that verifies passes over its size once more.
    pub(super) fn repeats(&self) -> bool {
        let (limit, block) = (self.job.io_size.unwrap_or(0), self.job.largest_block());
        let moved = |all: &Verification| self.moved.saturating_add(all.read_bytes);
        let is_left = |all| moved(all).saturating_add(block) <= limit;
        self.verification.as_ref().is_some_and(|all| self.job.time_based || is_left(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Verify;

    #[test]
    fn a_pass_that_steps_back_goes_on_to_the_end_of_the_file() {
        use crate::call::FileId;
        use crate::job::{Blocks, Engine};
        use crate::program::Thread;
        let mut job = Job { verify: Some(Verify::default()), read_percent: 0, ..Job::named("x") };
        (job.size, job.blocks, job.course.loops) = (Some(288 << 10), [Blocks::fixed(6 << 10); 2], 3);
        job.order.skip = -(4 << 10);
        let reads = |job: &Job| {
            let region = job.region().unwrap();
            let mut calls = JobCalls::new(job, &[(FileId(0), region)], 0, 1e9).unwrap();
            let mut reads = Vec::new();
            loop {
                match calls.next(0) {
                    Step::Call(call, true) if call.kind == CallKind::Pread => reads.push(call.offset >> 10),
                    Step::End => return reads,
                    _ => {}
                }
            }
        };
        // The last block before the end, and the last after it; fio 3.33 has these two.
        assert_eq!(reads(&job), [282, 2]);
        job.engine = Engine::Libaio;
        assert_eq!(reads(&job), [94; 3]);
    }

    #[test]
    fn a_write_takes_the_place_of_those_that_it_touches() {
        let job = Job { verify: Some(Verify::default()), read_percent: 0, ..Job::named("x") };
        let mut all = Verification::of(&job).unwrap();
        let spans = [(0, 0, 8), (0, 8, 8), (0, 32, 4), (0, 4, 8), (1, 8, 8), (0, 2, 1)];
        for (number, (file, offset, length)) in (1..).zip(spans) {
            all.note(Written { file, span: Span { offset, length }, number });
        }
        let left: Vec<_> =
            std::iter::from_fn(|| all.next()).map(|one| (one.file, one.span.offset, one.number)).collect();
        assert_eq!(left, [(0, 2, 6), (0, 4, 4), (0, 32, 3), (1, 8, 5)]);
    }
}
