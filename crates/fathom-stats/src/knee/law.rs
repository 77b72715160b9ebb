//! Costs over sizes with their errors, and the laws that are fitted to them.

use crate::quantile::{self, MAD_TO_SIGMA};

/// Two-sided 95 % of Student's t at eight degrees of freedom, which is about what the errors rest on.
const ERRORS_WIDE: f64 = 2.306;
/// 95 % of chi squared with one degree of freedom: how much worse a law fits whose knee may be the true one.
const HARDLY_WORSE: f64 = 3.841;
/// What the median absolute deviation of five values lacks of that of many (Croux & Rousseeuw 1992).
const FEW_VALUES: f64 = 1.206;
/// The standard error of a median over that of a mean.
const MEDIAN_TO_MEAN: f64 = 1.253;
/// No law is followed more closely than this, as a share of the cost.
const NO_LAW: f64 = 0.01;
/// Knees are tried in steps of this factor, the eighth root of 2.
const STEP: f64 = 1.090_507_732_665_257_7;
/// A ramp ends at one of these multiples of the knee, the last of which is beyond all sizes: it does not end.
const WIDTHS: [f64; 4] = [2.0, 4.0, 8.0, f64::INFINITY];
/// What a ramp without an end is measured by.
const MOST: f64 = 64.0;
/// What comes before a knee is followed back as long as a unit costs no more than this factor of its least:
/// there the price of the operation is the only thing that falls.
const FALLEN: f64 = 1.25;
/// Sizes before a knee and behind it, or it would be drawn through single ones.
const BEFORE: usize = 3;
const BEHIND: usize = 2;

/// What a unit costs at each size.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    pub(super) sizes: Vec<f64>,
    /// Logarithms of the costs of a unit.
    pub(super) logs: Vec<f64>,
    /// Their standard errors.
    errors: Vec<f64>,
}

/// A pair of sizes, and what a unit of the larger one costs more at least, as a logarithm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proof {
    pub(super) pair: [usize; 2],
    pub(super) low: f64,
}

impl Curve {
    /// The medians of several curves, without what a faster or slower machine multiplies a whole curve with.
    pub(super) fn of(sizes: &[f64], costs: &[Vec<f64>]) -> Option<Self> {
        let sound = |curve: &Vec<f64>| curve.len() == sizes.len() && curve.iter().all(|&cost| cost > 0.0);
        if !costs.iter().all(sound) {
            return None;
        }
        let mut curves: Vec<Vec<f64>> = costs
            .iter()
            .map(|curve| curve.iter().zip(sizes).map(|(cost, size)| (cost / size).ln()).collect())
            .collect();
        let typical = medians(&curves)?;
        for curve in &mut curves {
            let pace = offset(curve, &typical)?;
            curve.iter_mut().for_each(|log| *log -= pace);
        }
        let logs = medians(&curves)?;
        let away = |at: usize| curves.iter().map(|curve| (curve[at] - logs[at]).abs()).collect::<Vec<f64>>();
        let error = |at: usize| {
            // Neighbours are measured alike, and few values tell little of how they spread.
            let beside = at.saturating_sub(1)..(at + 2).min(sizes.len());
            let spread =
                MAD_TO_SIGMA * FEW_VALUES * quantile::median(&beside.flat_map(away).collect::<Vec<_>>())?;
            Some(spread * MEDIAN_TO_MEAN / (curves.len() as f64).sqrt())
        };
        let errors = (0..sizes.len()).map(error).collect::<Option<_>>()?;
        Some(Self { sizes: sizes.to_vec(), logs, errors })
    }

    /// The mean of both. Where they differ by more than their errors say, what is common to one of them alone
    /// has moved it, and their difference is the error.
    pub(super) fn with(&self, other: &Self) -> Self {
        let pace = offset(&self.logs, &other.logs).unwrap_or(0.0);
        let pairs = || self.logs.iter().zip(&other.logs).map(|(one, two)| (one, two + pace));
        let errors = self.errors.iter().zip(&other.errors).zip(pairs());
        Self {
            sizes: self.sizes.clone(),
            logs: pairs().map(|(one, two)| one.midpoint(two)).collect(),
            errors: errors
                .map(|((a, b), (one, two))| (a.hypot(*b) / 2.0).max((one - two).abs() / 2.0))
                .collect(),
        }
    }

    /// The logarithm of what a unit of the second size costs over one of the first: least, estimate, most.
    pub(super) fn rise(&self, [from, to]: [usize; 2]) -> [f64; 3] {
        let rise = self.logs[to] - self.logs[from];
        let error = ERRORS_WIDE * self.errors[from].hypot(self.errors[to]);
        [rise - error, rise, rise + error]
    }

    fn pairs(&self) -> impl Iterator<Item = [usize; 2]> {
        let sizes = self.sizes.len();
        (0..sizes).flat_map(move |from| (from + 1..sizes).map(move |to| [from, to]))
    }

    /// The pair whose rise is proven to be the largest.
    pub(super) fn proven_rise(&self) -> Proof {
        let proofs = self.pairs().map(|pair| Proof { pair, low: self.rise(pair)[0] });
        proofs.max_by(|one, other| one.low.total_cmp(&other.low)).unwrap_or(Proof { pair: [0, 0], low: 0.0 })
    }

    /// The most that any pair may rise by.
    pub(super) fn most_rise(&self) -> f64 {
        self.pairs().map(|pair| self.rise(pair)[2]).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The first of the sizes from which on a unit costs hardly more than at `least`.
    pub(super) fn settled(&self, least: usize) -> usize {
        let far = |&at: &usize| self.logs[at] > self.logs[least] + FALLEN.ln();
        (0..least).rev().find(far).map_or(0, |at| at + 1)
    }

    /// The same without the sizes before `first`.
    pub(super) fn since(&self, first: usize) -> Self {
        let cut = |values: &[f64]| values[first..].to_vec();
        Self { sizes: cut(&self.sizes), logs: cut(&self.logs), errors: cut(&self.errors) }
    }
}

/// By how much one curve lies above another.
fn offset(one: &[f64], other: &[f64]) -> Option<f64> {
    quantile::median(&one.iter().zip(other).map(|(one, other)| one - other).collect::<Vec<_>>())
}

fn medians(curves: &[Vec<f64>]) -> Option<Vec<f64>> {
    let sizes = curves.first()?.len();
    (0..sizes).map(|at| quantile::median(&curves.iter().map(|curve| curve[at]).collect::<Vec<_>>())).collect()
}

/// How costs grow.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Line,
    /// Paper E's t(x) from here on.
    PaperE {
        at: f64,
    },
    /// All at once.
    Step {
        at: f64,
    },
    /// From here on in step with the size, and up to this multiple of it.
    Ramp {
        at: f64,
        width: f64,
    },
    /// The same in step with the size's logarithm.
    SlowRamp {
        at: f64,
        width: f64,
    },
}

/// A law with its costs: of the operation, of a unit, and of a unit on top where it bends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Law {
    shape: Shape,
    costs: [f64; 3],
}

/// The bent law that fits best.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fitted {
    pub(super) law: Law,
    /// The lowest and the highest knee whose law fits hardly worse.
    pub(super) span: [f64; 2],
}

impl Shape {
    /// What the three costs are multiplied with, for a unit of an operation of this size.
    fn terms(self, size: f64) -> [f64; 3] {
        let bent = match self {
            Shape::Line => 0.0,
            Shape::PaperE { at } => (1.0 - at / size).max(0.0),
            Shape::Step { at } => f64::from(u8::from(size > at)),
            Shape::Ramp { at, width } => ((size / at).clamp(1.0, width) - 1.0) / (width.min(MOST) - 1.0),
            Shape::SlowRamp { at, width } => (size / at).clamp(1.0, width).ln() / width.min(MOST).ln(),
        };
        [1.0 / size, 1.0, bent]
    }
}

impl Law {
    /// The law of this shape that fits best and in which nothing costs less than nothing.
    fn fit(shape: Shape, curve: &Curve) -> Option<Self> {
        let fitted = |wanted: [bool; 3]| {
            let costs = least_squares(shape, curve, wanted)?;
            (costs[0] >= 0.0 && costs[1] > 0.0 && costs[2] >= 0.0).then_some(Self { shape, costs })
        };
        let bent = shape != Shape::Line;
        fitted([true, true, bent]).or_else(|| fitted([false, true, bent]))
    }

    /// Where it bends.
    pub(super) fn at(&self) -> f64 {
        match self.shape {
            Shape::Line => f64::INFINITY,
            Shape::PaperE { at }
            | Shape::Step { at }
            | Shape::Ramp { at, .. }
            | Shape::SlowRamp { at, .. } => at,
        }
    }

    fn residuals<'a>(&'a self, curve: &'a Curve) -> impl Iterator<Item = f64> + 'a {
        let log = |size: f64| {
            let terms = self.shape.terms(size).into_iter().zip(self.costs);
            terms.map(|(term, cost)| term * cost).sum::<f64>().ln()
        };
        curve.sizes.iter().zip(&curve.logs).map(move |(&size, observed)| observed - log(size))
    }

    /// Mean square of how far it misses, as a share; what multiplies all of it is none of its business.
    pub(super) fn mean_square(&self, curve: &Curve) -> f64 {
        let missed: Vec<f64> = self.residuals(curve).collect();
        let pace = quantile::median(&missed).unwrap_or(0.0);
        missed.iter().map(|missed| (missed - pace).powi(2)).sum::<f64>() / missed.len() as f64
    }

    /// The same in units of the errors, summed up.
    fn chi_squared(&self, curve: &Curve) -> f64 {
        self.residuals(curve)
            .zip(&curve.errors)
            .map(|(missed, error)| (missed / error.hypot(NO_LAW)).powi(2))
            .sum()
    }
}

/// The straight line that fits best.
pub(super) fn line(curve: &Curve) -> Option<Law> {
    Law::fit(Shape::Line, curve)
}

/// The bent law that fits best, of paper E's alone, of the ramps alone, or of both.
pub(super) fn bent(curve: &Curve, paper_e: bool, ramps: bool) -> Option<Fitted> {
    let last = *curve.sizes.last()?;
    let from = *curve.sizes.get(BEFORE - 1)?;
    let until = curve.sizes[curve.sizes.len().checked_sub(BEHIND + 1)?];
    let knees = std::iter::successors(Some(from), |at| Some(at * STEP)).take_while(|&at| at <= until);
    let shapes = knees.flat_map(|at| {
        let widths = WIDTHS.into_iter().filter(move |width| at * width <= last || width.is_infinite());
        let both = move |width| [Shape::Ramp { at, width }, Shape::SlowRamp { at, width }];
        let piecewise = std::iter::once(Shape::Step { at }).chain(widths.flat_map(both));
        let own = paper_e.then_some(Shape::PaperE { at });
        own.into_iter().chain(piecewise.filter(move |_| ramps))
    });
    let laws: Vec<(Law, f64)> =
        shapes.filter_map(|shape| Law::fit(shape, curve)).map(|law| (law, law.chi_squared(curve))).collect();
    let &(law, least) = laws.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
    // A knee, its law's width and three costs are fitted; what misses by more than the errors has wider ones.
    let free = curve.sizes.len().saturating_sub(5).max(1) as f64;
    let most = least + HARDLY_WORSE * (least / free).max(1.0);
    let near = || laws.iter().filter(|(_, missed)| *missed <= most).map(|(law, _)| law.at());
    let span = [near().fold(f64::INFINITY, f64::min), near().fold(0.0, f64::max)];
    // Between two sizes nothing was measured, and no law is exact: the neighbours are the bounds.
    let below = curve.sizes.iter().copied().filter(|&size| size < span[0]).fold(from / STEP, f64::max);
    let above = curve.sizes.iter().copied().filter(|&size| size > span[1]).fold(last, f64::min);
    Some(Fitted { law, span: [below, above] })
}

/// Least squares of the wanted costs, weighted, by the normal equations with Gauss' elimination.
fn least_squares(shape: Shape, curve: &Curve, wanted: [bool; 3]) -> Option<[f64; 3]> {
    let mut left = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    // Sizes span decades: the price of the operation is brought to the scale of the others first.
    let smallest = *curve.sizes.first()?;
    for ((&size, log), error) in curve.sizes.iter().zip(&curve.logs).zip(&curve.errors) {
        let mut terms = shape.terms(size);
        terms[0] *= smallest;
        let error = error.hypot(NO_LAW);
        let weight = 1.0 / (log.exp() * error);
        for at in 0..3 {
            right[at] += terms[at] * weight / error;
            for other in 0..3 {
                left[at][other] += terms[at] * terms[other] * weight * weight;
            }
        }
    }
    for at in (0..3).filter(|&at| !wanted[at]) {
        left[at] = [0.0; 3];
        left.iter_mut().for_each(|row| row[at] = 0.0);
        (left[at][at], right[at]) = (1.0, 0.0);
    }
    let [operation, unit, bend] = solve(left, right)?;
    Some([operation * smallest, unit, bend])
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
