//! The laws that are fitted to a curve of costs: linear in their costs once the knee is given, so that a knee
//! is tried at each place.
//!
//! - a straight line: so much for the operation and so much for each unit;
//! - the law of paper E, section 5.5: each unit *beyond* the knee costs more, those before it do not,
//!   so that the mean cost follows t(x);
//! - a ramp: once the operation is larger than the knee *all* its units cost more, at once or the more so
//!   the larger it is, up to some multiple of the knee or without an end. That is what a cache does that
//!   keeps what was used last and is walked through in order; pages that lie at random soften it.

use crate::nonlinear::inverse;
use crate::quantile;

/// Knees are tried in steps of this factor, the eighth root of 2.
const STEP: f64 = 1.090_507_732_665_257_7;
/// A ramp ends at one of these multiples of the knee, the last of which is beyond all sizes: it does not end.
const WIDTHS: [f64; 5] = [1.0, 2.0, 4.0, 8.0, f64::INFINITY];
/// What a ramp without an end is measured by.
const MOST: f64 = 64.0;
/// What comes before a knee is followed back as long as a unit costs no more than this factor of its least:
/// there only the fixed cost of the operation, spread over more units, falls.
const FALLEN: f64 = 1.25;
/// Sizes before a knee and behind it, or it would be drawn through single ones.
const BEFORE: usize = 3;
const BEHIND: usize = 2;

/// The logarithm of what a unit costs at each size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Curve<'a> {
    pub(super) sizes: &'a [f64],
    pub(super) logs: &'a [f64],
}

impl Curve<'_> {
    /// The first of the sizes from which on a unit costs hardly more than at its cheapest.
    pub(super) fn settled(self) -> usize {
        let cheapest = super::cheapest(self.logs);
        let far = |&at: &usize| self.logs[at] > self.logs[cheapest] + FALLEN.ln();
        (0..cheapest).rev().find(far).map_or(0, |at| at + 1)
    }
}

/// How costs grow.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Line,
    /// Paper E's t(x) from here on.
    PaperE {
        at: f64,
    },
    /// From here on in step with the size, and up to this multiple of it; all at once for a multiple of 1.
    Ramp {
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

impl Shape {
    /// What the three costs are multiplied with, for a unit of an operation of this size.
    fn terms(self, size: f64) -> [f64; 3] {
        let bent = match self {
            Shape::Line => 0.0,
            Shape::PaperE { at } => (1.0 - at / size).max(0.0),
            Shape::Ramp { at, width } if width <= 1.0 => f64::from(u8::from(size > at)),
            Shape::Ramp { at, width } => ((size / at).clamp(1.0, width) - 1.0) / (width.min(MOST) - 1.0),
        };
        [1.0 / size, 1.0, bent]
    }
}

impl Law {
    /// The law of this shape that fits best and in which nothing costs less than nothing.
    fn fit(shape: Shape, curve: Curve<'_>) -> Option<Self> {
        let fitted = |wanted: [bool; 3]| {
            let costs = least_squares(shape, curve, wanted)?;
            (costs[0] >= 0.0 && costs[1] > 0.0 && costs[2] >= 0.0).then_some(Self { shape, costs })
        };
        let bent = shape != Shape::Line;
        fitted([true, true, bent]).or_else(|| fitted([false, true, bent]))
    }

    /// Mean square of how far it misses, as a share; what multiplies all of it is none of its business.
    pub(super) fn mean_square(&self, curve: Curve<'_>) -> f64 {
        let log = |size: f64| {
            let terms = self.shape.terms(size).into_iter().zip(self.costs);
            terms.map(|(term, cost)| term * cost).sum::<f64>().ln()
        };
        let missed: Vec<f64> =
            curve.sizes.iter().zip(curve.logs).map(|(&size, observed)| observed - log(size)).collect();
        let pace = quantile::median(&missed).unwrap_or(0.0);
        missed.iter().map(|missed| (missed - pace).powi(2)).sum::<f64>() / missed.len() as f64
    }
}

/// The straight line that fits best.
pub(super) fn line(curve: Curve<'_>) -> Option<Law> {
    Law::fit(Shape::Line, curve)
}

/// Paper E's law that fits best.
pub(super) fn paper_e(curve: Curve<'_>) -> Option<Law> {
    best(curve, knees(curve)?.map(|at| Shape::PaperE { at }))
}

/// The ramp that fits best.
pub(super) fn ramp(curve: Curve<'_>) -> Option<Law> {
    let last = *curve.sizes.last()?;
    let widths = |at: f64| WIDTHS.into_iter().filter(move |width| at * width <= last || width.is_infinite());
    best(curve, knees(curve)?.flat_map(|at| widths(at).map(move |width| Shape::Ramp { at, width })))
}

fn knees(curve: Curve<'_>) -> Option<impl Iterator<Item = f64>> {
    let from = *curve.sizes.get(BEFORE - 1)?;
    let until = *curve.sizes.get(curve.sizes.len().checked_sub(BEHIND + 1)?)?;
    (from <= until)
        .then(|| std::iter::successors(Some(from), |at| Some(at * STEP)).take_while(move |&at| at <= until))
}

fn best(curve: Curve<'_>, shapes: impl Iterator<Item = Shape>) -> Option<Law> {
    let laws = shapes.filter_map(|shape| Law::fit(shape, curve)).map(|law| (law, law.mean_square(curve)));
    laws.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(law, _)| law)
}

/// Least squares of the wanted costs, as shares of what is observed, by the normal equations.
fn least_squares(shape: Shape, curve: Curve<'_>, wanted: [bool; 3]) -> Option<[f64; 3]> {
    let mut left = vec![vec![0.0; 3]; 3];
    let mut right = [0.0; 3];
    // Sizes span decades: the fixed cost of the operation is brought to the scale of the others first.
    let smallest = *curve.sizes.first()?;
    for (&size, log) in curve.sizes.iter().zip(curve.logs) {
        let mut terms = shape.terms(size);
        terms[0] *= smallest;
        let terms = terms.map(|term| term / log.exp());
        for at in 0..3 {
            right[at] += terms[at];
            for other in 0..3 {
                left[at][other] += terms[at] * terms[other];
            }
        }
    }
    for at in (0..3).filter(|&at| !wanted[at]) {
        left[at] = vec![0.0; 3];
        left.iter_mut().for_each(|row| row[at] = 0.0);
        (left[at][at], right[at]) = (1.0, 0.0);
    }
    let inverse = inverse(left)?;
    let solved = |at: usize| inverse[at].iter().zip(&right).map(|(a, b)| a * b).sum::<f64>();
    Some([solved(0) * smallest, solved(1), solved(2)])
}
