//! Whether two positive estimates with intervals differ by more than a factor, by their ratio on a log scale.

use crate::distribution::normal_quantile;

/// A positive estimate and its interval of confidence `level`; an interval of no width is exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimated {
    /// The estimate.
    pub value: f64,
    /// Its interval.
    pub interval: [f64; 2],
    /// The confidence of the interval: 0.95.
    pub level: f64,
}

/// The second estimate over the first, with an interval of the confidence that was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// Its interval.
    pub interval: [f64; 2],
}

/// The ratio of two independent estimates. Nothing where one of them is not positive.
///
/// Each side of each interval is taken as so many standard errors of a normal error of the logarithm, so that
/// an interval that reaches further up than down counts for what it is in either direction.
pub fn ratio(first: &Estimated, second: &Estimated, confidence: f64) -> Option<Ratio> {
    let positive = |one: &Estimated| one.value > 0.0 && one.interval.iter().all(|edge| *edge > 0.0);
    if !positive(first) || !positive(second) {
        return None;
    }
    let log = (second.value / first.value).ln();
    let wanted = normal_quantile(0.5 + confidence / 2.0);
    let side = |one: &Estimated, edge: usize| {
        let errors = normal_quantile(0.5 + one.level / 2.0);
        // An estimate outside of its own interval leaves no error on that side.
        let width = (one.interval[edge] / one.value).ln() * if edge == 0 { -1.0 } else { 1.0 };
        width.max(0.0) / errors
    };
    let below = side(second, 0).hypot(side(first, 1));
    let above = side(second, 1).hypot(side(first, 0));
    Some(Ratio { value: log.exp(), interval: [(log - wanted * below).exp(), (log + wanted * above).exp()] })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn exact(value: f64) -> Estimated {
        Estimated { value, interval: [value, value], level: 0.95 }
    }

    #[test]
    fn exact_estimates_have_an_exact_ratio_and_others_none() {
        let ratio = ratio(&exact(2.0), &exact(3.0), 0.99).unwrap();
        assert!((ratio.value - 1.5).abs() < 1e-12 && ratio.interval[0] == ratio.interval[1]);
        assert!(super::ratio(&exact(0.0), &exact(3.0), 0.99).is_none());
    }

    #[test]
    fn the_interval_reaches_to_the_side_that_the_estimates_leave_open() {
        let wide_up = Estimated { value: 10.0, interval: [9.9, 30.0], level: 0.95 };
        let [low, high] = ratio(&exact(10.0), &wide_up, 0.95).unwrap().interval;
        assert!((low - 0.99).abs() < 1e-3 && (high - 3.0).abs() < 1e-2, "{low} {high}");
        let [low, high] = ratio(&wide_up, &exact(10.0), 0.95).unwrap().interval;
        assert!((low - 1.0 / 3.0).abs() < 1e-2 && (high - 1.0 / 0.99).abs() < 1e-3, "{low} {high}");
    }

    /// Medians of log-normal samples with intervals: the ratio's interval holds 1 as often as it says.
    #[test]
    fn equal_things_differ_no_more_often_than_stated() {
        let mut generator = Pcg64Mcg::seed_from_u64(5);
        let mut normal = || (0..12).map(|_| generator.random_range(-0.5..0.5)).sum::<f64>();
        let sigma = 0.3;
        let mut drawn = || {
            let log = sigma * normal();
            let edge = |sign: f64| (log + sign * 1.959_964 * sigma).exp();
            Estimated { value: log.exp(), interval: [edge(-1.0), edge(1.0)], level: 0.95 }
        };
        let pairs = 20_000;
        let missed = (0..pairs).filter(|_| {
            let [low, high] = ratio(&drawn(), &drawn(), 0.95).unwrap().interval;
            low > 1.0 || high < 1.0
        });
        let share = missed.count() as f64 / f64::from(pairs);
        assert!((0.04..0.06).contains(&share), "{share}");
    }
}
