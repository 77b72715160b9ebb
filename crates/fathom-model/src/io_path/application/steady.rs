//! When a run has told what it can: its calls come at a steady rate, and memory does not change any more.
//!
//! Batch means: the calls are cut into batches of the same number, whose size doubles as the run goes on, so that batches
//! become independent of each other however slowly calls forget. Source: A. Law, "Simulation Modeling and Analysis",
//! chapter 9, batch means.

use crate::io_path::state::State;

/// Calls of the first batches.
const BATCH: u64 = 2_000;
/// So many batches are judged; twice as many become half of them.
const BATCHES: usize = 16;
/// How far the mean of the batches may be off with 95 % confidence, as a share, and how far their halves may lie apart.
const NARROW: f64 = 0.01;
/// The 97.5 % quantile of Student's t for the twelve batches that are judged.
const STUDENT: f64 = 2.2;

/// After so long, in ns, memory may change: twice the age at which Linux takes dirty data for old unless it is told otherwise
/// (`dirty_expire_centisecs`). By then what is written back meanwhile shows in the rate.
const LONG: u64 = 60_000_000_000;

/// What of a run was seen so far.
#[derive(Debug)]
pub(super) struct Watch {
    /// When calls begin to count, in ns.
    from: u64,
    batch: u64,
    calls: u64,
    /// When each batch began, in ns, and how many pages were in memory.
    borders: Vec<[u64; 2]>,
}

impl Watch {
    pub(super) fn new(from: u64) -> Self {
        Self { from, batch: BATCH, calls: 0, borders: Vec::new() }
    }

    /// Counts a call that is made now, in ns; whether further ones will tell nothing new.
    pub(super) fn has_seen_enough(&mut self, now: u64, state: &State) -> bool {
        if now < self.from {
            return false;
        }
        let is_border = self.calls.is_multiple_of(self.batch);
        self.calls += 1;
        if !is_border {
            return false;
        }
        let is_long = now - self.from > LONG;
        let [dirty, on_its_way] = state.dirty_and_writeback();
        if dirty + on_its_way > 0 && !is_long {
            // What is written back later slows down others then.
            self.borders.clear();
            self.calls = 1;
        }
        self.borders.push([now, state.cache().pages()]);
        if self.borders.len() > 2 * BATCHES {
            self.borders = self.borders.iter().copied().step_by(2).collect();
            self.batch *= 2;
        }
        self.borders.len() > BATCHES && self.is_steady(is_long)
    }

    fn is_steady(&self, memory_may_change: bool) -> bool {
        // The first quarter warms up.
        let judged = &self.borders[self.borders.len() / 4..];
        let (Some(first), Some(last)) = (judged.first(), judged.last()) else { return false };
        let took: Vec<f64> = judged.windows(2).map(|pair| (pair[1][0] - pair[0][0]) as f64).collect();
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len().max(1) as f64;
        let all = mean(&took);
        let (early, late) = took.split_at(took.len() / 2);
        let squares: f64 = took.iter().map(|one| (one - all).powi(2)).sum();
        let count = took.len() as f64;
        let reach = STUDENT * (squares / (count - 1.0) / count).sqrt();
        (memory_may_change || first[1] == last[1])
            && reach < NARROW * all
            && (mean(early) - mean(late)).abs() < NARROW * all
    }
}
