//! Jobs and traces: run for real, or predicted on a model.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fathom_predict::model::{Model, Runner};
use fathom_predict::prediction::{self, Predicted, Prediction, Replay, SCHEMA, Settings};
use fathom_program::job::{self, Benchmark, Job, JobFile, OnFiles, Output, Rate, Surroundings};
use fathom_program::units::Nanos;
use fathom_run::fault::plain;
use fathom_run::instrument::Instrument;
use fathom_run::load::{self, Disk, Meeting, Needs, Outcome, Ranks};
use fathom_run::replay::{self, Bounds, How, Replayed};
use fathom_speed::jobs::{self, Ran, RanJob};

use super::{Error, Session};

/// What every Parquet file begins with.
const MAGIC: [u8; 4] = *b"PAR1";

/// Has a reader of jobs look at what is around a file of this path, with the variables of this process's environment.
fn surrounded<T>(
    path: &str,
    on_files: Option<&Path>,
    read: impl FnOnce(&Surroundings<'_>) -> T,
) -> Result<T, Error> {
    let variable = |name: &str| std::env::var(name).ok();
    let around = Surroundings { path, ..load::surroundings(&variable) };
    let Some(directory) = on_files else { return Ok(read(&around)) };
    // A relative path would mean another directory where a job's own paths are absolute.
    let directory = fs::canonicalize(directory)
        .map_err(|error| Error::Failed(format!("--on-files {}: {}", directory.display(), plain(&error))))?;
    let length = |path: &str| load::length_below(&directory, path);
    let list = |path: &str| load::files_below(&directory, path);
    let shown = directory.to_string_lossy();
    let on_files = Some(OnFiles { directory: &shown, length: &length, list: &list });
    Ok(read(&Surroundings { on_files, ..around }))
}

/// What is to be done: the jobs of a fio job file, or a trace's operations.
#[derive(Debug, Clone)]
pub enum Work {
    /// Jobs.
    Jobs(JobFile),
    /// A trace's file.
    Trace(PathBuf),
}

impl Work {
    /// Reads a job file, with the variables of this process's environment; or notes where a trace is. Traces are told
    /// by what every Parquet file begins with; a folder is one of a trace's parts. `-` is standard input, as in fio.
    ///
    /// # Errors
    /// A file that can't be read; a line of a job file that fio would refuse, or that is not understood.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::read_on(path, None)
    }

    /// The same, where jobs read files that are there below a directory, instead of scratch files.
    ///
    /// # Errors
    /// As [`read`](Self::read); a job that writes, or a file that is not there.
    pub fn read_on(path: &Path, on_files: Option<&Path>) -> Result<Self, Error> {
        let failed = |error| Error::Failed(format!("{}: {}", path.display(), plain(&error)));
        let mut bytes = Vec::new();
        let is_trace = path.is_dir() || {
            // A pipe gives its beginning once.
            let mut file = File::open(load::input(path)).map_err(failed)?;
            file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(failed)?;
            let is_parquet = bytes == MAGIC;
            if !is_parquet {
                file.read_to_end(&mut bytes).map_err(failed)?;
            }
            is_parquet
        };
        if is_trace {
            return match on_files {
                None => Ok(Self::Trace(path.to_owned())),
                Some(_) => Err(Error::Failed(format!("--on-files: {} is a trace", path.display()))),
            };
        }
        // fio takes remarks and descriptions in any encoding.
        let text = String::from_utf8_lossy(&bytes);
        Self::parse(&text, &path.to_string_lossy(), on_files)
    }

    /// Reads the text of a job file of this name, with the variables of this process's environment.
    ///
    /// # Errors
    /// A line that fio would refuse, or that is not understood.
    pub fn of_text(text: &str, name: &str) -> Result<Self, Error> {
        Self::parse(text, name, None)
    }

    fn parse(text: &str, name: &str, on_files: Option<&Path>) -> Result<Self, Error> {
        let file = surrounded(name, on_files, |around| job::parse(text, around))?
            .map_err(|mistake| Error::Failed(format!("{name}:{}: {}", mistake.line, mistake.reason)))?;
        Self::of(file, name)
    }

    /// Reads a command line of fio, with or without `fio` as its first word, or one of `ior` or `mdtest`; its jobs may read files that are there. Gives what
    /// it says of the output, too.
    ///
    /// # Errors
    /// A word that the program would refuse, or that is not understood; as [`read_on`](Self::read_on).
    pub fn command(words: &[String], on_files: Option<&Path>) -> Result<(Self, Output), Error> {
        let failed = |reason: String| Error::Failed(format!("the command line: {reason}"));
        let line = surrounded("", on_files, |around| job::parse_command(words, around))?.map_err(failed)?;
        if line.output.parse_only || line.output.show_command {
            return Err(failed("--parse-only and --showcmd run nothing: leave them out".to_owned()));
        }
        let mut file = line.jobs;
        let output = line.output;
        let idle = [
            (output.file.is_some(), "--output"),
            (output.eta.is_some(), "--eta"),
            (output.status_interval.is_some(), "--status-interval"),
        ];
        let idle = idle.iter().filter(|(is_given, _)| *is_given);
        file.notes.extend(idle.map(|(_, option)| {
            format!("{option} has no effect: the results go to standard output when all jobs have ended")
        }));
        Ok((Self::of(file, "the command line")?, output))
    }

    /// Jobs that can be run; those that want another random order in each run get a seed.
    fn of(mut file: JobFile, name: &str) -> Result<Self, Error> {
        for job in file.jobs.iter_mut().filter(|job| job.order.unrepeatable) {
            // The keys of a hasher are drawn by the system.
            job.seed = RandomState::new().build_hasher().finish() >> 1;
            let (name, seed) = (&job.name, job.seed);
            file.notes
                .push(format!("[{name}] randrepeat=0: randseed={seed} without it gives the same order"));
        }
        let supported = file.supported().map_err(|reason| Error::Failed(format!("{name}: {reason}")));
        supported.map(Self::Jobs)
    }
}

/// What a run of jobs gave.
#[derive(Debug)]
pub struct Done {
    /// The result as it is written.
    pub ran: Ran,
    /// What the threads of each job did.
    pub outcomes: Vec<Vec<Outcome>>,
    /// What the disks below did meanwhile.
    pub disks: Vec<Disk>,
}

/// Predicts what jobs will do on a model, or the replay of a trace with `how`; gives the forecast as it is written, and
/// the outcomes of one run of the model for each job's threads.
///
/// # Errors
/// What the model can't express, by name; a trace that can't be read.
pub fn predict(
    work: &Work,
    how: How,
    model: &Model,
    settings: Settings,
) -> Result<(Predicted, Vec<Vec<Outcome>>), Error> {
    let result = match work {
        Work::Jobs(file) => prediction::predict(&file.jobs, model, settings),
        Work::Trace(path) => of_trace(path, &replay::plan(path)?, how, model, settings),
    };
    let Prediction { outcomes, forecasts } = result.map_err(Error::Failed)?;
    let predicted = Predicted {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        made: model.made.clone(),
        settings: Vec::new(),
        runner: match work {
            Work::Jobs(_) => model.parameters.choices.runner.word(),
            Work::Trace(_) => Runner::Fathom.word(),
        }
        .to_owned(),
        seed: settings.seed,
        draws: settings.draws,
        jobs: forecasts,
    };
    Ok((predicted, outcomes))
}

/// The replay that [`Session::replay`] would make of a trace.
fn of_trace(
    path: &Path,
    plan: &Arc<replay::Plan>,
    how: How,
    model: &Model,
    settings: Settings,
) -> Result<Prediction, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let replay = Replay::new(plan, how)?;
    let (forecast, outcome) = prediction::predict_trace(&name, &replay, model, settings)?;
    Ok(Prediction { outcomes: vec![vec![outcome]], forecasts: vec![forecast] })
}

impl Session {
    /// What jobs will cost. Files that the disk has no room for are made smaller, which a note says.
    ///
    /// # Errors
    /// Jobs that make no sense; a file system that does not tell its space.
    pub fn fit(&self, file: &mut JobFile) -> Result<Needs, Error> {
        Ok(Needs::fit(file, &self.path)?)
    }

    /// Where the budget is too small for jobs, one sentence for each option to raise.
    pub fn unaffordable(&self, needs: &Needs) -> Vec<String> {
        let time = |time: Duration| Nanos(time.as_nanos() as f64);
        let too_long = (needs.time > self.budget.max_time).then(|| {
            let (taken, most) = (time(needs.time), time(self.budget.max_time));
            format!("the jobs take {taken}, and {most} are allowed: raise --max-time")
        });
        let writes = self.afford("the jobs", needs.writes).err().map(|error| error.to_string());
        writes.into_iter().chain(too_long).collect()
    }

    /// Runs jobs: those between two stonewalls at the same time, one such group after the other.
    ///
    /// # Errors
    /// Jobs that make no sense, or that are known to need more than the budget; an interrupt, the end of the time, a
    /// call that fails.
    pub fn run(&mut self, jobs: &[Job]) -> Result<Done, Error> {
        let needs = Needs::of(jobs).map_err(Error::Failed)?;
        if let Some(reason) = self.unaffordable(&needs).into_iter().next() {
            return Err(Error::Failed(reason));
        }
        let begun = self.begin()?;
        let mut testbed = self.testbed(&begun, needs.space, self.limits())?;
        testbed.meet_with(self.ranks.clone());
        let elsewhere = jobs.iter().find_map(|job| job.files.existing.as_ref());
        testbed.watch_disks(elsewhere.map_or(&self.path, |existing| Path::new(&existing.directory)));
        let outcomes = load::run_all(jobs, &mut testbed)?;
        let disks = testbed.disks();
        let bytes_written = self.leave(testbed);
        let ran = Ran {
            schema: jobs::SCHEMA.to_owned(),
            provenance: begun.provenance,
            jobs: jobs.iter().zip(&outcomes).filter_map(|(job, threads)| RanJob::of(job, threads)).collect(),
            duration_ns: self.elapsed_ns(),
            bytes_written,
        };
        Ok(Done { ran, outcomes, disks })
    }

    /// Runs the jobs of IOR's or mdtest's command line as often as it says, each time on new files. Gives the last run, and
    /// the lines that the program prints at the end.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_benchmark(&mut self, benchmark: &Benchmark, jobs: &[Job]) -> Result<(Done, String), Error> {
        let writes = Needs::of(jobs).map_err(Error::Failed)?.writes;
        self.afford("the jobs", writes.saturating_mul(u64::from(benchmark.repetitions)))?;
        let marks = Arc::new(Mutex::new(Vec::new()));
        let mark = Arc::clone(&marks);
        self.meet_with(Some(Ranks::new(move |meeting, _, _| {
            mark.lock().unwrap_or_else(PoisonError::into_inner).push((meeting, Instant::now()));
            Ok(None)
        })));
        let mut rates: Vec<(String, Vec<Rate>)> = Vec::new();
        let mut last = self.run(jobs)?;
        for more in 0..benchmark.repetitions {
            if more > 0 {
                last = self.run(jobs)?;
            }
            let marks = std::mem::take(&mut *marks.lock().unwrap_or_else(PoisonError::into_inner));
            let at = |wanted| marks.iter().filter(move |mark| mark.0 == wanted).map(|mark| mark.1);
            let closed = at(Meeting::Begin).zip(at(Meeting::Ended)).map(|(begun, ended)| ended - begun);
            rates.resize_with(last.ran.jobs.len(), Default::default);
            for ((rate, job), closed) in rates.iter_mut().zip(&last.ran.jobs).zip(closed) {
                rate.0.clone_from(&job.name);
                rate.1.extend(job.sides.first().map(|side| Rate {
                    bytes: side.bytes as f64 / closed.as_secs_f64(),
                    calls: job.calls_per_second(side),
                }));
            }
        }
        Ok((last, benchmark.program.summary(&rates)))
    }

    /// Replays a trace on scratch files.
    ///
    /// # Errors
    /// A trace that can't be read, one that writes more than is left of the budget, an interrupt, the end of the time.
    pub fn replay(&mut self, trace: &Path, how: How) -> Result<Replayed, Error> {
        let instrument = self.begin()?.instrument;
        let plan = replay::plan(trace)?;
        Ok(replay::replay(&plan, &self.path, how, &self.bounds(instrument), &mut || ())?)
    }

    pub(super) fn bounds(&self, instrument: Instrument) -> Bounds {
        Bounds {
            max_write: self.left(),
            instrument,
            deadline: Some(self.deadline()),
            interrupt: Arc::clone(self.watch.interrupt()),
        }
    }
}
