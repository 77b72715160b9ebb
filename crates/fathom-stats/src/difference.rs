//! Whether two positive estimates with intervals differ by more than a factor, by their ratio on a log scale.

use crate::distribution::normal_quantile;
use crate::interval::{Estimate, Interval};

/// The ratio of two independent estimates. Nothing where one of them is not positive.
///
/// Each side of each interval is taken as so many standard errors of a normal error of the logarithm, so that
/// an interval that reaches further up than down counts for what it is in either direction.
pub fn ratio(first: &Estimate, second: &Estimate, confidence: f64) -> Option<Estimate> {
    let positive = |one: &Estimate| one.value > 0.0 && one.interval.low > 0.0 && one.interval.high > 0.0;
    if !positive(first) || !positive(second) {
        return None;
    }
    let log = (second.value / first.value).ln();
    let wanted = normal_quantile(0.5 + confidence / 2.0);
    // An estimate outside of its own interval leaves no error on that side.
    let error = |one: &Estimate, log: f64| log.max(0.0) / normal_quantile(0.5 + one.level / 2.0);
    let down = |one: &Estimate| error(one, (one.value / one.interval.low).ln());
    let up = |one: &Estimate| error(one, (one.interval.high / one.value).ln());
    let (below, above) = (down(second).hypot(up(first)), up(second).hypot(down(first)));
    let interval = Interval { low: (log - wanted * below).exp(), high: (log + wanted * above).exp() };
    Some(Estimate { value: log.exp(), interval, level: confidence })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, interval: Interval { low, high }, level: 0.95 }
    }

    fn exact(value: f64) -> Estimate {
        estimate(value, value, value)
    }

    #[test]
    fn exact_estimates_have_an_exact_ratio_and_others_none() {
        let ratio = ratio(&exact(2.0), &exact(3.0), 0.99).unwrap();
        assert!((ratio.value - 1.5).abs() < 1e-12 && ratio.interval.width() == 0.0);
        assert!(super::ratio(&exact(0.0), &exact(3.0), 0.99).is_none());
    }

    #[test]
    fn the_interval_reaches_to_the_side_that_the_estimates_leave_open() {
        let wide_up = estimate(10.0, 9.9, 30.0);
        let Interval { low, high } = ratio(&exact(10.0), &wide_up, 0.95).unwrap().interval;
        assert!((low - 0.99).abs() < 1e-3 && (high - 3.0).abs() < 1e-2, "{low} {high}");
        let Interval { low, high } = ratio(&wide_up, &exact(10.0), 0.95).unwrap().interval;
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
            estimate(log.exp(), edge(-1.0), edge(1.0))
        };
        let pairs = 20_000;
        let missed = (0..pairs).filter(|_| {
            let Interval { low, high } = ratio(&drawn(), &drawn(), 0.95).unwrap().interval;
            low > 1.0 || high < 1.0
        });
        let share = missed.count() as f64 / f64::from(pairs);
        assert!((0.04..0.06).contains(&share), "{share}");
    }
}
