//! Two sides measured in turns, and the ratio of their medians.

use fathom_stats::interval::{Estimate, Method, bootstrap};
use fathom_stats::quantile::median;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// One figure per turn of each side.
#[derive(Default)]
pub(crate) struct Pairs {
    pub(crate) ours: Vec<f64>,
    pub(crate) theirs: Vec<f64>,
}

impl Pairs {
    /// Takes `turns` figures of both sides, each turn in a random order, so that a change of the clock rate
    /// or a busy neighbour meets both alike.
    pub(crate) fn take(
        turns: usize,
        generator: &mut Pcg64Mcg,
        mut ours: impl FnMut() -> Result<f64, String>,
        mut theirs: impl FnMut() -> Result<f64, String>,
    ) -> Result<Self, String> {
        let mut pairs = Self::default();
        for _ in 0..turns {
            if generator.random::<bool>() {
                pairs.ours.push(ours()?);
                pairs.theirs.push(theirs()?);
            } else {
                pairs.theirs.push(theirs()?);
                pairs.ours.push(ours()?);
            }
        }
        Ok(pairs)
    }

    /// The ratio of the medians, ours to theirs; the interval draws pairs anew, since both sides of a pair
    /// share their noise.
    pub(crate) fn ratio(&self, generator: &mut Pcg64Mcg) -> Option<Estimate> {
        let turns: Vec<f64> = (0..self.ours.len()).map(|turn| turn as f64).collect();
        let of = |side: &[f64], chosen: &[f64]| {
            let drawn: Vec<f64> = chosen.iter().map(|&turn| side[turn as usize]).collect();
            median(&drawn).unwrap_or(f64::NAN)
        };
        let statistic = |chosen: &[f64]| of(&self.ours, chosen) / of(&self.theirs, chosen);
        bootstrap(&turns, statistic, 0.95, 2000, Method::Percentile, generator)
    }
}
