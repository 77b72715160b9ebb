//! A job for real and in the model, in turns: 512 MiB read cold by 64 KiB.
//!
//! `cargo bench -p fathom --bench predict [MODEL.json]`; without a model the assumed one. The real side is the time of
//! the reads alone, without laying the file out and dropping it from the cache. The model's is all that it does:
//! `simulate` makes the machine and its file and runs the job once, `predict` does so for every set of parameters that it
//! draws, for the intervals. `FATHOM_BENCH_DIR` names the directory; else it is cargo's own for temporary files.
//! No figure makes it fail.
#![allow(clippy::print_stdout, reason = "a benchmark talks to the one who runs it")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use fathom::instrument::Instrument;
use fathom::job::{Job, parse};
use fathom::load::{Limits, Needs, Outcome, Testbed, run, surroundings};
use fathom::model::Model;
use fathom::prediction::{Settings, predict, simulate};
use fathom_stats::quantile::median;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

const JOB: &str = "[cold]\nioengine=psync\nrw=read\nbs=64k\nsize=512m\n";
const ROUNDS: u64 = 5;
/// What a round gives, all in seconds.
const COLUMNS: [&str; 4] = ["real", "the model says", "to simulate", "to predict"];

fn main() -> ExitCode {
    let directory = std::env::var_os("FATHOM_BENCH_DIR");
    let directory = directory.map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    match compare(&directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("predict: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn compare(directory: &Path) -> Result<(), String> {
    let model = match std::env::args().skip(1).find(|word| !word.starts_with('-')) {
        Some(path) => read_model(Path::new(&path))?,
        None => Model::assumed(),
    };
    let jobs = parse(JOB, &surroundings(&|_| None)).map_err(|mistake| mistake.to_string())?.jobs;
    let space = Needs::of(&jobs)?.space;
    let limits = Limits { max_write: u64::MAX, deadline: None };
    let instrument = Instrument::calibrate()?;
    let mut testbed = Testbed::at(directory, space, &instrument, limits, interrupt()?)
        .map_err(|fault| fault.to_string())?;
    testbed.lay_out(&jobs).map_err(|fault| fault.to_string())?;
    show("seconds", COLUMNS);
    let mut rounds = Vec::new();
    for number in 1..=ROUNDS {
        let first = if number % 2 == 0 { Some(for_real(&jobs[0], &mut testbed)?) } else { None };
        let modelled = in_the_model(&jobs, &model, number)?;
        let real = first.map_or_else(|| for_real(&jobs[0], &mut testbed), Ok)?;
        let round = [real, modelled[0], modelled[1], modelled[2]];
        show(&format!("round {number}"), round.map(|seconds| format!("{seconds:.4}")));
        rounds.push(round);
    }
    summarise(&rounds);
    Ok(())
}

fn read_model(path: &Path) -> Result<Model, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("read {}: {error}", path.display()))?;
    Model::read(&text).map_err(|reason| format!("{}: {reason}", path.display()))
}

/// A flag that a signal sets, so that the file is removed then, too.
fn interrupt() -> Result<Arc<AtomicBool>, String> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&flag))
            .map_err(|error| format!("can't watch for signals: {error}"))?;
    }
    Ok(flag)
}

/// How long the reads of the file take, which was synced and dropped from the cache before.
fn for_real(job: &Job, testbed: &mut Testbed) -> Result<f64, String> {
    let outcomes = run(job, testbed).map_err(|fault| fault.to_string())?;
    let outcome = Outcome::together(&outcomes).ok_or("there are no threads")?;
    if let Some(before) = outcome.cached_before.filter(|before| before.cached > 0) {
        println!("not cold: {} of {} pages were in the cache", before.cached, before.pages);
    }
    Ok(outcome.elapsed_ns as f64 / 1e9)
}

/// How long the reads take in the model, and how long it takes to learn that: in one run, and in a prediction.
fn in_the_model(jobs: &[Job], model: &Model, seed: u64) -> Result<[f64; 3], String> {
    let begun = Instant::now();
    let outcomes = simulate(jobs, &model.parameters, seed)?;
    let simulating = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    predict(jobs, model, Settings { seed, ..Settings::default() })?;
    let predicting = begun.elapsed().as_secs_f64();
    let outcome = Outcome::together(&outcomes[0]).ok_or("there are no threads")?;
    Ok([outcome.elapsed_ns as f64 / 1e9, simulating, predicting])
}

fn summarise(rounds: &[[f64; 4]]) {
    let columns = [0, 1, 2, 3].map(|at| rounds.iter().map(|round| round[at]).collect::<Vec<_>>());
    let medians = columns.each_ref().map(|column| median(column).unwrap_or(f64::NAN));
    let least = columns.each_ref().map(|column| column.iter().copied().fold(f64::INFINITY, f64::min));
    let most = columns.each_ref().map(|column| column.iter().copied().fold(0.0, f64::max));
    for (name, row) in [("median", medians), ("least", least), ("most", most)] {
        show(name, row.map(|seconds| format!("{seconds:.4}")));
    }
    let [real, _, simulating, predicting] = medians;
    println!(
        "{:.0} times faster to simulate than to run, {:.1} to predict",
        real / simulating,
        real / predicting
    );
}

fn show<T: std::fmt::Display>(name: &str, [real, says, simulating, predicting]: [T; 4]) {
    println!("{name:8} {real:>14} {says:>14} {simulating:>14} {predicting:>14}");
}
