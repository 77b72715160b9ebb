//! How far a server has read ahead of requests in order, from how long reads take of places that were not asked for.

use fathom_stats::quantile;

use super::steps::is_in_both_halves;

/// What was read in one region of a file that had not been read since it was written. Latencies in any unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// The first read of all, at a place of its own.
    pub first: f64,
    /// A read of what follows that place.
    pub following: f64,
    /// The last of the reads in order.
    pub last: f64,
    /// Later reads of the first place: two before the probes and one after them.
    pub again: [f64; 3],
    /// Reads beyond the reads in order, from near to far.
    pub probes: Vec<f64>,
}

/// What regions show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    /// A first read takes no longer than a later one.
    NoDifference,
    /// Any read also brings in what follows it.
    AfterAnyRead,
    /// Nothing is read ahead.
    Nothing,
    /// So many probes were read ahead, and those from the second number on were not.
    Until(usize, usize),
    /// All probes were read ahead.
    All,
    /// The latencies do not decide; the reason.
    Unclear(&'static str),
}

/// Probes that may be unclear: the one at which a window ends, or one at which a server goes on to read the next window.
const MOST_UNCLEAR: usize = 1;

/// What regions, in the order of time, show; a first read must take longer than a later one by `least`.
///
/// A read is fast or slow by the geometric mean of what a later and a first read take. These must be told apart by that
/// themselves, in nearly all regions of each half, and so must each probe.
pub fn judged(regions: &[Region], least: f64) -> Ahead {
    let column = |of: &dyn Fn(&Region) -> f64| regions.iter().map(of).collect::<Vec<f64>>();
    let typical = |values: &[f64]| quantile::median(values).unwrap_or(f64::NAN);
    let longer = typical(&column(&|region| region.first - region.again[1]));
    let again = column(&|region| region.again[0].min(region.again[1]));
    // Also where nothing was read at all.
    if longer.is_nan() || longer < least {
        return Ahead::NoDifference;
    }
    let limits: Vec<f64> = again.iter().map(|again| (again * (again + longer)).sqrt()).collect();
    let is_slow = |values: &[f64]| {
        let slow: Vec<bool> = values.iter().zip(&limits).map(|(value, limit)| value > limit).collect();
        let fast: Vec<bool> = slow.iter().map(|slow| !slow).collect();
        is_in_both_halves(&slow).then_some(true).or(is_in_both_halves(&fast).then_some(false))
    };
    let [first, after] = [column(&|region| region.first), column(&|region| region.again[2])];
    if (is_slow(&first), is_slow(&after)) != (Some(true), Some(false)) {
        return Ahead::Unclear("first and later reads of a place can't be told apart one by one");
    }
    match is_slow(&column(&|region| region.following)) {
        Some(true) => {}
        Some(false) => return Ahead::AfterAnyRead,
        None => return Ahead::Unclear("whether any read brings in what follows it could not be determined"),
    }
    let count = regions.iter().map(|region| region.probes.len()).min().unwrap_or(0);
    let slow: Vec<Option<bool>> =
        (0..count).map(|at| is_slow(&column(&|region| region.probes[at]))).collect();
    let unclear = slow.iter().filter(|slow| slow.is_none()).count();
    let farthest = slow.iter().rposition(|slow| *slow == Some(false));
    let unread = slow.iter().position(|slow| *slow == Some(true)).unwrap_or(count);
    let last = column(&|region| region.last);
    match farthest {
        None if unread == 0 && unclear == 0 && is_slow(&last) == Some(true) => Ahead::Nothing,
        Some(farthest) if farthest + 1 == count && unread == count && unclear <= MOST_UNCLEAR => Ahead::All,
        Some(farthest) if farthest < unread && unread < count && unclear <= MOST_UNCLEAR => {
            Ahead::Until(farthest + 1, unread)
        }
        _ => Ahead::Unclear("what is read ahead has no clear end"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    const PROBES: usize = 8;
    const LEAST: f64 = 50.0;

    /// Lognormal noise, 1 % of outliers of 50 times as much, and a drift of 20 % from the first region to the last.
    fn noisy(dice: &mut Pcg64Mcg, sigma: f64, drift: f64) -> f64 {
        let normal: f64 = (0..12).map(|_| dice.random::<f64>()).sum::<f64>() - 6.0;
        let outlier = if dice.random_range(0..100) == 0 { 50.0 } else { 1.0 };
        (sigma * normal).exp() * outlier * (1.0 + 0.2 * drift)
    }

    /// Regions of a server from which a read takes `near`, and `cold` longer where it was not read ahead: so many probes.
    fn planted(seed: u64, count: usize, [near, cold, sigma]: [f64; 3], ahead: usize) -> Vec<Region> {
        let dice = &mut Pcg64Mcg::seed_from_u64(seed);
        let region = |at: usize| {
            let mut read = |is_cold: bool| {
                (near + if is_cold { cold } else { 0.0 }) * noisy(dice, sigma, at as f64 / count as f64)
            };
            Region {
                first: read(true),
                following: read(true),
                last: read(ahead == 0),
                again: [read(false), read(false), read(false)],
                probes: (0..PROBES).map(|probe| read(probe >= ahead)).collect(),
            }
        };
        (0..count).map(region).collect()
    }

    /// The answer of up to three looks at ten regions each.
    fn looked(regions: &[Region]) -> Ahead {
        let looks = [10, 20, 30].map(|count| judged(&regions[..count], LEAST));
        let clear = looks.iter().find(|look| !matches!(look, Ahead::Unclear(_)));
        *clear.unwrap_or(&looks[2])
    }

    #[test]
    fn the_end_is_where_it_was_planted() {
        let (mut right, mut all) = (0, 0);
        for seed in 0..1000 {
            let ahead = (seed % 9) as usize;
            let cold = [150.0, 400.0, 2000.0][(seed / 9 % 3) as usize];
            let sigma = [0.02, 0.05, 0.1][(seed / 27 % 3) as usize];
            let seen = looked(&planted(seed, 30, [200.0, cold, sigma], ahead));
            all += 1;
            match seen {
                Ahead::Nothing => assert_eq!(ahead, 0, "seed {seed}"),
                Ahead::All => assert_eq!(ahead, PROBES, "seed {seed}"),
                Ahead::Until(read, unread) => {
                    assert!(
                        (read..=unread).contains(&ahead) && read < PROBES,
                        "seed {seed}: {seen:?}, {ahead}"
                    );
                }
                Ahead::Unclear(_) => continue,
                Ahead::NoDifference | Ahead::AfterAnyRead => panic!("seed {seed}: {seen:?}"),
            }
            right += 1;
        }
        assert!(100 * right >= 95 * all, "{right} of {all}");
    }

    #[test]
    fn data_in_memory_and_noise_are_no_answer() {
        for seed in 0..1000 {
            let sigma = [0.02, 0.1, 0.3, 1.0, 2.0][(seed % 5) as usize];
            let seen = looked(&planted(seed, 30, [2000.0, 0.0, sigma], 3));
            assert!(matches!(seen, Ahead::NoDifference | Ahead::Unclear(_)), "seed {seed}: {seen:?}");
        }
        let quiet = planted(1, 30, [200.0, 0.0, 0.02], 3);
        assert_eq!(judged(&quiet, LEAST), Ahead::NoDifference);
        assert_eq!(judged(&[], LEAST), Ahead::NoDifference);
    }

    #[test]
    fn a_server_that_reads_on_after_any_read_is_no_answer() {
        let mut regions = planted(5, 30, [200.0, 800.0, 0.05], 4);
        regions.iter_mut().for_each(|region| region.following = region.again[0]);
        assert_eq!(judged(&regions, LEAST), Ahead::AfterAnyRead);
        // The reads in order are fast, and what follows them is not: parts of the file were brought in whole.
        let mut regions = planted(5, 30, [200.0, 800.0, 0.05], 0);
        regions.iter_mut().for_each(|region| region.last = region.again[0]);
        assert!(matches!(judged(&regions, LEAST), Ahead::Unclear(_)));
    }

    #[test]
    fn one_probe_may_be_unclear_and_no_more() {
        let mut regions = planted(9, 20, [200.0, 800.0, 0.02], 4);
        let unclear = |regions: &mut [Region], at: usize| {
            regions.iter_mut().step_by(3).for_each(|region| region.probes[at] = region.again[0]);
        };
        unclear(&mut regions, 4);
        assert_eq!(judged(&regions, LEAST), Ahead::Until(4, 5));
        // Linux reads on at a page in the midst of what it has read ahead.
        let mut marked = planted(9, 20, [200.0, 800.0, 0.02], 4);
        marked.iter_mut().step_by(3).for_each(|region| region.probes[1] = region.first);
        assert_eq!(judged(&marked, LEAST), Ahead::Until(4, 4));
        unclear(&mut regions, 5);
        assert!(matches!(judged(&regions, LEAST), Ahead::Unclear(_)));
    }
}
