//! Whether transfers of one size take a step longer than slightly smaller ones, from their latencies in turns.

use std::cmp::Ordering;

use fathom_stats::quantile;

/// The latencies of transfers of several sizes, in turns: all sizes of a turn met the same disturbance.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes {
    latencies: Vec<Vec<f64>>,
    /// What another request takes at least.
    least: f64,
}

/// Another request takes at least this share of a transfer that is one: what a larger one takes in memory is less.
const LEAST_SHARE: f64 = 0.25;
/// A step of this part of that may be a whole one that a disturbance hides.
const DOUBTFUL: f64 = 0.5;
/// The largest probability that a step is due to chance.
pub const MOST_CHANCE: f64 = 1e-3;

impl Sizes {
    /// The latencies of each size in the order of the turns, none for a size that was left out; and the least rise that counts as a
    /// step.
    pub fn of(latencies: Vec<Vec<f64>>, least: f64) -> Self {
        Self { latencies, least }
    }

    /// Adds turns of the same sizes.
    pub fn add(&mut self, more: Self) {
        self.latencies.iter_mut().zip(more.latencies).for_each(|(all, more)| all.extend(more));
    }

    /// The number of transfers.
    pub fn transfers(&self) -> usize {
        self.latencies.iter().map(Vec::len).sum()
    }

    /// Whether the last of three sizes typically takes longer than the second one by more than `share` of what another
    /// request takes, which is a good part of what the first one takes.
    fn is_longer(&self, [one, small, large]: [usize; 3], share: f64) -> bool {
        let typical = |all: &[f64]| quantile::median(all).unwrap_or(f64::NAN);
        let pairs = self.latencies[large].iter().zip(&self.latencies[small]);
        let longer: Vec<f64> = pairs.map(|(large, small)| large - small).collect();
        let least = self.least.max(LEAST_SHARE * typical(&self.latencies[one]));
        typical(&longer).partial_cmp(&(share * least)) == Some(Ordering::Greater)
    }

    /// Whether more turns may show a step.
    pub fn may_have_step(&self, sizes: [usize; 3]) -> bool {
        self.is_longer(sizes, DOUBTFUL)
    }

    /// Whether the last of three sizes takes longer than the second one, by a good part of what the first one takes, which
    /// is one request, and, where two more are given, by more than those two differ, in nearly all turns of each half.
    ///
    /// Each turn is a toss of a coin where there is no step, so that the chance of an answer is that of so many tosses.
    pub fn has_step(&self, [one, small, large]: [usize; 3], than: Option<(usize, usize)>) -> bool {
        let differences = |small: usize, large: usize| -> Vec<f64> {
            self.latencies[large]
                .iter()
                .zip(&self.latencies[small])
                .map(|(large, small)| large - small)
                .collect()
        };
        let here = differences(small, large);
        let there = than.map_or_else(|| vec![0.0; here.len()], |(small, large)| differences(small, large));
        let is_longer: Vec<bool> = here.iter().zip(&there).map(|(here, there)| here > there).collect();
        self.is_longer([one, small, large], 1.0) && is_in_both_halves(&is_longer)
    }
}

/// Whether something held in so many of the turns of each half that it would happen by chance at most once in a thousand times.
pub fn is_in_both_halves(turns: &[bool]) -> bool {
    let (early, late) = turns.split_at(turns.len() / 2);
    [early, late].into_iter().all(is_nearly_all)
}

/// Whether so many of the tosses fell on one side that chance makes it once in a thousand at most, both halves together.
fn is_nearly_all(tosses: &[bool]) -> bool {
    let count = tosses.len();
    let misses = tosses.iter().filter(|&&toss| !toss).count();
    let mut ways = 1.0;
    let mut all = 1.0;
    for miss in 0..misses {
        ways *= (count - miss) as f64 / (miss + 1) as f64;
        all += ways;
    }
    count > 0 && all / 2_f64.powi(i32::try_from(count).unwrap_or(i32::MAX)) <= MOST_CHANCE.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(base: f64) -> Vec<f64> {
        // A disturbance that all sizes share, and a little of their own.
        (0..24).map(|turn| base + 5.0 * f64::from(turn % 5) + base % 7.0 * f64::from(turn % 2)).collect()
    }

    #[test]
    fn a_step_is_longer_than_what_sizes_differ_by_anyway() {
        let sizes = Sizes::of([100.0, 104.0, 140.0, 10.0].map(latencies).to_vec(), 30.0);
        assert!(sizes.has_step([3, 1, 2], Some((0, 1))));
        assert!(sizes.has_step([3, 1, 2], None));
        assert!(!sizes.has_step([3, 0, 1], Some((1, 2))));
        let slow = Sizes::of([100.0, 104.0, 140.0, 10.0].map(latencies).to_vec(), 50.0);
        assert!(!slow.has_step([3, 1, 2], None), "a round trip takes longer");
        let even = Sizes::of([100.0, 120.0, 139.0, 10.0].map(latencies).to_vec(), 10.0);
        assert!(!even.has_step([3, 1, 2], Some((0, 1))));
    }

    #[test]
    fn nothing_is_told_of_tosses() {
        assert!(is_nearly_all(&[true; 12]) && !is_nearly_all(&[true; 4]) && !is_nearly_all(&[]));
        let mut tosses = [true; 12];
        tosses[3] = false;
        assert!(is_nearly_all(&tosses));
        tosses[7] = false;
        assert!(is_nearly_all(&tosses));
        tosses[9] = false;
        assert!(!is_nearly_all(&tosses));
    }
}
