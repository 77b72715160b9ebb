//! How many requests are under way at once, from when many that were made together had to wait.
//!
//! Where a limited number is served at once and the others wait for their turn, answers come in batches of that many, and a
//! whole answer's time lies between two batches. A client that makes no more requests than may be under way shows the
//! same in its requests, the first batch of which may be larger than what the server works on.

/// Waiting for a batch takes this part of a single answer's time at least.
const LONG: f64 = 0.5;

/// The size of the batches, from the waits for each request or answer in their order and the time of a single answer;
/// none where they did not come in batches of one size, three times over.
pub fn batch(waits: &[f64], alone: f64) -> Option<usize> {
    let long: Vec<usize> = (1..waits.len()).filter(|&at| waits[at] >= LONG * alone).collect();
    let [first, second, third, ref others @ ..] = *long else { return None };
    let size = second - first;
    let is_next = others.first().is_none_or(|&fourth| fourth - third == size);
    let is_even = size > 1 && first >= size && third - second == size && is_next;
    let is_quick = |from: usize, to: usize| waits[from + 1..to].iter().sum::<f64>() <= LONG * alone;
    (is_even && is_quick(0, first) && is_quick(first, second) && is_quick(second, third)).then_some(size)
}

/// Rounds of each half that must say the same: chance shows three even distances in a row once in twenty rounds at most.
const FEWEST: usize = 4;
/// Of the rounds that say anything, this share must say that.
const MOST: f64 = 0.75;

/// What the rounds of each half say, one entry for each: a round that a disturbance has spoilt says nothing, and those that
/// say something agree.
pub fn agreed(batches: &[Option<usize>]) -> Option<usize> {
    let mut seen: Vec<usize> = batches.iter().flatten().copied().collect();
    seen.sort_unstable();
    let middle = *seen.get(seen.len() / 2)?;
    let agrees = |half: &[Option<usize>]| {
        let said = half.iter().flatten().count();
        let same = half.iter().flatten().filter(|&&size| size == middle).count();
        same >= FEWEST && same as f64 >= MOST * said as f64
    };
    let (early, late) = batches.split_at(batches.len() / 2);
    (agrees(early) && agrees(late)).then_some(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(first: usize, size: usize, count: usize) -> Vec<f64> {
        (0..count)
            .map(|at| if at >= first && (at - first).is_multiple_of(size) { 90.0 } else { 2.0 })
            .collect()
    }

    #[test]
    fn batches_are_as_large_as_what_is_served_at_once() {
        assert_eq!(batch(&waits(4, 4, 32), 100.0), Some(4));
        assert_eq!(batch(&waits(4, 4, 13), 100.0), Some(4));
        // The client lets sixteen be under way, and the server works on four of them.
        assert_eq!(batch(&waits(16, 4, 32), 100.0), Some(4));
        // Two waits alone show no period, and one after the other is no batch.
        assert_eq!(batch(&waits(4, 4, 12), 100.0), None);
        assert_eq!(batch(&waits(1, 1, 32), 100.0), None);
        assert_eq!(batch(&waits(2, 4, 32), 100.0), None);
        let mut uneven = waits(4, 4, 32);
        uneven[6] = 70.0;
        assert_eq!(batch(&uneven, 100.0), None);
        // Answers that drip in are no batch.
        let dripping: Vec<f64> = waits(8, 8, 32).iter().map(|wait| wait + 10.0).collect();
        assert_eq!(batch(&dripping, 100.0), None);
    }

    #[test]
    fn rounds_that_say_something_must_say_the_same() {
        let mut rounds = vec![Some(4); 24];
        assert_eq!(agreed(&rounds), Some(4));
        (rounds[2], rounds[15]) = (None, Some(3));
        assert_eq!(agreed(&rounds), Some(4));
        rounds[3..11].fill(None);
        assert_eq!(agreed(&rounds), None, "three of the first half are too few");
        assert_eq!(agreed(&[[Some(4), Some(4), Some(3)]; 8].concat()), None);
        assert_eq!(agreed(&[None; 24]), None);
    }
}
