//! Data with a known truth for the tests: noise, outliers and drift of stated size.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A seeded source of the disturbances that real latencies show.
pub(crate) struct Planted {
    pub(crate) rng: Pcg64Mcg,
    spare: Option<f64>,
}

impl Planted {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Pcg64Mcg::seed_from_u64(seed), spare: None }
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        self.rng.random()
    }

    /// A standard normal variate (Box & Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }

    /// Multiplicative noise with median 1.
    pub(crate) fn lognormal(&mut self, sigma: f64) -> f64 {
        (sigma * self.normal()).exp()
    }

    /// A first-order autoregression of unit variance.
    pub(crate) fn autoregressive(&mut self, count: usize, correlation: f64) -> Vec<f64> {
        let innovation = (1.0 - correlation * correlation).sqrt();
        let mut state = self.normal();
        (0..count)
            .map(|_| {
                state = correlation * state + innovation * self.normal();
                state
            })
            .collect()
    }

    /// 50 with probability 1 %, else 1.
    pub(crate) fn outlier(&mut self) -> f64 {
        if self.uniform() < 0.01 { 50.0 } else { 1.0 }
    }

    /// A matrix of rounds: `shape` (latency per position) under lognormal noise, 1 % outliers of
    /// 50 times, and a drift that slows the machine by `drift` over all of the rounds. Quantised
    /// to `tick` (0: not at all).
    pub(crate) fn rounds(
        &mut self,
        shape: &[f64],
        rounds: usize,
        sigma: f64,
        drift: f64,
        tick: f64,
    ) -> Vec<f64> {
        let total = (shape.len() * rounds) as f64;
        let mut latencies = Vec::with_capacity(shape.len() * rounds);
        for _ in 0..rounds {
            for &level in shape {
                let slow = 1.0 + drift * latencies.len() as f64 / total;
                let latency = level * slow * self.lognormal(sigma) * self.outlier();
                latencies.push(if tick > 0.0 { (latency / tick).round() * tick } else { latency });
            }
        }
        latencies
    }
}

/// Answers to a question whose truth is known.
#[derive(Default, Debug)]
pub(crate) struct Score {
    right: usize,
    silent: usize,
    wrong: usize,
}

impl Score {
    /// Counts an answer: whether it was right, or `None` for no answer.
    pub(crate) fn count(&mut self, answer: Option<bool>) {
        match answer {
            Some(true) => self.right += 1,
            Some(false) => self.wrong += 1,
            None => self.silent += 1,
        }
    }

    /// How many answers were wrong.
    pub(crate) fn wrong(&self) -> usize {
        self.wrong
    }

    fn trials(&self) -> usize {
        self.right + self.silent + self.wrong
    }

    /// No wrong answer, and an answer in 95 % of the trials or more.
    pub(crate) fn assert_never_wrong(&self, name: &str) {
        show(name, &format!("{self:?}"));
        assert_eq!(self.wrong, 0, "{name}: {self:?}");
        assert!(self.right * 100 >= self.trials() * 95, "{name}: {self:?}");
    }

    /// For data that hold no answer: none was given in 99 % of the trials or more.
    pub(crate) fn assert_silent(&self, name: &str) {
        show(name, &format!("{self:?}"));
        assert!(self.silent * 100 >= self.trials() * 99, "{name}: {self:?}");
    }
}

/// Asserts that a stated 95 % interval held the truth in 93 to 97 % of `trials`.
pub(crate) fn assert_covers(name: &str, covered: usize, trials: usize) {
    let share = covered as f64 / trials as f64;
    show(name, &format!("covered {covered} of {trials}"));
    assert!((0.93..=0.97).contains(&share), "{name}: covered {covered} of {trials}");
}

/// The figures behind the assertions, for `cargo test -- --nocapture`.
#[allow(clippy::print_stdout)]
pub(crate) fn show(name: &str, figure: &str) {
    println!("{name}: {figure}");
}
