//! A device that is known by what it took: distributions of times by direction and size.

use std::sync::Arc;

use fathom_net::{In, NetBuilder, Out, Rng, Span};

use crate::io_path::{Prices, Request};

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
    /// A time for a request: the same quantile of the two sizes beside its own, by the distance to them.
    /// Beyond the largest size times grow as sizes do. `None` where nothing is known of the direction.
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

/// A device that works at `device_depth` requests side by side and takes for each as long as one like it
/// took; at the prices of the parameters where nothing was measured.
pub fn empirical(
    net: &mut NetBuilder,
    prices: &Arc<Prices>,
    requests: In<Request>,
    arrived: Out<Request>,
    written: Out<Request>,
) {
    let tags = net.place("tags");
    net.initial(tags, (0..prices.device_depth).map(|_| ()));
    let prices = Arc::clone(prices);
    net.transition("serve")
        .input(requests)
        .consume(tags, 1)
        .delay_by(move |(request,), rng| drawn(&prices, request, rng))
        .produce(tags, 1)
        .output_each(arrived, |(request,), _| (!request.is_write).then_some(*request))
        .output_each(written, |(request,), _| request.is_write.then_some(*request))
        .add();
}

fn drawn(prices: &Prices, request: &Request, rng: &mut Rng) -> Span {
    let share = rng.below(1 << 20) as f64 / f64::from((1 << 20) - 1);
    match prices.service_times.draw(request.is_write, request.bytes(), share) {
        Some(took) => Span::round(took),
        None => prices.around(prices.latency(request) + super::moving(prices, request), rng),
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
