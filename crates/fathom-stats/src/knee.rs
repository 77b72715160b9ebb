//! Whether the cost of a unit grows once an operation is larger than something, and from where on.
//!
//! Made for copies: as long as a buffer fits into a cache of the processor a byte costs one price,
//! beyond it another. Two questions are asked in turn.
//!
//! *Does it grow?* No law is needed for that: of all pairs of sizes, does a unit of the larger one cost
//! more than one of the smaller? There is a knee where the pair that one set of data names is proven
//! to do so by the other set, both ways; there is none where every pair is proven not to. What lies
//! between is left open. The proof that there is none is a test of equivalence: each pair must pass by
//! itself, so that their number needs no correction (Berger 1982).
//!
//! *Where?* Three laws are fitted, linear in their costs once the knee is given, so that a knee is tried
//! at each place:
//!
//! - a straight line: so much for the operation and so much for each unit;
//! - the law of paper E, section 5.5: each unit *beyond* the knee costs more, those before it do not,
//!   so that the mean cost follows t(x);
//! - a ramp: once the operation is larger than the knee *all* its units cost more, at once or the more so
//!   the larger it is, up to some multiple of the knee or without an end. That is what a cache does that
//!   keeps what was used last and is walked through in order; pages that lie at random soften it.
//!
//! Which law holds is said by how far each misses the set that it was not fitted to.

use self::law::Curve;

mod law;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    /// The size from which on a unit costs more, in the unit of the sizes.
    pub at: f64,
    /// The sizes that the data allow, at [`LEVEL`].
    pub interval: [f64; 2],
    /// By which share of itself the cost of a unit grows.
    pub rise: f64,
    /// How far each law misses.
    pub misses: Misses,
}

/// How far laws miss data that they were not fitted to, as a share: the root of the mean square.
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
    /// Between the smallest size and the largest a unit of no size costs by this share more than one of any
    /// smaller size: the upper end of an interval at [`LEVEL`], below [`NEGLIGIBLE`].
    None(f64),
    /// More data of the kind may tell; what these leave open.
    Open(String),
    /// The data do not tell; why.
    Unclear(String),
}

/// A rise below this share is none that anybody would choose a size by; one of twice as much is found.
pub const NEGLIGIBLE: f64 = 0.1;
/// The confidence of what is said.
pub const LEVEL: f64 = 0.95;
/// Fewest sizes.
const FEWEST_SIZES: usize = 8;
/// Fewest curves in each set.
const FEWEST_CURVES: usize = 4;
/// The largest size must cost a unit at least this share of what the smallest costs it: size has a cost.
const LEAST_SHARE: f64 = 1.0 / 8.0;
/// An interval of knees that is wider than this factor says nothing.
const WIDEST: f64 = 16.0;
/// A law that misses by more than this share of the rise does not describe it.
const MOST_MISSED: f64 = 0.5;

/// Looks for a knee in two sets of curves that were measured independently. A curve has one positive cost
/// of an operation for each of the ascending `sizes`.
pub fn find(sizes: &[f64], sets: [&[Vec<f64>]; 2]) -> Verdict {
    let unclear = |reason: &str| Verdict::Unclear(reason.to_owned());
    if sizes.len() < FEWEST_SIZES || sets.iter().any(|set| set.len() < FEWEST_CURVES) {
        return unclear("there are too few samples");
    }
    let Some([first, second]) = both(sets.map(|set| Curve::of(sizes, set))) else {
        return unclear("a size is missing, or a cost is not positive");
    };
    let whole = first.with(&second);
    let last = sizes.len() - 1;
    if whole.logs[last] - whole.logs[0] < LEAST_SHARE.ln() {
        return unclear("operations take hardly longer the larger they are");
    }
    let most = whole.most_rise();
    if most <= NEGLIGIBLE.ln_1p() {
        return Verdict::None(most.exp_m1());
    }
    let seen = [first.proven_rise(), second.proven_rise()];
    let confirmed = [second.rise(seen[0].pair)[0], first.rise(seen[1].pair)[0]];
    let is_rise = |low: f64| low > NEGLIGIBLE.ln_1p();
    match (seen.iter().any(|one| is_rise(one.low)), confirmed.iter().all(|&low| is_rise(low))) {
        (_, true) => located([&first, &second, &whole]),
        (true, false) => {
            Verdict::Open("one set of samples shows a rise that the other does not prove".to_owned())
        }
        (false, false) => Verdict::Open(format!(
            "a byte may cost up to {:.0} % more, or no more at all",
            100.0 * most.exp_m1()
        )),
    }
}

/// Where the rise begins.
fn located([first, second, whole]: [&Curve; 3]) -> Verdict {
    let proof = whole.proven_rise();
    let rise = whole.rise(proof.pair)[1].exp_m1();
    let settled = whole.settled(proof.pair[0]);
    let curves = [first, second, whole].map(|curve| curve.since(settled));
    let [one, other, all] = curves.each_ref().map(|curve| law::bent(curve, true, true));
    let (Some([one, other]), Some(fit), Some(misses)) =
        (both([one, other]), all, crossed([&curves[0], &curves[1]]))
    else {
        return Verdict::Unclear("no law with costs that make sense fits".to_owned());
    };
    let rises = format!("a byte costs {:.0} % more in the end, but", 100.0 * rise);
    let best = misses.paper_e.min(misses.ramp);
    if best >= misses.line || best > MOST_MISSED * rise {
        return Verdict::Unclear(format!("{rises} no law says from where on"));
    }
    let apart = one.span[1] < other.span[0] || other.span[1] < one.span[0];
    if apart || fit.span[1] > WIDEST * fit.span[0] {
        return Verdict::Unclear(format!("{rises} not from one size on"));
    }
    Verdict::Knee(Knee { at: fit.law.at(), interval: fit.span, rise, misses })
}

/// How far each law, fitted to one set, misses the other.
fn crossed(sets: [&Curve; 2]) -> Option<Misses> {
    let mut squares = [0.0; 3];
    for (fit, judge) in [(sets[0], sets[1]), (sets[1], sets[0])] {
        let laws = [law::line(fit)?, law::bent(fit, true, false)?.law, law::bent(fit, false, true)?.law];
        for (square, law) in squares.iter_mut().zip(laws) {
            *square += law.mean_square(judge) / 2.0;
        }
    }
    let [line, paper_e, ramp] = squares.map(f64::sqrt);
    Some(Misses { line, paper_e, ramp })
}

fn both<T>([one, other]: [Option<T>; 2]) -> Option<[T; 2]> {
    Some([one?, other?])
}

#[cfg(test)]
mod tests;
