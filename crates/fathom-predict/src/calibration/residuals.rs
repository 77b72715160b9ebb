//! How far a model is off on jobs that nothing was fitted to, by class: what predictions are corrected by, and what their
//! intervals are made of.

use std::collections::BTreeMap;
use std::slice;

use fathom_program::job::Job;
use fathom_stats::distribution::student_quantile;
use fathom_stats::quantile;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::{Account, assume, mean_square, simulated, time, without_noise};
use crate::model::{FreeMemory, Model, Residual, Runner, Scalar, State, Tail};
use crate::prediction::{SHARES, TAKEN_AT_ONCE, class, other_memory};
use crate::single_runs::{Run, SingleRuns};
use crate::trial::{self, Trial, ns_per_transfer};

/// How far the model is off on single runs, by class of job, which it gets; and in which state most of them found the free memory.
/// Returns the result of each job, for display.
pub(super) fn residuals(model: &mut Model, checks: &[SingleRuns], fitted: &[Trial]) -> Account {
    let by = model.parameters.choices.runner;
    let still = without_noise(model);
    // Fathom ran what it was fitted to, again and again, so that no write was the first one to its folio.
    let mut own = still.clone();
    own.parameters.choices.runner = Runner::Fathom;
    assume(&mut own, Scalar::WalkedFirst, 0.0);
    let checked: Vec<Check<'_>> = checks.par_iter().filter_map(|one| Check::of(one, model, &still)).collect();
    let refused =
        checks.iter().filter_map(|one| Some(format!("{}: {}", one.job.name, one.refusal.as_ref()?)));
    let account = Account {
        name: format!("checks: nothing was fitted to them; run by {}", by.word()),
        jobs: checked
            .iter()
            .map(|one| (one.job.name.clone(), middle(&one.took_ns), one.simulated_ns))
            .collect(),
        runs: checked.iter().map(|one| one.took_ns.clone()).collect(),
        disturbed: 0,
        refused: refused.collect(),
    };
    let mut by_class: BTreeMap<String, Vec<&Check<'_>>> = BTreeMap::new();
    for one in &checked {
        by_class.entry(class(one.job, &model.parameters)).or_default().push(one);
    }
    let of = |(class, checks): (String, Vec<&Check<'_>>)| {
        let alike = fitted.par_iter().filter(|trial| self::class(&trial.job, &own.parameters) == class);
        let error = |trial: &Trial| Some((time(&trial.job, &own) / trial.ns_per_transfer()?).ln());
        let left: Vec<f64> = alike.filter_map(error).collect();
        let one_at_a_time = checks.iter().all(|one| one.job.depth.most <= 1);
        (class, of_class(&checks, mean_square(&left), one_at_a_time, held_from(model)))
    };
    let classes = by_class.into_iter().map(of).collect();
    let taken: Vec<f64> = checked.iter().flat_map(|one| one.taken.iter().copied()).collect();
    let taken = quantile::median(&taken);
    if taken.is_some_and(|share| share > 0.5) {
        model.parameters.choices.free_memory = FreeMemory::Taken;
    }
    model.residuals = pooled(classes);
    for residual in model.residuals.values_mut() {
        // Memory is the machine's: a class of few jobs may have found what others did not.
        let of_class = residual.taken.zip(taken);
        let jobs = f64::from(residual.jobs);
        residual.taken = of_class.map(|(own, usual)| towards(usual, jobs * own, jobs));
    }
    account
}

/// What the jobs of a class came to: the errors of each job's runs, as logarithms; the least and the largest error of each run, by
/// the memory that it may have found; and the mean square of those of the jobs of this class that the model was fitted to.
struct Class {
    residual: Residual,
    errors: Vec<Vec<f64>>,
    ends: Vec<Vec<[f64; 2]>>,
    left: f64,
}

/// How the errors of a class's jobs spread, as logarithms: `off`, the middle job's error; `between`, the sum of the squared distances
/// of the jobs' errors from it; `within`, the variance of a job's own runs.
#[derive(Default)]
struct Spread {
    jobs: f64,
    off: f64,
    between: f64,
    within: f64,
}

impl Spread {
    /// Of each job's runs. Jobs count alike, however often they ran.
    fn of<'a>(errors: impl Iterator<Item = &'a Vec<f64>>) -> Self {
        let (mut of_jobs, mut within, mut of_middles) = (Vec::new(), 0.0, 0.0);
        for runs in errors {
            let (around, count) = (middle(runs), runs.len() as f64);
            let squares: f64 = runs.iter().map(|error| (error - around).powi(2)).sum();
            let variance = squares / (count - 1.0).max(1.0);
            of_jobs.push(around);
            within += variance;
            of_middles += variance / count;
        }
        let Some(off) = quantile::median(&of_jobs) else { return Self::default() };
        let jobs = of_jobs.len() as f64;
        // The middles of few runs differ even where jobs do not.
        let between =
            of_jobs.iter().map(|error| (error - off).powi(2)).sum::<f64>() - (jobs - 1.0) * of_middles / jobs;
        Self { jobs, off, between: between.max(0.0), within: within / jobs }
    }

    fn freedom(&self) -> f64 {
        (self.jobs - 1.0).max(0.0)
    }
}

/// What the classes have in common counts for as much as so many jobs of a class.
const PRIOR: f64 = 6.0;

/// A sum of so many, or of squares of so many degrees of freedom, drawn towards the usual mean.
fn towards(usual: f64, sum: f64, freedom: f64) -> f64 {
    (PRIOR * usual + sum) / (PRIOR + freedom)
}

/// The variances that classes usually have: between the middles of their jobs, of a job's runs, and of what a class is off by.
struct Usual {
    between: f64,
    within: f64,
    correction: f64,
}

impl Usual {
    fn of(spreads: &[Spread]) -> Self {
        let all = || spreads.iter();
        Self {
            between: usual(all().filter_map(|one| variance(one.between, one.freedom())).collect()),
            within: usual(all().map(|one| one.within).collect()),
            correction: usual(all().filter_map(|one| variance(one.off * one.off, 1.0)).collect()),
        }
    }

    /// How far a class is off, and how far single runs of its other jobs spread around that, as logarithms.
    fn expected(&self, class: &Spread, left: f64) -> [f64; 2] {
        let Self { between, within, correction } = *self;
        let of_run = towards(between, class.between, class.freedom())
            + towards(within, class.jobs * class.within, class.jobs);
        let of_run = of_run.max(left);
        if class.jobs == 0.0 {
            return [0.0, (of_run + correction).sqrt()];
        }
        let of_middle = (of_run / class.jobs).max(f64::MIN_POSITIVE);
        // A class that is much farther off than others stands for itself.
        let kept = (correction / (correction + of_middle)).max(1.0 - of_middle / class.off.powi(2));
        [kept * class.off, (of_run + kept * of_middle).sqrt()]
    }
}

fn usual(squares: Vec<f64>) -> f64 {
    quantile::median(&squares).unwrap_or(0.0)
}

/// The degrees of freedom of what is expected of a class with so many jobs.
fn known_by(jobs: f64) -> f64 {
    jobs + PRIOR - 1.0
}

/// How far another run of another job of each class may be off. Few jobs say little about that, and one says nothing of how jobs
/// differ, so that each class is drawn towards the others. Source: G. Smyth, "Linear models and empirical Bayes methods", 2004, the
/// moderated t; the correction of rates is drawn towards none as a random effect is, or by as much as it is uncertain, whichever is
/// less (C. Morris, "Parametric empirical Bayes inference", 1983), and the interval has the uncertainty that is left of it. All
/// intervals are as much wider or narrower as makes them hold nine of ten runs of the jobs, each predicted by the others (R. Barber
/// and others, "Predictive inference with the jackknife+", 2021). An interval reaches over all that the memory may be like.
fn pooled(classes: BTreeMap<String, Class>) -> BTreeMap<String, Residual> {
    let spreads: Vec<Spread> = classes.values().map(|class| Spread::of(class.errors.iter())).collect();
    let all = Usual::of(&spreads);
    let stretch = stretch(classes.values(), &all);
    let of_tails = SHARES.map(|share| {
        let tail = |(class, spread): (&Class, &Spread)| {
            let tail = class.residual.latencies.iter().find(|tail| tail.share == share)?;
            variance(tail.spread.powi(2) * spread.freedom(), spread.freedom())
        };
        usual(classes.values().zip(&spreads).filter_map(tail).collect())
    });
    let of_class = |((name, Class { mut residual, left, .. }), spread): ((String, Class), &Spread)| {
        let [off, of_run] = all.expected(spread, left);
        (residual.factor, residual.spread) = ((-off).exp(), of_run * stretch);
        for tail in &mut residual.latencies {
            let at = SHARES.iter().position(|share| *share == tail.share);
            let usual = at.map_or(0.0, |at| of_tails[at]);
            tail.spread = towards(usual, spread.freedom() * tail.spread.powi(2), spread.freedom()).sqrt();
        }
        residual.freedom = known_by(spread.jobs) as u32;
        (name, residual)
    };
    classes.into_iter().zip(&spreads).map(of_class).collect()
}

/// How many times as far as intervals reach the runs lie that are farther than nine of ten, each job predicted by the others.
fn stretch<'a>(classes: impl Iterator<Item = &'a Class>, usual: &Usual) -> f64 {
    let mut reached = Vec::new();
    for class in classes {
        for (at, runs) in class.ends.iter().enumerate() {
            let others = class.errors.iter().enumerate().filter(|(other, _)| *other != at);
            let others = Spread::of(others.map(|(_, runs)| runs));
            let [off, of_run] = usual.expected(&others, class.left);
            let reach = student_quantile(0.95, known_by(others.jobs)) * of_run;
            let beyond = |[least, most]: &[f64; 2]| (least - off).max(off - most).max(0.0);
            reached.extend(runs.iter().map(|run| beyond(run) / reach));
        }
    }
    quantile::quantile(&reached, 0.9).filter(|reach| reach.is_finite() && *reach > 0.0).unwrap_or(1.0)
}

/// The variance by a sum of squares of so many degrees of freedom, such that its median over many is the true one, and not its mean:
/// the middle of chi square (E. Wilson and M. Hilferty, "The distribution of chi-square", 1931). None of no freedom.
fn variance(squares: f64, freedom: f64) -> Option<f64> {
    (freedom > 0.0).then(|| squares / freedom / (1.0 - 2.0 / (9.0 * freedom)).powi(3))
}

/// What a job that nothing was fitted to came to: the time per transfer, simulated and of each run, in ns; how much faster than each
/// run it was simulated, as logarithms, with the memory that the run found, and with what makes the least and the most of it; which
/// share of that was taken, where it can be told; and its latencies, measured and simulated, in ns.
struct Check<'a> {
    job: &'a Job,
    simulated_ns: f64,
    took_ns: Vec<f64>,
    errors: Vec<f64>,
    ends: Vec<[f64; 2]>,
    taken: Vec<f64>,
    latencies: [Option<[f64; 2]>; SHARES.len()],
}

impl<'a> Check<'a> {
    /// Of the runs of a job; `still` is the model without its noise.
    fn of(one: &'a SingleRuns, model: &Model, still: &Model) -> Option<Self> {
        let runs = one.by(model.parameters.choices.runner);
        let other = other_memory(&still.parameters, slice::from_ref(&one.job))
            .and_then(|parameters| simulated(&one.job, &Model { parameters, ..still.clone() }));
        let (still, noisy) = (simulated(&one.job, still)?, simulated(&one.job, model)?);
        let (rate, simulated_ns) = (trial::bytes_per_second(&still), ns_per_transfer(&still));
        let rates = [rate, other.map_or(rate, |one| trial::bytes_per_second(&one))];
        let by_memory = || runs.iter().map(|run| rates.map(|rate| (rate / run.rate).ln()));
        let (errors, taken): (Vec<f64>, Vec<Option<f64>>) = by_memory().map(with_its_memory).unzip();
        let block = one.job.directions().map(|side| one.job.blocks[side as usize].most).max().unwrap_or(0);
        let stops = block as f64 / TAKEN_AT_ONCE as f64;
        let stopped: Vec<f64> = taken.iter().map(|taken| taken.unwrap_or(0.0) * stops).collect();
        let latency = |(index, share)| Some([usual_latency(runs, &stopped, index)?, noisy.latency_ns(share)]);
        let mut latencies = SHARES.into_iter().enumerate().map(latency);
        let latencies = std::array::from_fn(|_| latencies.next().flatten());
        (!errors.is_empty()).then(|| Self {
            job: &one.job,
            simulated_ns,
            took_ns: runs.iter().map(|run| simulated_ns * rate / run.rate).collect(),
            errors,
            ends: by_memory().map(|[one, other]| [one.min(other), one.max(other)]).collect(),
            taken: taken.into_iter().flatten().collect(),
            latencies,
        })
    }
}

/// By how much a run was off, by what it was off with free memory that is there and that is taken: that of the state that it is nearer
/// to; or nothing, if it lies well between the two, since it found some of either. And which share of the memory was taken, by
/// the time that the run took.
fn with_its_memory([there, taken]: [f64; 2]) -> (f64, Option<f64>) {
    // Less is what runs differ by anyway.
    const APART: f64 = 0.25;
    if there - taken < APART {
        return (there, None);
    }
    let nearer = if taken.abs() < there.abs() { taken } else { there };
    let [least, most] = [there, taken].map(|error| (-error).exp());
    let share = ((1.0 - least) / (most - least)).clamp(0.0, 1.0);
    let is_between = there > 0.0 && taken < 0.0 && nearer.abs() > APART;
    (if is_between { 0.0 } else { nearer }, Some(share))
}

/// The middle of the latencies that runs had at one of [`SHARES`], in ns, by their logarithms, so that one of two runs that was stopped
/// does not decide. `stopped` is the share of each run's transfers that waited until the host gave memory back: those are told by the
/// model, and runs whose latency they may be do not count.
fn usual_latency(runs: &[Run], stopped: &[f64], index: usize) -> Option<f64> {
    let count = runs.iter().zip(stopped).filter(|(_, stopped)| **stopped <= 1.0 - SHARES[index]);
    let logs: Vec<f64> = count.filter_map(|(run, _)| Some(run.latencies_ns[index]?.ln())).collect();
    quantile::median(&logs).map(f64::exp)
}

fn middle(values: &[f64]) -> f64 {
    quantile::median(values).unwrap_or(0.0)
}

/// From which latency on, in ns, it is a wait for what the device is held to, if the kernel grants that in slices: the rest of a slice.
fn held_from(model: &Model) -> Option<f64> {
    const SHARE: f64 = 0.1;
    Some(SHARE * model.parameters[Scalar::LimitSlice]).filter(|from| *from > 0.0)
}

/// What the jobs of one class came to. `one_at_a_time` is whether no transfer waits for another.
fn of_class(checks: &[&Check<'_>], left: f64, one_at_a_time: bool, held_from_ns: Option<f64>) -> Class {
    let errors: Vec<Vec<f64>> = checks.iter().map(|one| one.errors.clone()).collect();
    let of_jobs: Vec<f64> = errors.iter().map(|runs| middle(runs).abs()).collect();
    let jobs = of_jobs.len() as u32;
    let tail = |(index, share): (usize, f64)| {
        let all = || checks.iter().filter_map(|one| one.latencies[index]);
        let is_service =
            |latency: &[f64; 2]| latency.iter().all(|ns| held_from_ns.is_none_or(|from| *ns < from));
        let latencies: Vec<[f64; 2]> = all().filter(is_service).collect();
        // One job of several tells less than all of them at the next level.
        let are_enough = latencies.len() > 1 || all().count() < 2;
        are_enough.then(|| tail(share, &latencies, one_at_a_time)).flatten()
    };
    let residual = Residual {
        jobs,
        mean_error: of_jobs.iter().sum::<f64>() / f64::from(jobs),
        taken: quantile::median(&checks.iter().flat_map(|one| one.taken.iter().copied()).collect::<Vec<_>>()),
        states: two_states(&errors),
        latencies: SHARES.into_iter().enumerate().filter_map(tail).collect(),
        held_from_ns,
        ..Residual::default()
    };
    Class { residual, errors, ends: checks.iter().map(|one| one.ends.clone()).collect(), left }
}

/// The two states that single runs fell into, if they did: no run lies between them for as far as the runs of either spread three
/// times over, and most jobs had runs in both, so that it is no difference of jobs. From `errors`, by job.
fn two_states(errors: &[Vec<f64>]) -> Vec<State> {
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

/// By how much latencies were longer than simulated, from those measured and simulated of each job, in ns. An interrupt, another
/// thread's turn or a late wake-up adds the same time to a short transfer and to a long one, where there is `one_at_a_time`. The
/// transfers of a queue wait for each other, and are slower in proportion. None without jobs.
fn tail(share: f64, latencies: &[[f64; 2]], one_at_a_time: bool) -> Option<Tail> {
    let ratios: Vec<f64> =
        latencies.iter().map(|[measured, simulated]| (measured / simulated).ln()).collect();
    let (factor, added_ns) = if one_at_a_time { (1.0, added(latencies)?) } else { (factor(&ratios)?, 0.0) };
    let off = |[measured, simulated]: &[f64; 2]| (measured / (simulated * factor + added_ns)).ln();
    let squares: f64 = latencies.iter().map(|one| off(one).powi(2)).sum();
    // One freedom goes into what is corrected.
    let spread = (squares / (latencies.len() as f64 - 1.0).max(1.0)).sqrt();
    let tail = Tail { share, factor, added_ns, spread };
    Some(tail).filter(|tail| tail.factor.is_finite() && tail.spread.is_finite())
}

/// By how many ns latencies were longer, where three of four were longer at all: by nothing or by what one of them was, whichever
/// leaves the least of all their errors, as logarithms. A long transfer's milliseconds are thus not added to short ones.
fn added(latencies: &[[f64; 2]]) -> Option<f64> {
    let left = |added: &f64| -> f64 {
        latencies.iter().map(|[measured, simulated]| (measured / (simulated + added)).ln().abs()).sum()
    };
    let longer: Vec<f64> = latencies.iter().map(|[measured, simulated]| measured - simulated).collect();
    let most_are = quantile::quantile(&longer, 0.25)? > 0.0;
    let tried = longer.into_iter().filter(|one| most_are && *one > 0.0).chain([0.0]);
    tried.min_by(|a, b| left(a).total_cmp(&left(b)))
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
    use crate::prediction::Estimate;

    /// Draws of a normal distribution.
    fn normal(seed: u64) -> impl FnMut() -> f64 {
        let mut dice = Pcg64Mcg::seed_from_u64(seed);
        move || (0..12).map(|_| f64::from(dice.next_u32()) / f64::from(u32::MAX)).sum::<f64>() - 6.0
    }

    #[test]
    fn a_latency_is_corrected_by_as_much_as_jobs_agree_about_it() {
        let tail_of = |ratios: &[f64]| {
            let latencies: Vec<[f64; 2]> = ratios.iter().map(|ratio| [100.0 * ratio.exp(), 100.0]).collect();
            tail(0.99, &latencies, false)
        };
        let near = |ratios: &[f64], wanted: (f64, f64)| {
            let Tail { factor, spread, added_ns, .. } = tail_of(ratios).unwrap();
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
        assert!(tail_of(&[]).is_none());
        near(&[0.0; 2], (1.0, 0.0));
    }

    #[test]
    fn a_transfer_by_itself_takes_longer_by_a_time_and_not_by_a_factor() {
        let tail_of = |latencies: &[[f64; 2]]| {
            let tail = tail(0.99, latencies, true).unwrap();
            assert_eq!(tail.factor, 1.0);
            (tail.added_ns, tail.spread)
        };
        let (added, spread) = tail_of(&[[12e3, 2e3], [30e3, 20e3], [1.01e8, 1e8]]);
        assert_eq!(added, 10e3);
        assert!(spread < 0.01, "{spread}");
        assert_eq!(tail_of(&[[12e3, 2e3], [15e3, 20e3], [9e3, 8e3]]).0, 0.0, "they do not agree");
        assert_eq!(
            tail_of(&[[2.4e3, 2.4e3], [725e3, 337e3]]).0,
            0.0,
            "a long one's more is not a short one's"
        );
        assert_eq!(tail_of(&[[15e3, 20e3], [7e3, 8e3]]).0, 0.0, "shorter");
        assert!(tail(0.99, &[], true).is_none());
    }

    #[test]
    fn runs_of_two_speeds_are_two_states_and_noise_or_jobs_that_differ_are_not() {
        let mut normal = normal(7);
        let mut states_of = |jobs: usize, run: &dyn Fn(usize, usize) -> f64, noise: f64| {
            let of_job = |job: usize| (0..4).map(|at| run(job, at) + noise * normal()).collect::<Vec<_>>();
            let runs: Vec<Vec<f64>> = (0..jobs).map(of_job).collect();
            two_states(&runs)
        };
        // Half of the runs take three times as long.
        let states = states_of(3, &|job, at| if (job + at) % 2 == 0 { 0.0 } else { 3.0_f64.ln() }, 0.05);
        assert!(
            (states[0].factor - 1.0 / 3.0).abs() < 0.05 && (states[1].factor - 1.0).abs() < 0.1,
            "{states:?}"
        );
        assert_eq!(states.iter().map(|state| state.share).collect::<Vec<_>>(), [0.5, 0.5]);
        assert!(states_of(3, &|job, _| job as f64, 0.05).is_empty(), "jobs differ, their runs do not");
        assert!(
            states_of(3, &|job, at| if (job, at) == (1, 1) { 2.0 } else { 0.0 }, 0.05).is_empty(),
            "an outlier"
        );
        for noise in [0.0, 0.1, 0.3, 1.0] {
            let seen = (0..500).filter(|_| !states_of(3, &|_, _| 0.0, noise).is_empty()).count();
            assert!(seen <= 5, "{seen} of 500 at a spread of {noise}");
        }
        assert!(two_states(&[]).is_empty() && two_states(&[vec![0.0, 1.0]]).is_empty());
    }

    #[test]
    fn a_run_is_held_against_the_memory_that_it_found() {
        for (errors, error, share) in [
            ([0.1, 0.1], 0.1, None),
            ([0.1, -0.05], 0.1, None),
            ([0.1, -2.0], 0.1, Some(0.015)),
            ([-0.4, -2.0], -0.4, Some(0.0)),
            ([2.0, -0.1], -0.1, Some(0.892)),
            ([2.5, 0.4], 0.4, Some(1.0)),
            ([1.0, -1.1], 0.0, Some(0.240)),
        ] {
            let found = with_its_memory(errors);
            assert_eq!((found.0, found.1.is_some()), (error, share.is_some()));
            assert!((found.1.unwrap_or(0.0) - share.unwrap_or(0.0)).abs() < 0.001, "{errors:?}: {found:?}");
        }
    }

    #[test]
    fn a_latency_is_the_middle_of_runs_that_found_their_memory() {
        let run = |p99: f64| Run { rate: 1.0, latencies_ns: [None, None, Some(p99), None] };
        let runs = [run(1e4), run(4e4), run(9e9)];
        let of = |stopped: [f64; 3], index| usual_latency(&runs, &stopped, index).map(f64::round);
        assert_eq!(of([0.0, 0.0, 0.02], 2), Some(2e4), "one of a hundred transfers may be long for that");
        assert_eq!(of([0.0, 0.0, 0.009], 2), Some(4e4));
        assert_eq!([of([0.02; 3], 2), of([0.0; 3], 3)], [None; 2]);
    }

    /// A class of whose jobs these are the errors, and nothing else is known.
    fn class_of(errors: &[Vec<f64>]) -> Class {
        let jobs: Vec<Job> = errors.iter().map(|_| Job::named("one")).collect();
        let check = |(job, errors): (_, &Vec<f64>)| Check {
            job,
            simulated_ns: 1e3,
            took_ns: Vec::new(),
            errors: errors.clone(),
            ends: errors.iter().map(|error| [*error; 2]).collect(),
            taken: Vec::new(),
            latencies: [Some([(2.0 * errors[0]).exp(), 1.0]); SHARES.len()],
        };
        let checks: Vec<Check<'_>> = jobs.iter().zip(errors).map(check).collect();
        of_class(&checks.iter().collect::<Vec<_>>(), 0.0, false, None)
    }

    #[test]
    fn a_wait_for_the_next_slice_tells_nothing_of_how_long_service_takes() {
        let job = Job::named("one");
        let check = |p90: [f64; 2], p99: [f64; 2]| Check {
            job: &job,
            simulated_ns: 1e3,
            took_ns: Vec::new(),
            errors: vec![0.0],
            ends: vec![[0.0; 2]],
            taken: Vec::new(),
            latencies: [None, Some(p90), Some(p99), None],
        };
        let (short, long) = ([2e5, 1e5], [9e7, 9e7]);
        let checks = [check(short, [4e5, 1e5]), check(short, long), check(short, [9e7, 1e5])];
        let of = |held_from| {
            let class = of_class(&checks.iter().collect::<Vec<_>>(), 0.0, false, held_from);
            class.residual.latencies.iter().map(|tail| (tail.share, tail.factor)).collect::<Vec<_>>()
        };
        assert_eq!(of(Some(1e7)).iter().map(|one| one.0).collect::<Vec<_>>(), [0.9], "one job is too few");
        assert!((of(Some(1e7))[0].1 - 2.0).abs() < 1e-9);
        assert_eq!(of(None).len(), 2);
    }

    fn named(classes: impl IntoIterator<Item = Class>) -> BTreeMap<String, Class> {
        classes.into_iter().enumerate().map(|(at, one)| (format!("{at:02}"), one)).collect()
    }

    #[test]
    fn few_jobs_of_a_class_are_drawn_towards_the_others() {
        let alike = |off: f64| class_of(&[off - 0.1, off, off + 0.1].map(|one| vec![one - 0.02, one + 0.02]));
        let alone = class_of(&[vec![-0.7]]);
        let near = class_of(&[vec![-0.1], vec![-0.1]]);
        let found: Vec<Residual> =
            pooled(named([alike(-0.1), alike(0.1), alike(-0.1), alone, near])).into_values().collect();
        // Three jobs that agree: more than half of what they say is kept.
        assert!(found[0].factor > 1.05 && found[0].factor < 1.1, "{found:?}");
        assert!(
            found[3].factor > 1.8,
            "seven times as far off as the others, by more than chance: {found:?}"
        );
        assert!(found[3].spread > 0.1 && found[4].spread > 0.08, "they do not agree by chance: {found:?}");
        assert_eq!(found.iter().map(|one| one.freedom).collect::<Vec<_>>(), [8, 8, 8, 6, 7]);
        assert!(found[3].latencies[0].spread > 0.14, "{found:?}");
        assert!(pooled(BTreeMap::new()).is_empty());
        let wide = Usual::of(&[]).expected(&Spread::of([vec![0.0], vec![0.1]].iter()), 1.0)[1];
        assert!(wide >= 1.0, "no narrower than what the fit left");
    }

    #[test]
    fn intervals_hold_nine_of_ten_runs_of_jobs_that_were_not_seen() {
        let mut normal = normal(3);
        // How classes differ, how jobs of a class do, how runs of a job do, and how the last two differ from class to class.
        for [of_class, of_job, of_run, of_spread] in [
            [0.0, 0.1, 0.02, 0.0],
            [0.1, 0.2, 0.02, 0.0],
            [0.3, 0.05, 0.1, 0.0],
            [0.1, 0.0, 0.1, 0.0],
            [0.1, 0.1, 0.05, 0.3],
            [0.1, 0.1, 0.05, 0.6],
        ] {
            let (mut held, mut all) = (0.0, 0.0);
            for _ in 0..100 {
                let centers: Vec<[f64; 2]> =
                    (0..20).map(|_| [of_class * normal(), (of_spread * normal()).exp()]).collect();
                let mut job = |[center, wide]: [f64; 2]| {
                    let own = center + wide * of_job * normal();
                    // One wild run in fifty.
                    let wild = if normal() > 2.05 { 5.0 } else { 1.0 };
                    (0..4)
                        .map(|at| own + wide * of_run * normal() * if at == 0 { wild } else { 1.0 })
                        .collect::<Vec<_>>()
                };
                let seen = centers
                    .iter()
                    .enumerate()
                    .map(|(at, center)| class_of(&(0..1 + at % 4).map(|_| job(*center)).collect::<Vec<_>>()));
                let seen = pooled(named(seen.collect::<Vec<_>>()));
                for (residual, center) in seen.values().zip(&centers) {
                    let interval = Estimate::seen(residual.factor, residual.spread, residual);
                    let run = (-job(*center)[3]).exp();
                    held += f64::from(u8::from(interval.holds(run)));
                    all += 1.0;
                }
            }
            let share = held / all;
            assert!((0.86..0.93).contains(&share), "{share} for {of_class}, {of_job}, {of_run}, {of_spread}");
        }
    }
}
