//! Jobs run for real, several times over and in random turns, so that drift meets all of them alike.

use std::time::Duration;

use fathom_stats::quantile;
use fathom_sys::{facts, memory};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::fault::Fault;
use crate::job::{Direction, Job};
use crate::load::{self, Needs, Outcome, Site};
use crate::model::Model;
use crate::shuffle::shuffle;

/// A job and what its runs gave.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The job.
    pub job: Job,
    /// Its runs, the threads of each together, in the order in which they were made.
    pub runs: Vec<Outcome>,
    /// Why there is none, where the system refused.
    pub refusal: Option<String>,
}

/// How to take turns.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    /// How often each job is run.
    pub repeats: usize,
    /// Decides the order.
    pub seed: u64,
    /// How long the device rests before each run.
    pub rest: Duration,
    /// Whether each run finds memory that the host of a virtual machine has not taken back.
    pub keeps_reserve: bool,
}

/// The rest that a device needs to be in the state that a prediction begins with: one that is held to a rate
/// remembers what it has just done.
pub fn rest_of(model: &Model) -> Duration {
    Duration::from_nanos((2.25 * model.parameters.value("limit_slice")) as u64)
}

/// Runs every job several times: all of them once in a random order, then all of them again in another.
/// `progress` is told how many runs are done.
///
/// # Errors
/// What concerns all jobs: an interrupt, the end of the time, a budget, a full disk.
pub fn run(
    jobs: &[Job],
    turns: Turns,
    site: &mut Site,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<Trial>, Fault> {
    let mut trials: Vec<Trial> =
        jobs.iter().map(|job| Trial { job: job.clone(), runs: Vec::new(), refusal: None }).collect();
    let mut generator = Pcg64Mcg::seed_from_u64(turns.seed);
    let mut reserve = Reserve::default();
    let mut order: Vec<usize> = (0..trials.len()).collect();
    for round in 0..turns.repeats {
        // No job always follows the same one.
        shuffle(&mut order, &mut generator);
        for (done, &index) in order.iter().enumerate() {
            once(&mut trials[index], turns, &mut reserve, site)?;
            progress(round * trials.len() + done + 1);
        }
    }
    Ok(trials)
}

/// Memory that is kept for the files of the next run, and given back just before it begins.
///
/// A virtual machine tells its host which memory is free, and the host takes it: two seconds after it was freed
/// (`mm/page_reporting.c`) whoever touches it first waits for ten times as long as a write of a page takes.
/// What belongs to somebody is not taken, so that runs find memory that is there, and all find it alike.
#[derive(Debug, Default)]
struct Reserve(Vec<memory::Mapping>);

impl Reserve {
    /// Takes as much as the files of a job will, half of it in large pages.
    fn keep_for(&mut self, job: &Job) {
        // Jobs were checked when they were laid out; one that has no size keeps nothing.
        let space = Needs::of(std::slice::from_ref(job)).map_or(0, |needs| needs.space);
        if space > 0 && space <= facts::available_memory().unwrap_or(0) / 8 {
            // Whoever has no memory to spare measures without.
            let kinds = [memory::Mapping::large, memory::Mapping::touched];
            self.0.extend(kinds.into_iter().filter_map(|kind| kind(space as usize).ok()));
        }
    }

    fn give_back(&mut self) {
        self.0.clear();
    }
}

fn once(trial: &mut Trial, turns: Turns, reserve: &mut Reserve, site: &mut Site) -> Result<(), Fault> {
    if trial.refusal.is_some() {
        return Ok(());
    }
    if turns.keeps_reserve {
        reserve.keep_for(&trial.job);
    }
    // What only writes begins with a new file, and leaves nothing for the kernel to write during others' runs.
    let is_new = !trial.job.does(Direction::Read) && trial.job.filesize.is_none();
    if is_new {
        site.remove(&trial.job);
    } else if trial.job.does(Direction::Write) {
        // What it wrote over the last time is on the device, as the model has it.
        site.write_out(&trial.job)?;
    }
    if !turns.rest.is_zero() && !trial.job.pre_read {
        std::thread::sleep(turns.rest);
    }
    reserve.give_back();
    match load::run(&trial.job, site) {
        Ok(threads) => trial.runs.extend(Outcome::together(&threads)),
        Err(Fault::Unsupported(reason)) => trial.refusal = Some(reason),
        Err(Fault::System(error)) if !error.is_full() && !error.is_read_only() => {
            trial.refusal = Some(error.to_string());
        }
        Err(fault) => return Err(fault),
    }
    if is_new {
        site.remove(&trial.job);
    }
    Ok(())
}

/// Bytes that jobs write anew in each repeat; those of a runtime as if it never ended them.
///
/// # Errors
/// A job that makes no sense.
pub fn rewritten(jobs: &[Job]) -> Result<u64, String> {
    let writing = jobs.iter().filter(|job| job.does(Direction::Write));
    let written = |job: &Job| {
        let bytes = job.transfer()?.unwrap_or(0) * u64::from(job.numjobs);
        Ok(bytes / 100 * u64::from(100 - job.read_percent))
    };
    writing.map(written).sum()
}

impl Trial {
    /// A figure of each run.
    pub fn each(&self, figure: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        self.runs.iter().map(figure).collect()
    }

    /// The median over the runs of the time per transfer, in ns; none without runs.
    pub fn ns_per_transfer(&self) -> Option<f64> {
        quantile::median(&self.each(ns_per_transfer)).filter(|time| *time > 0.0)
    }

    /// By how much the later half of the runs took longer than the earlier one, as a logarithm; none with too few.
    pub fn drift(&self) -> Option<f64> {
        let times = self.each(ns_per_transfer);
        let half = times.len() / 2;
        let [early, late] = [&times[..half], &times[times.len() - half..]].map(quantile::median);
        Some((late? / early?).ln()).filter(|drift| drift.is_finite())
    }

    /// The median over the runs of bytes per second in both directions.
    pub fn bytes_per_second(&self) -> Option<f64> {
        quantile::median(&self.each(bytes_per_second)).filter(|rate| *rate > 0.0)
    }
}

/// What one transfer took, with all around it, in ns.
pub fn ns_per_transfer(outcome: &Outcome) -> f64 {
    let transfers: u64 = outcome.transfers.iter().map(|side| side.latency.count()).sum();
    outcome.elapsed_ns as f64 / transfers.max(1) as f64
}

/// Bytes per second in both directions.
pub fn bytes_per_second(outcome: &Outcome) -> f64 {
    let bytes: u64 = outcome.transfers.iter().map(|side| side.bytes).sum();
    bytes as f64 / outcome.elapsed_ns.max(1) as f64 * 1e9
}
