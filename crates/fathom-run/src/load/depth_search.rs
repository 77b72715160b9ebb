//! The largest depth that holds a latency, by fio's search: double it until it fails, then halve what is left
//! (`lat_target_check` of fio 3.33's `io_u.c`).

use fathom_program::job::LatencyTarget;

/// The search of one thread. Times are in ticks.
pub(super) struct DepthSearch {
    percentile: f64,
    goes_on: bool,
    window: u64,
    most: u32,
    depth: u32,
    /// The largest depth that held, and the least that did not.
    held: u32,
    failed: u32,
    /// How often in a row the depth below the failed one held.
    stable: u32,
    is_last: bool,
    began: u64,
    /// Transfers, and those too late, when the window began.
    before: [u64; 2],
}

/// What a look at the latencies says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The depth is the same or larger.
    GoOn,
    /// The depth is smaller: a new window begins when all requests under way have ended.
    Smaller,
    /// The depth is found: transfers count from now on.
    Found,
    /// The job has run for a window at the depth found, and ends.
    Done,
    /// Even one transfer at a time takes longer than the latency allowed.
    TooSlow,
}

impl DepthSearch {
    /// A search up to a depth; its window begins with [`renew`](Self::renew).
    pub(super) fn new(target: &LatencyTarget, most: u32, ticks_per_second: f64) -> Self {
        Self {
            percentile: target.percentile,
            goes_on: target.goes_on,
            window: (target.window.as_secs_f64() * ticks_per_second) as u64,
            most,
            depth: 1,
            held: 1,
            failed: most,
            stable: 0,
            is_last: false,
            began: 0,
            before: [0; 2],
        }
    }

    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Begins a window; `counts` are transfers so far, and those that were too late.
    pub(super) fn renew(&mut self, now: u64, counts: [u64; 2]) {
        (self.began, self.before) = (now, counts);
    }

    pub(super) fn look(&mut self, now: u64, counts: [u64; 2]) -> Verdict {
        let [done, late] = [0, 1].map(|which: usize| counts[which] - self.before[which]);
        if late > 0 && self.percentile == 100.0 {
            return self.shrink();
        }
        if now.saturating_sub(self.began) < self.window {
            return Verdict::GoOn;
        }
        // Where nothing was done, the share is not a number, and nothing held.
        if 100.0 * (done as f64 - late as f64) / done as f64 >= self.percentile {
            let verdict = self.grow();
            self.renew(now, counts);
            return verdict;
        }
        match self.shrink() {
            Verdict::TooSlow => Verdict::GoOn,
            verdict => verdict,
        }
    }

    fn shrink(&mut self) -> Verdict {
        if self.depth == 1 {
            return Verdict::TooSlow;
        }
        self.failed = self.depth;
        self.held -= u32::from(self.depth == self.held);
        self.depth = self.depth.midpoint(self.held).max(1);
        self.stable = 0;
        Verdict::Smaller
    }

    fn grow(&mut self) -> Verdict {
        const STABLE: u32 = 3;
        let before = self.depth;
        self.held = before;
        if before + 1 == self.failed {
            self.stable += 1;
            if self.stable >= STABLE {
                // What failed once may hold now.
                (self.failed, self.stable) = (self.failed + 1, 0);
            }
        }
        let next = if self.failed == self.most { before * 2 } else { before.midpoint(self.failed) };
        self.depth = next.min(self.most);
        match (self.depth == before && !self.goes_on, self.is_last) {
            (false, _) => Verdict::GoOn,
            (true, true) => Verdict::Done,
            (true, false) => {
                self.is_last = true;
                Verdict::Found
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The depths of a search of which all transfers hold the target up to a depth.
    fn searched(holds: u32, most: u32, percentile: f64) -> (Vec<u32>, Verdict) {
        let window = Duration::from_secs(1);
        let target = LatencyTarget { window, percentile, ..LatencyTarget::default() };
        let mut search = DepthSearch::new(&target, most, 1.0);
        let (mut counts, mut depths) = ([0, 0], Vec::new());
        search.renew(0, counts);
        for now in 1..100 {
            depths.push(search.depth());
            counts[0] += 100;
            counts[1] += if search.depth() > holds { 10 } else { 0 };
            match search.look(now, counts) {
                Verdict::GoOn | Verdict::Found => {}
                Verdict::Smaller => search.renew(now, counts),
                verdict => return (depths, verdict),
            }
        }
        (depths, Verdict::GoOn)
    }

    #[test]
    fn the_depth_doubles_then_bisects_and_is_run_once_more() {
        assert_eq!(searched(64, 32, 99.0), (vec![1, 2, 4, 8, 16, 32, 32], Verdict::Done));
        let (depths, verdict) = searched(11, 64, 99.0);
        assert_eq!((&depths[..8], verdict), (&[1, 2, 4, 8, 16, 12, 10, 11][..], Verdict::Done));
        assert_eq!(depths.last(), Some(&11));
    }

    #[test]
    fn every_transfer_must_hold_where_the_percentile_is_all() {
        assert_eq!(searched(0, 8, 100.0), (vec![1], Verdict::TooSlow));
        // Some may be late: then the search goes on with one at a time.
        assert_eq!(searched(0, 8, 99.0).1, Verdict::GoOn);
        assert_eq!(searched(0, 8, 90.0).1, Verdict::Done);
    }
}
