//! Passes and loops of a thread. Those of a job with `io_size` or `loops` are counted: each ends with its files, or by what a queue
//! has issued in it, and whether another one follows is a matter of all bytes.

use super::{JobCalls, Phase};
use crate::call::{Call, CallKind, Position};
use crate::job::{Engine, Job};
use crate::program::Step;

/// How far the passes of a thread are. Source: `do_io` and `keep_running` of fio's `backend.c`.
#[derive(Debug)]
pub(super) struct CountedPasses {
    /// Bytes that all passes issue at most.
    pub(super) most: u64,
    /// Bytes that a pass issues at most, and how many of them are still to come; the last transfer is made whole.
    whole: u64,
    pub(super) left: u64,
    /// How many more passes follow whatever has been transferred.
    more: u64,
    /// Beyond those another one follows where so many bytes are not reached yet.
    goal: u64,
    /// Bytes of all passes before this one. None follows one that has transferred nothing.
    before: u64,
}

impl CountedPasses {
    /// None where passes are not counted so; `all` is what the files have.
    pub(super) fn of(job: &Job, all: u64) -> Option<Self> {
        if !job.counts_passes() {
            return None;
        }
        let has_queue = job.is_queued() && (job.engine != Engine::Null || job.depth.most > 1);
        let size = job.size_of(all);
        let whole = match has_queue {
            true if job.goes_on() => size.max(job.io_size.unwrap_or(0)),
            true => size,
            false => u64::MAX,
        };
        // fio begins no pass for less than a block.
        let goal = job.io_size.map_or(0, |all| (all + 1).saturating_sub(job.largest_block()));
        let most = job.io_size.unwrap_or(size).saturating_mul(job.loop_count());
        Some(Self { most, whole, left: whole, more: job.loop_count() - 1, goal, before: 0 })
    }

    /// Whether another pass follows after so many bytes of all passes.
    pub(super) fn go_on(&self, moved: u64) -> bool {
        moved > self.before && (self.more > 0 || moved < self.goal)
    }

    /// Begins another pass after so many bytes.
    pub(super) fn begin(&mut self, moved: u64) {
        (self.more, self.left, self.before) = (self.more.saturating_sub(1), self.whole, moved);
    }
}

impl JobCalls {
    /// The next step where no transfer is left of a pass: of its end, or of the next one, if they have any. Nothing is left where no
    /// other pass follows.
    #[cold]
    pub(super) fn end_of_pass(&mut self) -> Option<Step<bool>> {
        let goes_on = match &mut self.passes {
            Some(passes) => {
                // What is under way is awaited first, and files may seem to have more then.
                passes.left = 0;
                passes.go_on(self.moved)
            }
            // What is verified is read again before the next pass. fio begins none for less than a block.
            None => {
                let goes_round = self.job.time_based && self.verification.is_none();
                goes_round && self.left >= self.job.largest_block()
            }
        };
        if !goes_on {
            self.left = 0;
            return None;
        }
        if self.passes.is_some() {
            match self.end() {
                Step::End => (self.synced, self.phase) = (0, Phase::Transfers),
                step => return Some(step),
            }
        }
        self.passes.iter_mut().for_each(|passes| passes.begin(self.moved));
        self.next_pass()
    }

    /// Another pass over the files; the cache is emptied of them, as before the first.
    #[cold]
    fn next_pass(&mut self) -> Option<Step<bool>> {
        self.was_sync &= !self.forgets_sync();
        self.next_file.rewind();
        self.stretch = 0;
        let on_names = self.job.engine.on_names().is_some();
        for file in &mut self.files {
            file.offsets.rewind();
            file.is_unnamed = on_names;
        }
        // Where blocks may come again fio opens its files anew for a pass that is counted, or another loop, alone.
        let is_anew = self.passes.is_some()
            || self.left == self.whole
            || self.files.iter().any(|file| !file.offsets.is_endless());
        let drops = self.job.drops_caches() || self.renews_by != CallKind::DontNeed;
        self.to_renew = if drops && is_anew { self.files.len() } else { 0 };
        self.renew()
    }

    #[cold]
    pub(super) fn renew(&mut self) -> Option<Step<bool>> {
        self.to_renew = self.to_renew.checked_sub(1)?;
        let file = &mut self.files[self.to_renew];
        if self.renews_by == CallKind::Create {
            file.position = Position::default();
        }
        Some(Step::Call(Call { kind: self.renews_by, ..file.call }, false))
    }

    /// Another loop begins where one is left and there is time and transfers for it.
    #[cold]
    pub(super) fn next_loop(&mut self) -> Option<Step<bool>> {
        if !self.repeats() {
            self.loops_left -= 1;
        }
        self.left = self.bytes_of_pass();
        (self.synced, self.phase) = (0, Phase::Transfers);
        self.next_pass()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many passes follow each other, where each transfers so many bytes beyond what ends it.
    fn passes(job: &Job, beyond: u64) -> Option<u32> {
        let mut passes = CountedPasses::of(job, 96 << 10)?;
        let (mut moved, mut count) = (passes.left.min(96 << 10) + beyond, 1);
        while passes.go_on(moved) && moved < passes.most {
            passes.begin(moved);
            (moved, count) = (moved + passes.left.min(96 << 10) + beyond, count + 1);
        }
        Some(count)
    }

    #[test]
    fn passes_follow_until_less_than_a_block_is_left_or_all_loops_are_done() {
        let job = Job { size: Some(96 << 10), ..Job::named("x") };
        assert_eq!(passes(&job, 0), None);
        let io_size = |kib: u64| Job { io_size: Some(kib << 10), ..job.clone() };
        assert_eq!([50, 196, 195, 300].map(|kib| passes(&io_size(kib), 0)), [1, 3, 2, 4].map(Some));
        assert_eq!(passes(&io_size(196), 4096), Some(2));
        let mut twice = job.clone();
        twice.course.loops = 2;
        assert_eq!(passes(&twice, 0), Some(2));
        assert_eq!(
            CountedPasses::of(&twice, 40 << 10).unwrap().most,
            80 << 10,
            "files have less than the size"
        );
        assert_eq!(passes(&Job { time_based: true, ..twice }, 0), None);
    }

    #[test]
    fn no_pass_follows_one_that_has_transferred_nothing() {
        let job = Job { size: Some(96 << 10), io_size: Some(1 << 20), ..Job::named("x") };
        let mut passes = CountedPasses::of(&job, 96 << 10).unwrap();
        assert!(!passes.go_on(0) && passes.go_on(4096));
        passes.begin(4096);
        assert!(!passes.go_on(4096));
    }

    #[test]
    fn a_queue_ends_a_pass_after_its_size() {
        let job = Job { size: Some(48 << 10), io_size: Some(1 << 20), ..Job::named("x") };
        let of = |job: &Job| CountedPasses::of(job, 96 << 10).unwrap().left;
        assert_eq!(of(&job), u64::MAX);
        assert_eq!(of(&Job { engine: Engine::Libaio, ..job.clone() }), 48 << 10);
        assert_eq!(
            of(&Job { engine: Engine::Null, ..job.clone() }),
            u64::MAX,
            "null has a queue from depth 2"
        );
        let write = Job { read_percent: 0, random_map: false, pattern: crate::job::Pattern::Random, ..job };
        assert_eq!(of(&Job { engine: Engine::Libaio, ..write }), 1 << 20);
    }
}
