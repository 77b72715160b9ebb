//! Exponential variates, mostly without a logarithm.
//!
//! The area under e^-x is cut into 256 parts of equal size: 255 layers and a base with the tail
//! (Marsaglia & Tsang, "The Ziggurat Method for Generating Random Variables", 2000).

use std::sync::LazyLock;

const LAYERS: usize = 256;
/// Where the tail begins, and the area of each part, for 256 of them; from the paper.
const TAIL: f64 = 7.697_117_470_131_05;
const AREA: f64 = 0.003_949_659_822_581_557;

struct Layers {
    /// Right ends, from the base up; that of the base is what a rectangle of its area would have.
    ends: [f64; LAYERS + 1],
    /// e^-x at the right ends.
    heights: [f64; LAYERS + 1],
}

static TABLE: LazyLock<Layers> = LazyLock::new(|| {
    let mut ends = [0.0; LAYERS + 1];
    (ends[0], ends[1]) = (AREA / libm::exp(-TAIL), TAIL);
    for layer in 2..LAYERS {
        let below: f64 = ends[layer - 1];
        ends[layer] = -libm::log(AREA / below + libm::exp(-below));
    }
    Layers { ends, heights: ends.map(|end| libm::exp(-end)) }
});

/// A number in 0 <= x < 1 of 64 random bits.
#[inline]
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Draws from the exponential distribution of mean 1; `next` gives 64 random bits.
#[inline]
pub(crate) fn exponential(mut next: impl FnMut() -> u64) -> f64 {
    let table = &*TABLE;
    loop {
        let bits = next();
        // The layer and the position come from different bits of one draw.
        let layer = (bits % LAYERS as u64) as usize;
        let x = unit(bits) * table.ends[layer];
        if x < table.ends[layer + 1] {
            return x;
        }
        if layer == 0 {
            return TAIL - libm::log(1.0 - unit(next()));
        }
        let (low, high) = (table.heights[layer], table.heights[layer + 1]);
        if low + (high - low) * unit(next()) < libm::exp(-x) {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn layers_have_equal_areas() {
        for layer in 1..LAYERS {
            let height = TABLE.heights[layer + 1] - TABLE.heights[layer];
            let area = TABLE.ends[layer] * height;
            assert!((area / AREA - 1.0).abs() < 1e-9, "layer {layer} has area {area}");
        }
    }

    #[test]
    fn draws_follow_the_distribution() {
        let (draws, mut rng) = (1_000_000, Rng::new(3));
        let mut above = [0_u32; 12];
        for _ in 0..draws {
            let x = exponential(|| rng.next_u64());
            (0..12).filter(|&k| x > f64::from(k)).for_each(|k| above[k as usize] += 1);
        }
        for (k, &count) in (0..12).zip(&above) {
            let expected = f64::from(draws) * (-f64::from(k)).exp();
            let deviation = (f64::from(count) - expected) / expected.sqrt();
            assert!(deviation.abs() < 4.0, "P(X > {k}): {count} of {expected:.0} expected");
        }
    }
}
