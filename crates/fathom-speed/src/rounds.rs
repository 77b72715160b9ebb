//! Rounds over several settings in random orders, until their medians are known or the time is over.
//!
//! A machine that changes its pace does so for all settings of a round, and a seed decides the orders.

use std::time::Instant;

use fathom_stats::interval::{Estimate, median_interval};
use fathom_stats::quantile;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::measurement::LEVEL;
use fathom_program::shuffle::shuffle;
use fathom_run::fault::Fault;

/// Something that can take a sample at each of some settings.
pub trait Bench {
    /// What a sample tells.
    type Sample;

    /// Takes a sample at the setting of this index.
    ///
    /// # Errors
    /// What the system refuses, and the ends of budgets and patience.
    fn sample(&mut self, index: usize, round: u32) -> Result<Self::Sample, Fault>;

    /// What the medians are of; nothing for a sample that does not count.
    fn rate(sample: &Self::Sample) -> Option<f64>;
}

/// How long and how exactly to measure.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// When everything must have ended.
    pub deadline: Instant,
    /// How narrow the 95 % interval of each median is to become, as a share of the median.
    pub width: f64,
    /// Decides random orders.
    pub seed: u64,
}

/// How far the measuring is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rounds that are complete.
    pub rounds: u32,
    /// Settings whose interval is not narrow yet.
    pub open: usize,
    /// All settings.
    pub settings: usize,
}

/// What was seen at one setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Series<S> {
    /// The samples, in the order of the rounds.
    pub samples: Vec<S>,
    /// The median rate of those that count; nothing where there are none.
    pub median: Option<f64>,
    /// Its 95 % interval; nothing where fewer than 6 count.
    pub interval: Option<[f64; 2]>,
    /// Whether that became as narrow as was asked for.
    pub is_settled: bool,
    /// Why there are no more samples, where the system refused to go on.
    pub refusal: Option<String>,
}

/// Rounds that every setting gets, unless time runs out: as many as an interval of the median at 95 %
/// needs, and two to spare.
pub const FEWEST_ROUNDS: u32 = 8;

/// Rounds after which intervals are looked at. Few looks: each is a chance to stop at an interval that is
/// narrow by luck.
const LOOKS: [u32; 6] = [FEWEST_ROUNDS, 12, 16, 24, 36, 54];

/// Takes samples at all `count` settings of a bench in rounds, each in an order of its own, until every median's
/// interval is narrow enough or the deadline has come.
///
/// # Errors
/// [`Fault::Interrupted`]. A setting that the system refuses is left alone from then on.
pub fn measure<B: Bench>(
    bench: &mut B,
    count: usize,
    settings: Settings,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Series<B::Sample>>, Fault> {
    let mut all: Vec<Series<B::Sample>> = (0..count).map(|_| Series::default()).collect();
    let mut is_open = vec![true; count];
    let mut generator = Pcg64Mcg::seed_from_u64(settings.seed);
    let is_late = || Instant::now() >= settings.deadline;
    for round in 0..LOOKS[LOOKS.len() - 1] {
        let mut order: Vec<usize> = (0..count).filter(|&index| is_open[index]).collect();
        progress(Progress { rounds: round, open: order.len(), settings: count });
        shuffle(&mut order, &mut generator);
        for index in order {
            if is_late() {
                break;
            }
            match bench.sample(index, round) {
                Ok(sample) => all[index].samples.push(sample),
                Err(Fault::Interrupted) => return Err(Fault::Interrupted),
                Err(fault) => {
                    is_open[index] = false;
                    all[index].refusal = (fault != Fault::OutOfTime).then(|| fault.to_string());
                }
            }
        }
        if LOOKS.contains(&(round + 1)) {
            for (one, is_open) in all.iter_mut().zip(&mut is_open) {
                one.look::<B>(settings.width);
                *is_open &= !one.is_settled;
            }
        }
        if is_late() || !is_open.contains(&true) {
            break;
        }
    }
    all.iter_mut().for_each(|one| one.look::<B>(settings.width));
    Ok(all)
}

impl<S> Default for Series<S> {
    fn default() -> Self {
        Self { samples: Vec::new(), median: None, interval: None, is_settled: false, refusal: None }
    }
}

impl<S> Series<S> {
    fn look<B: Bench<Sample = S>>(&mut self, width: f64) {
        let rates: Vec<f64> = self.samples.iter().filter_map(B::rate).collect();
        self.median = quantile::median(&rates);
        let estimate = median_interval(&rates, LEVEL);
        self.interval = estimate.map(|Estimate { interval, .. }| [interval.low, interval.high]);
        self.is_settled = estimate.is_some_and(|one| one.interval.width() < width * one.value);
    }
}

/// The ratio of two medians with the interval that theirs give; nothing where either has none.
pub(crate) fn ratio(above: &[f64], below: &[f64]) -> Option<[f64; 3]> {
    let [above, below] = [median_interval(above, LEVEL)?, median_interval(below, LEVEL)?];
    // Errors of independent logs add as squares.
    let both = |a: f64, b: f64| a.ln().hypot(b.ln()).exp();
    let value = above.value / below.value;
    let down = both(above.value / above.interval.low, below.interval.high / below.value);
    let up = both(above.interval.high / above.value, below.value / below.interval.low);
    Some([value, value / down, value * up])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rand::RngExt;

    use super::*;

    /// Settings with a spread of their own; the third refuses, the fourth never counts.
    struct Planted {
        generator: Pcg64Mcg,
        order: Vec<usize>,
        deadline: Instant,
        /// How many samples there is time for.
        time: usize,
    }

    impl Planted {
        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.generator.random_range(0.0..1.0)).sum::<f64>() - 6.0
        }
    }

    impl Bench for Planted {
        type Sample = f64;

        fn sample(&mut self, index: usize, _: u32) -> Result<f64, Fault> {
            self.order.push(index);
            if self.order.len() == self.time {
                std::thread::sleep(self.deadline.saturating_duration_since(Instant::now()));
            }
            let spread = [0.01, 0.2, 0.0, 0.0][index];
            match index {
                2 => Err(Fault::Unsupported("no".to_owned())),
                3 => Ok(-1.0),
                _ => Ok(100.0 * (1.0 + spread * self.normal())),
            }
        }

        fn rate(sample: &f64) -> Option<f64> {
            (*sample > 0.0).then_some(*sample)
        }
    }

    fn planted(seed: u64, time: usize) -> (Vec<Series<f64>>, Vec<usize>) {
        let deadline = Instant::now() + Duration::from_secs(if time == usize::MAX { 3600 } else { 1 });
        let mut bench =
            Planted { generator: Pcg64Mcg::seed_from_u64(seed), order: Vec::new(), deadline, time };
        let settings = Settings { deadline, width: 0.05, seed };
        let series = measure(&mut bench, 4, settings, &mut |_| {}).unwrap();
        (series, bench.order)
    }

    #[test]
    fn a_setting_is_left_alone_once_it_is_known_and_the_others_go_on() {
        let (series, order) = planted(1, usize::MAX);
        assert!(series[0].is_settled && series[0].samples.len() == FEWEST_ROUNDS as usize);
        assert!(series[1].samples.len() > 16, "{}", series[1].samples.len());
        assert_eq!((series[2].samples.len(), series[2].refusal.as_deref()), (0, Some("no")));
        assert_eq!((series[3].median, series[3].is_settled), (None, false));
        // The seed alone decides the order.
        assert_eq!(order, planted(1, usize::MAX).1);
        assert_ne!(order, planted(2, usize::MAX).1);
    }

    #[test]
    fn the_interval_holds_the_median_as_often_as_stated_though_it_decides_when_to_stop() {
        let held = (0..1000).filter(|&seed| {
            let [low, high] = planted(seed, usize::MAX).0[1].interval.unwrap();
            low <= 100.0 && 100.0 <= high
        });
        let held = held.count();
        assert!((930..=970).contains(&held), "{held} of 1000");
    }

    #[test]
    fn time_that_runs_out_leaves_what_there_is() {
        let (series, order) = planted(1, 7);
        assert_eq!(order.len(), 7);
        assert!(series[0].interval.is_none() && !series[0].is_settled);
    }

    #[test]
    fn a_ratio_has_the_errors_of_both() {
        let above: Vec<f64> = (0..20).map(|index| 200.0 + f64::from(index)).collect();
        let below: Vec<f64> = (0..20).map(|index| 100.0 + f64::from(index)).collect();
        let [value, low, high] = ratio(&above, &below).unwrap();
        assert!((value - 209.5 / 109.5).abs() < 1e-9 && low < value && value < high);
        assert_eq!(ratio(&above[..3], &below), None);
    }
}
