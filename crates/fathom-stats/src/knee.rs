//! From which size on a unit of an operation costs clearly more than at its cheapest.
//!
//! Made for copies: the longer a call, the less of its time falls to a byte, until the buffer no
//! longer fits into a cache of the processor. That rise is gradual, over a factor of eight and more, so
//! that no one size is where it begins: a change point drawn through it lies where noise puts it. What
//! comes again is a bracket of two sizes that mean something whatever the law:
//!
//! - the largest size up to which a unit costs hardly more ([`NEGLIGIBLE`]) than with any smaller one;
//! - the smallest size from which on it costs clearly more ([`CLEAR`]) than at the cheapest.
//!
//! Data come as *looks*: costs at every size, taken within a moment and with memory of their own.
//! Sizes are compared within a look alone. What looks differ by, be it the memory that they were
//! given or what neighbours took of the cache, is what a statement about their mean may err by.
//!
//! Both ends are found by tests in a fixed order, which need no correction for their number (Maurer,
//! Hothorn & Lehmacher 1995, "Multiple comparisons in drug clinical trials and preclinical assays:
//! a-priori ordered hypotheses"): from the smallest size up as long as hardly more is proven, and from the
//! largest down as long as clearly more is. That a size costs hardly more than any other is proven where
//! each pair passes by itself (Berger 1982). The cheapest size is for each look that of the others, or
//! the luck that made it the cheapest would count as a rise.
//!
//! Then a straight line, paper E's t(x) and a ramp are fitted, and the better one is that which misses looks
//! that it was not fitted to by less.

use self::law::Curve;
use crate::distribution::student_quantile;

mod law;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    /// Where the cost crosses the middle between hardly and clearly more, in the unit of the sizes.
    pub at: f64,
    /// The largest size that is proven to cost hardly more, and the smallest from which on all cost clearly
    /// more: together at [`LEVEL`].
    pub interval: [f64; 2],
    /// By which share of itself the cost of a unit has grown at the largest size.
    pub rise: f64,
    /// How far each law misses; none where one can't be fitted.
    pub misses: Option<Misses>,
}

/// How far laws miss looks that they were not fitted to, as a share: the root of the mean square.
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// There is a knee.
    Knee(Knee),
    /// A unit of no size costs by this share more than one of any smaller size: the upper end of an
    /// interval at [`LEVEL`], at most [`NEGLIGIBLE`].
    None(f64),
    /// Neither is proven.
    Open {
        /// The largest size up to which a unit costs hardly more.
        level_until: f64,
        /// What a unit of the largest size costs more, as a share: an interval at [`LEVEL`].
        rise: [f64; 2],
    },
    /// The data can't be looked at so; why.
    Unfit(&'static str),
}

/// A rise up to this share is none that anybody would choose a size by.
pub const NEGLIGIBLE: f64 = 0.1;
/// A rise from this share on is clear. The gap to [`NEGLIGIBLE`] is what may change between one survey and the
/// next without their brackets excluding each other.
pub const CLEAR: f64 = 0.2;
/// The confidence of what is said.
pub const LEVEL: f64 = 0.95;
/// The confidence that there is a rise at all, one-sided. Looks that are like those before them tell less than so many
/// independent ones would; with this, of noise alone not one in a hundred speaks all the same.
const SURE: f64 = 0.9999;
/// Fewest sizes.
const FEWEST_SIZES: usize = 8;
/// Fewest looks.
const FEWEST_LOOKS: usize = 6;
/// A unit of the largest size must cost at least this share of what one of the smallest costs: size has a cost.
const LEAST_SHARE: f64 = 1.0 / 8.0;

/// Looks for a knee in `looks`: in each, one positive cost of an operation for each of the ascending `sizes`.
pub fn find(sizes: &[f64], looks: &[Vec<f64>]) -> Verdict {
    let sound = |look: &Vec<f64>| look.len() == sizes.len() && look.iter().all(|&cost| cost > 0.0);
    if sizes.len() < FEWEST_SIZES || looks.len() < FEWEST_LOOKS {
        return Verdict::Unfit("there are too few samples");
    }
    if !looks.iter().all(sound) {
        return Verdict::Unfit("a size is missing, or a cost is not positive");
    }
    let looks = Looks::of(sizes, looks);
    let last = sizes.len() - 1;
    let whole = looks.mean(|_| true);
    if whole[last] - whole[0] < LEAST_SHARE.ln() {
        return Verdict::Unfit("operations take hardly longer the larger they are");
    }
    let (level, most) = looks.level();
    if level == last {
        return Verdict::None(most.exp_m1());
    }
    let [rise, error] = looks.over_cheapest(last);
    let wide = looks.errors_wide[0] * error;
    match looks.clear().filter(|&clear| clear > level) {
        Some(clear) => Verdict::Knee(Knee {
            at: looks.crossing(clear).clamp(sizes[level], sizes[clear]),
            interval: [sizes[level], sizes[clear]],
            rise: rise.exp_m1(),
            misses: looks.misses(),
        }),
        None => Verdict::Open {
            level_until: sizes[level],
            rise: [(rise - wide).exp_m1().max(0.0), (rise + wide).exp_m1()],
        },
    }
}

/// The logarithms of what a unit costs.
struct Looks<'a> {
    sizes: &'a [f64],
    logs: Vec<Vec<f64>>,
    /// For each look, the index of the size that is cheapest in all others.
    cheapest: Vec<usize>,
    /// How many standard errors an end of an interval at [`LEVEL`] is away, and at [`SURE`].
    errors_wide: [f64; 2],
}

impl<'a> Looks<'a> {
    fn of(sizes: &'a [f64], costs: &[Vec<f64>]) -> Self {
        let unit = |look: &Vec<f64>| look.iter().zip(sizes).map(|(cost, size)| (cost / size).ln()).collect();
        let freedom = costs.len() as f64 - 1.0;
        let mut looks = Self {
            sizes,
            logs: costs.iter().map(unit).collect(),
            cheapest: Vec::new(),
            errors_wide: [0.5 + LEVEL / 2.0, SURE].map(|confidence| student_quantile(confidence, freedom)),
        };
        looks.cheapest = (0..costs.len()).map(|own| cheapest(&looks.mean(|look| look != own))).collect();
        looks
    }

    /// The mean curve of those looks that `is_meant`.
    fn mean(&self, is_meant: impl Fn(usize) -> bool) -> Vec<f64> {
        let meant = || self.logs.iter().enumerate().filter(|(look, _)| is_meant(*look));
        let count = meant().count().max(1) as f64;
        (0..self.sizes.len()).map(|at| meant().map(|(_, logs)| logs[at]).sum::<f64>() / count).collect()
    }

    /// The mean of one difference per look, and its standard error.
    fn mean_difference(&self, difference: impl Fn(usize) -> f64) -> [f64; 2] {
        let count = self.logs.len() as f64;
        let differences: Vec<f64> = (0..self.logs.len()).map(difference).collect();
        let mean = differences.iter().sum::<f64>() / count;
        let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
        [mean, (squares / (count - 1.0) / count).sqrt()]
    }

    /// The largest size up to which a unit costs hardly more than with any smaller one, and the most that it may.
    fn level(&self) -> (usize, f64) {
        let most = |to: usize, from: usize| {
            let [mean, error] = self.mean_difference(|look| self.logs[look][to] - self.logs[look][from]);
            mean + self.errors_wide[0] * error
        };
        let (mut level, mut worst) = (0, 0.0_f64);
        for to in 1..self.sizes.len() {
            worst = (0..to).map(|from| most(to, from)).fold(worst, f64::max);
            if worst > NEGLIGIBLE.ln_1p() {
                break;
            }
            level = to;
        }
        (level, worst)
    }

    /// What a unit costs over the cheapest, and its standard error.
    fn over_cheapest(&self, at: usize) -> [f64; 2] {
        self.mean_difference(|look| self.logs[look][at] - self.logs[look][self.cheapest[look]])
    }

    /// Sizes larger than any that is taken for the cheapest.
    fn beyond(&self) -> std::ops::Range<usize> {
        self.cheapest.iter().max().map_or(0, |most| most + 1)..self.sizes.len()
    }

    /// The smallest size from which on a unit costs clearly more.
    fn clear(&self) -> Option<usize> {
        let [rise, error] = self.over_cheapest(self.sizes.len() - 1);
        if rise <= self.errors_wide[1] * error {
            return None;
        }
        let is_clear = |&at: &usize| {
            let [rise, error] = self.over_cheapest(at);
            rise - self.errors_wide[0] * error >= CLEAR.ln_1p()
        };
        self.beyond().rev().take_while(is_clear).last()
    }

    /// Where the mean crosses the middle between hardly and clearly more, for the last time up to `clear`.
    fn crossing(&self, clear: usize) -> f64 {
        let middle = NEGLIGIBLE.ln_1p().midpoint(CLEAR.ln_1p());
        let rise = |at: usize| self.over_cheapest(at)[0];
        let below =
            (0..clear).rev().find(|&at| !self.beyond().contains(&at) || rise(at) < middle).unwrap_or(0);
        let [low, high] = [rise(below), rise(below + 1)];
        let share = ((middle - low) / (high - low)).clamp(0.0, 1.0);
        self.sizes[below] * (self.sizes[below + 1] / self.sizes[below]).powf(share)
    }

    /// How far each law, fitted to every other look, misses the rest.
    fn misses(&self) -> Option<Misses> {
        let settled = Curve { sizes: self.sizes, logs: &self.mean(|_| true) }.settled();
        let halves = [0, 1].map(|half| self.mean(|look| look % 2 == half));
        let [one, other] =
            halves.each_ref().map(|logs| Curve { sizes: &self.sizes[settled..], logs: &logs[settled..] });
        let mut squares = [0.0; 3];
        for (fit, judge) in [(one, other), (other, one)] {
            let laws = [law::line(fit)?, law::paper_e(fit)?, law::ramp(fit)?];
            for (square, law) in squares.iter_mut().zip(laws) {
                *square += law.mean_square(judge) / 2.0;
            }
        }
        let [line, paper_e, ramp] = squares.map(f64::sqrt);
        Some(Misses { line, paper_e, ramp })
    }
}

/// The index of the least value.
fn cheapest(logs: &[f64]) -> usize {
    (0..logs.len()).min_by(|&one, &other| logs[one].total_cmp(&logs[other])).unwrap_or(0)
}

#[cfg(test)]
mod tests;
