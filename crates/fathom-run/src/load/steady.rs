//! When a job's rate is steady, by fio's rules (`steadystate.c` of fio 3.33): one rate for each second, and a bound on the
//! slope or on the greatest deviation from the mean of the last of them.

use std::collections::VecDeque;

use fathom_program::job::SteadyState;

/// The rates of a job so far.
pub(super) struct Steady {
    rule: SteadyState,
    rates: VecDeque<f64>,
    /// When the last rate was taken, in seconds, and what had been moved by then.
    last: (f64, u64),
}

impl Steady {
    pub(super) fn new(rule: SteadyState) -> Self {
        Self { rule, rates: VecDeque::new(), last: (0.0, 0) }
    }

    /// Takes a rate where a second is over; gives whether the rates are steady. `moved` are transfers and bytes so far.
    pub(super) fn look(&mut self, now: f64, moved: [u64; 2]) -> bool {
        let (then, before) = self.last;
        if now - then < 1.0 {
            return false;
        }
        let moved = moved[usize::from(self.rule.bandwidth)];
        self.last = (now, moved);
        let ramp = self.rule.ramp.as_secs_f64();
        if ramp > 0.0 && now < ramp + 1.0 {
            return false;
        }
        self.rates.push_back((moved - before) as f64 / (now - then));
        let wanted = self.rule.duration.as_secs() as usize;
        if self.rates.len() > wanted {
            self.rates.pop_front();
        }
        wanted > 0 && self.rates.len() == wanted && self.is_steady()
    }

    fn is_steady(&self) -> bool {
        let count = self.rates.len() as f64;
        let mean = self.rates.iter().sum::<f64>() / count;
        let off = match self.rule.slope {
            true => {
                let middle = (count - 1.0) / 2.0;
                let from = |index: usize| index as f64 - middle;
                let along: f64 = self.rates.iter().enumerate().map(|(index, rate)| from(index) * rate).sum();
                let squares: f64 = (0..self.rates.len()).map(|index| from(index).powi(2)).sum();
                (along / squares).abs()
            }
            false => self.rates.iter().map(|rate| (rate - mean).abs()).fold(0.0, f64::max),
        };
        off * if self.rule.percent { 100.0 / mean } else { 1.0 } < self.rule.limit
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
    }
}
