//! How often threads with several requests under way sleep and take turns on CPUs: in the model, and by the kernel's tracepoints.
//!
//! `cargo bench -p fathom --bench turns MODEL.json`, as root; `FATHOM_BENCH_DIR` names a directory of the mount that the model was
//! calibrated on. 50 jobs are drawn at random: engine, depth, batches, block size, directions, one or two threads. Each runs
//! once to lay its file out, and once traced. No figure makes it fail.
#![allow(clippy::print_stdout, reason = "a benchmark talks to the one who runs it")]

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fathom::instrument::Instrument;
use fathom::job::{Job, parse};
use fathom::load::{Limits, Needs, Outcome, Testbed, run, surroundings};
use fathom::model::{Model, Runner};
use fathom::prediction::simulate;
use fathom::watch::Watch;
use fathom_stats::quantile::median;
use fathom_sys::tracing::{Event, Recorded, Trace};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const JOBS: usize = 50;
const TRANSFERS: u64 = 4_000;
const FILE: u64 = 64 << 20;
/// Two counts for each transfer that differ by less are the same.
const NEAR: f64 = 1.25;
const SLEPT: &str = "sched/sched_switch";
const WOKEN: &str = "sched/sched_wakeup";
const COMPLETED: &str = "block/block_rq_complete";

/// What is compared, for each transfer.
const COUNTS: [&str; 3] = ["sleeps", "turns on a CPU", "requests of the device"];

fn main() -> ExitCode {
    let directory = std::env::var_os("FATHOM_BENCH_DIR");
    let directory = directory.map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let Some(model) = std::env::args().skip(1).find(|word| !word.starts_with('-')) else {
        println!(
            "turns: skipped: it needs a calibrated model: cargo bench -p fathom --bench turns MODEL.json"
        );
        return ExitCode::SUCCESS;
    };
    match compare(Path::new(&model), &directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("turns: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn compare(model: &Path, directory: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(model).map_err(|error| format!("{}: {error}", model.display()))?;
    let mut model = Model::read(&text)?;
    // What is traced is Fathom's own threads.
    model.parameters.choices.runner = Runner::Fathom;
    let jobs = parse(&drawn(JOBS), &surroundings(&|_| None)).map_err(|mistake| mistake.to_string())?.jobs;
    let limits = Limits { max_write: u64::MAX, deadline: None };
    let instrument = Instrument::calibrate()?;
    let space = Needs::of(&jobs)?.space;
    let mut testbed = Testbed::at(directory, space, &instrument, limits, Watch::default())
        .map_err(|fault| fault.to_string())?;
    let mut ratios: [Vec<f64>; COUNTS.len()] = Default::default();
    println!("per transfer, by the kernel and in the model: {}", COUNTS.join(", "));
    for job in &jobs {
        run(job, &mut testbed).map_err(|fault| fault.to_string())?;
        let kernel = traced(job, &mut testbed)?;
        let modelled = modelled(job, &model)?;
        let pairs: Vec<String> =
            kernel.iter().zip(modelled).map(|(kernel, model)| format!("{kernel:.3} {model:.3}")).collect();
        println!("{:<60} {}", job.name, pairs.join("   "));
        for ((ratios, kernel), model) in ratios.iter_mut().zip(kernel).zip(modelled) {
            ratios.push((model / kernel).max(kernel / model));
        }
    }
    for (name, ratios) in COUNTS.iter().zip(&ratios) {
        let near = ratios.iter().filter(|ratio| **ratio < NEAR).count();
        println!(
            "{name}: a factor of {:.2} apart in the median, {near} of {} within {NEAR}",
            median(ratios).unwrap_or(f64::NAN),
            ratios.len()
        );
    }
    Ok(())
}

/// Job files with their options in their names.
fn drawn(number: usize) -> String {
    let mut dice = Pcg64Mcg::seed_from_u64(28);
    let mut text = String::from("[global]\ndirect=1\nfilename=turns\noverwrite=1\n");
    for _ in 0..number {
        let mut one_of = |words: &[&'static str]| words[dice.random_range(0..words.len())];
        let (engine, rw) = (one_of(&["libaio", "io_uring"]), one_of(&["randread", "randwrite", "randrw"]));
        let kib = [4, 8, 16][dice.random_range(0..3)];
        let depth = 1_u32 << dice.random_range(1..7);
        let least = dice.random_range(1..=depth.div_ceil(2));
        let most = dice.random_range(least..=depth);
        let submit = dice.random_range(1..=depth);
        let threads = dice.random_range(1..3);
        let name = format!(
            "{engine} {rw} {kib}k, {depth} deep, {submit} at a time, {least} to {most} back, {threads}"
        );
        let moved = TRANSFERS * kib / threads;
        text += &format!(
            "[{name}]\nioengine={engine}\nrw={rw}\nbs={kib}k\niodepth={depth}\niodepth_batch_submit={submit}\niodepth_batch_complete_min={least}\niodepth_batch_complete_max={most}\nnumjobs={threads}\nfilesize={FILE}\nsize={moved}k\n"
        );
    }
    text
}

/// The [`COUNTS`] of a traced run.
fn traced(job: &Job, testbed: &mut Testbed) -> Result<[f64; COUNTS.len()], String> {
    let started = |points: &[(&'static str, Option<&str>)]| {
        Trace::prepare(points, 16 << 10).map_err(|error| error.to_string())
    };
    let (threads, device) = (started(&[(SLEPT, None), (WOKEN, None)])?, Trace::start(&[COMPLETED], None));
    let device = device.map_err(|error| error.to_string())?;
    threads.of_this_thread_and_its_children().map_err(|error| error.to_string())?;
    let outcomes = run(job, testbed).map_err(|fault| fault.to_string());
    let [threads, device] = [threads, device].map(Trace::finish);
    let calls: u64 = outcomes?.iter().map(Outcome::calls).sum();
    let [sleeps, turns] = turns(&threads.map_err(|error| error.to_string())?)?;
    let completed = device.map_err(|error| error.to_string())?.records.len() as u64;
    Ok([sleeps, turns, completed].map(|count| count as f64 / calls as f64))
}

/// How often the threads that this one has made slept, and how often they left a CPU, which ends a turn on it.
fn turns(recorded: &Recorded) -> Result<[u64; 2], String> {
    if recorded.lost > 0 {
        return Err(format!("{} events were lost", recorded.lost));
    }
    let own = std::process::id() as i32;
    let after = |text: &str, key: &str| -> Option<String> {
        Some(text.split(key).nth(1)?.split_whitespace().next()?.to_owned())
    };
    let number = |text: &str, key: &str| after(text, key)?.parse::<i32>().ok();
    let events = || {
        recorded.records.iter().filter_map(|record| match &record.event {
            Event::Other(name, text) => Some((*name, text.as_str())),
            _ => None,
        })
    };
    let woken = events().filter(|(name, _)| *name == "sched_wakeup");
    let threads: HashSet<i32> =
        woken.filter_map(|(_, text)| number(text, " pid=")).filter(|thread| *thread != own).collect();
    let left: Vec<&str> = events()
        .filter(|(name, text)| {
            *name == "sched_switch"
                && number(text, " prev_pid=").is_some_and(|thread| threads.contains(&thread))
        })
        .map(|(_, text)| text)
        .collect();
    let slept = |text: &&&str| after(text, " prev_state=").is_some_and(|state| state.starts_with(['S', 'D']));
    let [sleeps, turns] = [left.iter().filter(slept).count() as u64, left.len() as u64];
    Ok([sleeps, turns])
}

/// The same in the model, where each sleep ends with a turn, and what a job asks for is what the device is asked for.
fn modelled(job: &Job, model: &Model) -> Result<[f64; COUNTS.len()], String> {
    let outcomes = simulate(std::slice::from_ref(job), &model.parameters, 1)?;
    let calls: u64 = outcomes[0].iter().map(Outcome::calls).sum();
    let sleeps: u64 = outcomes[0].iter().map(|one| one.usage.sleeps).sum();
    let sleeps = sleeps as f64 / calls as f64;
    Ok([sleeps, sleeps, 1.0])
}
