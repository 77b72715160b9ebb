//! Jobs run for real, several times over and in turns, so that drift meets all of them alike.

use fathom_stats::quantile;

use crate::fault::Fault;
use crate::job::{Direction, Job};
use crate::load::{self, Outcome, Site};

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

/// Runs every job `repeats` times: all of them once, then all of them again. `progress` is told how many runs
/// are done.
///
/// # Errors
/// What concerns all jobs: an interrupt, the end of the time, a budget, a full disk.
pub fn run(
    jobs: &[Job],
    repeats: usize,
    site: &mut Site,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<Trial>, Fault> {
    let mut trials: Vec<Trial> =
        jobs.iter().map(|job| Trial { job: job.clone(), runs: Vec::new(), refusal: None }).collect();
    for round in 0..repeats {
        for at in 0..trials.len() {
            // Every other round goes backward, so that no job always follows the same one.
            let index = if round % 2 == 0 { at } else { trials.len() - 1 - at };
            once(&mut trials[index], site)?;
            progress(round * trials.len() + at + 1);
        }
    }
    Ok(trials)
}

fn once(trial: &mut Trial, site: &mut Site) -> Result<(), Fault> {
    if trial.refusal.is_some() {
        return Ok(());
    }
    if !trial.job.does(Direction::Read) && trial.job.filesize.is_none() {
        // What only writes begins with a new file.
        site.remove(&trial.job);
    }
    match load::run(&trial.job, site) {
        Ok(threads) => trial.runs.extend(Outcome::together(&threads)),
        Err(Fault::Unsupported(reason)) => trial.refusal = Some(reason),
        Err(Fault::System(error)) if !error.is_full() && !error.is_read_only() => {
            trial.refusal = Some(error.to_string());
        }
        Err(fault) => return Err(fault),
    }
    Ok(())
}

/// Bytes that jobs which only write do write anew in each repeat.
///
/// # Errors
/// A job that makes no sense.
pub fn rewritten(jobs: &[Job]) -> Result<u64, String> {
    let writing = jobs.iter().filter(|job| !job.does(Direction::Read));
    writing.map(|job| Ok(job.transfer()?.unwrap_or(0) * u64::from(job.numjobs))).sum()
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
