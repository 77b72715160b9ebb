//! Latencies as they are recorded: counts in buckets of a fixed, log-linear layout, and exact sums.
//!
//! Below 256 ticks each value has a bucket; above, each power of two is cut into 128, so that a
//! bucket is never wider than 1/128 of its values. The layout is that of HdrHistogram and of fio.
//! Recording is a shift, three additions and three comparisons. The buckets are made with the first value.

/// Buckets per power of two, as a power of two.
const CUT_BITS: u32 = 7;
const CUTS: u64 = 1 << CUT_BITS;
/// Values from here on share the last bucket: 78 hours at 1 GHz.
const MOST_BITS: u32 = 48;
const BUCKETS: usize = ((MOST_BITS - CUT_BITS + 1) as u64 * CUTS) as usize;

/// Recorded latencies, in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// Empty until there is a value.
    buckets: Vec<u64>,
    count: u64,
    sum: u64,
    sum_of_squares: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: Vec::new(), count: 0, sum: 0, sum_of_squares: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// Counts one value.
    #[inline(always)]
    pub fn record(&mut self, ticks: u64) {
        match self.buckets.get_mut(index(ticks)) {
            Some(count) => *count += 1,
            None => self.begin(ticks),
        }
        self.count += 1;
        self.sum += ticks;
        self.sum_of_squares += u128::from(ticks) * u128::from(ticks);
        self.min = self.min.min(ticks);
        self.max = self.max.max(ticks);
    }

    #[cold]
    fn begin(&mut self, ticks: u64) {
        self.buckets.resize(BUCKETS, 0);
        self.buckets[index(ticks)] += 1;
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.resize(self.buckets.len().max(other.buckets.len()), 0);
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Multiplies the number of values by `factor`; each value's count is rounded so that the total fits.
    pub fn repeated(&mut self, factor: f64) {
        let times = |count: u64| (count as f64 * factor).round() as u64;
        let (mut before, mut counted) = (0, 0);
        for count in &mut self.buckets {
            before += *count;
            *count = times(before) - counted;
            counted += *count;
        }
        self.count = counted;
        self.sum = times(self.sum);
        self.sum_of_squares = (self.sum_of_squares as f64 * factor) as u128;
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all values, exactly.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The smallest value, exactly; zero where there is none.
    pub fn min(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min }
    }

    /// The largest value, exactly; zero where there is none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The mean, exactly; zero where there is no value.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The standard deviation of a sample; zero below two values.
    pub fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        // n * sum of squares - square of the sum, in whole numbers as long as they fit: no digits cancel.
        let (count, sum) = (u128::from(self.count), u128::from(self.sum));
        let scaled = match (count.checked_mul(self.sum_of_squares), sum.checked_mul(sum)) {
            (Some(squares), Some(square)) => squares.saturating_sub(square) as f64,
            _ => self.count as f64 * self.sum_of_squares as f64 - (self.sum as f64).powi(2),
        };
        (scaled.max(0.0) / self.count as f64 / (self.count - 1) as f64).sqrt()
    }

    /// The value that a share of 0 to 1 of all values does not exceed, within a 128th of itself.
    pub fn quantile(&self, share: f64) -> u64 {
        let middle = quantile(self.bins(), self.count, share);
        middle.map_or(self.max, |middle| middle.clamp(self.min(), self.max))
    }

    /// The middle and the count of each bucket that is not empty, in ascending order.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let filled = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(index, &count)| (middle(index), count))
    }
}

/// The bin in which a share of 0 to 1 of `count` values ends. Bins are values with their counts, in ascending order.
pub fn quantile<T>(bins: impl IntoIterator<Item = (T, u64)>, count: u64, share: f64) -> Option<T> {
    let rank = (share * count as f64).ceil().max(1.0) as u64;
    let mut seen = 0;
    bins.into_iter().find_map(|(value, count)| {
        seen += count;
        (seen >= rank).then_some(value)
    })
}

#[inline(always)]
fn index(value: u64) -> usize {
    log_linear(value.min((1 << MOST_BITS) - 1), CUT_BITS)
}

/// The bucket of a value in a layout with `1 << cut_bits` buckets per power of two, and one per value below twice that.
#[inline(always)]
pub(super) fn log_linear(value: u64, cut_bits: u32) -> usize {
    let bits = 64 - (value | 1 << cut_bits).leading_zeros();
    let shift = bits - cut_bits - 1;
    ((u64::from(shift) << cut_bits) + (value >> shift)) as usize
}

fn middle(index: usize) -> u64 {
    let index = index as u64;
    if index < 2 * CUTS {
        return index;
    }
    let shift = index / CUTS - 1;
    let low = (index - shift * CUTS) << shift;
    low + (1 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_falls_near_the_middle_of_its_bucket() {
        let mut value = 0_u64;
        let mut last = 0;
        while value < 1 << 47 {
            let at = index(value);
            assert!(at >= last && at < BUCKETS, "{value}");
            assert!(middle(at).abs_diff(value) <= value / 128, "{value} in {at}, {}", middle(at));
            last = at;
            value += 1 + value / 1000;
        }
        assert_eq!((0..300).map(index).filter(|&at| at < 256).count(), 256);
        assert_eq!(index(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn sums_are_exact_and_quantiles_close() {
        let mut histogram = Histogram::default();
        let values: Vec<u64> = (0..10_001).map(|index| 1_000_000 + index * 100).collect();
        values.iter().for_each(|&value| histogram.record(value));
        assert_eq!((histogram.min(), histogram.max(), histogram.count()), (1_000_000, 2_000_000, 10_001));
        assert_eq!(histogram.mean(), 1_500_000.0);
        let deviation = 100.0 * (10_001.0_f64 * 10_002.0 / 12.0).sqrt();
        assert!((histogram.deviation() / deviation - 1.0).abs() < 1e-9);
        for share in [0.01, 0.5, 0.9, 0.999, 1.0] {
            let exact = 1_000_000.0 + share * 1e6;
            assert!((histogram.quantile(share) as f64 / exact - 1.0).abs() < 0.008, "{share}");
        }
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!((twice.count(), twice.mean()), (20_002, histogram.mean()));
        twice.clear();
        assert_eq!(twice, Histogram::default());
        // Most of its buckets hold ninety values.
        for factor in [0.003, 0.3, 1.0, 1.017, 12.3] {
            let mut longer = histogram.clone();
            longer.repeated(factor);
            assert_eq!(longer.count(), (10_001.0 * factor).round() as u64, "{factor}");
            assert!((longer.quantile(0.5) as f64 / 1.5e6 - 1.0).abs() < 0.02, "{factor}");
        }
    }

    #[test]
    fn nothing_recorded_is_zero() {
        let empty = Histogram::default();
        assert_eq!((empty.min(), empty.max(), empty.quantile(0.5)), (0, 0, 0));
        assert_eq!((empty.mean(), empty.deviation()), (0.0, 0.0));
    }
}
