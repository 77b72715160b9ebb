//! The search for one period in a series of levels.

use super::{NoComb, Options};
use crate::distribution::binomial_upper_tail;
use crate::quantile;

/// Log levels along positions, and their standard errors.
pub(super) struct Series<'a> {
    pub(super) level: &'a [f64],
    pub(super) error: &'a [f64],
    /// Positions at the start that are not judged.
    pub(super) skip: usize,
    pub(super) min_teeth: usize,
    pub(super) options: &'a Options,
}

/// An accepted period.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) period: usize,
    /// The period whose blocks' interiors are the floor to measure heights over.
    pub(super) base: usize,
    pub(super) teeth: usize,
    pub(super) present: usize,
    pub(super) p_value: f64,
}

/// Share of the multiples of a period that have to be teeth.
const PRESENT_SHARE: f64 = 0.9;
/// Share from which on a period is doubtful rather than absent. More than half: of the multiples
/// of half a true period every other one is a tooth.
const DOUBTFUL_SHARE: f64 = 0.6;
/// Standard errors by which a tooth has to stand above its interior.
const ERRORS_ABOVE: f64 = 3.0;

/// Positions of the interior around `position`: the later halves of the `period`-blocks before
/// and after it, of as many blocks as it takes for six. Never `position` itself.
pub(super) fn interior(
    position: usize,
    period: usize,
    positions: usize,
    skip: usize,
) -> impl Iterator<Item = usize> {
    let later = period.div_ceil(2);
    let blocks_aside = 3usize.div_ceil(period - later);
    let block = position / period;
    (block.saturating_sub(blocks_aside)..block + blocks_aside)
        .flat_map(move |b| b * period + later..(b + 1) * period)
        .filter(move |&i| i >= skip && i < positions && i != position)
}

/// How many positions of a class stand above their interior, out of how many.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    present: usize,
    total: usize,
}

impl Tally {
    fn share(&self) -> f64 {
        self.present as f64 / self.total.max(1) as f64
    }
}

impl Series<'_> {
    /// The smallest accepted period.
    pub(super) fn search(&self) -> Result<Found, NoComb> {
        let largest_period = (self.level.len().saturating_sub(1)) / self.min_teeth;
        if largest_period < 2 {
            return Err(NoComb::TooFewTeeth { positions: self.level.len() });
        }
        let mut doubtful = None;
        let candidates = largest_period - 1;
        for period in 2..=largest_period {
            let tally = self.tally(period, self.multiples(period));
            if tally.total < self.min_teeth || tally.share() < DOUBTFUL_SHARE {
                continue;
            }
            let p_value = self.p_value(period, tally, candidates);
            if p_value > self.options.significance {
                continue;
            }
            if tally.share() < PRESENT_SHARE {
                doubtful = doubtful.or(Some(period));
                continue;
            }
            if let Some(period) = self.hidden_divisor(period) {
                return Err(NoComb::Inconsistent { period });
            }
            let Tally { present, total } = tally;
            return Ok(Found { period, base: period, teeth: total, present, p_value });
        }
        let weak = || (2..=largest_period).find(|&period| self.is_weak_comb(period));
        Err(match doubtful.or_else(weak) {
            Some(period) => NoComb::Inconsistent { period },
            None if self.is_blind() => NoComb::TooNoisy,
            None => NoComb::Absent { largest_period },
        })
    }

    fn multiples(&self, period: usize) -> impl Iterator<Item = usize> {
        let (skip, end) = (self.skip, self.level.len());
        (period..end).step_by(period).filter(move |&i| i >= skip)
    }

    /// Positions that belong to no tooth: the one after a tooth is left out where the block has
    /// others, since it is often elevated.
    fn rest(&self, period: usize) -> impl Iterator<Item = usize> {
        let spill = if period > 2 { 1 } else { 0 };
        (period.max(self.skip)..self.level.len()).filter(move |&i| i % period > spill)
    }

    fn tally(&self, period: usize, class: impl Iterator<Item = usize>) -> Tally {
        let mut scratch = Vec::new();
        let mut tally = Tally::default();
        for position in class {
            let (height, error) = self.height(position, period, &mut scratch);
            tally.total += 1;
            let enough = self.options.min_height.ln_1p().max(ERRORS_ABOVE * error);
            tally.present += usize::from(height >= enough);
        }
        tally
    }

    /// Height of a position over the interior around it in log units, and its standard error.
    fn height(&self, position: usize, period: usize, scratch: &mut Vec<f64>) -> (f64, f64) {
        scratch.clear();
        let mut variance = 0.0;
        for i in interior(position, period, self.level.len(), self.skip) {
            scratch.push(self.level[i]);
            variance += self.error[i] * self.error[i];
        }
        let count = scratch.len() as f64;
        let Some(base) = quantile::median_in_place(scratch) else {
            return (0.0, 0.0);
        };
        let base_variance = std::f64::consts::FRAC_PI_2 * variance / (count * count);
        let error = (self.error[position].powi(2) + base_variance).sqrt();
        (self.level[position] - base, error)
    }

    /// Probability of so many teeth if teeth fell anywhere at the rate of the other positions.
    fn p_value(&self, period: usize, teeth: Tally, candidates: usize) -> f64 {
        let rest = self.tally(period, self.rest(period));
        let rate = (rest.present as f64 + 1.0) / (rest.total as f64 + 2.0);
        (candidates as f64 * binomial_upper_tail(teeth.total, teeth.present, rate)).min(1.0)
    }

    /// A divisor of `period` whose other multiples are elevated too, too weakly to be accepted.
    /// The true period may then be the divisor, so `period` must not be the answer.
    fn hidden_divisor(&self, period: usize) -> Option<usize> {
        (2..=period / 2).filter(|divisor| period.is_multiple_of(*divisor)).find(|&divisor| {
            let between = || self.multiples(divisor).filter(|i| i % period != 0 && *i > period);
            let class = self.tally(period, between());
            let rest = self.tally(period, self.rest(period).filter(|i| i % divisor != 0));
            let rate = (rest.present as f64 + 1.0) / (rest.total as f64 + 2.0);
            let frequent = binomial_upper_tail(class.total, class.present, rate) < 1e-3;
            let (height, error) = self.pooled_height(period, between(), 0.5);
            frequent || height + error > self.doubtful_height()
        })
    }

    /// The height that `share` of a class stay below, and the standard error of their median.
    fn pooled_height(&self, period: usize, class: impl Iterator<Item = usize>, share: f64) -> (f64, f64) {
        let mut scratch = Vec::new();
        let (mut heights, mut variance) = (Vec::new(), 0.0);
        for position in class {
            let (height, error) = self.height(position, period, &mut scratch);
            heights.push(height);
            variance += error * error;
        }
        let error = (std::f64::consts::FRAC_PI_2 * variance).sqrt() / heights.len() as f64;
        quantile::quantile(&heights, share).map_or((0.0, 0.0), |height| (height, error))
    }

    /// As much as a class may stand out, in log units, without casting doubt on the answer that
    /// it is no comb: above the unevenness within a block, below the smallest height of interest.
    fn doubtful_height(&self) -> f64 {
        (0.6 * self.options.min_height).ln_1p()
    }

    /// Whether the multiples of `period` together stand out, though single ones do not.
    fn is_weak_comb(&self, period: usize) -> bool {
        let (height, error) = self.pooled_height(period, self.multiples(period), 1.0 - DOUBTFUL_SHARE);
        height > self.doubtful_height().max(4.0 * error)
    }

    /// Whether even many teeth together are known too poorly to show the smallest height.
    fn is_blind(&self) -> bool {
        let error = quantile::median(self.error).unwrap_or(0.0);
        let pooled = error * (std::f64::consts::FRAC_PI_2 / self.min_teeth as f64).sqrt();
        ERRORS_ABOVE * pooled > self.options.min_height.ln_1p()
    }
}
