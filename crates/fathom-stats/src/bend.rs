//! Where the time of a call, as it grows with the call's size, changes its law.
//!
//! A call costs something before it moves the first byte, and something for each byte:
//! `time = fixed + per_byte * size`. What a byte costs may change at some sizes, where a cache no
//! longer holds the buffer or requests take another way. [`fit`] finds the fixed cost, the size at
//! which the bytes cost as much as the call itself, and the sizes at which the cost of a byte changes.

use self::law::{Law, Observed};
use crate::distribution::normal_quantile;
use crate::interval::{Estimate, Interval};
use crate::quantile::{self, MAD_TO_SIGMA};
use rand::{Rng, RngExt};

mod law;

/// The times of calls of one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The size of a call, above zero; any unit.
    pub size: f64,
    /// Time per call, one value per round, above zero; any unit.
    pub times: Vec<f64>,
}

/// Smallest change of the cost of a byte that is reported, and largest deviation from the law that is tolerated, as a
/// share: a reader would not call less a bend.
const MIN_CHANGE: f64 = 0.1;
/// How far single sizes may stand off any law (page and sector boundaries), as a standard deviation: three of them make
/// [`MIN_CHANGE`].
const WOBBLE: f64 = 0.03;
/// Fewest sizes with the same cost per unit: one size alone is no regime.
const MIN_SIZES: usize = 2;
/// Confidence level of the intervals, and the simulated repetitions behind them.
const LEVEL: f64 = 0.95;
const REPLICATES: usize = 200;

/// A law that the times follow.
#[derive(Debug, Clone, PartialEq)]
pub struct Bends {
    /// What a call costs before its first byte, in the unit of the times.
    pub fixed: Estimate,
    /// The size at which the bytes cost as much as the fixed part.
    pub half: Half,
    /// The ranges of sizes with one cost per unit of size, ascending; at least one.
    pub pieces: Vec<Piece>,
}

/// Where the fixed cost stops to dominate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Half {
    /// Here.
    At(Estimate),
    /// Below the smallest size: even there most of the time goes to the bytes.
    Below,
    /// Above the sizes of the first piece: the cost of the bytes hardly shows.
    Above,
    /// Somewhere that the data do not settle.
    Unclear,
}

/// A range of sizes with one cost per unit of size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// Index of the first of its sizes.
    pub first: usize,
    /// Index of its last size.
    pub last: usize,
    /// Time per unit of size, the fixed cost taken out.
    pub per_unit: Estimate,
}

const FEWEST_SIZES: usize = 5;
const FEWEST_ROUNDS: usize = 4;

/// Finds the law that `points`, ascending in size, keep to.
///
/// Changes of the cost are looked for in the even rounds and kept if the odd ones show them too. The
/// intervals come from simulated repetitions of the medians, each with the spread that its rounds have
/// and the wobble that the fit leaves.
///
/// # Errors
/// One sentence: nothing is told of times that keep to no such law, of fewer than 5 sizes, of sizes out of order, or of one with
/// fewer than 4 rounds.
///
/// ```
/// use fathom_stats::bend::{Half, Point, fit};
/// use rand::SeedableRng;
/// let time = |size: f64, round: u32| (200.0 + 0.1 * size) * (1.0 + 0.01 * f64::from(round % 3));
/// let points: Vec<Point> = (9..20)
///     .map(|power| f64::from(1 << power))
///     .map(|size| Point { size, times: (0..12).map(|round| time(size, round)).collect() })
///     .collect();
/// let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
/// let bends = fit(&points, &mut rng).unwrap();
/// assert!((bends.fixed.value - 200.0).abs() < 10.0);
/// assert!(matches!(bends.half, Half::At(size) if (size.value - 2000.0).abs() < 200.0));
/// assert_eq!(bends.pieces.len(), 1);
/// ```
pub fn fit(points: &[Point], rng: &mut impl Rng) -> Result<Bends, String> {
    replicated(points, REPLICATES, rng)
}

/// The same with so many simulated repetitions.
fn replicated(points: &[Point], replicates: usize, rng: &mut impl Rng) -> Result<Bends, String> {
    let ascending = points.windows(2).all(|pair| pair[0].size < pair[1].size);
    let rounds = points.iter().map(|point| point.times.len()).min().unwrap_or(0);
    if points.len() < FEWEST_SIZES || !ascending || rounds < FEWEST_ROUNDS {
        return Err("there are too few sizes or rounds to tell a law from noise".to_owned());
    }
    let half = |parity: usize| observe(points, |round| round % 2 == parity);
    let all = observe(points, |_| true);
    let starts = confirmed(law::search(&half(0)), &half(1));
    let law = Law::fit(&all, &starts);
    check(&law, &all)?;
    Ok(bends(&law, &all, points, replicates, rng))
}

/// The logs of the medians and their standard errors over the rounds that `is_kept`.
fn observe(points: &[Point], is_kept: impl Fn(usize) -> bool) -> Vec<Observed> {
    let of = |point: &Point| {
        let kept = point.times.iter().enumerate().filter(|(round, _)| is_kept(*round));
        let mut logs: Vec<f64> = kept.map(|(_, time)| time.ln()).collect();
        let count = logs.len() as f64;
        let middle = quantile::median(&logs).unwrap_or(0.0);
        let mad = quantile::mad_in_place(&mut logs).unwrap_or(0.0);
        // A median errs sqrt(pi/2) times as much as a mean; few values show too little of their
        // spread (Croux & Rousseeuw 1992, "Time-efficient algorithms for two robust estimators of scale").
        let spread = MAD_TO_SIGMA * mad * count / (count - 0.8).max(0.2);
        let error = (std::f64::consts::FRAC_PI_2 / count).sqrt() * spread;
        Observed { size: point.size, log_time: middle, error: error.max(LEAST_ERROR) }
    };
    let mut observed: Vec<Observed> = points.iter().map(of).collect();
    // A few rounds may agree by chance; a size is not trusted more than most are.
    let errors: Vec<f64> = observed.iter().map(|point| point.error).collect();
    let common = quantile::median(&errors).unwrap_or(0.0);
    observed.iter_mut().for_each(|point| point.error = point.error.max(common));
    observed
}

/// Rounds that happen to agree do not make a median exact.
const LEAST_ERROR: f64 = 0.002;

/// The starts of pieces whose change of cost the second set of rounds shows as well.
fn confirmed(mut starts: Vec<usize>, second: &[Observed]) -> Vec<usize> {
    // Joining two pieces changes the costs of their neighbours: repeat until no piece goes.
    loop {
        let law = Law::fit(second, &starts);
        let doubtful = (1..starts.len())
            .map(|piece| (piece, law.change_score(second, piece)))
            .filter(|&(piece, score)| score < CONFIRMED || law.change(piece).abs() < MIN_CHANGE)
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((piece, _)) = doubtful else { return starts };
        starts.remove(piece);
    }
}

/// How many standard errors a change of cost must be away from zero in the second set.
const CONFIRMED: f64 = 3.0;

/// Refuses a law that the medians stand off by more than it may tell, and more than noise explains.
fn check(law: &Law, all: &[Observed]) -> Result<(), String> {
    let excess = |(index, point): (usize, &Observed)| {
        let deviation = law.residual(index, point).abs();
        (deviation, deviation - MIN_CHANGE - 3.0 * point.error)
    };
    let worst = all.iter().enumerate().map(excess).max_by(|a, b| a.1.total_cmp(&b.1));
    match worst {
        Some((deviation, beyond)) if beyond > 0.0 => Err(format!(
            "the times are {:.0} % off any sum of a fixed cost and a cost per byte",
            deviation.exp_m1() * 100.0
        )),
        _ => Ok(()),
    }
}

fn bends(law: &Law, all: &[Observed], points: &[Point], replicates: usize, rng: &mut impl Rng) -> Bends {
    let residuals: Vec<f64> =
        all.iter().enumerate().map(|(index, point)| law.residual(index, point)).collect();
    let count = residuals.len() as f64;
    let freedom = (count - 1.0 - law.starts.len() as f64).max(1.0);
    let noise = all.iter().map(|point| point.error.powi(2)).sum::<f64>() / count;
    let left = residuals.iter().map(|residual| residual * residual).sum::<f64>() / freedom;
    let wobble = (left - noise).max(0.0);
    let repeated: Vec<Law> = (0..replicates)
        .map(|_| {
            let again: Vec<Observed> = all
                .iter()
                .enumerate()
                .map(|(index, point)| {
                    let uniform = rng.random_range(1e-9..1.0 - 1e-9);
                    let error = (point.error.powi(2) + wobble).sqrt() * normal_quantile(uniform);
                    Observed { log_time: law.log_time(index, point.size) + error, ..*point }
                })
                .collect();
            Law::fit(&again, &law.starts)
        })
        .collect();
    let estimate = |of: &dyn Fn(&Law) -> f64| {
        let values: Vec<f64> = repeated.iter().map(of).collect();
        let tail = 0.5 * (1.0 - LEVEL);
        let end = |p: f64| quantile::quantile(&values, p).unwrap_or(f64::NAN);
        let value = of(law);
        let interval = Interval { low: end(tail).min(value), high: end(1.0 - tail).max(value) };
        Estimate { value, interval, level: LEVEL }
    };
    let ends = law.starts.iter().skip(1).copied().chain([points.len()]);
    let pieces = law.starts.iter().zip(ends).enumerate().map(|(piece, (&first, end))| Piece {
        first,
        last: end - 1,
        per_unit: estimate(&|law: &Law| law.per_unit[piece]),
    });
    let pieces: Vec<Piece> = pieces.collect();
    let half = half(estimate(&|law: &Law| law.fixed / law.per_unit[0]), points, pieces[0].last);
    Bends { fixed: estimate(&|law: &Law| law.fixed), half, pieces }
}

fn half(size: Estimate, points: &[Point], last: usize) -> Half {
    let (smallest, largest) = (points[0].size, points[last].size);
    let Interval { low, high } = size.interval;
    if high <= smallest {
        Half::Below
    } else if low >= largest {
        Half::Above
    } else if low >= smallest && high <= largest && high <= 4.0 * low {
        Half::At(size)
    } else {
        // An end of the interval is extrapolated, or the interval says little.
        Half::Unclear
    }
}

#[cfg(test)]
mod tests;
