//! A mean with its confidence interval.

use std::f64::consts::FRAC_PI_2;
use std::fmt;

/// A mean and the half width of its 95 % confidence interval.
///
/// ```
/// let estimate = fathom_net::Estimate::of(&[9.0, 10.0, 11.0]);
/// assert_eq!(estimate.mean(), 10.0);
/// assert!(estimate.contains(10.4) && !estimate.contains(13.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    mean: f64,
    half_width: f64,
}

impl Estimate {
    /// From independent samples, by Student's t: mean ± t(n - 1) s / √n.
    ///
    /// With fewer than two samples nothing is known of the spread and the half width is infinite.
    #[must_use]
    pub fn of(samples: &[f64]) -> Self {
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        if samples.len() < 2 {
            return Self { mean, half_width: f64::INFINITY };
        }
        let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
        let error = (squares / (n - 1.0) / n).sqrt();
        Self { mean, half_width: student_quantile(samples.len() as u32 - 1) * error }
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Half the length of the 95 % interval.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        self.half_width
    }

    /// Whether a value lies in the 95 % interval.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (value - self.mean).abs() <= self.half_width
    }

    /// The same width around another mean.
    pub(crate) fn centred_on(self, mean: f64) -> Self {
        Self { mean, ..self }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} ± {:.6}", self.mean, self.half_width)
    }
}

/// The 97.5 % quantile of Student's t, by bisection.
fn student_quantile(freedom: u32) -> f64 {
    let (mut low, mut high) = (0.0, 13.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if student_within(middle, freedom) < 0.95 { low = middle } else { high = middle }
    }
    high
}

/// P(|T| <= t) for a whole number of degrees of freedom (Abramowitz & Stegun, 26.7.3 and 26.7.4).
fn student_within(t: f64, freedom: u32) -> f64 {
    let angle = (t / f64::from(freedom).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = if freedom == 1 { 0.0 } else { term };
    let mut power = if odd { 2 } else { 1 };
    while power + 3 <= freedom {
        term *= cosine * cosine * f64::from(power) / f64::from(power + 1);
        sum += term;
        power += 2;
    }
    if odd { (angle + sine * sum) / FRAC_PI_2 } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_the_printed_table() {
        // Abramowitz & Stegun, table 26.10, two-sided 95 %.
        for (freedom, quantile) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (10, 2.228),
            (31, 2.040),
            (60, 2.000),
            (120, 1.980),
        ] {
            let found = student_quantile(freedom);
            assert!((found - quantile).abs() < 6e-4, "t({freedom}) = {found}, table {quantile}");
        }
    }
}
