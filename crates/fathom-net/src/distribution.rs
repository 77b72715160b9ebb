//! Distributions of delays.

use std::fmt;
use std::sync::Arc;

use crate::rng::Rng;
use crate::time::Span;

/// How long a delay lasts: fixed, or drawn anew at each firing. Parameters are in ticks.
///
/// Parameters are checked when the net is built, where the place or transition has a name.
///
/// ```
/// use fathom_net::{Distribution, Rng, Span};
/// let seek = Distribution::uniform(2_000.0, 8_000.0);
/// let drawn = seek.draw(&mut Rng::new(1)).as_ticks();
/// assert!((2_000..=8_000).contains(&drawn));
/// assert_eq!(Distribution::from(Span::ticks(5)).draw(&mut Rng::new(1)), Span::ticks(5));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Fixed(Span),
    Exponential { mean: f64 },
    Uniform { low: f64, high: f64 },
    Erlang { stages: u32, mean: f64 },
    Hyperexponential { chance: f64, first: f64, second: f64 },
    Empirical(Arc<[f64]>),
}

impl Distribution {
    /// Always the same length.
    ///
    /// ```
    /// use fathom_net::{Distribution, Span};
    /// assert_eq!(Distribution::fixed(Span::ticks(4)).mean(), 4.0);
    /// ```
    #[must_use]
    pub fn fixed(span: Span) -> Self {
        Self(Kind::Fixed(span))
    }

    /// Exponential: the time to the next event of a Poisson stream.
    ///
    /// ```
    /// assert_eq!(fathom_net::Distribution::exponential(250.0).mean(), 250.0);
    /// ```
    #[must_use]
    pub fn exponential(mean: f64) -> Self {
        Self(Kind::Exponential { mean })
    }

    /// Even over [`low`, `high`).
    ///
    /// ```
    /// assert_eq!(fathom_net::Distribution::uniform(2.0, 4.0).mean(), 3.0);
    /// ```
    #[must_use]
    pub fn uniform(low: f64, high: f64) -> Self {
        Self(Kind::Uniform { low, high })
    }

    /// Sum of `stages` equal exponentials with the given total mean: squared coefficient of
    /// variation 1/`stages`.
    ///
    /// ```
    /// assert_eq!(fathom_net::Distribution::erlang(4, 100.0).mean(), 100.0);
    /// ```
    #[must_use]
    pub fn erlang(stages: u32, mean: f64) -> Self {
        Self(Kind::Erlang { stages, mean })
    }

    /// Exponential of mean `first` with probability `chance`, else of mean `second`: more
    /// variable than one exponential.
    ///
    /// ```
    /// let mixed = fathom_net::Distribution::hyperexponential(0.25, 100.0, 20.0);
    /// assert_eq!(mixed.mean(), 40.0);
    /// ```
    #[must_use]
    pub fn hyperexponential(chance: f64, first: f64, second: f64) -> Self {
        Self(Kind::Hyperexponential { chance, first, second })
    }

    /// One of the measured lengths, each as likely as any other.
    ///
    /// ```
    /// let measured = fathom_net::Distribution::empirical([90.0, 110.0, 130.0]);
    /// assert_eq!(measured.mean(), 110.0);
    /// ```
    #[must_use]
    pub fn empirical(lengths: impl IntoIterator<Item = f64>) -> Self {
        Self(Kind::Empirical(lengths.into_iter().collect()))
    }

    /// Draws a length.
    ///
    /// ```
    /// use fathom_net::{Distribution, Rng};
    /// let (mut a, mut b) = (Rng::new(3), Rng::new(3));
    /// let service = Distribution::exponential(80.0);
    /// assert_eq!(service.draw(&mut a), service.draw(&mut b));
    /// ```
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> Span {
        let ticks = match &self.0 {
            Kind::Fixed(span) => return *span,
            Kind::Exponential { mean } => rng.exponential(*mean),
            Kind::Uniform { low, high } => low + (high - low) * rng.uniform(),
            Kind::Erlang { stages, mean } => {
                let stage = mean / f64::from(*stages);
                (0..*stages).map(|_| rng.exponential(stage)).sum()
            }
            Kind::Hyperexponential { chance, first, second } => {
                let mean = if rng.uniform() < *chance { first } else { second };
                rng.exponential(*mean)
            }
            Kind::Empirical(lengths) => lengths[rng.below(lengths.len() as u64) as usize],
        };
        Span::round(ticks)
    }

    /// The expected length, in ticks.
    ///
    /// ```
    /// assert_eq!(fathom_net::Distribution::exponential(8.0).mean(), 8.0);
    /// ```
    #[must_use]
    pub fn mean(&self) -> f64 {
        match &self.0 {
            Kind::Fixed(span) => span.as_ticks() as f64,
            Kind::Exponential { mean } | Kind::Erlang { mean, .. } => *mean,
            Kind::Uniform { low, high } => (low + high) / 2.0,
            Kind::Hyperexponential { chance, first, second } => chance * first + (1.0 - chance) * second,
            Kind::Empirical(lengths) => lengths.iter().sum::<f64>() / lengths.len() as f64,
        }
    }

    /// Whether every draw is zero ticks long.
    pub(crate) fn is_zero(&self) -> bool {
        self.0 == Kind::Fixed(Span::ZERO)
    }

    /// What is wrong with the parameters, if anything.
    pub(crate) fn flaw(&self) -> Option<String> {
        let length = |name: &str, ticks: f64| {
            let sound = ticks.is_finite() && ticks >= 0.0;
            (!sound).then(|| format!("its {name} is {ticks}; give a length of zero or more ticks"))
        };
        match &self.0 {
            Kind::Fixed(_) => None,
            Kind::Exponential { mean } => length("mean", *mean),
            Kind::Uniform { low, high } if low > high => {
                Some(format!("its bounds {low} and {high} are out of order; swap them"))
            }
            Kind::Uniform { low, high } => length("low bound", *low).or(length("high bound", *high)),
            Kind::Erlang { stages: 0, .. } => Some("it has no stages; give at least 1".into()),
            Kind::Erlang { mean, .. } => length("mean", *mean),
            Kind::Hyperexponential { chance, .. } if !(0.0..=1.0).contains(chance) => {
                Some(format!("its chance is {chance}; give a probability from 0 to 1"))
            }
            Kind::Hyperexponential { first, second, .. } => {
                length("first mean", *first).or(length("second mean", *second))
            }
            Kind::Empirical(lengths) if lengths.is_empty() => {
                Some("it has no lengths to choose from; give at least 1".into())
            }
            Kind::Empirical(lengths) => lengths.iter().find_map(|&ticks| length("length", ticks)),
        }
    }
}

impl From<Span> for Distribution {
    fn from(span: Span) -> Self {
        Self::fixed(span)
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Fixed(span) => write!(f, "{span}"),
            Kind::Exponential { mean } => write!(f, "exp({mean})"),
            Kind::Uniform { low, high } => write!(f, "uniform({low}, {high})"),
            Kind::Erlang { stages, mean } => write!(f, "erlang({stages}, {mean})"),
            Kind::Hyperexponential { chance, first, second } => {
                write!(f, "hyperexp({chance}, {first}, {second})")
            }
            Kind::Empirical(lengths) => write!(f, "empirical({} lengths)", lengths.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_average_to_the_stated_mean() {
        let mut rng = Rng::new(11);
        for distribution in [
            Distribution::fixed(Span::ticks(1_000)),
            Distribution::exponential(1_000.0),
            Distribution::uniform(500.0, 1_500.0),
            Distribution::erlang(3, 1_000.0),
            Distribution::hyperexponential(0.1, 5_500.0, 500.0),
            Distribution::empirical([400.0, 1_600.0]),
        ] {
            let draws = 200_000;
            let total: u64 = (0..draws).map(|_| distribution.draw(&mut rng).as_ticks()).sum();
            let mean = total as f64 / f64::from(draws);
            assert!((mean / distribution.mean() - 1.0).abs() < 0.02, "{distribution}: {mean}");
        }
    }

    #[test]
    fn flawed_parameters_are_named() {
        let flaw = |d: Distribution| d.flaw().unwrap_or_default();
        assert!(flaw(Distribution::exponential(-1.0)).contains("mean is -1"));
        assert!(flaw(Distribution::uniform(2.0, 1.0)).contains("out of order"));
        assert!(flaw(Distribution::erlang(0, 1.0)).contains("no stages"));
        assert!(flaw(Distribution::hyperexponential(2.0, 1.0, 1.0)).contains("chance is 2"));
        assert!(flaw(Distribution::empirical([])).contains("no lengths"));
        assert!(flaw(Distribution::empirical([1.0, f64::NAN])).contains("length is NaN"));
        assert_eq!(Distribution::exponential(1.0).flaw(), None);
    }
}
