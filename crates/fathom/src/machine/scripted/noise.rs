//! What disturbs a latency: a factor for each operation.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use super::{Noise, Pure};

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
