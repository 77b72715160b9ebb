//! The steady period of stalls at the end of a sequence.
//!
//! Read-ahead opens its window step by step: the first stalls of a sequential read stand at
//! irregular distances, then at one distance until the end. [`find`] looks for that tail.

use crate::distribution::{binomial_upper_tail, hypergeometric_upper_tail};

/// Fewest teeth, and fewest whole periods, of the tail: the ramp itself repeats sizes two or three times.
const MIN_TEETH: usize = 5;
/// Share of the teeth that have to be stalls.
const PRESENT_SHARE: f64 = 0.9;
/// Stalls of the tail that are no teeth, as a share of the teeth; two are forgiven in any case unless they are as many
/// as a third of the teeth.
const EXTRA_SHARE: f64 = 0.1;
/// Largest probability, corrected for the number of candidates, that stalls at random places make the tail.
const SIGNIFICANCE: f64 = 0.01;

/// A tail of stalls at one distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// Distance between stalls, in positions.
    pub period: usize,
    /// Position of the first stall of the tail.
    pub onset: usize,
    /// Number of multiples of the period from the onset to the end of the sequence.
    pub teeth: usize,
    /// How many of them are stalls.
    pub present: usize,
    /// Stalls of the tail that stand elsewhere.
    pub extras: usize,
    /// One minus the probability that stalls at random places make such a tail, corrected for
    /// the number of candidates.
    pub confidence: f64,
}

/// Why no steady period was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
pub enum Reason {
    /// No position stalls.
    #[strum(to_string = "no position stalls")]
    NoStalls,
    /// Nearly every position stalls: the period is at most one position.
    #[strum(to_string = "nearly every position stalls")]
    Saturated,
    /// The stalls of the end may become steady, but there are too few: lengthen the sequence.
    #[strum(
        to_string = "too few equal periods at the end (last distance {last_distance} positions): lengthen the sequence"
    )]
    TooFewPeriods {
        /// The last distance between stalls, in positions (0 if there is but one stall).
        last_distance: usize,
    },
    /// There are stalls enough, and they keep to no period.
    #[strum(to_string = "the stalls keep to no period")]
    Irregular,
}

/// Finds the period that the stalls of a sequence of `positions` operations keep to its end.
///
/// `stalls` holds the positions that stall; those not below `positions` are ignored. For every period and
/// every one of the last stalls as an anchor, the tail is lengthened towards the beginning as long
/// as enough of its teeth are stalls and few other stalls lie in it; it begins with a period free
/// of other stalls, so that a step of the ramp is not taken for its start. A multiple of the true
/// period leaves stalls over and a divisor lacks teeth, so neither is accepted. Of several
/// accepted tails the least probable one under random places wins (the hypergeometric
/// distribution: teeth and stalls of the tail drawn independently); an almost equally good tail
/// with another period makes the answer irregular.
///
/// # Errors
/// [`Reason`] if there is no steady tail.
///
/// ```
/// use fathom_stats::steady::find;
/// let mut stalls = vec![0, 1, 4, 12, 16, 24];
/// stalls.extend((32..512).step_by(32));
/// let steady = find(512, &stalls).unwrap();
/// assert_eq!((steady.period, steady.onset, steady.extras), (32, 32, 0));
/// ```
pub fn find(positions: usize, stalls: &[usize]) -> Result<Steady, Reason> {
    let mut is_stall = vec![false; positions];
    stalls.iter().filter(|&&stall| stall < positions).for_each(|&stall| is_stall[stall] = true);
    let stalls: Vec<usize> = (0..positions).filter(|&i| is_stall[i]).collect();
    let Some(&last) = stalls.last() else {
        return Err(Reason::NoStalls);
    };
    if 10 * stalls.len() >= 9 * positions && positions >= MIN_TEETH {
        return Err(Reason::Saturated);
    }
    let sequence = Sequence { is_stall: &is_stall, stalls: &stalls };
    let mut tails: Vec<Steady> =
        (2..=positions / MIN_TEETH).filter_map(|period| sequence.best_tail(period)).collect();
    tails.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then(b.present.cmp(&a.present)));
    match tails.as_slice() {
        [] => Err(sequence.why_not(last)),
        [only] => Ok(*only),
        [first, second, ..] if sequence.rivals(first, second) => Err(Reason::Irregular),
        [first, ..] => Ok(*first),
    }
}

/// How many of the last stalls are tried as teeth: all but this many of them may be noise.
const ANCHORS: usize = 4;

struct Sequence<'a> {
    is_stall: &'a [bool],
    stalls: &'a [usize],
}

impl Sequence<'_> {
    /// The longest acceptable tail of one period over the anchors.
    fn best_tail(&self, period: usize) -> Option<Steady> {
        let anchors = self.stalls.iter().rev().take(ANCHORS);
        anchors
            .filter_map(|&anchor| self.tail(period, anchor))
            .max_by(|a, b| a.present.cmp(&b.present).then(b.extras.cmp(&a.extras)))
    }

    /// The longest acceptable tail with a tooth at `anchor`.
    fn tail(&self, period: usize, anchor: usize) -> Option<Steady> {
        let end = self.is_stall.len();
        let mut best = None;
        let (mut teeth, mut present) = (0, 0);
        // No tail of this period may lack more teeth than this, however long it grows.
        let most_missing = (1.0 - PRESENT_SHARE) * (end / period + 1) as f64;
        let last_tooth = anchor + (end - 1 - anchor) / period * period;
        for onset in (anchor % period..=last_tooth).rev().step_by(period) {
            teeth += 1;
            present += usize::from(self.is_stall[onset]);
            if (teeth - present) as f64 > most_missing {
                break;
            }
            if self.is_stall[onset] && onset <= anchor {
                let extras = self.stalls_in(onset, end) - present;
                let tail = Steady { period, onset, teeth, present, extras, confidence: 0.0 };
                best = if self.is_acceptable(&tail) { Some(tail) } else { best };
            }
        }
        best.and_then(|tail| self.judged(tail))
    }

    fn is_acceptable(&self, tail: &Steady) -> bool {
        let teeth = tail.teeth as f64;
        let forgiven = (EXTRA_SHARE * teeth).max((teeth / 3.0).min(2.0));
        let length = self.is_stall.len() - tail.onset;
        // Two windows of half the size at the end of the ramp are not the first period: the
        // onset has a period of its own, without other stalls.
        let begins = self.stalls_in(tail.onset, tail.onset + tail.period) == 1;
        begins
            && tail.present >= MIN_TEETH
            && length >= MIN_TEETH * tail.period
            && tail.present as f64 >= PRESENT_SHARE * teeth
            && tail.extras as f64 <= forgiven
            && !self.hides_fraction(tail)
    }

    /// Whether the extras keep to a fraction of the period more than chance would have it: the
    /// fraction may be the true period with teeth missed.
    fn hides_fraction(&self, tail: &Steady) -> bool {
        let Steady { period, onset, extras, .. } = *tail;
        let from = self.stalls.partition_point(|&stall| stall < onset);
        (2..=period / 2).filter(|parts| extras > 0 && period.is_multiple_of(*parts)).any(|parts| {
            let on_fraction = self.stalls[from..]
                .iter()
                .map(|stall| (stall - onset) % period)
                .filter(|phase| *phase != 0 && phase.is_multiple_of(period / parts))
                .count();
            let share = (parts - 1) as f64 / (period - 1) as f64;
            on_fraction > 1 && binomial_upper_tail(extras, on_fraction, share) < 0.01
        })
    }

    /// Number of stalls at `from..to`.
    fn stalls_in(&self, from: usize, to: usize) -> usize {
        let below = |bound: usize| self.stalls.partition_point(|&stall| stall < bound);
        below(to) - below(from)
    }

    /// The tail with its confidence, if that suffices.
    fn judged(&self, tail: Steady) -> Option<Steady> {
        let length = self.is_stall.len() - tail.onset;
        let stalls = tail.present + tail.extras;
        let chance = hypergeometric_upper_tail(length, stalls, tail.teeth, tail.present);
        // For each period as many phases, for each of them as many lengths as there are teeth.
        let candidates = self.is_stall.len() as f64 * self.is_stall.len() as f64 / MIN_TEETH as f64;
        let p_value = (chance * candidates).min(1.0);
        (p_value <= SIGNIFICANCE).then_some(Steady { confidence: 1.0 - p_value, ..tail })
    }

    /// Whether the second tail explains the sequence almost as well as the first.
    fn rivals(&self, first: &Steady, second: &Steady) -> bool {
        let faults = |tail: &Steady| tail.teeth - tail.present + tail.extras;
        let (end, longer) = (self.is_stall.len(), 2);
        longer * (end - second.onset) > end - first.onset && faults(second) <= faults(first)
    }

    /// Whether the tail is short of periods or has none.
    fn why_not(&self, last: usize) -> Reason {
        let before = self.stalls.len().checked_sub(2).map(|i| self.stalls[i]);
        let last_distance = before.map_or(0, |before| last - before);
        let room = self.is_stall.len() / MIN_TEETH;
        // A distance that fits the sequence less than twice min_teeth times cannot have shown
        // itself steady after a ramp; neither can a handful of stalls.
        let few = self.stalls.len() < 2 * MIN_TEETH;
        if few || 2 * last_distance > room {
            Reason::TooFewPeriods { last_distance }
        } else {
            Reason::Irregular
        }
    }
}

#[cfg(test)]
mod tests;
