//! What simulated calls come to.

use std::collections::VecDeque;

use fathom_model::io_path::{Done, Load, State, Time};
use fathom_program::call::{CallKind, DIRECTIONS};
use fathom_program::job_calls::JobCalls;
use fathom_run::load::{Histogram, Outcome, Transfers};

/// The calls of the threads of a run, counted as they come.
pub(super) struct Tally {
    threads: Vec<Counted>,
    /// By thread the calls whose end is not known yet, but for those between them that are over, and the number of the first.
    open: Vec<(u64, VecDeque<Option<Open>>)>,
    /// Which threads have begun to count anew.
    began: Vec<bool>,
}

/// The kind of a call, the bytes that it moves, and whether it counts.
type Open = ((CallKind, u64), bool);

impl Tally {
    /// The depth of the threads' queues: see [`Counted::of_depth`].
    pub(super) fn new(depths: impl Iterator<Item = usize>) -> Self {
        let threads: Vec<_> = depths.map(Counted::of_depth).collect();
        let (open, began) = threads.iter().map(|_| (Default::default(), false)).unzip();
        Self { threads, open, began }
    }

    /// Takes the calls that were made, and those that ended.
    pub(super) fn take(&mut self, load: &Load<JobCalls, (CallKind, u64)>, state: &mut State) {
        let from = load.counts_from();
        for ((_, open), made) in self.open.iter_mut().zip(load.take_made()) {
            open.extend(made.into_iter().map(Some));
        }
        for ((thread, began), from) in self.threads.iter_mut().zip(&mut self.began).zip(&from) {
            if from.is_some() && !std::mem::replace(began, true) {
                thread.start_again();
            }
        }
        for one in state.done() {
            let thread = one.job as usize;
            let (first, open) = &mut self.open[thread];
            let call = open.get_mut((one.number - *first) as usize).and_then(Option::take);
            let counts = from[thread].is_none_or(|(from, _)| one.number >= from);
            self.threads[thread]
                .add(one, call.filter(|(_, is_counted)| counts && *is_counted).map(|(call, _)| call));
            while let Some(None) = open.front() {
                open.pop_front();
                *first += 1;
            }
        }
        state.forget_done();
        self.threads.iter_mut().for_each(Counted::end_slice);
    }

    pub(super) fn threads(self) -> impl Iterator<Item = Counted> {
        self.threads.into_iter()
    }
}

/// So many stretches are kept before neighbours become one.
const STRETCHES: usize = 16;

/// The calls of a thread, or of all, in stretches of about the same length, so that the end of a run can be had by itself.
#[derive(Default)]
pub(super) struct Counted {
    stretches: Vec<Stretch>,
    now: Stretch,
    /// Slices of a whole stretch, less one.
    further: u32,
    /// When the transfers ended before which those were handed over that are under way now, in ns.
    under_way: VecDeque<u64>,
    depth: usize,
    /// When the last of them ended, whether it counts or not, in ns.
    end: u64,
}

/// What was counted from a moment on, in ns.
#[derive(Default)]
struct Stretch {
    from: u64,
    slices: u32,
    transfers: [Transfers; DIRECTIONS],
    syncs: Histogram,
}

impl Stretch {
    fn join(&mut self, next: &Self) {
        self.slices += next.slices;
        self.transfers.iter_mut().zip(&next.transfers).for_each(|(mine, next)| mine.add(next));
        self.syncs.merge(&next.syncs);
    }
}

impl Counted {
    /// Of a thread with this [depth](super::threads::serial_depths).
    pub(super) fn of_depth(depth: usize) -> Self {
        Self { depth, ..Self::default() }
    }

    /// Adds a call; of one that counts, its kind and the bytes that it moved.
    pub(super) fn add(&mut self, one: &Done, counts: Option<(CallKind, u64)>) {
        self.end = self.end.max(one.span[1].as_ticks());
        let Some((kind, bytes)) = counts else { return };
        match kind.direction() {
            Some(direction) => {
                let took = self.took(one);
                let side = &mut self.now.transfers[direction as usize];
                side.bytes += bytes;
                side.latency.record(took);
            }
            // No forecast has a line for trims.
            None if kind == CallKind::Discard => {}
            None => self.now.syncs.record(one.took_ns()),
        }
    }

    /// How long a call took with its wait for those before it, in ns.
    fn took(&mut self, one: &Done) -> u64 {
        if self.depth <= 1 {
            return one.took_ns();
        }
        let [begin, end] = one.span.map(Time::as_ticks);
        if self.under_way.is_empty() {
            self.under_way.extend(std::iter::repeat_n(begin, self.depth));
        }
        let handed_over = self.under_way.pop_front().unwrap_or(begin);
        self.under_way.push_back(end);
        end - handed_over
    }

    /// A slice of the run is over.
    pub(super) fn end_slice(&mut self) {
        self.now.slices += 1;
        if self.now.slices <= self.further {
            return;
        }
        let next = Stretch { from: self.end, ..Stretch::default() };
        self.stretches.push(std::mem::replace(&mut self.now, next));
        if self.stretches.len() == STRETCHES {
            self.further = 2 * self.further + 1;
            let mut all = std::mem::take(&mut self.stretches).into_iter();
            while let (Some(mut first), second) = (all.next(), all.next()) {
                second.iter().for_each(|second| first.join(second));
                self.stretches.push(first);
            }
        }
    }

    /// What came so far does not count.
    pub(super) fn start_again(&mut self) {
        self.stretches.clear();
        self.now = Stretch { from: self.end, ..Stretch::default() };
    }

    /// The run that they are, which began at `started`, in ns.
    pub(super) fn outcome(&self, started: u64) -> Outcome {
        self.outcome_of(&self.stretches, started)
    }

    /// The stretches of the run that begin at a moment or later, in ns, and at least the last.
    pub(super) fn outcome_since(&self, since: u64) -> Outcome {
        let late = self.stretches.partition_point(|stretch| stretch.from < since);
        let late = late.min(self.stretches.len().saturating_sub(1));
        let late = &self.stretches[late..];
        self.outcome_of(late, late.first().map_or(self.now.from, |stretch| stretch.from))
    }

    fn outcome_of(&self, stretches: &[Stretch], started: u64) -> Outcome {
        let mut all = Stretch::default();
        stretches.iter().chain([&self.now]).for_each(|stretch| all.join(stretch));
        Outcome {
            transfers: all.transfers,
            trims: Default::default(),
            syncs: all.syncs,
            elapsed_ns: self.end.saturating_sub(started),
            ..Outcome::nothing(1.0)
        }
    }
}
