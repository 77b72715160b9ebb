//! Sides measured in turns, and the ratio of two sides' medians.

use fathom_stats::interval::{Estimate, Method, bootstrap};
use fathom_stats::quantile::median;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// Takes `turns` figures of each side, each turn in a random order, so that a change of the clock rate or a
/// busy neighbour meets all alike.
pub(crate) fn in_turns(
    turns: usize,
    sides: usize,
    generator: &mut Pcg64Mcg,
    mut figure: impl FnMut(usize) -> Result<f64, String>,
) -> Result<Vec<Vec<f64>>, String> {
    let mut taken = vec![Vec::with_capacity(turns); sides];
    let mut order: Vec<usize> = (0..sides).collect();
    for _ in 0..turns {
        order.shuffle(generator);
        for &side in &order {
            taken[side].push(figure(side)?);
        }
    }
    Ok(taken)
}

/// The ratio of the medians; the interval draws turns anew, since both sides of a turn share their noise.
pub(crate) fn ratio(ours: &[f64], theirs: &[f64], generator: &mut Pcg64Mcg) -> Result<Estimate, String> {
    let turns: Vec<f64> = (0..ours.len()).map(|turn| turn as f64).collect();
    let of = |side: &[f64], chosen: &[f64]| {
        let drawn: Vec<f64> = chosen.iter().map(|&turn| side[turn as usize]).collect();
        median(&drawn).unwrap_or(f64::NAN)
    };
    let statistic = |chosen: &[f64]| of(ours, chosen) / of(theirs, chosen);
    let ratio = bootstrap(&turns, statistic, 0.95, 2000, Method::Percentile, generator);
    ratio.ok_or_else(|| "there is no interval".to_owned())
}
