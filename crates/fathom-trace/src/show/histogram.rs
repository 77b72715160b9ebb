//! Counts by powers of two.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many values lie in [2^k, 2^(k+1)), for each k; 0 counts by itself.
///
/// Written as a list of pairs: the least value of each place that holds any, and how many it holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(with = "Vec<(u64, u64)>")]
pub struct Histogram {
    /// Place 0 holds the zeros, place k + 1 the values from 2^k on.
    counts: Vec<u64>,
}

impl Histogram {
    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        self.add_times(value, 1);
    }

    /// Counts a value so many times.
    pub fn add_times(&mut self, value: u64, times: u64) {
        let place = value.checked_ilog2().map_or(0, |log| log as usize + 1);
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += times;
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        other.steps().for_each(|(least, count)| self.add_times(least, count));
    }

    /// The least value of each place that holds any, and how many it holds.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64)> {
        let least = |place: usize| if place == 0 { 0 } else { 1 << (place - 1) };
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(move |(place, &count)| (least(place), count))
    }

    /// How many values there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The least value of the place in which that part of all values ends; none of nothing.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let wanted = part * self.total() as f64;
        let mut sum = 0.0;
        self.steps().find_map(|(least, count)| {
            sum += count as f64;
            (sum >= wanted).then_some(least)
        })
    }
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.steps())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut histogram = Self::default();
        for (least, count) in Vec::<(u64, u64)>::deserialize(deserializer)? {
            histogram.add_times(least, count);
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut histogram = Histogram::default();
        [0, 0, 1, 7, 8, 4096, u64::MAX].iter().for_each(|&value| histogram.add(value));
        let written = serde_json::to_string(&histogram).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&written).unwrap(), histogram);
    }
}
