//! The jobs of one group together.

use super::{Entry, Side};

/// What the jobs of a group transferred in one direction.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) bytes: u64,
    /// Bytes per second, all together for as long as the longest took.
    pub(super) rate: u64,
    /// Bytes per second, least and most.
    pub(super) rates: [u64; 2],
    /// Milliseconds, least and most; zeros where nothing was transferred.
    pub(super) times: [u64; 2],
}

impl Sum {
    fn of<'a>(sides: impl Iterator<Item = &'a Side>) -> Self {
        let (mut sum, mut longest) = (Self::default(), 0.0_f64);
        for (at, side) in sides.filter(|side| side.runtime > 0).enumerate() {
            let widen = |[least, most]: [u64; 2], one: u64| match at {
                0 => [one, one],
                _ => [one.min(least), one.max(most)],
            };
            sum.bytes += side.io_bytes;
            sum.rates = widen(sum.rates, side.bw_bytes);
            sum.times = widen(sum.times, side.runtime);
            longest = longest.max(side.io_bytes as f64 / side.bw_bytes.max(1) as f64);
        }
        sum.rate = if longest > 0.0 { (sum.bytes as f64 / longest).round() as u64 } else { 0 };
        sum
    }

    /// Sums of several directions as one.
    pub(super) fn together(sums: &[Self]) -> Self {
        let there = || sums.iter().filter(|sum| sum.times[1] > 0);
        let least = |of: fn(&Self) -> u64| there().map(of).min().unwrap_or(0);
        let most = |of: fn(&Self) -> u64| there().map(of).max().unwrap_or(0);
        Self {
            bytes: there().map(|sum| sum.bytes).sum(),
            rate: there().map(|sum| sum.rate).sum(),
            rates: [least(|sum| sum.rates[0]), most(|sum| sum.rates[1])],
            times: [least(|sum| sum.times[0]), most(|sum| sum.times[1])],
        }
    }
}

/// Reads, writes and trims of a group.
pub(super) fn sums(jobs: &[Entry], group: usize) -> [Sum; 3] {
    let of_group = || jobs.iter().filter(|job| job.groupid == group);
    [0, 1, 2].map(|side| Sum::of(of_group().filter_map(|job| job.sides()[side])))
}

/// Says of each job which share it has in the bandwidth of its group.
pub(super) fn fill_shares(jobs: &mut [Entry], groups: usize) {
    for group in 0..groups {
        let rates = sums(jobs, group).map(|sum| sum.rate);
        for job in jobs.iter_mut().filter(|job| job.groupid == group) {
            let sides = [&mut job.read, &mut job.write, &mut job.trim, &mut job.mixed];
            for (side, rate) in sides.into_iter().zip([rates[0], rates[1], rates[2], rates[0]]) {
                if let Some(side) = side.as_mut().filter(|side| side.bw_samples > 0) {
                    side.bw_agg = share(side.bw_mean, rate);
                }
            }
        }
    }
}

/// A mean in KiB per second as a percentage of a rate in bytes per second; the whole of a rate that is next to nothing.
fn share(mean: f64, rate: u64) -> f64 {
    if rate <= 1024 { 100.0 } else { (mean.trunc() * 100.0 / (rate as f64 / 1024.0)).min(100.0) }
}
