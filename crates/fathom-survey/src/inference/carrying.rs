//! Which call waits until what was written is where it is kept: the write, the close, or a later sync.

use fathom_stats::quantile;

use super::steps::is_in_both_halves;

/// The times that each round has measured, one entry per round, all in one unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoundTimes {
    /// The time of a round trip to the server; empty where there is no server.
    pub trip: Vec<f64>,
    /// The time of a typical write.
    pub write: Vec<f64>,
    /// The time of all writes together.
    pub writes: Vec<f64>,
    /// How much longer closing took after the writes than without them.
    pub close: Vec<f64>,
    /// How much longer a sync of the file, opened again, took after the writes than without them.
    pub sync: Vec<f64>,
}

/// The call that waits until the data have left this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// Each write.
    Write,
    /// The close.
    Close,
    /// Neither of them: a sync would wait.
    Sync,
}

/// What waits for the server takes this part of a round trip at least, and what does not wait this part at most.
const WAITING: f64 = 0.7;
const IDLE: f64 = 0.3;
/// Without a server: the call that waits takes so many times as long as the other two.
const TIMES: f64 = 3.0;

impl RoundTimes {
    /// The call that waits, in nearly all rounds of each half; none where no call stands out.
    ///
    /// Without a server that a write could be compared with, a write that waits is told from none that is slow.
    pub fn waiting(&self) -> Option<Waits> {
        let nearly_all = |holds: &dyn Fn(usize) -> bool| {
            let rounds: Vec<bool> = (0..self.write.len()).map(holds).collect();
            is_in_both_halves(&rounds)
        };
        let Self { trip, write, writes, close, sync } = self;
        if trip.is_empty() {
            let longest = |one: &[f64], other: &[f64], at: usize| {
                one[at] >= TIMES * writes[at] && one[at] >= TIMES * other[at].abs()
            };
            return if nearly_all(&|at| longest(sync, close, at)) {
                Some(Waits::Sync)
            } else {
                nearly_all(&|at| longest(close, sync, at)).then_some(Waits::Close)
            };
        }
        if nearly_all(&|at| write[at] >= WAITING * trip[at]) {
            // Where the close waits as well, the writes were only begun.
            let typical = |all: &[f64]| quantile::median(all).unwrap_or(f64::NAN);
            return (typical(close) <= IDLE * typical(write)).then_some(Waits::Write);
        }
        if !nearly_all(&|at| write[at] <= IDLE * trip[at]) {
            return None;
        }
        if nearly_all(&|at| close[at] >= WAITING * trip[at]) {
            return Some(Waits::Close);
        }
        let waits_for_sync = |at: usize| close[at] <= IDLE * trip[at] && sync[at] >= WAITING * trip[at];
        nearly_all(&waits_for_sync).then_some(Waits::Sync)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(trip: Option<f64>, write: f64, close: f64, sync: f64) -> RoundTimes {
        let all = |value: f64| (0..24).map(|turn| value * (1.0 + 0.1 * f64::from(turn % 3))).collect();
        RoundTimes {
            trip: trip.map_or_else(Vec::new, all),
            write: all(write),
            writes: all(4.0 * write),
            close: all(close),
            sync: all(sync),
        }
    }

    #[test]
    fn the_call_that_takes_a_round_trip_waits() {
        assert_eq!(times(Some(100.0), 105.0, 2.0, -3.0).waiting(), Some(Waits::Write));
        assert_eq!(times(Some(100.0), 5.0, 210.0, 1.0).waiting(), Some(Waits::Close));
        assert_eq!(times(Some(100.0), 5.0, 3.0, 120.0).waiting(), Some(Waits::Sync));
        // Half a round trip is neither one nor none.
        assert_eq!(times(Some(100.0), 50.0, 100.0, 0.0).waiting(), None);
        assert_eq!(times(Some(100.0), 5.0, 50.0, 100.0).waiting(), None);
        assert_eq!(times(Some(100.0), 80.0, 50.0, 0.0).waiting(), None);
        assert_eq!(times(Some(100.0), 5.0, 0.0, 0.0).waiting(), None);
    }

    #[test]
    fn without_a_server_one_call_takes_longer_than_all_others() {
        assert_eq!(times(None, 1.0, 0.1, 80.0).waiting(), Some(Waits::Sync));
        assert_eq!(times(None, 1.0, 80.0, 0.1).waiting(), Some(Waits::Close));
        assert_eq!(times(None, 1.0, 0.1, 5.0).waiting(), None);
        assert_eq!(times(None, 80.0, 0.1, 0.2).waiting(), None);
    }
}
