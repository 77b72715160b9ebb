//! The log latency of each position relative to its round, and how well it is known.

use crate::matrix::Rounds;
use crate::quantile::{self, MAD_TO_SIGMA};

/// Log latencies, and per position their median over rounds.
pub(super) struct Profile {
    /// Row-major like [`Rounds`].
    log: Vec<f64>,
    positions: usize,
    /// Midmean over rounds of the log latency relative to the round's median.
    pub(super) level: Vec<f64>,
    /// Standard error of `level`.
    pub(super) error: Vec<f64>,
}

/// The midmean's standard error over that of the mean, for normal noise.
const MIDMEAN_ERROR: f64 = 1.1;

impl Profile {
    pub(super) fn new(latencies: &Rounds) -> Self {
        let positions = latencies.positions();
        let log = log_latencies(latencies);
        let mut scratch = Vec::with_capacity(positions);
        let centres: Vec<f64> = log
            .chunks_exact(positions)
            .map(|row| {
                scratch.clear();
                scratch.extend_from_slice(row);
                quantile::median_in_place(&mut scratch).unwrap_or(0.0)
            })
            .collect();
        let error_per_mad = MAD_TO_SIGMA * MIDMEAN_ERROR / (centres.len() as f64).sqrt();
        let (mut level, mut error) = (Vec::new(), Vec::new());
        let mut column = Vec::with_capacity(centres.len());
        for position in 0..positions {
            column.clear();
            let values = log.iter().skip(position).step_by(positions);
            column.extend(values.zip(&centres).map(|(x, centre)| x - centre));
            level.push(quantile::midmean_in_place(&mut column).unwrap_or(0.0));
            error.push(quantile::mad_in_place(&mut column).unwrap_or(0.0) * error_per_mad);
        }
        Self { log, positions, level, error }
    }

    pub(super) fn rounds(&self) -> usize {
        self.log.len() / self.positions
    }

    /// The log latencies of one round.
    pub(super) fn round(&self, round: usize) -> &[f64] {
        &self.log[round * self.positions..][..self.positions]
    }
}

/// Logs of the latencies; what is not positive (an overhead subtracted from a zero) counts as the
/// smallest positive latency.
fn log_latencies(latencies: &Rounds) -> Vec<f64> {
    let rows = (0..latencies.rounds()).map(|round| latencies.round(round));
    let smallest = rows
        .clone()
        .flatten()
        .copied()
        .filter(|latency| *latency > 0.0)
        .min_by(f64::total_cmp)
        .unwrap_or(1.0);
    rows.flatten().map(|latency| latency.max(smallest).ln()).collect()
}
