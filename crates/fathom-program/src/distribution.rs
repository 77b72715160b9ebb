//! Random blocks that are not all alike: some are drawn far more often than others, as in fio.

use crate::job::{Distribution, Order};

/// Draws blocks of a region by a distribution.
#[derive(Debug)]
pub(crate) enum Draw {
    /// Each block alike.
    Uniform,
    /// The k-th most frequent of all blocks is drawn in proportion to `k^-theta` (Gray et al. 1994, as in fio).
    Zipf { theta: f64, zetan: f64, eta: f64, place: Place },
    /// The share `h` of the blocks gets the share `1 - h` of the transfers, again and again within it.
    Pareto { power: f64, place: Place },
    /// Around a centre, with a deviation, in shares of the region.
    Normal { deviation: f64, center: f64 },
    /// Zones: the percentage of transfers up to the end of each, and where it begins and ends, in parts of a whole.
    Zoned { zones: Vec<(u64, [u64; 2])>, whole: u64 },
}

/// Where the most frequent block is: the blocks lie scattered, or in a row from there on.
#[derive(Debug)]
pub(crate) enum Place {
    Scattered(u64),
    From(f64),
}

/// More terms of zipf's sum than that change nothing, and take long; fio ends there too.
const MOST_TERMS: u64 = 10_000_000;

impl Draw {
    /// The distribution of an order over `count` blocks of so many bytes; `seed` says how they are scattered.
    ///
    /// # Errors
    /// One sentence where zones in bytes reach past the last block.
    pub(crate) fn of(order: &Order, count: u64, bytes: u64, seed: u64) -> Result<Self, String> {
        match order.distribution {
            Distribution::Zoned => Self::zoned(order, 100),
            Distribution::ZonedBytes => Self::zoned(order, count * bytes),
            distribution => Ok(Self::new(distribution, count, seed)),
        }
    }

    /// The zones of an order over a whole of so many parts.
    fn zoned(order: &Order, whole: u64) -> Result<Self, String> {
        let mut sums = (0, 0_u64);
        let zones = order.zones.iter().map(|&(percent, size)| {
            let first = sums.1;
            sums = (sums.0 + u64::from(percent), first.saturating_add(size));
            (sums.0, [first, sums.1])
        });
        let zones: Vec<_> = zones.collect();
        if sums.1 > whole {
            return Err("the zones of random_distribution=zoned_abs are more than the file".to_owned());
        }
        Ok(Self::Zoned { zones, whole })
    }

    /// A distribution without zones over `count` blocks; `seed` says how they are scattered.
    pub(crate) fn new(distribution: Distribution, count: u64, seed: u64) -> Self {
        let place = |center: Option<f64>| center.map_or(Place::Scattered(seed), Place::From);
        match distribution {
            Distribution::Zipf(theta, center) => {
                let terms = 1..=count.min(MOST_TERMS);
                let zetan: f64 = terms.map(|rank| (rank as f64).powf(-theta)).sum();
                let rest = 1.0 - (1.0 + 0.5_f64.powf(theta)) / zetan;
                let eta = (1.0 - (2.0 / count as f64).powf(1.0 - theta)) / rest;
                Self::Zipf { theta, zetan, eta, place: place(center) }
            }
            Distribution::Pareto(h, center) => {
                Self::Pareto { power: h.ln() / (1.0 - h).ln(), place: place(center) }
            }
            Distribution::Normal(percent, center) => {
                Self::Normal { deviation: percent / 100.0, center: center.unwrap_or(0.5) }
            }
            Distribution::Uniform | Distribution::Zoned | Distribution::ZonedBytes => Self::Uniform,
        }
    }

    /// One of `count` blocks; `share` gives numbers above 0 and below 1, all alike.
    pub(crate) fn block(&self, count: u64, mut share: impl FnMut() -> f64) -> u64 {
        let (rank, place) = match self {
            Self::Uniform => return ((share() * count as f64) as u64).min(count - 1),
            Self::Normal { deviation, center } => {
                let radius = (-2.0 * share().ln()).sqrt();
                let at = center + deviation * radius * (std::f64::consts::TAU * share()).cos();
                return ((at.rem_euclid(1.0) * count as f64) as u64).min(count - 1);
            }
            Self::Zipf { theta, zetan, eta, place } => {
                let drawn = share();
                let rank = match drawn * zetan {
                    low if low < 1.0 => 0,
                    low if low < 1.0 + 0.5_f64.powf(*theta) => 1,
                    _ => (count as f64 * (eta * drawn - eta + 1.0).powf(1.0 / (1.0 - theta))) as u64,
                };
                (rank, place)
            }
            Self::Zoned { zones, whole } => {
                let percent = share() * 100.0;
                let zone = zones.iter().find(|(sum, _)| percent < *sum as f64).or(zones.last());
                let parts = zone.map_or([0, *whole], |(_, parts)| *parts);
                let block = |part| (u128::from(part) * u128::from(count) / u128::from(*whole)) as u64;
                let [first, end] = parts.map(block);
                return (first + (share() * end.saturating_sub(first) as f64) as u64).min(count - 1);
            }
            Self::Pareto { power, place } => (((count - 1) as f64 * share().powf(*power)) as u64, place),
        };
        let rank = rank.min(count - 1);
        match place {
            // fio's hash; two ranks may meet in one block.
            Place::Scattered(seed) => {
                (rank.wrapping_mul(0x61C8_8646_80B5_83EB).wrapping_add(seed >> 1)) % count
            }
            Place::From(center) => (rank + (center * count as f64) as u64) % count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of 100,000 draws the most frequent tenth of 1000 blocks gets, in percent.
    fn top_tenth(distribution: Distribution) -> u64 {
        let mut counts = counts(&Order { distribution, ..Order::default() });
        counts.sort_unstable();
        counts[900..].iter().sum::<u64>() / 1000
    }

    /// How often each of 1000 blocks of 4 KiB comes in 100,000 draws.
    fn counts(order: &Order) -> Vec<u64> {
        let draw = Draw::of(order, 1000, 4096, 7).unwrap();
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mixed = (state ^ (state >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
            (mixed >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut counts = vec![0; 1000];
        (0..100_000).for_each(|_| counts[draw.block(1000, &mut random) as usize] += 1);
        counts
    }

    #[test]
    fn zones_get_their_transfers() {
        let shares = [(60, 10), (30, 20), (10, 70)];
        let bytes = shares.map(|(percent, size)| (percent, size * 10 * 4096));
        for (distribution, zones) in [(Distribution::Zoned, shares), (Distribution::ZonedBytes, bytes)] {
            let drawn = counts(&Order { distribution, zones: zones.to_vec(), ..Order::default() });
            let parts = [&drawn[..100], &drawn[100..300], &drawn[300..]];
            let percent = parts.map(|part| part.iter().sum::<u64>().div_ceil(1000));
            assert!((59..=61).contains(&percent[0]) && (29..=31).contains(&percent[1]), "{percent:?}");
            assert!(drawn.iter().all(|&count| count > 0));
        }
        let far =
            Order { distribution: Distribution::ZonedBytes, zones: vec![(100, 1 << 30)], ..Order::default() };
        assert!(Draw::of(&far, 1000, 4096, 7).unwrap_err().contains("zoned_abs"));
    }

    #[test]
    fn the_most_frequent_blocks_get_their_share() {
        let share = |distribution, percent: std::ops::Range<u64>| {
            let top = top_tenth(distribution);
            assert!(percent.contains(&top), "{distribution:?}: {top} %");
        };
        share(Distribution::Uniform, 10..13);
        // Of the sum of 1/k up to 1000, 7.49, the first hundred terms are 5.19; nearly so with theta of 0.99.
        share(Distribution::Zipf(0.99, Some(0.0)), 66..72);
        share(Distribution::Zipf(1.2, Some(0.5)), 80..90);
        share(Distribution::Pareto(0.2, Some(0.0)), 70..75);
        // Within a deviation of 10 % the middle tenth is what is within half a deviation.
        share(Distribution::Normal(10.0, None), 37..41);
        // Scattered, ranks meet in one block, and others are never drawn.
        share(Distribution::Zipf(0.99, None), 75..90);
    }
}
