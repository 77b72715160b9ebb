//! When a run shows nothing new any more: its calls come at a steady rate, memory stays as it is or fills evenly, and as much dirty
//! data is written back as is written.
//!
//! Batch means: the calls are cut into batches of the same number, or of as much data where calls are large, whose size doubles
//! as the run goes on, so that batches become independent of each other however slowly calls forget. Source: A. Law,
//! "Simulation Modeling and Analysis", chapter 9, batch means.

use std::collections::VecDeque;

use crate::file_read::PAGE;
use crate::io_path::state::State;
use fathom_program::call::{Call, CallKind};

/// Calls of the first batches, of which each counts as one for every so many bytes that it moves.
const BATCH: u64 = 2_000;
const LARGE: u64 = 256 << 10;
/// So many batches are judged; twice as many become half of them.
const BATCHES: usize = 16;
/// How far the mean of the batches may be off with 95 % confidence, as a share, and how far their halves may lie apart.
const NARROW: f64 = 0.01;
/// So many passes are compared; after so many calls they need not be equally long by more than the second share.
const PASSES: usize = 3;
const MANY: u64 = 500_000;
const WIDE: f64 = 0.1;
/// The 97.5 % quantile of Student's t for that many.
const STUDENT: f64 = 2.13;
/// How far the pages may lie apart that come into memory for each that is moved: one that is not there when it is read costs up to a
/// hundred times as much as one that is.
const FILLING: f64 = NARROW / 100.0;

/// What ends a run before its threads, if anything does.
#[derive(Debug, Default)]
pub(super) struct Early {
    /// That nothing new comes any more.
    pub(super) watch: Option<Watch>,
    /// That there were many calls.
    pub(super) cut: Option<Cut>,
    /// Once one of both came: since when calls count as steady, in ns.
    pub(super) steady_since: Option<u64>,
}

/// The end of a run that need not be steady.
#[derive(Debug)]
pub(super) struct Cut {
    /// When calls begin to count, in ns.
    pub(super) from: u64,
    /// How many may still be made.
    pub(super) calls_left: u64,
}

impl Early {
    /// A thread makes a call now, in ns. Nothing is cut before each thread has made one.
    pub(super) fn note(
        &mut self,
        now: u64,
        thread: u32,
        call: &Call,
        state: &State,
        have_begun: impl FnOnce() -> bool,
    ) {
        if self.steady_since.is_some() {
            return;
        }
        let watch = self.watch.as_mut();
        self.steady_since = watch.and_then(|watch| watch.steady_since(now, thread, call, state));
        if let Some(cut) = self.cut.as_mut().filter(|cut| now > cut.from) {
            cut.calls_left = cut.calls_left.saturating_sub(1);
            if self.steady_since.is_none() && cut.calls_left == 0 && have_begun() {
                self.steady_since = Some(u64::midpoint(cut.from, now));
            }
        }
    }

    /// Whether the run ended because it had made as many calls as it might.
    pub(super) fn is_cut(&self) -> bool {
        self.steady_since.is_some() && self.cut.as_ref().is_some_and(|cut| cut.calls_left == 0)
    }
}

/// What of a run was seen so far.
#[derive(Debug)]
pub(super) struct Watch {
    /// When calls begin to count, in ns.
    from: u64,
    /// Whether calls go on as they are while memory fills: what comes into it is not read again.
    may_fill: bool,
    /// After so long, in ns, anything may be going on in memory as long as the rate is steady.
    long: u64,
    batch: u64,
    /// So many calls there were, large ones counted as several, and at so many the next batch begins.
    calls: u64,
    next: u64,
    /// Pages that calls asked for so far.
    moved: f64,
    borders: Vec<Border>,
    /// Where the first thread began its last passes: it drops what is cached of its files before each.
    passes: VecDeque<Border>,
}

/// What was seen when a batch or a pass began.
#[derive(Clone, Copy, Debug)]
struct Border {
    /// The moment, in ns.
    at: u64,
    calls: u64,
    moved: f64,
    /// Pages in memory.
    cached: f64,
    /// Those of them that are dirty or on their way to the device.
    dirty: f64,
}

impl Watch {
    pub(super) fn new(from: u64, may_fill: bool, long: u64) -> Self {
        let (borders, passes) = (Vec::new(), VecDeque::new());
        Self { from, may_fill, long, batch: BATCH, calls: 0, next: 0, moved: 0.0, borders, passes }
    }

    /// Counts a call that a thread makes now, in ns. If further ones will show nothing new: since when they came at a steady rate.
    pub(super) fn steady_since(&mut self, now: u64, thread: u32, call: &Call, state: &State) -> Option<u64> {
        if now < self.from {
            return None;
        }
        let (calls, is_border) = (self.calls, self.calls >= self.next);
        let is_pass = thread == 0 && call.kind == CallKind::DontNeed;
        let moves = if call.kind.direction().is_some() { call.bytes } else { 0 };
        self.calls += (moves / LARGE).max(1);
        self.moved += moves as f64 / PAGE as f64;
        if !is_border && !is_pass {
            return None;
        }
        let dirty = state.dirty_and_writeback().iter().sum::<u64>() as f64;
        let border =
            Border { at: now, calls, moved: self.moved, cached: state.cache().pages() as f64, dirty };
        // What waits to become old would be written later, and slow down others then.
        let is_turned_over = |since| state.ages_since().is_none_or(|ages| ages >= since);
        if is_pass && let Some(since) = self.passes_are_alike(border).filter(|&since| is_turned_over(since)) {
            return Some(since);
        }
        if !is_border {
            return None;
        }
        self.borders.push(border);
        if self.borders.len() > 2 * BATCHES {
            self.borders = self.borders.iter().copied().step_by(2).collect();
            self.batch *= 2;
        }
        self.next = (calls / self.batch + 1) * self.batch;
        // What came before the batches that are judged warms up.
        let judged = &self.borders[self.borders.len().checked_sub(BATCHES + 1)?..];
        let since = judged[0].at;
        let is_even =
            now - self.from > self.long || (is_turned_over(since) && is_level(judged, self.may_fill));
        (is_even && is_steady(judged)).then_some(since)
    }

    /// A pass begins: when the first of the last ones did if they took equally long and left as much dirty, for all that they moved.
    fn passes_are_alike(&mut self, border: Border) -> Option<u64> {
        self.passes.push_back(border);
        if self.passes.len() <= PASSES {
            return None;
        }
        let first = self.passes.pop_front()?;
        let ends = self.passes.iter();
        let borders = || [&first].into_iter().chain(ends.clone());
        let lengths = borders().zip(ends.clone()).map(|(from, to)| (to.at - from.at) as f64);
        let [least, most] = [f64::min, f64::max].map(|either| lengths.clone().reduce(either));
        let (least, most) = (least?, most?);
        let moved = (border.moved - first.moved) / PASSES as f64;
        let narrow = if self.calls > MANY && border.at - self.from > self.long { WIDE } else { NARROW };
        let dirtied = |other: &Border| (other.dirty - first.dirty).abs() <= narrow * moved;
        let are_alike = most - least <= narrow * most && ends.clone().all(dirtied);
        (are_alike && self.calls >= BATCH * BATCHES as u64).then_some(first.at)
    }
}

/// Whether memory and what is dirty of it stay as they are, for all that is moved; or fill evenly.
fn is_level(judged: &[Border], may_fill: bool) -> bool {
    let [first, middle, last] = [judged[0], judged[judged.len() / 2], judged[judged.len() - 1]];
    let come = |from: Border, to: Border| (to.cached - from.cached) / (to.moved - from.moved);
    let [early, late] = [come(first, middle), come(middle, last)];
    let mean = |part: &[Border]| part.iter().map(|border| border.dirty).sum::<f64>() / part.len() as f64;
    let (before, after) = judged.split_at(judged.len() / 2);
    let dirtied = (mean(after) - mean(before)).abs() / (last.moved - middle.moved);
    (early - late).abs() <= FILLING && (may_fill || late.abs() <= FILLING) && dirtied <= NARROW
}

/// Whether calls of all batches take equally long, and their mean is known.
fn is_steady(judged: &[Border]) -> bool {
    let a_call = |pair: &[Border]| (pair[1].at - pair[0].at) as f64 / (pair[1].calls - pair[0].calls) as f64;
    let took: Vec<f64> = judged.windows(2).map(a_call).collect();
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let all = mean(&took);
    let (early, late) = took.split_at(took.len() / 2);
    let squares: f64 = took.iter().map(|one| (one - all).powi(2)).sum();
    let count = took.len() as f64;
    let reach = STUDENT * (squares / (count - 1.0) / count).sqrt();
    reach < NARROW * all && (mean(early) - mean(late)).abs() < NARROW * all
}
