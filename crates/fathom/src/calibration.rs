//! From runs on a real mount to a model: in stages, each of which identifies one group of parameters.
//!
//! A stage runs a few jobs and searches for the prices at which the model takes the times that they took.
//! What a stage has found holds for those after it. Last come jobs that nothing was fitted to: how far the
//! model is off on them is what its predictions are widened by.

mod known;
mod stages;

use std::collections::BTreeMap;

use fathom_stats::{nonlinear, quantile};
use serde::{Deserialize, Serialize};

pub use self::known::found_by_other_means;

use self::stages::{Stage, stages};
use crate::fault::Fault;
use crate::job::{Direction, Job};
use crate::load::{Needs, Outcome, Site};
use crate::model::{Model, Origin, Parameter, Residual};
use crate::prediction::{class, device_byte, simulate};
use crate::trial::{self, Trial, Turns, ns_per_transfer};

/// How often each job is run.
const REPEATS: usize = 4;
/// An interval wider than this, as a deviation of the logarithm, is no answer.
const UNKNOWN: f64 = 0.7;
/// Numbers of requests side by side that are tried.
const DEPTHS: [f64; 4] = [1.0, 2.0, 4.0, 32.0];

/// What a stage came to, for whoever looks on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// What it was about.
    pub name: String,
    /// Its jobs: the name, the measured and the simulated time per transfer in ns.
    pub jobs: Vec<(String, f64, f64)>,
    /// By how much the later half of its runs took longer than the earlier one, as a share.
    #[serde(default)]
    pub drift: f64,
    /// What the system refused.
    pub refused: Vec<String>,
}

/// What a calibration needs: its files lie beside each other, and what only writes does so again in each repeat.
///
/// # Errors
/// A job that makes no sense.
pub fn needs() -> Result<Needs, String> {
    let stages = stages();
    let jobs: Vec<Job> = stages.iter().flat_map(|stage| stage.jobs.clone()).chain(stages::checks()).collect();
    let mut needs = Needs::of(&jobs)?;
    needs.writes += (REPEATS as u64 - 1) * trial::rewritten(&jobs)?;
    Ok(needs)
}

/// Fits the parameters of a model to runs at `site`; the model brings what is declared or found by other means.
///
/// The jobs of all stages run in random turns over the whole time, so that each stage sees the machine as the
/// others do, and how it drifts meanwhile. `seed` decides their order; `progress` is told how many runs are done.
///
/// # Errors
/// What ends the runs: an interrupt, a budget, the end of the time.
pub fn calibrate(
    model: &mut Model,
    site: &mut Site,
    seed: u64,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<Account>, Fault> {
    let stages = stages();
    let jobs: Vec<Job> = stages.iter().flat_map(|stage| stage.jobs.clone()).chain(stages::checks()).collect();
    let turns = Turns { repeats: REPEATS, seed, rest: trial::rest_of(model), keeps_reserve: true };
    let trials = trial::run(&jobs, turns, site, progress)?;
    let mut left = trials.as_slice();
    let mut accounts = Vec::new();
    for stage in stages {
        let (trials, others) = left.split_at(stage.jobs.len());
        left = others;
        between_calls(model, &stage, trials);
        if stage.tries_depths {
            fit_with_depth(model, &stage, trials)
        } else {
            fit(model, stage.free, trials);
        }
        accounts.push(account(stage.name, model, trials));
    }
    // What the kernel has learned by the time that somebody writes much.
    let rate = 1e9 / device_byte(model, Direction::Write).max(1e-3);
    put(model, "write_bandwidth", Parameter { value: rate, interval: None, origin: Origin::Measured });
    model.residuals = residuals(model, left);
    accounts.push(account("checks: nothing was fitted to them", model, left));
    Ok(accounts)
}

/// What the loop does between two calls, which needs no model: the time that no call took.
fn between_calls(model: &mut Model, stage: &Stage, trials: &[Trial]) {
    let Some((name, direction)) = stage.caller else { return };
    let idle = |outcome: &Outcome| {
        let side = &outcome.transfers[direction as usize];
        let calls = side.latency.count().max(1) as f64;
        let busy = side.latency.sum() as f64 * outcome.ns_per_tick;
        let beside = (outcome.elapsed_ns as f64 - busy) / calls;
        let own = if direction == Direction::Write { model.parameters.value("caller") } else { 0.0 };
        let per = if direction == Direction::Write { side.bytes as f64 / calls } else { 1.0 };
        ((beside - own) / per).max(0.0)
    };
    let does_it_alone = |trial: &&Trial| trial.job.directions().all(|one| one == direction);
    let all: Vec<f64> = trials.iter().filter(does_it_alone).flat_map(|trial| trial.each(idle)).collect();
    let Some(value) = quantile::median(&all) else { return };
    let [low, high] = [0.25, 0.75].map(|share| quantile::quantile(&all, share).unwrap_or(value));
    put(
        model,
        name,
        Parameter { value, interval: Some([low.min(value), high.max(value)]), origin: Origin::Measured },
    );
}

/// Fits for each number of requests that the device may work at side by side, and keeps the best.
fn fit_with_depth(model: &mut Model, stage: &Stage, trials: &[Trial]) {
    let tried = DEPTHS.iter().map(|&depth| {
        let mut one = model.clone();
        put(&mut one, "device_depth", Parameter { value: depth, interval: None, origin: Origin::Measured });
        let left = fit(&mut one, stage.free, trials);
        (left, one)
    });
    if let Some((_, best)) = tried.min_by(|a, b| a.0.total_cmp(&b.0)) {
        *model = best;
    }
}

/// Fits the free parameters to the trials; gives the sum of the squared errors that are left.
fn fit(model: &mut Model, free: &[&'static str], trials: &[Trial]) -> f64 {
    let measured: Vec<(&Job, f64)> =
        trials.iter().filter_map(|trial| Some((&trial.job, trial.ns_per_transfer()?))).collect();
    let start: Vec<f64> = free.iter().map(|name| model.parameters.value(name).max(least(name))).collect();
    let found = nonlinear::fit(&start, |values| {
        let mut tried = without_noise(model);
        free.iter().zip(values).for_each(|(name, value)| price(&mut tried, name, *value));
        measured.iter().map(|(job, measured)| (time(job, &tried) / measured).ln()).collect()
    });
    let Some(found) = found else { return f64::INFINITY };
    // Few jobs: the tails of Student's t reach further.
    let freedom = (measured.len().saturating_sub(free.len())).max(1) as f64;
    let reach = 1.96 * (1.0 + 2.0 / freedom);
    // What the machine itself changed by meanwhile, all parameters alike.
    let drift = drift(trials) / 2.0;
    for ((name, &value), &deviation) in free.iter().zip(&found.values).zip(&found.deviations) {
        if deviation > UNKNOWN {
            // The jobs don't tell it from nothing, or from the others.
            price(model, name, value);
            continue;
        }
        let deviation = deviation.hypot(drift);
        let interval = Some([value * (-reach * deviation).exp(), value * (reach * deviation).exp()]);
        put(model, name, Parameter { value, interval, origin: Origin::Measured });
    }
    found.residuals.iter().map(|one| one * one).sum()
}

/// Where the search for a price begins that nothing is known of.
fn least(name: &str) -> f64 {
    match name {
        "copied_beside" => 1_000.0,
        name if name.contains("byte") => 0.01,
        _ => 20.0,
    }
}

fn price(model: &mut Model, name: &str, value: f64) {
    put(model, name, Parameter { value, interval: None, origin: Origin::Assumed });
}

fn put(model: &mut Model, name: &str, parameter: Parameter) {
    // Values of a fit are positive and within their interval.
    let _ = model.parameters.put(name, parameter);
}

fn without_noise(model: &Model) -> Model {
    let mut still = model.clone();
    price(&mut still, "noise", 0.0);
    still
}

/// What a transfer of a job takes on a model, in ns.
fn time(job: &Job, model: &Model) -> f64 {
    let run = simulate(std::slice::from_ref(job), &model.parameters, 1);
    let together = run.ok().and_then(|outcomes| Outcome::together(outcomes.first()?));
    together.map_or(f64::NAN, |outcome| ns_per_transfer(&outcome))
}

fn account(name: &str, model: &Model, trials: &[Trial]) -> Account {
    let still = without_noise(model);
    let told =
        |trial: &Trial| Some((trial.job.name.clone(), trial.ns_per_transfer()?, time(&trial.job, &still)));
    let refused =
        trials.iter().filter_map(|trial| Some(format!("{}: {}", trial.job.name, trial.refusal.as_ref()?)));
    Account {
        name: name.to_owned(),
        jobs: trials.iter().filter_map(told).collect(),
        drift: drift(trials).exp() - 1.0,
        refused: refused.collect(),
    }
}

/// The mean over the jobs of what the later half of the runs took longer, as a logarithm: noise of single jobs
/// averages out, what befell all of them does not.
fn drift(trials: &[Trial]) -> f64 {
    let drifts: Vec<f64> = trials.iter().filter_map(Trial::drift).collect();
    drifts.iter().sum::<f64>() / drifts.len().max(1) as f64
}

/// How far the model is off, by class of job.
fn residuals(model: &Model, trials: &[Trial]) -> BTreeMap<String, Residual> {
    let still = without_noise(model);
    let mut errors: BTreeMap<String, Vec<[f64; 2]>> = BTreeMap::new();
    for trial in trials {
        let Some(measured) = trial.ns_per_transfer() else { continue };
        let error = (time(&trial.job, &still) / measured).ln();
        errors
            .entry(class(&trial.job, &still.parameters))
            .or_default()
            .push([error, trial.drift().unwrap_or(0.0)]);
    }
    let residual = |errors: &Vec<[f64; 2]>| {
        let count = errors.len() as f64;
        let mean_square =
            |which: usize| errors.iter().map(|one| one[which] * one[which]).sum::<f64>() / count;
        // Each half lies half of the drift from their middle, and what comes later as far again.
        let drift = mean_square(1) / 2.0;
        Residual {
            jobs: errors.len() as u32,
            mean_error: errors.iter().map(|[error, _]| error.abs()).sum::<f64>() / count,
            // So few jobs show less than the whole spread: one freedom is taken off, and the t of 90 % is wider.
            spread: (mean_square(0) + drift).sqrt() * (1.0 + 1.0 / count),
        }
    };
    errors.iter().map(|(class, errors)| (class.clone(), residual(errors))).collect()
}
