//! Nested periods ("combs") in the latencies of a sequence of equal small operations.
//!
//! Small appends cost more when they open a block, and more again when they open a page. Over the
//! positions of the sequence that draws a comb: teeth at every multiple of the block, taller teeth
//! at every multiple of the page. [`find`] reads both periods off the latencies of the sequence
//! repeated for several rounds.
//!
//! The method works on the log latency of each position, the midmean over rounds taken after each
//! round is divided by its own median: that is blind to outliers, to bursts that hit neighbouring
//! samples of one round, and to drift over rounds. A position is a *tooth* of the period k if it
//! stands above the interior of the blocks around it (their later halves, because the operation
//! after a tooth is often elevated too) by at least `MIN_HEIGHT` and by three standard
//! errors. Comparing with the neighbourhood makes it blind to drift within a round as well. The
//! period is accepted if at least 90 % of its multiples are teeth, if that many would be
//! implausible given how often other positions look like teeth (a binomial test, corrected for
//! the number of periods tried), and if the interior is shown to hide no weaker comb at a divisor of k.
//! The taller comb is the same search over the heights of the teeth.
//!
//! The test against the rate of look-alikes among the other positions is what makes isolated
//! peaks, which recur in every round, no comb.

mod profile;
mod search;

use crate::interval::{Estimate, median_interval};
use crate::matrix::Rounds;
use crate::quantile;
use profile::Profile;
use search::{Found, Series};

/// Confidence level of the heights' intervals.
const LEVEL: f64 = 0.95;
/// Smallest effect of interest: how much higher than the interior a tooth has to be, as a share of the interior. System
/// calls are uneven by 1 to 3 % within a block for reasons of alignment, and a real tooth costs a tenth more at the least
/// (xfs), less where cost falls with it.
const MIN_HEIGHT: f64 = 0.06;
/// Fewest teeth of the fundamental comb, and of the taller one.
const MIN_TEETH: usize = 8;
const MIN_TALLER_TEETH: usize = 5;
/// Positions at the start that are not judged: the first operations pay for setting up the file.
const SKIP: usize = 4;
/// Largest probability, corrected for the periods tried, that chance made the comb.
const SIGNIFICANCE: f64 = 1e-3;

/// What counts as a comb.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// What has to be excluded before a period is called the smallest, or absent: the multiples of
    /// a finer one may not be higher than this, as a share of the interior, at three standard
    /// errors. Default 0.02: within blocks, the places where a finer block would begin differ by
    /// less than 1 % on the file systems that were measured, and finer blocks cost 10 % and more.
    pub negligible_height: f64,
    /// Smallest period that is looked for, in positions. Default 2, the smallest that can be seen.
    pub min_period: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { negligible_height: 0.02, min_period: 2 }
    }
}

/// One period and its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comb {
    /// Distance between teeth, in positions.
    pub period: usize,
    /// Latency of a tooth over the latency of the interior of its neighbourhood: the median over
    /// teeth within a round, then over rounds. For the fundamental comb the teeth that belong to
    /// the taller comb are left out.
    pub height_ratio: Estimate,
    /// Number of multiples of the period that were judged.
    pub teeth: usize,
    /// How many of them are teeth.
    pub present: usize,
    /// Probability that as many teeth arise by chance, corrected for the periods tried.
    pub p_value: f64,
}

impl Comb {
    /// `1 - p_value`.
    pub fn confidence(&self) -> f64 {
        1.0 - self.p_value
    }
}

/// The combs of a sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Combs {
    /// The comb with the smallest period.
    pub fundamental: Comb,
    /// The comb of taller teeth among the fundamental's; its period is in positions too, a
    /// multiple of the fundamental's, and its height is over the interior. `Err` says why none was
    /// found; only [`NoComb::Absent`] says that there is none to find.
    pub taller: Result<Comb, NoComb>,
}

/// Why no comb was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
pub enum NoComb {
    /// Fewer than 8 rounds, or too few for the level of the interval.
    #[strum(to_string = "{rounds} rounds are too few")]
    TooFewRounds {
        /// How many rounds there are.
        rounds: usize,
    },
    /// The sequence is too short to hold enough teeth even of the shortest period.
    #[strum(to_string = "{positions} positions are too few to hold enough peaks")]
    TooFewTeeth {
        /// How many positions (for the taller comb: teeth of the fundamental) there are.
        positions: usize,
    },
    /// The positions are too noisy to see a tooth of the smallest height of interest: more rounds
    /// are needed.
    #[strum(to_string = "noise hides peaks of the smallest height of interest")]
    TooNoisy,
    /// No period up to the largest tried has teeth of the smallest height of interest.
    #[strum(to_string = "no peaks recur with a period of up to {largest_period} positions")]
    Absent {
        /// The largest period that was tried, in positions.
        largest_period: usize,
    },
    /// Something recurs at this period, and more rounds would make it no higher than the smallest height of interest.
    #[strum(to_string = "the peaks at a period of {period} positions are too low")]
    TooLow {
        /// The period, in positions.
        period: usize,
    },
    /// Something recurs at this period, but not regularly enough for an answer: teeth are
    /// missing, or a weaker comb shows between the teeth.
    #[strum(to_string = "the peaks at a period of {period} positions are irregular")]
    Inconsistent {
        /// The doubtful period, in positions.
        period: usize,
    },
}

/// Finds the fundamental comb and the taller comb in `latencies` (rounds by positions, any unit).
///
/// Every integer period from the smallest wanted to about a ninth of the positions is tried, and the smallest that
/// is accepted is the fundamental. A period of 1 (every operation a tooth) cannot be seen.
///
/// # Errors
/// [`NoComb`] if there is no fundamental comb to be found, with the reason.
///
/// ```
/// use fathom_stats::{comb, Rounds};
/// // Every fourth operation costs double, every sixteenth triple.
/// let one_round = |i: usize| if i % 16 == 0 { 3000.0 } else if i % 4 == 0 { 2000.0 } else { 1000.0 };
/// let latencies: Vec<f64> = (0..10 * 256).map(|i| one_round(i % 256)).collect();
/// let combs = comb::find(&Rounds::new(&latencies, 256).unwrap(), &comb::Options::default()).unwrap();
/// assert_eq!(combs.fundamental.period, 4);
/// assert_eq!(combs.taller.unwrap().period, 16);
/// assert!((combs.fundamental.height_ratio.value - 2.0).abs() < 1e-9);
/// ```
pub fn find(latencies: &Rounds, options: &Options) -> Result<Combs, NoComb> {
    let rounds = latencies.rounds();
    if rounds < FEWEST_ROUNDS {
        return Err(NoComb::TooFewRounds { rounds });
    }
    let profile = Profile::new(latencies);
    let series = Series {
        level: &profile.level,
        error: &profile.error,
        skip: SKIP,
        min_period: options.min_period.max(2),
        min_teeth: MIN_TEETH,
        min_height: MIN_HEIGHT,
        negligible_height: options.negligible_height,
    };
    let fundamental = series.search()?;
    let taller = find_taller(&profile, fundamental.period);
    let tall_period = taller.as_ref().map_or(usize::MAX, |found| found.period);
    let measured = |found: &Found, except: usize| {
        measure(&profile, found, except).ok_or(NoComb::TooFewRounds { rounds })
    };
    Ok(Combs {
        fundamental: measured(&fundamental, tall_period)?,
        taller: taller.and_then(|found| measured(&found, usize::MAX)),
    })
}

/// Below this the error of a position's median is not worth estimating.
const FEWEST_ROUNDS: usize = 8;

/// Searches the heights of the fundamental's teeth for a period; answers in positions.
fn find_taller(profile: &Profile, fundamental: usize) -> Result<Found, NoComb> {
    let every = |values: &[f64]| values.iter().copied().step_by(fundamental).collect::<Vec<_>>();
    let (level, error) = (every(&profile.level), every(&profile.error));
    let teeth = Series {
        level: &level,
        error: &error,
        skip: SKIP.div_ceil(fundamental),
        min_period: 2,
        min_teeth: MIN_TALLER_TEETH,
        // Teeth are few and differ for many reasons: only heights of interest are looked for.
        min_height: 0.10,
        negligible_height: 0.06,
    };
    match teeth.search() {
        Ok(found) => Ok(Found { period: found.period * fundamental, base: fundamental, ..found }),
        Err(NoComb::Absent { largest_period }) => {
            Err(NoComb::Absent { largest_period: largest_period * fundamental })
        }
        Err(NoComb::Inconsistent { period }) => Err(NoComb::Inconsistent { period: period * fundamental }),
        Err(NoComb::TooLow { period }) => Err(NoComb::TooLow { period: period * fundamental }),
        Err(other) => Err(other),
    }
}

/// The height of the teeth of `found` that are no multiples of `except`, with its interval. The
/// rounds are the independent samples: within a round the bases of neighbouring teeth overlap.
fn measure(profile: &Profile, found: &Found, except: usize) -> Option<Comb> {
    let positions = profile.level.len();
    let mut scratch = Vec::new();
    let teeth: Vec<usize> = (1..)
        .map(|j| j * found.period)
        .take_while(|&tooth| tooth < positions)
        .filter(|tooth| *tooth >= SKIP && tooth % except != 0)
        .collect();
    let bases: Vec<Vec<usize>> =
        teeth.iter().map(|&tooth| search::interior(tooth, found.base, positions, SKIP).collect()).collect();
    let heights: Vec<f64> = (0..profile.rounds())
        .filter_map(|round| {
            let row = profile.round(round);
            let mut height_of = |(tooth, base): (&usize, &Vec<usize>)| {
                scratch.clear();
                scratch.extend(base.iter().map(|&i| row[i]));
                quantile::median_in_place(&mut scratch).map(|interior| row[*tooth] - interior)
            };
            let mut heights: Vec<f64> = teeth.iter().zip(&bases).filter_map(&mut height_of).collect();
            quantile::median_in_place(&mut heights)
        })
        .collect();
    Some(Comb {
        period: found.period,
        height_ratio: median_interval(&heights, LEVEL)?.map(f64::exp),
        teeth: found.teeth,
        present: found.present,
        p_value: found.p_value,
    })
}

#[cfg(test)]
mod tests;
