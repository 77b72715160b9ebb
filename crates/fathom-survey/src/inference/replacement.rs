//! Which replacement policy leaves what was found in the cache after it overflowed.
//!
//! Burnett, Bent, Arpaci-Dusseau & Arpaci-Dusseau ("Exploiting gray-box knowledge of buffer-cache
//! management", USENIX 2002) give pages a known order, recency and frequency of use, let a part of them be
//! dropped, and see which attribute decided. Here each attribute is tried by itself, in overflows of its
//! own, and what is left is a number for each. A policy is named if all numbers are those that it
//! leaves, and no other policy leaves them.

use std::ops::RangeInclusive;

use strum::{IntoStaticStr, VariantArray};

/// A replacement policy of a page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Policy {
    /// The least recently used page is dropped.
    Lru,
    /// The page that was brought in first is dropped.
    Fifo,
    /// The page that was brought in first is dropped, unless it was used again since it was last considered.
    Clock,
    /// An active and an inactive list, in order of entry. A second use activates a page, and so does the first use of a page that
    /// was dropped not long ago: Linux without generations.
    TwoLists,
    /// A protected segment and one on probation, each in order of use; a second use protects a page.
    Segmented,
    /// A random page is dropped.
    Random,
    /// Pages are dropped in order of entry, except for pages that were used many times: Linux with generations.
    Generations,
}

/// What was left in the cache. A share is of the probed pages; a difference is one share less another, -1 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Remains {
    /// Of a file of twice the capacity that was read once: the share of each quarter of it, the first
    /// that was read first.
    pub once: [f64; 4],
    /// Of pages read once, every second one is read again: the share of these less that of the others.
    pub again: f64,
    /// Pages read forward and then backward: the share of those that were read last less that of those
    /// that were read first in the second reading.
    pub second: f64,
    /// The same difference for a third reading, which goes backward after two that go forward.
    pub third: f64,
    /// Of pages read twice: the share that is left after reading one and a half times the capacity.
    pub short: f64,
    /// Of pages read twice: the share that is left after reading twice the capacity.
    pub long: f64,
    /// Of pages read eight times: the share that is left after reading twice the capacity.
    pub often: f64,
    /// Of pages read once, dropped and soon read once more, while others are read twice: the share that is left after reading one
    /// and a half times the capacity.
    pub refault: f64,
    /// The same share where no page is read twice.
    pub history: f64,
}

/// How many numbers there are.
const TRAITS: usize = 12;
/// A share of nearly nothing.
const GONE: RangeInclusive<f64> = 0.0..=0.2;
/// A share of most.
const KEPT: RangeInclusive<f64> = 0.6..=1.0;
/// A difference that is plain. The policies differ by 1 where they differ, and an end that falls
/// into the middle of a probed part leaves half of it.
const MORE: RangeInclusive<f64> = 0.5..=1.0;
const LESS: RangeInclusive<f64> = -1.0..=-0.5;
/// No difference.
const SAME: RangeInclusive<f64> = -0.25..=0.25;
/// A number that depends on more than the policy.
const ANY: RangeInclusive<f64> = -1.0..=1.0;

impl Policy {
    /// The name of the policy in a report.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// What it leaves, in the order of [`Remains::numbers`].
    fn leaves(self) -> [RangeInclusive<f64>; TRAITS] {
        let ordered = [GONE, GONE, KEPT, KEPT];
        let rest = match self {
            //                  again second third short long  often refault history
            Policy::Lru => [MORE, MORE, MORE, GONE, GONE, GONE, GONE, GONE],
            Policy::Fifo => [SAME, LESS, LESS, GONE, GONE, GONE, GONE, GONE],
            // Where the first use counts as well, the hand has to come by twice: short may be either.
            Policy::Clock => [MORE, LESS, LESS, ANY, GONE, GONE, GONE, GONE],
            // While the active list is thought to be short, nothing of it leaves: second may be anything above.
            Policy::TwoLists => [MORE, -0.25..=1.0, LESS, KEPT, KEPT, KEPT, KEPT, ANY],
            Policy::Segmented => [MORE, MORE, MORE, KEPT, KEPT, KEPT, GONE, GONE],
            Policy::Generations => [SAME, LESS, LESS, GONE, GONE, KEPT, GONE, GONE],
            Policy::Random => return random(),
        };
        let mut all = ordered.into_iter().chain(rest);
        std::array::from_fn(|_| all.next().unwrap_or(ANY))
    }
}

/// A full cache of N pages keeps each with a probability of exp(-x) while x N others are brought in; the
/// first N of the file went where there was room.
fn random() -> [RangeInclusive<f64>; TRAITS] {
    let around = |share: f64| (share - 0.3).max(0.0)..=(share + 0.3).min(1.0);
    let survives = |x: f64| (-x).exp();
    // The mean over the third and the last quarter, of which 1 to 0.5 and 0.5 to 0 come after.
    let (third, last) = (2.0 * (survives(0.5) - survives(1.0)), 2.0 * (survives(0.0) - survives(0.5)));
    let flat = -0.35..=0.35;
    [
        around(survives(1.0)),
        around(survives(1.0)),
        around(third),
        around(last),
        flat.clone(),
        flat.clone(),
        flat,
        around(survives(0.8)),
        around(survives(1.6)),
        around(survives(1.6)),
        // In a small cache these rest on a dozen probes, and chance is what is looked at.
        ANY,
        ANY,
    ]
}

impl Remains {
    /// The numbers with their names.
    pub fn numbers(&self) -> [(&'static str, f64); TRAITS] {
        let [first, second, third, last] = self.once;
        [
            ("first quarter", first),
            ("second quarter", second),
            ("third quarter", third),
            ("last quarter", last),
            ("read again", self.again),
            ("second order", self.second),
            ("third order", self.third),
            ("twice, short", self.short),
            ("twice, long", self.long),
            ("often, long", self.often),
            ("soon back", self.refault),
            ("late back", self.history),
        ]
    }

    /// The one policy that leaves these shares, and how far they are from the nearest of its bounds.
    ///
    /// # Errors
    /// All numbers in a sentence, where no policy leaves them.
    pub fn policy(&self) -> Result<(Policy, f64), String> {
        let numbers = self.numbers();
        let margin = |policy: Policy| {
            let leaves = policy.leaves();
            numbers.iter().zip(&leaves).map(|((_, number), range)| inside(range, *number)).fold(1.0, f64::min)
        };
        let margins = Policy::VARIANTS.iter().map(|&policy| (policy, margin(policy)));
        let mut fitting = margins.filter(|fit| fit.1 > 0.0);
        match (fitting.next(), fitting.next()) {
            (Some(fit), None) => Ok(fit),
            _ => {
                let percent = |(name, number): &(&str, f64)| format!("{name} {:.0} %", number * 100.0);
                let all: Vec<String> = numbers.iter().map(percent).collect();
                Err(format!("no policy that is known here leaves this: {}", all.join(", ")))
            }
        }
    }
}

/// How far inside of its bounds a number is; a bound at the end of the scale bounds nothing.
fn inside(range: &RangeInclusive<f64>, number: f64) -> f64 {
    let low = if *range.start() <= -1.0 { 2.0 } else { number - range.start() };
    let high = if *range.end() >= 1.0 { 2.0 } else { range.end() - number };
    // Nothing left is as little as there can be.
    let low = if *range.start() == 0.0 { 2.0 } else { low };
    low.min(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_policies_leave_the_same() {
        for (index, one) in Policy::VARIANTS.iter().enumerate() {
            for other in &Policy::VARIANTS[index + 1..] {
                let mut pairs = one.leaves().into_iter().zip(other.leaves());
                let apart = pairs.any(|(one, other)| one.end() < other.start() || other.end() < one.start());
                assert!(apart, "{one:?} and {other:?}");
            }
        }
    }

    /// What Linux left in a memory cgroup of 128 MiB.
    const SEEN: Remains = Remains {
        once: [0.0, 0.0, 0.84, 0.98],
        again: 1.0,
        second: 0.16,
        third: -1.0,
        short: 0.97,
        long: 0.97,
        often: 1.0,
        refault: 1.0,
        history: 0.81,
    };

    #[test]
    fn a_policy_is_named_where_all_fits_and_not_where_one_number_does_not() {
        assert_eq!(SEEN.policy().unwrap().0, Policy::TwoLists);
        let half_back = Remains { refault: 0.48, ..SEEN };
        assert!(half_back.policy().unwrap_err().contains("soon back 48 %"));
        let by_last_use = Remains { third: 1.0, second: 1.0, refault: 0.0, history: 0.0, ..SEEN };
        assert_eq!(by_last_use.policy().unwrap().0, Policy::Segmented);
    }
}
