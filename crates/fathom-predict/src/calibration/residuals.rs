//! How far a model is off on jobs that nothing was fitted to, by class: what predictions are corrected by, and what their
//! intervals are made of.

use std::collections::BTreeMap;

use fathom_program::job::{Direction, Job};
use fathom_stats::quantile;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::{Account, mean_square, simulated, time, without_noise};
use crate::model::{Model, Residual, Runner, State, Tail};
use crate::prediction::{SHARES, class, finds_cached};
use crate::single_runs::SingleRuns;
use crate::trial::{self, Trial, ns_per_transfer};

/// How far the model is off on single runs, by class of job; and what each job came to, for whoever looks on.
pub(super) fn residuals(
    model: &Model,
    checks: &[SingleRuns],
    fitted: &[Trial],
) -> (BTreeMap<String, Residual>, Account) {
    let by = model.parameters.choices.runner;
    let still = without_noise(model);
    // What it was fitted to, Fathom ran.
    let mut own = still.clone();
    own.parameters.choices.runner = Runner::Fathom;
    let checked: Vec<Check<'_>> = checks.par_iter().filter_map(|one| Check::of(one, model, &still)).collect();
    let refused =
        checks.iter().filter_map(|one| Some(format!("{}: {}", one.job.name, one.refusal.as_ref()?)));
    let account = Account {
        name: format!("checks: nothing was fitted to them; run by {}", by.word()),
        jobs: checked
            .iter()
            .map(|one| (one.job.name.clone(), one.told_ns * middle(&one.errors).exp(), one.told_ns))
            .collect(),
        runs: checked
            .iter()
            .map(|one| one.errors.iter().map(|error| one.told_ns * error.exp()).collect())
            .collect(),
        disturbed: 0,
        drift: 0.0,
        refused: refused.collect(),
    };
    let mut by_class: BTreeMap<String, Vec<&Check<'_>>> = BTreeMap::new();
    for one in &checked {
        by_class.entry(class(one.job, &model.parameters)).or_default().push(one);
    }
    let of = |(class, checks): (String, Vec<&Check<'_>>)| {
        let of_class = fitted.par_iter().filter(|trial| self::class(&trial.job, &own.parameters) == class);
        let error = |trial: &Trial| Some((time(&trial.job, &own) / trial.ns_per_transfer()?).ln());
        let left: Vec<f64> = of_class.filter_map(error).collect();
        let waits = |one: &&Check<'_>| {
            one.job.direct || (one.job.does(Direction::Read) && !finds_cached(one.job, &model.parameters))
        };
        Some((class, residual(&checks, mean_square(&left).sqrt(), checks.iter().all(waits))?))
    };
    (moderated(by_class.into_iter().filter_map(of).collect()), account)
}

/// What few jobs tell is drawn towards what the other classes do. The spreads: as if two jobs more had the usual one (with
/// four, intervals held 84 % of 252 single runs on three mounts, and not 90). Source: G. Smyth, "Linear models and empirical Bayes
/// methods", 2004, the moderated t. What the rates are corrected by: towards nothing, by as much as it is uncertain, measured by the
/// usual correction, and what is left of it widens the spread.
fn moderated(mut classes: BTreeMap<String, Residual>) -> BTreeMap<String, Residual> {
    const PRIOR: f64 = 2.0;
    let usual = |figure: &dyn Fn(&Residual) -> Option<f64>| {
        let squares = classes.values().filter_map(figure).map(|one| one * one).collect::<Vec<_>>();
        quantile::median(&squares).unwrap_or(0.0)
    };
    let tail = |share: f64| {
        move |one: &Residual| Some(one.latencies.iter().find(|tail| tail.share == share)?.spread)
    };
    let (of_rates, of_tails) = (usual(&|one| Some(one.spread)), SHARES.map(|share| usual(&tail(share))));
    let correction = usual(&|one| Some(one.factor.ln()));
    for residual in classes.values_mut() {
        let jobs = f64::from(residual.jobs);
        let towards =
            |spread: f64, usual: f64| ((PRIOR * usual + jobs * spread * spread) / (PRIOR + jobs)).sqrt();
        let (spread, off) = (towards(residual.spread, of_rates), residual.factor.ln());
        let kept = correction / (correction + spread * spread / jobs).max(f64::MIN_POSITIVE);
        residual.factor = (kept * off).exp();
        residual.spread = spread.hypot((1.0 - kept) * off);
        for tail in &mut residual.latencies {
            let at = SHARES.iter().position(|share| *share == tail.share);
            tail.spread = at.map_or(tail.spread, |at| towards(tail.spread, of_tails[at]));
        }
        residual.freedom = residual.jobs + PRIOR as u32;
    }
    classes
}

/// What a job that nothing was fitted to came to: the simulated time per transfer in ns; how much faster than each run it was
/// simulated, as logarithms; and its latencies, measured and simulated, in ns.
struct Check<'a> {
    job: &'a Job,
    told_ns: f64,
    errors: Vec<f64>,
    latencies: [Option<[f64; 2]>; SHARES.len()],
}

impl<'a> Check<'a> {
    /// Of the runs of a job; `still` is the model without its noise.
    fn of(one: &'a SingleRuns, model: &Model, still: &Model) -> Option<Self> {
        let runs = one.by(model.parameters.choices.runner);
        let (still, told) = (simulated(&one.job, still)?, simulated(&one.job, model)?);
        let rate = trial::bytes_per_second(&still);
        let errors: Vec<f64> = runs.iter().map(|run| (rate / run.rate).ln()).collect();
        let latency = |(index, share): (usize, f64)| {
            let of_runs: Vec<f64> = runs.iter().filter_map(|run| run.latencies_ns[index]).collect();
            Some([quantile::median(&of_runs)?, told.latency_ns(share)])
        };
        let mut latencies = SHARES.into_iter().enumerate().map(latency);
        let latencies = std::array::from_fn(|_| latencies.next().flatten());
        (!errors.is_empty()).then(|| Self {
            job: &one.job,
            told_ns: ns_per_transfer(&still),
            errors,
            latencies,
        })
    }
}

fn middle(values: &[f64]) -> f64 {
    quantile::median(values).unwrap_or(0.0)
}

/// How far the model is off on jobs of one class; none where nothing ran. Few jobs may lie close by chance: not closer
/// than those of the class that it was fitted to, whose errors' size is `left`. `waits` is whether they wait for the device.
fn residual(checks: &[&Check<'_>], left: f64, waits: bool) -> Option<Residual> {
    let of_jobs: Vec<f64> = checks.iter().map(|one| middle(&one.errors)).collect();
    let factor = (-quantile::median(&of_jobs)?).exp();
    // Jobs count alike, however often they ran.
    let around = |one: &&Check<'_>| {
        mean_square(&one.errors.iter().map(|error| error + factor.ln()).collect::<Vec<_>>())
    };
    let around: Vec<f64> = checks.iter().map(around).collect();
    let count = of_jobs.len() as f64;
    let tail = |(index, share): (usize, f64)| {
        let latencies: Vec<[f64; 2]> = checks.iter().filter_map(|one| one.latencies[index]).collect();
        tail(share, &latencies, waits)
    };
    Some(Residual {
        jobs: of_jobs.len() as u32,
        mean_error: of_jobs.iter().map(|error| error.abs()).sum::<f64>() / count,
        factor,
        spread: (around.iter().sum::<f64>() / count).sqrt().max(left),
        freedom: of_jobs.len() as u32,
        states: two_states(&checks.iter().map(|one| one.errors.as_slice()).collect::<Vec<_>>()),
        latencies: SHARES.into_iter().enumerate().filter_map(tail).collect(),
    })
}

/// The two states that single runs fell into, if they did: no run lies between them for as far as the runs of either spread three
/// times over, and most jobs had runs in both, so that it is no difference of jobs. From `errors`, by job.
fn two_states(errors: &[&[f64]]) -> Vec<State> {
    // Less far apart is a spread.
    const APART: f64 = 0.4;
    const WIDE: f64 = 3.0;
    // Fewer runs in a state are outliers.
    const FEWEST: usize = 3;
    let mut all = errors.concat();
    all.sort_by(f64::total_cmp);
    let gap = |at: &usize| all[*at] - all[*at - 1];
    let inner = FEWEST..(all.len() + 1).saturating_sub(FEWEST);
    let Some(border) = inner.max_by(|a, b| gap(a).total_cmp(&gap(b))) else { return Vec::new() };
    let (fast, slow) = all.split_at(border);
    let spread = |runs: &[f64]| {
        let center = runs.iter().sum::<f64>() / runs.len() as f64;
        mean_square(&runs.iter().map(|run| run - center).collect::<Vec<_>>()).sqrt()
    };
    let is_fast = |run: &f64| *run < slow[0];
    let in_both = errors.iter().filter(|runs| runs.iter().any(is_fast) && !runs.iter().all(is_fast)).count();
    if gap(&border) < APART.max(WIDE * spread(fast).max(spread(slow))) || 2 * in_both <= errors.len() {
        return Vec::new();
    }
    // How much faster a run was simulated than it was.
    let state =
        |runs: &[f64]| State { factor: (-middle(runs)).exp(), share: runs.len() as f64 / all.len() as f64 };
    vec![state(slow), state(fast)]
}

/// What a latency was longer by than simulated, from what was measured and told of each job, in ns: who `waits` for the device
/// wakes up later and finds the CPU's caches cold, which takes its time however long the wait was; whom memory serves is slower
/// in proportion. None of no jobs.
fn tail(share: f64, latencies: &[[f64; 2]], waits: bool) -> Option<Tail> {
    let ratios: Vec<f64> = latencies.iter().map(|[measured, told]| (measured / told).ln()).collect();
    let (factor, added_ns) = if waits { (1.0, added(latencies)?) } else { (factor(&ratios)?, 0.0) };
    let off = |[measured, told]: &[f64; 2]| (measured / (told * factor + added_ns)).ln();
    let squares: f64 = latencies.iter().map(|one| off(one).powi(2)).sum();
    // One freedom goes into what is corrected.
    let spread = (squares / (latencies.len() as f64 - 1.0).max(1.0)).sqrt();
    let told = Tail { share, factor, added_ns, spread };
    Some(told).filter(|tail| tail.factor.is_finite() && tail.spread.is_finite())
}

/// By how many ns latencies were longer: the middle of it, where three of four were longer at all.
fn added(latencies: &[[f64; 2]]) -> Option<f64> {
    let longer: Vec<f64> = latencies.iter().map(|[measured, told]| measured - told).collect();
    let most_are = quantile::quantile(&longer, 0.25)? > 0.0;
    quantile::median(&longer).map(|middle| if most_are { middle } else { 0.0 })
}

/// By which factor they were, from the logarithms of what it was for each job: the middle of them, drawn towards none at all by
/// as much as it is uncertain itself (James and Stein, its positive part).
fn factor(ratios: &[f64]) -> Option<f64> {
    let middle = quantile::median(ratios)?;
    let count = ratios.len() as f64;
    let squares: f64 = ratios.iter().map(|ratio| (ratio - middle).powi(2)).sum();
    // Of one job alone nothing is known of how far it lies off.
    let variance = if count > 1.0 { squares / (count - 1.0) } else { f64::INFINITY };
    Some(match 1.0 - variance / count / middle.powi(2) {
        kept if kept > 0.0 => (kept * middle).exp(),
        _ => 1.0,
    })
}

#[cfg(test)]
mod tests {
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn a_latency_is_corrected_by_as_much_as_jobs_agree_about_it() {
        let told = |ratios: &[f64]| {
            let latencies: Vec<[f64; 2]> = ratios.iter().map(|ratio| [100.0 * ratio.exp(), 100.0]).collect();
            tail(0.99, &latencies, false)
        };
        let near = |ratios: &[f64], wanted: (f64, f64)| {
            let Tail { factor, spread, added_ns, .. } = told(ratios).unwrap();
            assert!(
                (factor / wanted.0 - 1.0).abs() < 0.01 && (spread - wanted.1).abs() < 0.01,
                "{factor} {spread}"
            );
            assert_eq!(added_ns, 0.0);
        };
        near(&[2.0_f64.ln(); 3], (2.0, 0.0));
        // Six times as long give or take a half: nearly all of it, and what is left is its interval.
        near(&[1.4, 1.8, 2.2], ((1.8 - 0.16 / 3.0 / 1.8_f64).exp(), 0.402));
        // As often shorter as longer, or seen once: nothing.
        near(&[-1.0, 0.1, 0.9], (1.0, (1.82_f64 / 2.0).sqrt()));
        near(&[0.7], (1.0, 0.7));
        assert!(told(&[]).is_none());
        near(&[0.0; 2], (1.0, 0.0));
    }

    #[test]
    fn who_waits_for_the_device_wakes_later_by_a_time_and_not_by_a_factor() {
        let told = |latencies: &[[f64; 2]]| {
            let tail = tail(0.99, latencies, true).unwrap();
            assert_eq!(tail.factor, 1.0);
            (tail.added_ns, tail.spread)
        };
        let (added, spread) = told(&[[12e3, 2e3], [30e3, 20e3], [1.01e8, 1e8]]);
        assert_eq!(added, 10e3);
        assert!(spread < 0.01, "{spread}");
        assert_eq!(told(&[[12e3, 2e3], [15e3, 20e3], [9e3, 8e3]]).0, 0.0, "they do not agree");
        assert!(tail(0.99, &[], true).is_none());
    }

    #[test]
    fn runs_of_two_speeds_are_two_states_and_noise_or_jobs_that_differ_are_not() {
        let mut dice = Pcg64Mcg::seed_from_u64(7);
        let mut normal =
            || (0..12).map(|_| f64::from(dice.next_u32()) / f64::from(u32::MAX)).sum::<f64>() - 6.0;
        let mut told = |jobs: usize, run: &dyn Fn(usize, usize) -> f64, noise: f64| {
            let of_job = |job: usize| (0..4).map(|at| run(job, at) + noise * normal()).collect::<Vec<_>>();
            let runs: Vec<Vec<f64>> = (0..jobs).map(of_job).collect();
            two_states(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        // Half of the runs take three times as long.
        let states = told(3, &|job, at| if (job + at) % 2 == 0 { 0.0 } else { 3.0_f64.ln() }, 0.05);
        assert!(
            (states[0].factor - 1.0 / 3.0).abs() < 0.05 && (states[1].factor - 1.0).abs() < 0.1,
            "{states:?}"
        );
        assert_eq!(states.iter().map(|state| state.share).collect::<Vec<_>>(), [0.5, 0.5]);
        assert!(told(3, &|job, _| job as f64, 0.05).is_empty(), "jobs differ, their runs do not");
        assert!(
            told(3, &|job, at| if (job, at) == (1, 1) { 2.0 } else { 0.0 }, 0.05).is_empty(),
            "an outlier"
        );
        for noise in [0.0, 0.1, 0.3, 1.0] {
            let seen = (0..500).filter(|_| !told(3, &|_, _| 0.0, noise).is_empty()).count();
            assert!(seen <= 5, "{seen} of 500 at a spread of {noise}");
        }
        assert!(two_states(&[]).is_empty() && two_states(&[&[0.0, 1.0]]).is_empty());
    }

    #[test]
    fn few_jobs_of_a_class_are_drawn_towards_the_others() {
        let of = |jobs: u32, factor: f64, spread: f64| Residual {
            jobs,
            factor,
            spread,
            mean_error: 0.1,
            freedom: jobs,
            latencies: vec![Tail { share: 0.99, factor: 1.0, added_ns: 0.0, spread: 2.0 * spread }],
            ..Residual::default()
        };
        let classes = [of(4, 1.1, 0.1), of(4, 0.9, 0.1), of(4, 1.1, 0.1), of(1, 2.0, 0.7), of(2, 1.1, 0.0)];
        let named = classes.into_iter().enumerate().map(|(at, one)| (at.to_string(), one));
        let found: Vec<Residual> = moderated(named.collect()).into_values().collect();
        // Four jobs that agree with each other: most of what they say is kept.
        assert!(found[0].factor > 1.07 && found[0].factor < 1.1, "{found:?}");
        // One job alone that is twice as fast and as uncertain: hardly anything, and its interval reaches as far.
        assert!(found[3].factor < 1.15 && found[3].spread > 0.6, "{found:?}");
        assert!(found[4].spread > 0.07, "two that agree by chance: {found:?}");
        assert_eq!(found.iter().map(|one| one.freedom).collect::<Vec<_>>(), [6, 6, 6, 3, 4]);
        assert!(found[4].latencies[0].spread > 0.14);
        assert!(moderated(BTreeMap::new()).is_empty());
    }
}
