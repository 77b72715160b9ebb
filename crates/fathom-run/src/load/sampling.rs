//! Rates as fio samples them: what was transferred in each half second, or in as long as `bwavgtime` and `iopsavgtime` say.
//!
//! A sample is taken when the first transfer after the end of its time is recorded, from what was counted until then:
//! nothing is added to what is timed, and no memory grows.

use fathom_program::job::Job;

/// Reads, writes, trims.
const SIDES: usize = 3;

/// Samples of one rate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sampled {
    /// The number of samples.
    pub count: u64,
    /// The smallest sample.
    pub min: u64,
    /// The largest sample.
    pub max: u64,
    /// The mean of the samples.
    pub mean: f64,
    /// The sum of the squares of what they are off from the mean.
    squares: f64,
}

impl Sampled {
    fn take(&mut self, rate: u64) {
        self.min = if self.count == 0 { rate } else { self.min.min(rate) };
        self.max = self.max.max(rate);
        self.count += 1;
        let off = rate as f64 - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (rate as f64 - self.mean);
    }

    /// The standard deviation of the samples; zero below two.
    pub fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }

    /// Adds the samples of another thread figure by figure, minima, maxima and means included, as fio does.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.min += other.min;
        self.max += other.max;
        self.mean += other.mean;
        self.squares += other.squares;
    }
}

/// The rates of reads, writes and trims.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SampledRates {
    /// KiB per second.
    pub bandwidth: [Sampled; SIDES],
    /// Transfers per second.
    pub iops: [Sampled; SIDES],
}

impl SampledRates {
    /// Adds the samples of another thread.
    pub fn add(&mut self, other: &Self) {
        let sides = self.bandwidth.iter_mut().chain(&mut self.iops);
        sides.zip(other.bandwidth.iter().chain(&other.iops)).for_each(|(mine, theirs)| mine.add(theirs));
    }
}

/// The samples that a thread takes of its rates; none by default.
#[derive(Debug, Clone)]
pub(super) struct Sampling {
    pub(super) rates: SampledRates,
    /// When a sample is due, in ticks.
    pub(super) due: u64,
    bandwidth: Series,
    iops: Series,
    ticks_per_second: f64,
}

/// When the samples of one kind are taken, and what was counted at the last.
#[derive(Debug, Clone, Copy, Default)]
struct Series {
    /// In ticks.
    every: u64,
    due: u64,
    seen: [u64; SIDES],
}

impl Default for Sampling {
    fn default() -> Self {
        let series = Series::default();
        let rates = SampledRates::default();
        Self { rates, due: u64::MAX, bandwidth: series, iops: series, ticks_per_second: 1.0 }
    }
}

impl Sampling {
    pub(super) fn of(job: &Job, ticks_per_second: f64) -> Self {
        let [bandwidth, iops] = job.reporting.sampled_every.map(|every| {
            let every = (every.as_secs_f64() * ticks_per_second) as u64;
            Series { every: every.max(1), ..Series::default() }
        });
        Self { bandwidth, iops, ticks_per_second, ..Self::default() }
    }

    /// Counting begins.
    pub(super) fn begin(&mut self, now: u64) {
        self.rates = SampledRates::default();
        for series in [&mut self.bandwidth, &mut self.iops] {
            *series = Series { due: now.saturating_add(series.every), seen: [0; SIDES], ..*series };
        }
        self.due = self.bandwidth.due.min(self.iops.due);
    }

    /// Takes the samples that are due, from the bytes and the transfers until then.
    pub(super) fn take(&mut self, now: u64, bytes: [u64; SIDES], transfers: [u64; SIDES]) {
        let Self { rates, ticks_per_second, .. } = self;
        self.bandwidth.take(now, bytes, *ticks_per_second / 1024.0, &mut rates.bandwidth);
        self.iops.take(now, transfers, *ticks_per_second, &mut rates.iops);
        self.due = self.bandwidth.due.min(self.iops.due);
    }
}

impl Series {
    /// A time in which nothing was transferred gives no sample.
    fn take(&mut self, now: u64, counted: [u64; SIDES], per_tick: f64, rates: &mut [Sampled; SIDES]) {
        if now < self.due || self.every == 0 {
            return;
        }
        for ((rate, seen), counted) in rates.iter_mut().zip(self.seen).zip(counted) {
            if counted > seen {
                rate.take(((counted - seen) as f64 * per_tick / self.every as f64) as u64);
            }
        }
        self.seen = counted;
        self.due += ((now - self.due) / self.every + 1) * self.every;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_half_second_with_transfers_gives_a_sample() {
        let mut sampling = Sampling::of(&Job::named("x"), 1000.0);
        sampling.begin(100);
        assert_eq!(sampling.due, 600);
        sampling.take(650, [512 << 10, 0, 0], [100, 0, 0]);
        // Nothing for a second, and then all of it within the next half.
        sampling.take(1800, [512 << 10, 0, 0], [100, 0, 0]);
        sampling.take(2100, [2048 << 10, 4096, 0], [300, 1, 0]);
        let [reads, writes, trims] = sampling.rates.bandwidth;
        assert_eq!((reads.count, reads.min, reads.max, reads.mean), (2, 1024, 3072, 2048.0));
        assert!((reads.deviation() - 2048.0 / 2.0_f64.sqrt()).abs() < 1e-6);
        assert_eq!((writes.count, writes.max, trims), (1, 8, Sampled::default()));
        assert_eq!((sampling.rates.iops[0].min, sampling.rates.iops[0].max), (200, 400));
        assert_eq!(sampling.due, 2600);
        let mut sum = sampling.rates;
        sum.add(&sampling.rates);
        assert_eq!((sum.bandwidth[0].count, sum.bandwidth[0].min, sum.iops[1].mean), (4, 2048, 4.0));
        sampling.begin(3000);
        assert_eq!((sampling.rates, sampling.due), (SampledRates::default(), 3500));
        assert_eq!(Sampling::default().due, u64::MAX);
    }
}
