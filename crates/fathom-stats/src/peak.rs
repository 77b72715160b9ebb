//! Is one operation of a sequence slower than its neighbours, time and again?
//!
//! What happens once in a sequence leaves no comb to be found, and a floor that differs from stretch
//! to stretch leaves no threshold. So each round is asked for a rank alone: does the latency stand
//! above those of its neighbours, all of them but one? If nothing is behind it that is rare, and a
//! single outlier decides one round and no more.

use crate::distribution::binomial_upper_tail;
use crate::{Rounds, quantile};

/// Neighbours on either side.
const SIDE: usize = 3;
/// How many of them may stand higher.
const FORGIVEN: usize = 1;
/// The share of rounds that must agree.
const AGREEING: f64 = 0.75;
/// The least share by which the typical round stands above the median of the neighbours.
const LEAST_RISE: f64 = 0.15;
/// Fewer neighbours than this leave nothing to compare with.
const FEWEST: usize = 3;

/// How often a position stood out, in rounds that may come from several matrices.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    hits: usize,
    rounds: usize,
    /// Whether at least half of the rounds are hits in each matrix by itself.
    everywhere: bool,
    /// The typical round's latency by the median of its neighbours, in the matrix where that is least.
    rise: f64,
    /// The probability that a round is a hit by chance.
    chance: f64,
}

impl Default for Tally {
    fn default() -> Self {
        Self { hits: 0, rounds: 0, everywhere: true, rise: f64::INFINITY, chance: 0.0 }
    }
}

impl Tally {
    /// Counts the rounds of one matrix in which `position` stands above its neighbours, `distance`
    /// positions apart. The first position of a round is not used as a neighbour: it takes longer, because the round starts there.
    ///
    /// Nothing is counted where there are fewer than three neighbours, or none on one of the sides.
    pub fn count(&mut self, rounds: &Rounds<'_>, position: usize, distance: usize) {
        let below = (1..=SIDE).filter_map(|step| position.checked_sub(step * distance)).filter(|&at| at > 0);
        let above = (1..=SIDE).map(|step| position + step * distance).filter(|&at| at < rounds.positions());
        let (below, above): (Vec<usize>, Vec<usize>) = (below.collect(), above.collect());
        let neighbours = below.len() + above.len();
        if below.is_empty() || above.is_empty() || neighbours < FEWEST || position >= rounds.positions() {
            return;
        }
        self.chance = self.chance.max((FORGIVEN + 1) as f64 / (neighbours + 1) as f64);
        let mut hits = 0;
        let mut ratios = Vec::with_capacity(rounds.rounds());
        for round in (0..rounds.rounds()).map(|round| rounds.round(round)) {
            let around: Vec<f64> = below.iter().chain(&above).map(|&at| round[at]).collect();
            let higher = around.iter().filter(|&&other| other >= round[position]).count();
            hits += usize::from(higher <= FORGIVEN);
            let middle = quantile::median(&around).unwrap_or(0.0).max(f64::MIN_POSITIVE);
            ratios.push(round[position] / middle);
        }
        self.hits += hits;
        self.rounds += rounds.rounds();
        self.everywhere &= 2 * hits >= rounds.rounds();
        self.rise = self.rise.min(quantile::median(&ratios).unwrap_or(0.0));
    }

    /// By which factor the position stands above its neighbours in the typical round, in the matrix
    /// where that is least; infinite where nothing was counted.
    pub fn rise(&self) -> f64 {
        self.rise
    }

    /// Whether the position stands out: in three rounds of four, and in each matrix in at least half
    /// of the rounds and by 15 % in the typical one.
    pub fn stands_out(&self) -> bool {
        let agreeing = self.rounds > 0 && self.hits as f64 >= AGREEING * self.rounds as f64;
        self.everywhere && agreeing && self.rise >= 1.0 + LEAST_RISE
    }

    /// The probability that a position which is like its neighbours is a hit so often.
    pub fn chance(&self) -> f64 {
        binomial_upper_tail(self.rounds, self.hits, self.chance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Planted, Score};

    const POSITIONS: usize = 30;
    const PLACE: usize = 12;

    /// Four matrices of eight rounds with one position that is `rise` slower than the others.
    fn tally(seed: u64, sigma: f64, rise: f64, position: usize) -> Tally {
        let mut planted = Planted::new(seed);
        let mut shape = [1000.0; POSITIONS];
        shape[PLACE] *= 1.0 + rise;
        let mut tally = Tally::default();
        for _ in 0..4 {
            let latencies = planted.rounds(&shape, 8, sigma, 0.2, 1.0);
            tally.count(&Rounds::new(&latencies, POSITIONS).unwrap(), position, 1);
        }
        tally
    }

    #[test]
    fn a_planted_peak_stands_out_and_its_neighbours_do_not() {
        let mut score = Score::default();
        for seed in 0..300 {
            let sigma = [0.05, 0.15, 0.3][seed as usize % 3];
            let others = [PLACE - 1, PLACE + 1, PLACE + 3, PLACE + 9];
            let wrong = others.iter().any(|&other| tally(seed, sigma, 0.8, other).stands_out());
            let right = tally(seed, sigma, 0.8, PLACE);
            score.count(if wrong { Some(false) } else { right.stands_out().then_some(true) });
            assert!(!right.stands_out() || right.chance() < 1e-4, "{}", right.chance());
        }
        score.assert_never_wrong("planted peaks");
    }

    #[test]
    fn nothing_stands_out_of_noise() {
        let mut score = Score::default();
        for seed in 0..2000 {
            let sigma = [0.05, 0.3, 1.5][seed as usize % 3];
            score.count(tally(seed, sigma, 0.0, PLACE).stands_out().then_some(true));
        }
        score.assert_silent("peaks of noise");
    }

    #[test]
    fn a_peak_of_one_matrix_alone_is_none() {
        let mut tally = Tally::default();
        for matrix in 0..4 {
            let mut latencies = [1000.0; POSITIONS * 8];
            latencies.iter_mut().enumerate().for_each(|(at, latency)| *latency += (at % 7) as f64);
            let place = if matrix == 2 { PLACE + 1 } else { PLACE };
            (0..8).for_each(|round| latencies[round * POSITIONS + place] = 3000.0);
            tally.count(&Rounds::new(&latencies, POSITIONS).unwrap(), PLACE, 1);
        }
        assert_eq!((tally.hits >= 24, tally.rounds, tally.stands_out()), (true, 32, false));
    }

    #[test]
    fn edges_have_too_few_neighbours() {
        let latencies = [1.0; POSITIONS];
        let rounds = Rounds::new(&latencies, POSITIONS).unwrap();
        for position in [0, 1, POSITIONS - 1, POSITIONS, POSITIONS + 5] {
            let mut tally = Tally::default();
            tally.count(&rounds, position, 1);
            assert_eq!((tally.rounds, tally.stands_out()), (0, false), "{position}");
        }
    }
}
