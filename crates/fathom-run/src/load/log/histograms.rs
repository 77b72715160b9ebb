//! `write_hist_log`: for each stretch of `log_hist_msec` and direction how many completion latencies fell into each of fio's
//! bins. Source: `tools/hist` of fio reads it.

use std::fmt::Write as _;

use fathom_program::job::{Direction, Job};

use crate::load::histogram::{Histogram, log_linear};

/// Lines of one thread that are kept at most, each of a few hundred bytes.
const MOST: usize = 1 << 17;

/// fio cuts each power of two of nanoseconds into 64 bins, and has 29 such groups. Source: `stat.h`.
const CUT_BITS: u32 = 6;
const BINS: usize = 29 << CUT_BITS;

/// The latencies of one thread, in ticks.
#[derive(Debug, Clone)]
pub(super) struct Histograms {
    /// How long a line goes on.
    stretch: u64,
    /// When the last line ended and what came since, by direction.
    open: [(u64, Histogram); 2],
    lines: Vec<Line>,
}

#[derive(Debug, Clone)]
struct Line {
    side: Direction,
    /// Since the thread began.
    end: u64,
    /// Of the last transfer.
    bytes: u64,
    /// Latencies and how many there were.
    counts: Vec<(u64, u64)>,
}

impl Histograms {
    /// Those of a job's thread; none where the job wants none, or as in fio gives no `log_hist_msec`.
    pub(super) fn of(job: &Job, ticks_per_second: f64) -> Option<Self> {
        let stretch = (job.logs.histogram_every.as_secs_f64() * ticks_per_second) as u64;
        let is_wanted = job.logs.histogram.is_some() && stretch > 0;
        is_wanted.then(|| Self { stretch, open: Default::default(), lines: Vec::new() })
    }

    /// A transfer is done; gives whether its line is one too many.
    pub(super) fn transfer(&mut self, side: Direction, bytes: u64, latency: u64, now: u64) -> bool {
        let (last, open) = &mut self.open[side as usize];
        if *last == 0 {
            *last = now;
        }
        open.record(latency);
        if now - *last < self.stretch {
            return false;
        }
        *last += self.stretch;
        let counts = std::mem::take(open).bins().collect();
        let is_kept = self.lines.len() < MOST;
        if is_kept {
            self.lines.push(Line { side, end: now, bytes, counts });
        }
        !is_kept
    }

    /// The lines; each step of `coarseness` makes one bin of two.
    pub(super) fn text(&self, coarseness: u32, epoch_ms: u64, ns_per_tick: f64) -> String {
        let coarseness = coarseness.min(CUT_BITS);
        let mut text = String::new();
        for line in &self.lines {
            let mut counts = vec![0_u64; BINS >> coarseness];
            for &(ticks, count) in &line.counts {
                counts[bin((ticks as f64 * ns_per_tick) as u64) >> coarseness] += count;
            }
            let at = epoch_ms + (line.end as f64 * ns_per_tick / 1e6) as u64;
            let _ = write!(text, "{at}, {}, {}", line.side as u8, line.bytes);
            for count in counts {
                let _ = write!(text, ", {count}");
            }
            text.push('\n');
        }
        text
    }
}

/// The bin of a latency: below 128 ns each has one, and the last has all that are too long.
fn bin(ns: u64) -> usize {
    log_linear(ns, CUT_BITS).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn bins_are_fios() {
        let bins = [0, 1, 64, 127, 128, 129, 130, 1000, 1_000_000, u64::MAX].map(bin);
        assert_eq!(bins, [0, 1, 64, 127, 128, 128, 129, 317, 954, BINS - 1]);
    }

    #[test]
    fn a_line_is_a_stretch_of_one_direction() {
        let mut job = Job::named("x");
        job.logs.histogram = Some(String::new());
        assert!(Histograms::of(&job, 1e9).is_none());
        job.logs.histogram_every = Duration::from_millis(10);
        let mut all = Histograms::of(&job, 1e9).unwrap();
        // One in a millisecond: the first begins the stretch that the eleventh ends.
        for at in 1..=25_u64 {
            assert!(!all.transfer(Direction::Write, 4096, 100 + at, at * 1_000_000));
        }
        let text = all.text(0, 5, 1.0);
        let lines: Vec<Vec<u64>> =
            text.lines().map(|line| line.split(", ").map(|part| part.parse().unwrap()).collect()).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!((&lines[0][..3], lines[0].len()), (&[16, 1, 4096][..], 3 + BINS));
        let sums = [0, 1].map(|line: usize| lines[line][3..].iter().sum::<u64>());
        assert_eq!((sums, lines[1][0]), ([11, 10], 26));
        assert!((101..=111).all(|ns| lines[0][3 + ns] == 1));
        let coarse = all.text(3, 0, 1.0);
        assert_eq!(coarse.lines().next().unwrap().split(", ").count(), 3 + BINS / 8);
    }
}
