//! The search for one period in a series of levels.

use super::{NoComb, SIGNIFICANCE};
use crate::distribution::binomial_upper_tail;
use crate::quantile;

/// Log levels along positions, and their standard errors.
pub(super) struct Series<'a> {
    pub(super) level: &'a [f64],
    pub(super) error: &'a [f64],
    /// Positions at the start that are not judged.
    pub(super) skip: usize,
    pub(super) min_period: usize,
    pub(super) min_teeth: usize,
    /// How much higher than the interior a tooth has to be, and how high may be neglected, as shares of the interior.
    pub(super) min_height: f64,
    pub(super) negligible_height: f64,
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
/// How many times as uneven as the rest of the interior a place has to be to stand out of it.
const UNEVENNESS_ABOVE: f64 = 2.0;

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

/// The later half of the `period`-block that holds `position`, without the multiples of `divisor`,
/// whose teeth may be in it: one block alone, since the next may stand on another level.
fn rest_of_block(
    position: usize,
    period: usize,
    divisor: usize,
    positions: usize,
) -> impl Iterator<Item = usize> {
    let block = position - position % period;
    (block + period.div_ceil(2)..(block + period).min(positions))
        .filter(move |&i| i != position && i % divisor != 0)
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
        if largest_period < self.min_period {
            return Err(NoComb::TooFewTeeth { positions: self.level.len() });
        }
        let mut doubtful = None;
        let candidates = largest_period + 1 - self.min_period;
        for period in self.min_period..=largest_period {
            let tally = self.tally(period, self.multiples(period));
            if tally.total < self.min_teeth || tally.share() < DOUBTFUL_SHARE {
                continue;
            }
            let p_value = self.p_value(period, tally, candidates);
            if p_value > SIGNIFICANCE {
                continue;
            }
            if tally.share() < PRESENT_SHARE {
                doubtful = doubtful.or(Some(period));
                continue;
            }
            if let Some(doubt) = self.finer_comb(period) {
                return Err(doubt);
            }
            let Tally { present, total } = tally;
            return Ok(Found { period, base: period, teeth: total, present, p_value });
        }
        if let Some(period) = doubtful {
            return Err(NoComb::Inconsistent { period });
        }
        let weak = (self.min_period..=largest_period).find_map(|period| self.weak_comb(period));
        Err(match weak {
            Some(doubt) => doubt,
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
            let enough = self.min_height.ln_1p().max(ERRORS_ABOVE * error);
            tally.present += usize::from(height >= enough);
        }
        tally
    }

    /// Height of a position over the interior around it in log units, and its standard error.
    fn height(&self, position: usize, period: usize, scratch: &mut Vec<f64>) -> (f64, f64) {
        self.height_over(position, interior(position, period, self.level.len(), self.skip), scratch)
    }

    /// Height of a position over the median of others in log units, and its standard error.
    fn height_over(
        &self,
        position: usize,
        base: impl Iterator<Item = usize>,
        scratch: &mut Vec<f64>,
    ) -> (f64, f64) {
        scratch.clear();
        let mut variance = 0.0;
        for i in base {
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

    /// Why `period` may not be the smallest one: the multiples of one of its divisors stand out
    /// between its teeth, or are known too poorly to say that they do not.
    fn finer_comb(&self, period: usize) -> Option<NoComb> {
        let mut divisors = (self.min_period..=period / 2).filter(|divisor| period.is_multiple_of(*divisor));
        divisors.find_map(|divisor| {
            let (height, error) = self.between_teeth(period, divisor);
            let negligible = self.negligible_height.ln_1p();
            let bound = height + ERRORS_ABOVE * error;
            if bound < negligible && !self.stands_out(period, divisor, height, error) {
                return None;
            }
            let blind = height < negligible && ERRORS_ABOVE * error > negligible;
            Some(if blind { NoComb::TooNoisy } else { NoComb::Inconsistent { period: divisor } })
        })
    }

    /// The median height of the multiples of `divisor` between the teeth of `period`, and its
    /// standard error. The position after a tooth is left out, since it is often elevated.
    fn between_teeth(&self, period: usize, divisor: usize) -> (f64, f64) {
        let class = self.rest(period).filter(|i| i % divisor == 0);
        self.pooled_height(class, 0.5, |i| rest_of_block(i, period, divisor, self.level.len()))
    }

    /// Whether the multiples of `divisor` differ from the rest of their blocks by more than chance
    /// and by more than any other place does: where blocks are that even, a height a good deal below
    /// the negligible one is no unevenness.
    fn stands_out(&self, period: usize, divisor: usize, height: f64, error: f64) -> bool {
        let uneven = (period.div_ceil(2)..period)
            .filter(|place| place % divisor != 0)
            .map(|place| {
                let class = (period + place..self.level.len()).step_by(period).filter(|i| *i >= self.skip);
                let base = |i| rest_of_block(i, period, divisor, self.level.len());
                let (height, error) = self.pooled_height(class, 0.5, base);
                height.abs() - 2.0 * error
            })
            .fold(0.0, f64::max);
        let least = self.negligible_height.ln_1p() / 4.0;
        height > least.max(ERRORS_ABOVE * error).max(UNEVENNESS_ABOVE * uneven)
            && !self.falls(period, divisor)
    }

    /// Whether the multiples of `divisor` lie below the position before them: teeth do not, and places of a block that gets cheaper
    /// to its end do. Those are left out that come after a tooth's own neighbour, which is often elevated.
    fn falls(&self, period: usize, divisor: usize) -> bool {
        let class = self.rest(period).filter(|i| i % divisor == 0 && i % period > 2);
        let (height, error) = self.pooled_height(class, 0.5, |i| std::iter::once(i - 1));
        height + ERRORS_ABOVE * error < 0.0
    }

    /// The height that `share` of a class stay below, and the standard error of their median.
    fn pooled_height<I: Iterator<Item = usize>>(
        &self,
        class: impl Iterator<Item = usize>,
        share: f64,
        base: impl Fn(usize) -> I,
    ) -> (f64, f64) {
        let mut scratch = Vec::new();
        let (mut heights, mut variance) = (Vec::new(), 0.0);
        for position in class {
            let (height, error) = self.height_over(position, base(position), &mut scratch);
            heights.push(height);
            variance += error * error;
        }
        let error = (std::f64::consts::FRAC_PI_2 * variance).sqrt() / heights.len() as f64;
        quantile::quantile(&heights, share).map_or((0.0, 0.0), |height| (height, error))
    }

    /// What it is if the multiples of `period` together stand out, though single ones do not.
    fn weak_comb(&self, period: usize) -> Option<NoComb> {
        let base = |i| interior(i, period, self.level.len(), self.skip);
        let (height, error) = self.pooled_height(self.multiples(period), 1.0 - DOUBTFUL_SHARE, base);
        let is_low = height + ERRORS_ABOVE * error < self.min_height.ln_1p();
        (height > self.negligible_height.ln_1p().max(4.0 * error)).then_some(if is_low {
            NoComb::TooLow { period }
        } else {
            NoComb::Inconsistent { period }
        })
    }

    /// Whether even many teeth together are known too poorly to show more than a negligible height.
    fn is_blind(&self) -> bool {
        let error = quantile::median(self.error).unwrap_or(0.0);
        let pooled = error * (std::f64::consts::FRAC_PI_2 / self.min_teeth as f64).sqrt();
        ERRORS_ABOVE * pooled > self.negligible_height.ln_1p()
    }
}
