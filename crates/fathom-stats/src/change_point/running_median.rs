//! The median of a growing set, and the sum of absolute deviations from it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Two heaps that meet at the median: `O(log n)` a value.
#[derive(Debug, Clone, Default)]
pub(super) struct RunningMedian {
    lower: BinaryHeap<Ordered>,
    upper: BinaryHeap<Reverse<Ordered>>,
    lower_sum: f64,
    upper_sum: f64,
}

impl RunningMedian {
    pub(super) fn push(&mut self, value: f64) {
        if self.lower.peek().is_none_or(|top| value <= top.0) {
            self.lower.push(Ordered(value));
            self.lower_sum += value;
        } else {
            self.upper.push(Reverse(Ordered(value)));
            self.upper_sum += value;
        }
        self.balance();
    }

    /// Sum of absolute deviations from the median, the least over all levels.
    pub(super) fn absolute_deviations(&self) -> f64 {
        // With one value more in the lower heap, its top is the median and counts for nothing.
        let odd = if self.lower.len() > self.upper.len() { self.lower_median() } else { 0.0 };
        (self.upper_sum - (self.lower_sum - odd)).max(0.0)
    }

    fn lower_median(&self) -> f64 {
        self.lower.peek().map_or(0.0, |top| top.0)
    }

    /// Keeps the lower heap as large as the upper one, or larger by one.
    fn balance(&mut self) {
        if self.lower.len() > self.upper.len() + 1 {
            if let Some(value) = self.lower.pop() {
                self.lower_sum -= value.0;
                self.upper_sum += value.0;
                self.upper.push(Reverse(value));
            }
        } else if self.upper.len() > self.lower.len()
            && let Some(Reverse(value)) = self.upper.pop()
        {
            self.upper_sum -= value.0;
            self.lower_sum += value.0;
            self.lower.push(value);
        }
    }
}

/// A finite number with its total order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;
    use crate::quantile;

    #[test]
    fn agrees_with_the_median_of_each_prefix() {
        let mut planted = Planted::new(1);
        let values: Vec<f64> = (0..200).map(|_| (planted.normal() * 10.0).round()).collect();
        let mut running = RunningMedian::default();
        for end in 1..=values.len() {
            running.push(values[end - 1]);
            let median = quantile::median(&values[..end]).unwrap();
            let direct: f64 = values[..end].iter().map(|v| (v - median).abs()).sum();
            assert!((running.absolute_deviations() - direct).abs() < 1e-9);
        }
    }
}
