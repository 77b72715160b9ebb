//! Collected data: means, extremes, and intervals by batch means.

use crate::estimate::Estimate;
use crate::time::Time;

/// Few long batches: their means are nearer to independent and normal, and past thirty more of them
/// narrow the interval but little (Schmeiser, "Batch Size Effects in the Analysis of Simulation
/// Output", 1982). They are merged in pairs when this many are full, so 16 to 31 are complete at any time.
const BATCHES: usize = 32;

/// A weighted mean of what was observed, with an interval by batch means.
///
/// The observations are cut into 16 to 31 batches of equal weight, merged in pairs as the run gets
/// longer, so memory is fixed and the length of the run need not be known. The interval treats the
/// batch means as independent, which holds once a batch is much longer than the correlation between
/// observations (Law, *Simulation Modeling and Analysis*, 5th ed. 2015, sec. 9.5.3). Discard the
/// initial transient with [`Simulation::restart_monitors`](crate::Simulation::restart_monitors).
///
/// ```
/// use fathom_net::Tally;
/// let mut waits = Tally::default();
/// (1..=100).for_each(|wait| waits.observe(f64::from(wait)));
/// assert_eq!((waits.count(), waits.mean(), waits.max()), (100, 50.5, 100.0));
/// ```
#[derive(Clone, Debug)]
pub struct Tally {
    count: u64,
    weight: f64,
    sum: f64,
    min: f64,
    max: f64,
    /// Sums of full batches.
    batches: [f64; BATCHES],
    full: usize,
    /// Weight of a full batch.
    batch_weight: f64,
    open_weight: f64,
    open_sum: f64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            count: 0,
            weight: 0.0,
            sum: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            batches: [0.0; BATCHES],
            full: 0,
            batch_weight: 1.0,
            open_weight: 0.0,
            open_sum: 0.0,
        }
    }
}

impl Tally {
    /// Adds an observation.
    ///
    /// ```
    /// let mut sizes = fathom_net::Tally::default();
    /// sizes.observe(4096.0);
    /// assert_eq!(sizes.count(), 1);
    /// ```
    #[inline]
    pub fn observe(&mut self, value: f64) {
        self.add(value, 1.0);
    }

    /// Observations so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean of the observations; NaN when there are none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum / self.weight
    }

    /// The smallest observation; infinite when there is none.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.min
    }

    /// The largest observation; negative infinite when there is none.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.max
    }

    /// The mean with its 95 % interval by batch means.
    ///
    /// ```
    /// let (mut tally, mut rng) = (fathom_net::Tally::default(), fathom_net::Rng::new(1));
    /// (0..10_000).for_each(|_| tally.observe(rng.uniform()));
    /// let estimate = tally.estimate();
    /// assert!(estimate.half_width() < 0.02 && (estimate.mean() - 0.5).abs() < 0.02);
    /// ```
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        let means: Vec<f64> = self.batches[..self.full].iter().map(|sum| sum / self.batch_weight).collect();
        Estimate::of(&means).centred_on(self.mean())
    }

    /// Adds a value that counts as `weight` observations, cut where a batch is full.
    #[inline]
    fn add(&mut self, value: f64, weight: f64) {
        self.count += 1;
        self.weight += weight;
        self.sum += value * weight;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let mut left = weight;
        while self.open_weight + left >= self.batch_weight {
            let share = self.batch_weight - self.open_weight;
            self.close_batch(self.open_sum + value * share);
            left -= share;
        }
        self.open_weight += left;
        self.open_sum += value * left;
    }

    fn close_batch(&mut self, sum: f64) {
        self.batches[self.full] = sum;
        self.full += 1;
        self.open_weight = 0.0;
        self.open_sum = 0.0;
        if self.full == BATCHES {
            for pair in 0..BATCHES / 2 {
                self.batches[pair] = self.batches[2 * pair] + self.batches[2 * pair + 1];
            }
            self.full = BATCHES / 2;
            self.batch_weight *= 2.0;
        }
    }
}

/// The time average of a number that changes in steps.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    tally: Tally,
    value: u32,
    since: Time,
}

impl Level {
    pub(crate) fn new(now: Time, value: u32) -> Self {
        Self { tally: Tally::default(), value, since: now }
    }

    /// The number is `value` from now on.
    #[inline]
    pub(crate) fn change(&mut self, now: Time, value: u32) {
        if now > self.since {
            self.tally.add(f64::from(self.value), (now - self.since).as_ticks() as f64);
            self.since = now;
        }
        self.value = value;
    }

    /// The average up to now, weighted by time.
    pub(crate) fn until(&self, now: Time) -> Tally {
        let mut level = self.clone();
        level.change(now, self.value);
        level.tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn intervals_of_independent_draws_cover_as_they_say() {
        let covered = (0..2_000).filter(|&seed| {
            let (mut rng, mut tally) = (Rng::new(seed), Tally::default());
            (0..1_000).for_each(|_| tally.observe(rng.exponential(3.0)));
            tally.estimate().contains(3.0)
        });
        let share = covered.count() as f64 / 2_000.0;
        assert!((0.93..0.97).contains(&share), "coverage {share}");
    }

    #[test]
    fn a_level_is_weighted_by_time() {
        let mut level = Level::new(Time::ticks(10), 4);
        level.change(Time::ticks(10), 2);
        level.change(Time::ticks(40), 5);
        let tally = level.until(Time::ticks(50));
        assert_eq!((tally.mean(), tally.min(), tally.max()), (2.75, 2.0, 5.0));
    }
}
