//! Single runs of jobs as users make them: by fio where it is installed, and by Fathom, one after the other in random order, on
//! the machine as it is.

use fathom_program::job::{Job, JobFile, words_of};
use fathom_program::shuffle::shuffle;
use fathom_run::fault::Fault;
use fathom_run::load::program::{FioReport, run_as_written, version};
use fathom_run::load::{self, Needs, Outcome, Start, Testbed};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::model::Runner;
use crate::prediction::SHARES;
use crate::trial::one_after_the_other;

/// The result of a run, as the program that made it prints it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Bytes per second in both directions.
    pub rate: f64,
    /// The latencies that 50, 90, 99 and 99.9 % of the transfers do not exceed, of the direction that has more of them, in ns.
    pub latencies_ns: [Option<f64>; SHARES.len()],
}

impl Run {
    /// The latency that one of [`SHARES`] does not exceed, in ns.
    pub(crate) fn latency_ns(&self, share: f64) -> Option<f64> {
        self.latencies_ns[SHARES.iter().position(|one| *one == share)?]
    }
}

/// A job that runs by itself, and its runs.
#[derive(Debug, Clone)]
pub struct SingleRuns {
    /// The job.
    pub job: Job,
    /// fio's words for it.
    words: Vec<String>,
    /// Bytes that a run writes, as far as known.
    pub writes: u64,
    /// Fathom's runs, and fio's, in their order.
    runs: [Vec<Run>; 2],
    /// Why there are no more runs, if the system refused.
    pub refusal: Option<String>,
}

/// The programs that can run jobs here: fio first, where it is installed.
pub fn programs() -> &'static [Runner] {
    if version("fio").is_some() { &[Runner::Fio, Runner::Fathom] } else { &[Runner::Fathom] }
}

/// Makes each program run each job once in every round, in random order. A job that is refused, or that writes more than is left of
/// the budget, is not run again. When the time allowed is over, no more runs are made, if there are some already.
///
/// # Errors
/// What ends the runs: an interrupt, the end of the time, a full disk.
pub fn run(
    jobs: &mut [SingleRuns],
    programs: &[Runner],
    rounds: usize,
    seed: u64,
    testbed: &mut Testbed,
) -> Result<(), Fault> {
    let mut order: Vec<(usize, Runner)> =
        (0..jobs.len()).flat_map(|at| programs.iter().map(move |&by| (at, by))).collect();
    let mut generator = Pcg64Mcg::seed_from_u64(seed);
    testbed.begin_when(Start::Rested);
    for _ in 0..rounds {
        shuffle(&mut order, &mut generator);
        for &(at, by) in &order {
            match jobs[at].run(by, testbed) {
                Err(Fault::OutOfTime) if jobs.iter().any(|one| !one.by(by).is_empty()) => return Ok(()),
                one => one?,
            }
            testbed.watch().advance(1)?;
        }
    }
    Ok(())
}

/// Space and writes that jobs need if each runs `runs` times by itself.
///
/// # Errors
/// A job that makes no sense.
pub fn needs<'a>(jobs: impl Iterator<Item = &'a Job>, runs: usize) -> Result<Needs, String> {
    let (mut needs, room, each) = one_after_the_other(jobs)?;
    // Files that stay are filled once.
    let filled = needs.space.min(needs.writes);
    let transferred = needs.writes - filled;
    let of_run = each.iter().fold(transferred, |sum, one| sum.saturating_add(one.writes));
    needs.writes = of_run.saturating_mul(runs as u64).saturating_add(filled);
    needs.space = needs.space.saturating_add(room);
    needs.time = each.iter().fold(needs.time, |sum, one| sum + one.time) * runs as u32;
    Ok(needs)
}

impl SingleRuns {
    /// The jobs of a file, each to be run by itself.
    pub fn of(file: &JobFile) -> Vec<Self> {
        let of = |(number, job): (usize, &Job)| Self {
            job: job.clone(),
            words: words_of(file, number).unwrap_or_default(),
            writes: 0,
            runs: [Vec::new(), Vec::new()],
            refusal: None,
        };
        file.jobs.iter().enumerate().map(of).collect()
    }

    /// The runs that a program made.
    pub fn by(&self, program: Runner) -> &[Run] {
        &self.runs[program as usize]
    }

    /// One run, from what the one before has left.
    fn run(&mut self, by: Runner, testbed: &mut Testbed) -> Result<(), Fault> {
        let job = &self.job;
        if self.refusal.is_some() {
            return Ok(());
        }
        let left = testbed.write_budget();
        if self.writes > left {
            self.refusal = Some(Fault::OverBudget { wanted: self.writes, left }.to_string());
            return Ok(());
        }
        if job.is_new() {
            testbed.remove(job);
        }
        let run = match by {
            Runner::Fio => {
                run_as_written(&self.words, job, testbed).map(|report| Some(Run::by_fio(job, &report)))
            }
            Runner::Fathom => load::run(job, testbed)
                .map(|threads| Outcome::together(&threads).map(|one| Run::of(job, &one))),
        };
        if job.is_new() {
            testbed.remove(job);
        }
        match run {
            Ok(Some(run)) if run.rate > 0.0 => self.runs[by as usize].push(run),
            Ok(_) => self.refusal = Some("nothing was moved".to_owned()),
            Err(fault @ (Fault::Unsupported(_) | Fault::OverBudget { .. })) => {
                self.refusal = Some(fault.to_string());
            }
            Err(fault) => return Err(fault),
        }
        Ok(())
    }
}

impl Run {
    /// The result of a run by Fathom, as Fathom prints it.
    pub fn of(job: &Job, outcome: &Outcome) -> Self {
        let latencies_ns = SHARES.map(|share| outcome.latency_of_most_ns(share));
        Self { rate: outcome.bytes_per_second_of(job), latencies_ns }
    }

    fn by_fio(job: &Job, report: &FioReport) -> Self {
        let rate = job.directions().map(|side| report.bytes_per_second(side)).sum();
        Self { rate, latencies_ns: SHARES.map(|share| report.latency_ns(share)) }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use fathom_run::instrument::Instrument;
    use fathom_run::load::Limits;
    use fathom_run::watch::Watch;
    use fathom_scripted::support::require;

    #[test]
    fn each_program_runs_each_job_once_in_a_round() {
        let has_fio = programs().contains(&Runner::Fio);
        if !require("each_program_runs_each_job_once_in_a_round", has_fio, "fio is not installed") {
            return;
        }
        let text = "[read]\nrw=read\nsize=256k\n[new]\nrw=write\nsize=64k\n[odd]\nrw=write\nsize=64k\nioengine=null\n";
        let file = fathom_program::job::parse(text, &load::surroundings(&|_| None)).unwrap();
        let mut jobs = SingleRuns::of(&file);
        let needs = needs(file.jobs.iter(), 4).unwrap();
        assert_eq!((needs.space, needs.writes), ((256 + 64) << 10, (256 + 4 * 64) << 10));
        let limits = Limits { max_write: 8 << 20, deadline: None };
        let instrument = Instrument::calibrate().unwrap();
        let mut testbed =
            Testbed::at(&std::env::temp_dir(), needs.space, &instrument, limits, Watch::default()).unwrap();
        run(&mut jobs, programs(), 2, 1, &mut testbed).unwrap();
        for one in &jobs {
            assert_eq!(one.refusal, None);
            for by in [Runner::Fio, Runner::Fathom] {
                let runs = one.by(by);
                assert!(
                    runs.len() == 2 && runs.iter().all(|run| run.rate > 0.0),
                    "{}: {runs:?}",
                    one.job.name
                );
            }
            let [median, .., longest] = one.by(Runner::Fathom)[0].latencies_ns;
            assert!(median.unwrap() <= longest.unwrap());
        }
        assert!(!testbed.path(&jobs[1].job, 0).exists(), "what was only written is gone");
        jobs[1].writes = testbed.write_budget() + 1;
        run(&mut jobs, &[Runner::Fathom], 1, 1, &mut testbed).unwrap();
        assert!(jobs[1].refusal.as_ref().unwrap().contains("--max-write"));
        assert_eq!(jobs.iter().map(|one| one.by(Runner::Fathom).len()).collect::<Vec<_>>(), [3, 2, 3]);
    }
}
