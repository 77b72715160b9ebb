//! A sequence of operations repeated for several rounds, as a matrix of latencies.

/// Latencies of `positions` operations over several rounds: one row per round, row-major.
///
/// The unit is the caller's (ticks or nanoseconds). Every latency is finite.
#[derive(Debug, Clone, Copy)]
pub struct Rounds<'a> {
    latencies: &'a [f64],
    positions: usize,
}

impl<'a> Rounds<'a> {
    /// A matrix over `latencies`, `positions` to a round.
    ///
    /// # Errors
    /// One sentence where the slice is empty, does not fill whole rounds, or holds a number that is
    /// not finite.
    ///
    /// ```
    /// use fathom_stats::Rounds;
    /// let rounds = Rounds::new(&[1.0, 2.0, 3.0, 2.0, 4.0, 6.0], 3).unwrap();
    /// assert_eq!((rounds.rounds(), rounds.positions()), (2, 3));
    /// assert_eq!(rounds.round(1), [2.0, 4.0, 6.0]);
    /// ```
    pub fn new(latencies: &'a [f64], positions: usize) -> Result<Self, String> {
        if positions == 0 || latencies.is_empty() {
            return Err("a matrix of rounds needs at least one latency".to_owned());
        }
        if !latencies.len().is_multiple_of(positions) {
            return Err(format!("{} latencies do not fill rounds of {positions} positions", latencies.len()));
        }
        match latencies.iter().position(|latency| !latency.is_finite()) {
            Some(index) => Err(format!("latency {index} is not a finite number")),
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_are_no_matrix_are_refused() {
        assert!(Rounds::new(&[], 3).unwrap_err().contains("at least one"));
        assert!(Rounds::new(&[1.0], 0).unwrap_err().contains("at least one"));
        assert!(Rounds::new(&[1.0; 5], 3).unwrap_err().starts_with("5 latencies do not fill rounds of 3"));
        assert!(Rounds::new(&[1.0, f64::NAN], 2).unwrap_err().starts_with("latency 1 is not"));
    }
}
