//! What disturbs a latency: a factor for each operation.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// Disturbances that multiply a latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// The standard deviation of the latency's log.
    pub sigma: f64,
    /// The share of latencies that are outliers.
    pub outlier_share: f64,
    /// How many times as long an outlier takes.
    pub outlier_factor: f64,
    /// By which share of itself everything grows from the first round to the last.
    pub drift: f64,
    /// By which share of itself everything grows from the first position of a pass to the last.
    pub drift_within: f64,
}

/// Latencies that nothing is behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pure {
    /// Independent, their logs normal.
    Lognormal {
        /// The standard deviation of the log.
        sigma: f64,
    },
    /// Independent, Pareto: without a variance where the exponent is below 2.
    HeavyTails {
        /// The exponent of the tail.
        exponent: f64,
    },
    /// Each log takes after the one before: a first-order autoregression.
    Wandering {
        /// The standard deviation of the log.
        sigma: f64,
        /// The correlation of neighbours, from 0 to 1.
        correlation: f64,
    },
    /// Calm, with rare spikes anywhere.
    Spikes {
        /// The share of spikes.
        share: f64,
        /// How many times as long one takes.
        factor: f64,
    },
}

impl Noise {
    /// None at all.
    pub fn none() -> Self {
        Self { sigma: 0.0, outlier_share: 0.0, outlier_factor: 1.0, drift: 0.0, drift_within: 0.0 }
    }

    /// A spread of `sigma`, 1 % of outliers of 50 times, and a drift of 20 % over the run.
    pub fn usual(sigma: f64) -> Self {
        Self { sigma, outlier_share: 0.01, outlier_factor: 50.0, drift: 0.2, drift_within: 0.0 }
    }
}

/// A seeded source of factors.
pub(super) struct Disturbance {
    generator: Pcg64Mcg,
    spare: Option<f64>,
    /// The present value of noise that wanders.
    wandering: f64,
}

impl Disturbance {
    pub(super) fn new(script_seed: u64, workload_seed: u64) -> Self {
        let seed = script_seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ workload_seed;
        Self { generator: Pcg64Mcg::seed_from_u64(seed), spare: None, wandering: 0.0 }
    }

    /// The factor of planted noise at a point of the run and of the pass, each from 0 to 1.
    pub(super) fn factor(&mut self, noise: &Noise, of_run: f64, of_pass: f64) -> f64 {
        let slow = (1.0 + noise.drift * of_run) * (1.0 + noise.drift_within * of_pass);
        let outlier = if self.uniform() < noise.outlier_share { noise.outlier_factor } else { 1.0 };
        slow * outlier * (noise.sigma * self.normal()).exp()
    }

    /// The factor of noise that nothing is behind.
    pub(super) fn pure(&mut self, pure: Pure) -> f64 {
        match pure {
            Pure::Lognormal { sigma } => (sigma * self.normal()).exp(),
            Pure::HeavyTails { exponent } => (1.0 - self.uniform()).powf(-1.0 / exponent),
            Pure::Wandering { sigma, correlation } => {
                let step = (1.0 - correlation * correlation).sqrt() * self.normal();
                self.wandering = correlation * self.wandering + step;
                (sigma * self.wandering).exp()
            }
            Pure::Spikes { share, factor } => {
                let spike = if self.uniform() < share { factor } else { 1.0 };
                spike * (0.05 * self.normal()).exp()
            }
        }
    }

    fn uniform(&mut self) -> f64 {
        self.generator.random()
    }

    /// A standard normal variate (Box & Muller 1958).
    fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }
}
