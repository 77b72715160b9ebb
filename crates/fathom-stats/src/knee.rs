//! Whether the cost of a unit grows once an operation is larger than something, and from where on.
//!
//! Made for copies: as long as a buffer fits into a cache of the processor a byte costs one price,
//! beyond it another. Three laws are held against each other:
//!
//! - a straight line: so much for the operation and so much for each unit;
//! - the law of paper E, section 5.5: each unit *beyond* the knee costs more, those before it do not,
//!   so that the mean cost follows t(x);
//! - a ramp: once the operation is larger than the knee *all* its units cost more, the more so the
//!   larger it is, up to some multiple of the knee. That is what a cache does that keeps what was used
//!   last and is walked through in order.
//!
//! All are linear in their costs once the knee is given, so that a knee is tried at each place.

use crate::quantile;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    /// The size from which on a unit costs more, in the unit of the sizes.
    pub at: f64,
    /// The lowest and the highest that either half of the data gives, and half a step of the search.
    pub interval: [f64; 2],
    /// By which share of itself the cost of a unit has grown at the largest size.
    pub rise: f64,
    /// Whether paper E's law describes it better than a ramp.
    pub is_paper_e: bool,
    /// How far each law misses data that it was not fitted to, as a share: the root of the mean square.
    pub misses: Misses,
}

/// How far laws miss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Misses {
    /// The straight line.
    pub line: f64,
    /// Paper E's t(x).
    pub paper_e: f64,
    /// The ramp.
    pub ramp: f64,
}

/// What the data say.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// There is a knee.
    Knee(Knee),
    /// There is none that would matter: the best bent law departs nowhere by [`LEAST_DEPARTURE`] from
    /// the straight one.
    None(Misses),
    /// The data do not tell; why.
    Unclear(&'static str),
}

/// A rise below this share is none that anybody would choose a size by.
pub const LEAST_RISE: f64 = 0.1;
/// A bend that departs nowhere by this share from the straight line is none that matters: a rise of
/// [`LEAST_RISE`] in the middle of the sizes departs by a third of it.
pub const LEAST_DEPARTURE: f64 = 0.03;
/// A bent law must miss new data by less than this share of what a straight one misses, squares compared.
const CLEARLY_BETTER: f64 = 0.5;
/// Knees that two halves of the data give may lie apart by this factor.
const APART: f64 = 2.0;
/// Knees are tried in steps of this factor.
const STEP: f64 = 1.189_207_115_002_721;
/// A ramp ends at one of these multiples of the knee.
const WIDTHS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// The dearest operation must take this many times as long as the cheapest, or size has no cost.
const FEWEST_TIMES: f64 = 8.0;
/// Fewest rounds in each half.
const FEWEST_ROUNDS: usize = 4;

/// Looks for a knee in `rounds` of costs, each with one positive cost for each of the ascending `sizes`.
///
/// The first half of the rounds confirms the second: laws are fitted to the medians of one and judged
/// by the medians of the other, both ways.
pub fn find(sizes: &[f64], rounds: &[Vec<f64>]) -> Verdict {
    if rounds.len() < 2 * FEWEST_ROUNDS || sizes.len() < 8 {
        return Verdict::Unclear("there are too few rounds");
    }
    let Some(rounds) = at_one_pace(rounds, sizes.len()) else {
        return Verdict::Unclear("a round lacks a size, or a cost is not positive");
    };
    let (early, late) = rounds.split_at(rounds.len() / 2);
    let halves = [medians(early, sizes.len()), medians(late, sizes.len())];
    let all = medians(&rounds, sizes.len());
    if halves.iter().any(|half| half[sizes.len() - 1] < FEWEST_TIMES * half[0]) {
        return Verdict::Unclear("operations take hardly longer the larger they are");
    }
    let found: Option<Vec<Fitted>> = halves.iter().map(|half| best(sizes, half, |_| true)).collect();
    let (Some(found), Some(whole), Some(misses)) =
        (found, best(sizes, &all, |_| true), crossed(sizes, &halves))
    else {
        return Verdict::Unclear("no law with costs that make sense fits");
    };
    let bent = misses.paper_e.min(misses.ramp);
    let is_better = bent * bent < CLEARLY_BETTER * misses.line * misses.line;
    let knees = [found[0].bend.at, found[1].bend.at, whole.bend.at];
    let low = knees.iter().copied().fold(f64::INFINITY, f64::min);
    let high = knees.iter().copied().fold(0.0, f64::max);
    let rises = found.iter().zip(&halves).all(|(law, half)| {
        law.rise >= LEAST_RISE && rise_without_law(sizes, half, law.bend.at) >= LEAST_RISE
    });
    if is_better && rises {
        if high > APART * low {
            return Verdict::Unclear("two halves of the samples show knees in different places");
        }
        return Verdict::Knee(Knee {
            at: whole.bend.at,
            interval: [low / STEP, high * STEP],
            rise: whole.rise,
            is_paper_e: misses.paper_e <= misses.ramp,
            misses,
        });
    }
    if found.iter().all(|law| law.departure < LEAST_DEPARTURE) && misses.line < LEAST_RISE / 2.0 {
        return Verdict::None(misses);
    }
    Verdict::Unclear("neither a straight law nor a bent one describes the costs well enough")
}

/// By which share a unit of the two largest operations costs more than one of a typical operation up to
/// the knee, all counted: laws that split a cost in vain must not invent a rise.
fn rise_without_law(sizes: &[f64], costs: &[f64], knee: f64) -> f64 {
    let each: Vec<f64> = sizes.iter().zip(costs).map(|(size, cost)| cost / size).collect();
    let before = sizes.partition_point(|&size| size <= knee);
    let large = quantile::median(&each[sizes.len() - 2..]);
    match (large, quantile::median(&each[..before])) {
        (Some(large), Some(small)) => large / small - 1.0,
        _ => f64::NAN,
    }
}

/// The rounds without what a faster or slower machine multiplies a whole round with.
fn at_one_pace(rounds: &[Vec<f64>], sizes: usize) -> Option<Vec<Vec<f64>>> {
    let sound = |round: &Vec<f64>| round.len() == sizes && round.iter().all(|&cost| cost > 0.0);
    if !rounds.iter().all(sound) {
        return None;
    }
    let typical = medians(rounds, sizes);
    let paced = |round: &Vec<f64>| {
        let ratios: Vec<f64> = round.iter().zip(&typical).map(|(cost, typical)| cost / typical).collect();
        let pace = quantile::median(&ratios)?;
        Some(round.iter().map(|cost| cost / pace).collect())
    };
    rounds.iter().map(paced).collect()
}

/// Where and how costs bend.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bend {
    at: f64,
    /// The ramp's width as a factor; none for paper E's law.
    width: Option<f64>,
}

/// A law with its costs: of the operation, of a unit, and what comes on top where it bends.
#[derive(Debug, Clone, Copy)]
struct Fitted {
    bend: Bend,
    costs: [f64; 3],
    /// Mean square of the residuals, as shares.
    error: f64,
    /// By which share of itself the cost of a unit has grown at the largest size.
    rise: f64,
    /// How far the law is from the best straight one, at most, as a share.
    departure: f64,
}

impl Bend {
    /// What the extra cost is multiplied with.
    fn extra(self, size: f64) -> f64 {
        match self.width {
            None => (size - self.at).max(0.0),
            Some(width) if size <= self.at => 0.0 * width,
            Some(width) if size >= self.at * width => size,
            Some(width) => size * (size / self.at).ln() / width.ln(),
        }
    }
}

/// The bent law that fits best.
fn best(sizes: &[f64], costs: &[f64], wanted: impl Fn(Bend) -> bool) -> Option<Fitted> {
    let last = *sizes.last()?;
    let straight: Vec<[f64; 2]> = sizes.iter().map(|&size| [1.0, size]).collect();
    let line = relative_fit(&straight, costs)?;
    // Three sizes before the knee and two behind it, or it would be drawn through single ones.
    let (from, until) = (sizes[2], sizes[sizes.len() - 3]);
    let knees = std::iter::successors(Some(from), |at| Some(at * STEP)).take_while(|&at| at <= until);
    let bends = knees.flat_map(|at| {
        let ramps = WIDTHS.into_iter().filter(move |width| at * width <= last);
        std::iter::once(Bend { at, width: None })
            .chain(ramps.map(move |width| Bend { at, width: Some(width) }))
    });
    bends
        .filter(|&bend| wanted(bend))
        .filter_map(|bend| {
            let rows: Vec<[f64; 3]> = sizes.iter().map(|&size| [1.0, size, bend.extra(size)]).collect();
            let fitted = relative_fit(&rows, costs)?;
            let error = mean_square(&rows, costs, fitted);
            let rise = fitted[2] * bend.extra(last) / last / fitted[1];
            let apart = |(row, straight): (&[f64; 3], &[f64; 2])| {
                (predicted(row, fitted) / predicted(straight, line) - 1.0).abs()
            };
            let departure = rows.iter().zip(&straight).map(apart).fold(0.0, f64::max);
            // Neither a call nor a unit costs less than nothing.
            (fitted[0] >= 0.0 && fitted[1] > 0.0).then_some(Fitted {
                bend,
                costs: fitted,
                error,
                rise,
                departure,
            })
        })
        .min_by(|one, other| one.error.total_cmp(&other.error))
}

/// How far each law, fitted to one half, misses the other.
fn crossed(sizes: &[f64], halves: &[Vec<f64>; 2]) -> Option<Misses> {
    let mut squares = [0.0; 3];
    for (fit, judge) in [(&halves[0], &halves[1]), (&halves[1], &halves[0])] {
        let line: Vec<[f64; 2]> = sizes.iter().map(|&size| [1.0, size]).collect();
        squares[0] += mean_square(&line, judge, relative_fit(&line, fit)?) / 2.0;
        let laws =
            [best(sizes, fit, |bend| bend.width.is_none())?, best(sizes, fit, |bend| bend.width.is_some())?];
        for (square, law) in squares[1..].iter_mut().zip(laws) {
            let rows: Vec<[f64; 3]> = sizes.iter().map(|&size| [1.0, size, law.bend.extra(size)]).collect();
            *square += mean_square(&rows, judge, law.costs) / 2.0;
        }
    }
    Some(Misses { line: squares[0].sqrt(), paper_e: squares[1].sqrt(), ramp: squares[2].sqrt() })
}

fn medians(rounds: &[Vec<f64>], sizes: usize) -> Vec<f64> {
    let of = |size: usize| quantile::median(&rounds.iter().map(|round| round[size]).collect::<Vec<_>>());
    (0..sizes).map(|size| of(size).unwrap_or(f64::NAN)).collect()
}

fn mean_square<const N: usize>(rows: &[[f64; N]], costs: &[f64], fitted: [f64; N]) -> f64 {
    let missed = rows.iter().zip(costs).map(|(row, cost)| (predicted(row, fitted) / cost - 1.0).powi(2));
    missed.sum::<f64>() / rows.len() as f64
}

fn predicted<const N: usize>(row: &[f64; N], costs: [f64; N]) -> f64 {
    row.iter().zip(costs).map(|(term, cost)| term * cost).sum()
}

/// Least squares of residuals as shares, by the normal equations with Gauss' elimination.
fn relative_fit<const N: usize>(rows: &[[f64; N]], costs: &[f64]) -> Option<[f64; N]> {
    let mut left = [[0.0; N]; N];
    let mut right = [0.0; N];
    // Sizes span decades: columns are brought to one scale first.
    let scale: [f64; N] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column]).fold(0.0, f64::max));
    if costs.iter().any(|cost| cost.is_nan() || *cost <= 0.0) || scale.iter().any(|&most| most <= 0.0) {
        return None;
    }
    for (row, &cost) in rows.iter().zip(costs) {
        let weighted: [f64; N] = std::array::from_fn(|column| row[column] / scale[column] / cost);
        for at in 0..N {
            right[at] += weighted[at];
            for other in 0..N {
                left[at][other] += weighted[at] * weighted[other];
            }
        }
    }
    solve(left, right).map(|solved| std::array::from_fn(|column| solved[column] / scale[column]))
}

fn solve<const N: usize>(mut left: [[f64; N]; N], mut right: [f64; N]) -> Option<[f64; N]> {
    for pivot in 0..N {
        let largest = (pivot..N).max_by(|&a, &b| left[a][pivot].abs().total_cmp(&left[b][pivot].abs()))?;
        left.swap(pivot, largest);
        right.swap(pivot, largest);
        if left[pivot][pivot].abs() < 1e-300 {
            return None;
        }
        for row in pivot + 1..N {
            let share = left[row][pivot] / left[pivot][pivot];
            let above = left[pivot];
            left[row].iter_mut().zip(above).for_each(|(value, above)| *value -= share * above);
            right[row] -= share * right[pivot];
        }
    }
    let mut solved = [0.0; N];
    for row in (0..N).rev() {
        let known: f64 = (row + 1..N).map(|column| left[row][column] * solved[column]).sum();
        solved[row] = (right[row] - known) / left[row][row];
    }
    Some(solved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    fn sizes() -> Vec<f64> {
        (0..23).map(|half| (4096.0 * 2_f64.powf(f64::from(half) / 2.0) / 4096.0).round() * 4096.0).collect()
    }

    fn rounds(seed: u64, sigma: f64, cost: impl Fn(f64) -> f64) -> Vec<Vec<f64>> {
        let mut planted = Planted::new(seed);
        // Each cost is itself a median of several.
        let round = |_| {
            let pace = planted.lognormal(sigma);
            sizes().into_iter().map(|size| pace * cost(size) * planted.lognormal(sigma / 2.0)).collect()
        };
        (0..24).map(round).collect()
    }

    fn paper_e(size: f64) -> f64 {
        400.0 + 0.1 * size + 0.1 * (size - 262_144.0).max(0.0)
    }

    #[test]
    fn knees_of_both_laws_are_found_and_told_apart() {
        let step = |size: f64| 400.0 + if size > 524_288.0 { 0.16 } else { 0.1 } * size;
        for seed in 0..40 {
            let Verdict::Knee(knee) = find(&sizes(), &rounds(seed, 0.05, paper_e)) else {
                panic!("{:?}", find(&sizes(), &rounds(seed, 0.05, paper_e)))
            };
            assert!(knee.interval[0] <= 262_144.0 && 262_144.0 <= knee.interval[1], "{seed}: {knee:?}");
            let Verdict::Knee(knee) = find(&sizes(), &rounds(seed, 0.05, step)) else { panic!("no knee") };
            assert!(
                !knee.is_paper_e && knee.interval[0] <= 724_077.0 && 524_288.0 <= knee.interval[1],
                "{knee:?}"
            );
        }
    }

    #[test]
    fn a_straight_line_has_no_knee_and_noise_tells_nothing() {
        for seed in 0..40 {
            let straight = find(&sizes(), &rounds(seed, 0.05, |size| 400.0 + 0.1 * size));
            assert!(matches!(straight, Verdict::None(_)), "{straight:?}");
            let noise = find(&sizes(), &rounds(seed, 1.0, |_| 400.0));
            assert!(matches!(noise, Verdict::Unclear(_)), "{noise:?}");
        }
    }
}
