//! Traces: predicted before they are replayed, replayed several times in turns, and held against each other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use fathom_program::call::{Call, Direction};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use super::baselines::as_in_paper;
use super::{Figures, Held, Outcomes, TAILS, Trials};
use crate::model::{Model, Scalar};
use crate::prediction::{Replay, Settings, device_byte, predict_trace, simulate_trace};
use crate::trial::{self, Reserve, bytes_per_second};
use fathom_program::shuffle::shuffle;
use fathom_run::fault::Fault;
use fathom_run::replay::{self, Bounds, Cache, How, Plan, Replayed};

/// A trace with what was predicted of it, and what its replays gave.
struct Traced {
    name: String,
    plan: Arc<Plan>,
    figures: Figures,
    /// Whether more than a hundredth of what it moves is written.
    writes: bool,
    runs: Vec<f64>,
    /// The 99 % latency of each replay.
    tails: Vec<[f64; TAILS.len()]>,
}

/// Predicts the replay of each trace, replays it several times, and compares the two.
///
/// # Errors
/// What ends the replays: an interrupt, a budget, the end of the time, a trace that can't be read.
pub fn validate_traces(
    traces: &[PathBuf],
    how: How,
    trials: &Trials<'_>,
    bounds: &Bounds,
) -> Result<(Outcomes, u64), Fault> {
    let mut outcomes = Outcomes::default();
    let mut predicted = Vec::new();
    for trace in traces {
        match traced(trace, replay::plan(trace)?, how, trials) {
            Ok(one) => predicted.push(one),
            Err(reason) => outcomes.refused.push(format!("{}: {reason}", trace.display())),
        }
    }
    let each: u64 = predicted.iter().map(|one| one.plan.laid_out().saturating_add(one.plan.writes)).sum();
    let written = each.saturating_mul(trials.repeats as u64);
    Fault::unless_affordable(written, bounds.max_write)?;
    let mut generator = Pcg64Mcg::seed_from_u64(trials.seed);
    let mut order: Vec<usize> = (0..predicted.len()).collect();
    for _ in 0..trials.repeats {
        shuffle(&mut order, &mut generator);
        for &index in &order {
            let one = &mut predicted[index];
            let replayed = once(&one.plan, how, trials, bounds)?;
            let bytes = replayed.reads.bytes + replayed.writes.bytes;
            one.runs.push(bytes as f64 / replayed.elapsed.as_secs_f64().max(1e-9));
            let tail = TAILS.map(|share| replayed.quantile_ns(share).map_or(0.0, |ns| ns as f64));
            one.tails.push(tail);
        }
    }
    outcomes.jobs = predicted.iter().filter_map(hold).collect();
    Ok((outcomes, written))
}

fn traced(trace: &Path, plan: Arc<Plan>, how: How, trials: &Trials<'_>) -> Result<Traced, String> {
    let model = trials.model;
    let name = trace.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let replay = Replay::new(&plan, how)?;
    let settings = Settings { seed: trials.seed, ..Settings::default() };
    let (forecast, plain) = predict_trace(&name, &replay, model, settings)?;
    let bytes: u64 = plain.transfers.iter().map(|side| side.bytes).sum();
    let figures = Figures {
        rate: forecast.bytes_per_second().ok_or("it moves no data")?,
        tails_ns: TAILS.map(|share| plain.latency_ns(share)),
        paper: bytes_per_second(&simulate_trace(&replay, &as_in_paper(model)?.parameters, 1)),
        plain: bytes as f64 / plain_ns(&replay, model).max(1.0) * 1e9,
        nearest: None,
    };
    Ok(Traced { name, figures, writes: plan.writes * 100 > bytes, plan, runs: Vec::new(), tails: Vec::new() })
}

/// How long the replay takes on a latency and a bandwidth: the device's for what a file holds when it is read for the
/// first time and for what is synced, the memory's for all else.
fn plain_ns(replay: &Replay, model: &Model) -> f64 {
    let parameters = &model.parameters;
    let is_cold = replay.how().cache == Cache::Cold;
    let mut unread: Vec<u64> = replay.sizes().map(|size| if is_cold { size } else { 0 }).collect();
    let mut unsynced = vec![0_u64; unread.len()];
    replay.length_ns(|&Call { file, kind, bytes, .. }| {
        let file = file.0 as usize;
        let memory = parameters[Scalar::Call] + bytes as f64 * parameters[Scalar::CopiedByte];
        match kind {
            kind if kind.is_read() && unread[file] > 0 => {
                unread[file] = unread[file].saturating_sub(bytes);
                parameters[Scalar::DeviceLatency] + bytes as f64 * device_byte(model, Direction::Read)
            }
            kind if kind.is_write() => {
                unsynced[file] += bytes;
                memory
            }
            kind if kind.is_sync() => {
                let bytes = std::mem::take(&mut unsynced[file]);
                parameters[Scalar::DeviceWriteLatency] + bytes as f64 * device_byte(model, Direction::Write)
            }
            kind if kind.is_read() => memory,
            _ => parameters[Scalar::Call],
        }
    })
}

fn once(plan: &Arc<Plan>, how: How, trials: &Trials<'_>, bounds: &Bounds) -> Result<Replayed, Fault> {
    let mut reserve = Reserve::of(plan.laid_out().saturating_add(plan.writes), None);
    let rest = trial::rest_of(trials.model);
    replay::replay(plan, trials.path, how, bounds, &mut || {
        thread::sleep(rest);
        drop(std::mem::take(&mut reserve));
    })
}

fn hold(one: &Traced) -> Option<Held> {
    let class = if one.writes { "traces that write" } else { "traces that read" };
    one.figures.held(&one.name, class.to_owned(), one.runs.clone(), &one.tails)
}
