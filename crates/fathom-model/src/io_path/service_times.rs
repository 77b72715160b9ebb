//! How long requests to a device took, where that was measured.

/// How long requests took, by direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceTimes {
    /// Of reads, by size.
    pub reads: Vec<Times>,
    /// Of writes, by size.
    pub writes: Vec<Times>,
}

/// How long requests of one size took.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// The size.
    pub bytes: u64,
    /// Quantiles of the times in ns, evenly spaced from the least to the greatest.
    pub quantiles_ns: Vec<f64>,
}

impl ServiceTimes {
    /// The time of a request in ns: the quantile `share` of times, interpolated between the two sizes around its own.
    /// Beyond the largest size times grow as sizes do. `None` if nothing was measured of the direction.
    #[must_use]
    pub fn draw(&self, is_write: bool, bytes: u64, share: f64) -> Option<f64> {
        let sizes = if is_write { &self.writes } else { &self.reads };
        let after = sizes.iter().position(|times| times.bytes >= bytes);
        Some(match after {
            Some(0) => sizes[0].at(share),
            Some(at) => {
                let (below, above) = (&sizes[at - 1], &sizes[at]);
                let way = (bytes - below.bytes) as f64 / (above.bytes - below.bytes) as f64;
                below.at(share) * (1.0 - way) + above.at(share) * way
            }
            None => {
                let largest = sizes.last()?;
                largest.at(share) * bytes as f64 / largest.bytes as f64
            }
        })
    }
}

impl Times {
    fn at(&self, share: f64) -> f64 {
        let last = self.quantiles_ns.len().saturating_sub(1);
        let place = share.clamp(0.0, 1.0) * last as f64;
        let (low, way) = (place as usize, place.fract());
        let quantile = |at: usize| self.quantiles_ns.get(at.min(last)).copied().unwrap_or(0.0);
        quantile(low) * (1.0 - way) + quantile(low + 1) * way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_between_two_takes_a_time_between_theirs() {
        let of = |bytes, quantiles: [f64; 3]| Times { bytes, quantiles_ns: quantiles.to_vec() };
        let times = ServiceTimes {
            reads: vec![of(4096, [10.0, 20.0, 90.0]), of(8192, [20.0, 40.0, 100.0])],
            writes: Vec::new(),
        };
        for (bytes, share, took) in
            [(512, 0.5, 20.0), (4096, 0.25, 15.0), (6144, 0.5, 30.0), (16_384, 1.0, 200.0)]
        {
            assert_eq!(times.draw(false, bytes, share), Some(took), "{bytes} {share}");
        }
        assert_eq!(times.draw(true, 4096, 0.5), None);
    }
}
