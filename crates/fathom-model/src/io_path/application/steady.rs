//! When a run shows nothing new any more: its calls come at a steady rate, memory stays as it is or fills evenly, and as much dirty
//! data is written back as is written.
//!
//! Batch means: the calls are cut into batches of the same number, whose size doubles as the run goes on, so that batches
//! become independent of each other however slowly calls forget. Source: A. Law, "Simulation Modeling and Analysis",
//! chapter 9, batch means.

use crate::file_read::PAGE;
use crate::io_path::state::State;
use fathom_program::call::Call;

/// Calls of the first batches.
const BATCH: u64 = 2_000;
/// So many batches are judged; twice as many become half of them.
const BATCHES: usize = 16;
/// How far the mean of the batches may be off with 95 % confidence, as a share, and how far their halves may lie apart.
const NARROW: f64 = 0.01;
/// The 97.5 % quantile of Student's t for that many.
const STUDENT: f64 = 2.13;
/// How far the pages may lie apart that come into memory for each that is moved: one that is not there when it is read costs up to a
/// hundred times as much as one that is.
const FILLING: f64 = NARROW / 100.0;

/// After so long, in ns, anything may be going on in memory as long as the rate is steady: twice the age at which Linux takes dirty
/// data for old unless it is set to another (`dirty_expire_centisecs`). By then what is written back meanwhile shows in the rate.
const LONG: u64 = 60_000_000_000;

/// What of a run was seen so far.
#[derive(Debug)]
pub(super) struct Watch {
    /// When calls begin to count, in ns.
    from: u64,
    /// Whether calls go on as they are while memory fills: what comes into it is not read again.
    may_fill: bool,
    batch: u64,
    calls: u64,
    /// Pages that calls asked for so far.
    moved: f64,
    borders: Vec<Border>,
}

/// What was seen when a batch began.
#[derive(Clone, Copy, Debug)]
struct Border {
    /// The moment, in ns.
    at: u64,
    moved: f64,
    /// Pages in memory.
    cached: f64,
    /// Those of them that are dirty or on their way to the device.
    dirty: f64,
}

impl Watch {
    pub(super) fn new(from: u64, may_fill: bool) -> Self {
        Self { from, may_fill, batch: BATCH, calls: 0, moved: 0.0, borders: Vec::new() }
    }

    /// Counts a call that is made now, in ns. If further ones will show nothing new: since when they came at a steady rate.
    pub(super) fn steady_since(&mut self, now: u64, call: &Call, state: &State) -> Option<u64> {
        if now < self.from {
            return None;
        }
        let is_border = self.calls.is_multiple_of(self.batch);
        self.calls += 1;
        let moves = call.kind.direction().is_some();
        self.moved += if moves { call.bytes as f64 / PAGE as f64 } else { 0.0 };
        if !is_border {
            return None;
        }
        let (dirty, cached) =
            (state.dirty_and_writeback().iter().sum::<u64>() as f64, state.cache().pages() as f64);
        self.borders.push(Border { at: now, moved: self.moved, cached, dirty });
        if self.borders.len() > 2 * BATCHES {
            self.borders = self.borders.iter().copied().step_by(2).collect();
            self.batch *= 2;
        }
        // What came before the batches that are judged warms up.
        let judged = &self.borders[self.borders.len().checked_sub(BATCHES + 1)?..];
        let since = judged[0].at;
        // What waits to become old would be written later, and slow down others then.
        let is_turned_over = || state.ages_since().is_none_or(|ages| ages >= since);
        let is_even = now - self.from > LONG || (is_turned_over() && is_level(judged, self.may_fill));
        (is_even && is_steady(judged)).then_some(since)
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

/// Whether batches take equally long, and their mean is known.
fn is_steady(judged: &[Border]) -> bool {
    let took: Vec<f64> = judged.windows(2).map(|pair| (pair[1].at - pair[0].at) as f64).collect();
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let all = mean(&took);
    let (early, late) = took.split_at(took.len() / 2);
    let squares: f64 = took.iter().map(|one| (one - all).powi(2)).sum();
    let count = took.len() as f64;
    let reach = STUDENT * (squares / (count - 1.0) / count).sqrt();
    reach < NARROW * all && (mean(early) - mean(late)).abs() < NARROW * all
}
