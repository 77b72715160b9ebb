//! A sequence of operations repeated for several rounds, as a matrix of latencies.

use crate::quantile;
use std::fmt;

/// Latencies of `positions` operations over several rounds: one row per round, row-major.
///
/// The unit is the caller's (ticks or nanoseconds). Every latency is finite.
#[derive(Debug, Clone, Copy)]
pub struct Rounds<'a> {
    latencies: &'a [f64],
    positions: usize,
}

/// Why a slice is not a matrix of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeError {
    /// No positions or no rounds.
    Empty,
    /// The number of latencies is not a multiple of the number of positions.
    Ragged {
        /// How many latencies were given.
        latencies: usize,
        /// How many positions a round was said to have.
        positions: usize,
    },
    /// A latency is infinite or not a number.
    NotFinite {
        /// Its index in the slice.
        index: usize,
    },
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "a matrix of rounds needs at least one latency"),
            Self::Ragged { latencies, positions } => {
                write!(f, "{latencies} latencies do not fill rounds of {positions} positions")
            }
            Self::NotFinite { index } => write!(f, "latency {index} is not a finite number"),
        }
    }
}

impl std::error::Error for ShapeError {}

impl<'a> Rounds<'a> {
    /// A matrix over `latencies`, `positions` to a round.
    ///
    /// # Errors
    /// [`ShapeError`] if the slice is empty, does not fill whole rounds, or holds a number that is
    /// not finite.
    ///
    /// ```
    /// use fathom_stats::Rounds;
    /// let rounds = Rounds::new(&[1.0, 2.0, 3.0, 2.0, 4.0, 6.0], 3).unwrap();
    /// assert_eq!((rounds.rounds(), rounds.positions()), (2, 3));
    /// assert_eq!(rounds.round(1), [2.0, 4.0, 6.0]);
    /// ```
    pub fn new(latencies: &'a [f64], positions: usize) -> Result<Self, ShapeError> {
        if positions == 0 || latencies.is_empty() {
            return Err(ShapeError::Empty);
        }
        if !latencies.len().is_multiple_of(positions) {
            return Err(ShapeError::Ragged { latencies: latencies.len(), positions });
        }
        match latencies.iter().position(|latency| !latency.is_finite()) {
            Some(index) => Err(ShapeError::NotFinite { index }),
            None => Ok(Self { latencies, positions }),
        }
    }

    /// Number of operations in a round.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// Number of rounds.
    pub fn rounds(&self) -> usize {
        self.latencies.len() / self.positions
    }

    /// The latencies of one round, in order of position.
    ///
    /// # Panics
    /// If `round` is not below [`rounds`](Self::rounds).
    pub fn round(&self, round: usize) -> &'a [f64] {
        &self.latencies[round * self.positions..][..self.positions]
    }

    /// The latencies of one position, in order of round.
    pub fn position(&self, position: usize) -> impl Iterator<Item = f64> + use<'a> {
        self.latencies.iter().copied().skip(position).step_by(self.positions)
    }

    /// The median of each round: the slow drift of the machine over the rounds.
    pub fn round_medians(&self) -> Vec<f64> {
        let mut scratch = Vec::with_capacity(self.positions);
        (0..self.rounds())
            .map(|round| {
                scratch.clear();
                scratch.extend_from_slice(self.round(round));
                quantile::median_in_place(&mut scratch).unwrap_or(0.0)
            })
            .collect()
    }

    /// The median over rounds of each position, drift removed: each round is divided by its own
    /// median and the result is scaled back by the typical round's, so the unit stays.
    ///
    /// Meant for rounds of which most positions are alike. A round whose median is not positive is
    /// taken as it is.
    ///
    /// ```
    /// use fathom_stats::Rounds;
    /// // The third round runs at half the speed; its shape is the same.
    /// let latencies = [1.0, 1.0, 3.0, 1.0, 1.0, 3.0, 2.0, 2.0, 6.0];
    /// let rounds = Rounds::new(&latencies, 3).unwrap();
    /// assert_eq!(rounds.position_medians(), [1.0, 1.0, 3.0]);
    /// ```
    pub fn position_medians(&self) -> Vec<f64> {
        let medians = self.round_medians();
        let typical = quantile::median(&medians).unwrap_or(1.0);
        let scales: Vec<f64> =
            medians.iter().map(|&m| if m > 0.0 && typical > 0.0 { typical / m } else { 1.0 }).collect();
        let mut column = Vec::with_capacity(scales.len());
        (0..self.positions)
            .map(|position| {
                column.clear();
                column.extend(self.position(position).zip(&scales).map(|(x, scale)| x * scale));
                quantile::median_in_place(&mut column).unwrap_or(0.0)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_are_no_matrix_are_refused() {
        assert_eq!(Rounds::new(&[], 3).unwrap_err(), ShapeError::Empty);
        assert_eq!(Rounds::new(&[1.0], 0).unwrap_err(), ShapeError::Empty);
        assert_eq!(Rounds::new(&[1.0; 5], 3).unwrap_err(), ShapeError::Ragged { latencies: 5, positions: 3 });
        assert_eq!(Rounds::new(&[1.0, f64::NAN], 2).unwrap_err(), ShapeError::NotFinite { index: 1 });
        assert!(ShapeError::Empty.to_string().contains("at least one"));
    }

    #[test]
    fn drift_over_rounds_leaves_the_medians() {
        let shape = [10.0, 10.0, 30.0, 10.0, 12.0];
        let latencies: Vec<f64> =
            (0..11).flat_map(|r| shape.map(|x| x * (1.0 + 0.02 * f64::from(r)))).collect();
        let rounds = Rounds::new(&latencies, 5).unwrap();
        for (median, planted) in rounds.position_medians().iter().zip(shape) {
            assert!((median / (planted * 1.1) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn zeros_stay_finite() {
        let rounds = Rounds::new(&[0.0; 6], 3).unwrap();
        assert_eq!(rounds.position_medians(), [0.0; 3]);
    }
}
