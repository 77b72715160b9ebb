//! The generator that jobs draw with.

/// SplitMix64 (Steele, Lea and Flood 2014): one multiplication chain per draw, any seed is good.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Self(seed);
        dice.draw();
        dice
    }

    #[inline(always)]
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number above 0 and below 1: the highest 53 bits, as many as a float has; never zero, whose logarithm is none.
    pub(crate) fn share(&mut self) -> f64 {
        ((self.draw() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A number below `end`; the bias is below `end / 2^64` (Lemire 2019).
    #[inline(always)]
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(end)) >> 64) as u64
    }
}
