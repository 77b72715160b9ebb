//! When a job's rate is steady, by fio's rules (`steadystate.c` of fio 3.33): one rate for each second, and a bound on the
//! slope or on the greatest deviation from the mean of the last of them.

use std::collections::VecDeque;

use fathom_program::job::SteadyState;

/// How steady a job was when it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Steadiness {
    /// The rule of the job.
    pub rule: SteadyState,
    /// Whether the job ended because the rule was met.
    pub is_attained: bool,
    /// The greatest deviation from the mean, if the rule is about that; zero as long as there are too few rates.
    pub deviation: f64,
    /// The slope per second, if the rule is about that.
    pub slope: f64,
    /// The deviation or the slope, whichever the rule is about; in percent of the mean if the rule is.
    pub criterion: f64,
    /// Transfers and bytes of each of the last seconds, as many seconds as must be steady; zeros for seconds that were not reached.
    pub rates: Vec<[u64; 2]>,
}

impl Steadiness {
    /// The means of the transfers and of the bytes per second.
    pub fn means(&self) -> [u64; 2] {
        let count = self.rates.len().max(1) as u64;
        [0, 1].map(|kind: usize| self.rates.iter().map(|rate| rate[kind]).sum::<u64>() / count)
    }
}

/// The rates of a job so far.
pub(super) struct Steady {
    state: Steadiness,
    rates: VecDeque<[u64; 2]>,
    /// When the last rate was taken, in seconds, and what had been moved by then.
    last: (f64, [u64; 2]),
}

impl Steady {
    pub(super) fn new(rule: SteadyState) -> Self {
        let rates = Vec::new();
        let state =
            Steadiness { rule, is_attained: false, deviation: 0.0, slope: 0.0, criterion: 0.0, rates };
        Self { state, rates: VecDeque::new(), last: (0.0, [0; 2]) }
    }

    /// What is told of it.
    pub(super) fn state(self) -> Steadiness {
        let mut rates = Vec::from(self.rates);
        rates.resize(self.state.rule.duration.as_secs() as usize, [0; 2]);
        Steadiness { rates, ..self.state }
    }

    /// Takes a rate where a second is over; gives whether the rates are steady. `moved` are transfers and bytes so far.
    pub(super) fn look(&mut self, now: f64, moved: [u64; 2]) -> bool {
        let (then, before) = self.last;
        if now - then < 1.0 {
            return false;
        }
        self.last = (now, moved);
        let ramp = self.state.rule.ramp.as_secs_f64();
        if ramp > 0.0 && now < ramp + 1.0 {
            return false;
        }
        let rate = |kind: usize| ((moved[kind] - before[kind]) as f64 / (now - then)) as u64;
        self.rates.push_back([rate(0), rate(1)]);
        let wanted = self.state.rule.duration.as_secs() as usize;
        if self.rates.len() > wanted {
            self.rates.pop_front();
        }
        self.state.is_attained = wanted > 0 && self.rates.len() == wanted && self.is_steady();
        self.state.is_attained
    }

    fn is_steady(&mut self) -> bool {
        let rule = self.state.rule;
        let rates = self.rates.iter().map(|rate| rate[usize::from(rule.bandwidth)] as f64);
        let count = self.rates.len() as f64;
        let mean = rates.clone().sum::<f64>() / count;
        let off = match rule.slope {
            true => {
                let middle = (count - 1.0) / 2.0;
                let from = |index: usize| index as f64 - middle;
                let along: f64 = rates.enumerate().map(|(index, rate)| from(index) * rate).sum();
                let squares: f64 = (0..self.rates.len()).map(|index| from(index).powi(2)).sum();
                self.state.slope = along / squares;
                self.state.slope
            }
            false => {
                self.state.deviation = rates.map(|rate| (rate - mean).abs()).fold(0.0, f64::max);
                self.state.deviation
            }
        };
        self.state.criterion = off * if rule.percent { 100.0 / mean } else { 1.0 };
        self.state.criterion.abs() < rule.limit
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The second at which these transfers per second are steady.
    fn steady_at(rule: SteadyState, rates: &[u64]) -> Option<usize> {
        let (mut steady, mut moved) = (Steady::new(rule), 0);
        let mut is_steady = |(second, rate): (usize, &u64)| {
            moved += rate;
            steady.look((second + 1) as f64, [moved, moved * 4096])
        };
        rates.iter().enumerate().position(&mut is_steady)
    }

    #[test]
    fn the_greatest_deviation_and_the_slope_decide() {
        let rule = SteadyState {
            bandwidth: false,
            slope: false,
            limit: 10.0,
            percent: true,
            duration: Duration::from_secs(3),
            ramp: Duration::ZERO,
        };
        let rates = [500, 100, 110, 105, 100, 104, 100];
        assert_eq!(steady_at(rule, &rates), Some(3));
        assert_eq!(steady_at(SteadyState { limit: 1.0, ..rule }, &rates), None);
        // What is left out at first is the ramp and a second.
        let late = SteadyState { ramp: Duration::from_secs(3), ..rule };
        assert_eq!(steady_at(late, &rates), Some(5));
        let absolute = SteadyState { percent: false, limit: 5.5, ..rule };
        assert_eq!(steady_at(absolute, &rates), Some(3));
        assert_eq!(steady_at(SteadyState { bandwidth: true, ..absolute }, &rates), None);
        // Up and down is no slope; ever more is one.
        let slope = SteadyState { slope: true, limit: 1.0, ..rule };
        assert_eq!(steady_at(slope, &[100, 200, 100]), Some(2));
        assert_eq!(steady_at(slope, &[100, 110, 120, 130, 140]), None);
        let mut steady = Steady::new(slope);
        assert!(!steady.look(1.0, [100, 4096]) && !steady.look(2.0, [300, 8192]));
        let state = steady.state();
        assert_eq!(
            (state.rates.as_slice(), state.means()),
            ([[100, 4096], [200, 4096], [0; 2]].as_slice(), [100, 2730])
        );
        assert!(!state.is_attained);
    }
}
