//! Sides measured in turns.

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
