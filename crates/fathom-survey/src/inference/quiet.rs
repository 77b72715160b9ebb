//! What the kernel has written by itself, from the latency of a sync that comes later.
//!
//! A sync with nothing to do is fast, one with something is slow. Each sync that is asked about stands
//! between syncs of both kinds whose work is known, so that what the machine does at that moment, fast
//! or slow, warm or cold, strikes all of them.

use fathom_stats::quantile;

/// One sync whose work is in question, with known syncs made at the same time. Latencies are all in the same unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// How long the data of the sync have been waiting, in ns.
    pub age_ns: f64,
    /// Known syncs that had nothing to write.
    pub idle: Vec<f64>,
    /// Known syncs that had something to write.
    pub busy: Vec<f64>,
    /// The latency of the sync in question; of several in the same state the fastest, since noise makes none of them faster.
    pub asked: f64,
}

/// Syncs with something to write take at least this many times as long as those without.
const TELLING_TIMES: f64 = 2.0;
/// Of so many probes one may stand between neighbours that look alike, because the machine was disturbed.
const PER_UNCLEAR: usize = 4;

/// Whether the kernel had done the work before each probe; none where its neighbours look alike.
///
/// A probe is idle if it is nearer to its own idle neighbours than half of what usually lies between the
/// kinds, on a log scale.
///
/// # Errors
/// One sentence: the two kinds of known syncs can't be told apart, or too rarely.
pub fn found_done(probes: &[Probe]) -> Result<Vec<Option<bool>>, String> {
    told_apart(probes, TELLING_TIMES)
        .ok_or_else(|| "a sync with nothing to do takes as long as one with something".to_owned())
}

/// Whether each probe is idle, if busy syncs take at least `telling_times` as long; none for a probe whose neighbours look alike.
/// None at all if most of them do.
pub fn told_apart(probes: &[Probe], telling_times: f64) -> Option<Vec<Option<bool>>> {
    let typical = |syncs: &[f64]| quantile::median(syncs).unwrap_or(f64::NAN).max(1.0).ln();
    let apart = |probe: &Probe| typical(&probe.busy) - typical(&probe.idle);
    let usual = quantile::median(&probes.iter().map(apart).collect::<Vec<f64>>()).unwrap_or(0.0);
    let judged: Vec<Option<bool>> = probes
        .iter()
        .map(|probe| {
            let above = probe.asked.max(1.0).ln() - typical(&probe.idle);
            (apart(probe) > usual / 2.0).then_some(above < usual / 2.0)
        })
        .collect();
    let unclear = judged.iter().filter(|judged| judged.is_none()).count();
    (usual >= telling_times.ln() && unclear <= probes.len() / PER_UNCLEAR).then_some(judged)
}

/// The step between the ages at which work was still to be done and those at which it was done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The last age at which it was still to be done, in ns.
    pub low: f64,
    /// The first age at which it was done, in ns.
    pub high: f64,
    /// The probability that probes of random outcome look like this.
    pub chance: f64,
}

/// The fewest probes on each side of a step.
pub const FEWEST_PER_SIDE: usize = 3;
/// One probe out of this many may be on the wrong side.
const PER_MISFIT: usize = 12;

/// The step in probes in the order of their ages; none where all have the same outcome, or outcomes are mixed.
pub fn step(ages: &[f64], done: &[bool]) -> Option<Step> {
    let misfits_at = |place: usize| {
        let before = done[..place].iter().filter(|&&done| done).count();
        before + done[place..].iter().filter(|&&done| !done).count()
    };
    let place = (0..=done.len()).min_by_key(|&place| misfits_at(place))?;
    let per_side = place.min(done.len() - place);
    let misfits = misfits_at(place);
    if per_side < FEWEST_PER_SIDE || misfits > done.len() / PER_MISFIT {
        return None;
    }
    Some(Step { low: ages[place - 1], high: ages[place], chance: chance(done.len(), misfits) })
}

/// The probability of at most so many misfits at one place or another, if each probe fell on either side
/// with the same probability.
fn chance(probes: usize, misfits: usize) -> f64 {
    let mut ways = 1.0;
    let mut all = 1.0;
    for misfit in 0..misfits {
        ways *= (probes - misfit) as f64 / (misfit + 1) as f64;
        all += ways;
    }
    ((probes + 1) as f64 * all / 2_f64.powi(i32::try_from(probes).unwrap_or(i32::MAX))).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(age: f64, idle: f64, busy: f64, asked: f64) -> Probe {
        Probe { age_ns: age, idle: vec![idle; 3], busy: vec![busy; 3], asked }
    }

    #[test]
    fn a_probe_is_compared_with_its_own_neighbours() {
        // The machine becomes ten times slower while the work is done.
        let probes = [
            probe(1.0, 10.0, 100.0, 90.0),
            probe(2.0, 10.0, 100.0, 120.0),
            probe(3.0, 100.0, 1_000.0, 900.0),
            probe(4.0, 100.0, 1_000.0, 110.0),
        ];
        assert_eq!(found_done(&probes).unwrap(), [Some(false), Some(false), Some(false), Some(true)]);
    }

    #[test]
    fn kinds_that_look_alike_tell_nothing() {
        let same: Vec<Probe> = (0..9).map(|age| probe(f64::from(age), 10.0, 11.0, 10.0)).collect();
        assert!(found_done(&same).is_err());
        assert!(found_done(&[]).is_err());
    }

    #[test]
    fn a_probe_whose_neighbours_look_alike_is_left_out() {
        let mut probes: Vec<Probe> = (0..8).map(|age| probe(f64::from(age), 10.0, 100.0, 10.0)).collect();
        probes[3] = probe(3.0, 90.0, 100.0, 95.0);
        let judged = found_done(&probes).unwrap();
        assert_eq!((judged[3], judged[4]), (None, Some(true)));
        probes[5] = probe(5.0, 90.0, 100.0, 95.0);
        probes[6] = probe(6.0, 90.0, 100.0, 95.0);
        assert!(found_done(&probes).is_err(), "three of eight");
    }

    #[test]
    fn a_step_has_enough_on_both_sides_and_hardly_anything_on_the_wrong_one() {
        let ages: Vec<f64> = (0..24).map(f64::from).collect();
        let after = |place: usize| -> Vec<bool> { (0..24).map(|age| age >= place).collect() };
        let found = step(&ages, &after(20)).unwrap();
        assert_eq!((found.low, found.high), (19.0, 20.0));
        assert!(found.chance < 1e-5);
        assert_eq!(step(&ages, &after(22)), None);
        assert_eq!(step(&ages, &after(2)), None);
        let mut noisy = after(16);
        noisy[5] = true;
        assert_eq!(step(&ages, &noisy).map(|found| found.high), Some(16.0));
        noisy[20] = false;
        noisy[22] = false;
        assert_eq!(step(&ages, &noisy), None);
        let alternating: Vec<bool> = (0..24).map(|age| age % 2 == 0).collect();
        assert_eq!(step(&ages, &alternating), None);
    }

    #[test]
    fn chance_is_that_of_a_fair_coin() {
        // One place of four, and three tosses: 4/8.
        assert!((chance(3, 0) - 0.5).abs() < 1e-12);
        assert!((chance(10, 1) - 11.0 * 11.0 / 1024.0).abs() < 1e-12);
    }
}
