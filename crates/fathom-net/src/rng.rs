//! The generator behind every draw of a simulation.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng as _, SeedableRng as _};

use crate::ziggurat;

/// A seeded generator whose values are the same on every machine and in every build.
///
/// PCG XSL 128/64 (O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
/// Algorithms", 2014). Delays and arc expressions draw from it through
/// [`Firing::rng`](crate::Firing::rng).
///
/// ```
/// use fathom_net::Rng;
/// let (mut a, mut b) = (Rng::new(7), Rng::new(7));
/// assert_eq!(a.next_u64(), b.next_u64());
/// ```
#[derive(Clone, Debug)]
pub struct Rng(Pcg64Mcg);

impl Rng {
    /// The generator of a seed. Neighbouring seeds give unrelated streams.
    pub fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A real number drawn evenly from [0, 1), with 53 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ziggurat::unit(self.next_u64())
    }

    /// A whole number drawn evenly from `0..bound`.
    ///
    /// Lemire, "Fast Random Integer Generation in an Interval", 2019.
    ///
    /// # Panics
    /// If `bound` is zero: there is nothing to draw.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "Rng::below(0): give a bound of at least 1");
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(bound);
            let low = wide as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (wide >> 64) as u64;
            }
        }
    }

    /// A number drawn from the exponential distribution of the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        mean * ziggurat::exponential(|| self.next_u64())
    }
}
