//! `fathom run`: the jobs of a fio job file, or the operations of a trace, for real.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use fathom::job::{Benchmark, JobFile, Output};
use fathom::load::{Needs, log, write_logs};
use fathom::report::fio::{self, Detail};
use fathom::results::{Json, Report};
use fathom::session::{Done, Session, Work};

use super::session;
use crate::args::budget::BudgetOptions;
use crate::args::run::{JobFormat, Jobs, RunOptions};
use crate::console::{self, spinner, timer};
use crate::failure::Failure;
use crate::keep;

const AFTER_JOBS: &str = "Next: 'fathom calibrate' makes a model, with which 'fathom predict' predicts jobs without running them.\n";
const AFTER_A_TRACE: &str =
    "Next: 'fathom trace show' describes the trace; '--pace' chooses when its operations begin.\n";

pub(crate) fn run(options: &RunOptions) -> Result<ExitCode, Failure> {
    let (described, _) = options.work().map_err(Failure::Usage)?;
    let (work, output) = read(&described, options.on_files.as_deref())?;
    match work {
        Work::Jobs(file) if options.dry_run => plan(options, file),
        Work::Trace(_) if options.dry_run => Err(Failure::Usage(format!(
            "--dry-run: {described} is a trace; 'fathom trace show' describes it"
        ))),
        Work::Jobs(file) => jobs(options, file, &Wanted::of(options, &output), output.benchmark.as_ref()),
        Work::Trace(trace) => replay(options, &trace),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// The formats that results are printed in.
struct Wanted {
    /// In fio's order, where there are several.
    formats: Vec<JobFormat>,
    terse_version: u8,
}

impl Wanted {
    /// What our options say, and else what those of fio's command line do.
    fn of(options: &RunOptions, output: &Output) -> Self {
        let asked = |names: &[&str]| output.formats.iter().any(|name| names.contains(&name.as_str()));
        let of_fio = [
            (asked(&["terse"]), JobFormat::FioTerse),
            (asked(&["json"]) && !asked(&["json+"]), JobFormat::FioJson),
            (asked(&["json+"]), JobFormat::FioJsonPlus),
            (asked(&["normal"]), JobFormat::FioNormal),
        ];
        let of_fio: Vec<_> =
            of_fio.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, one)| one).collect();
        let formats = match options.format {
            Some(format) => vec![format],
            None if of_fio.is_empty() => vec![JobFormat::Text],
            None => of_fio,
        };
        let terse_version = options.terse_version.or(output.terse_version).unwrap_or(3);
        Self { formats, terse_version }
    }

    fn is_text(&self) -> bool {
        self.formats == [JobFormat::Text]
    }
}

/// What is to be done, and how a command line wants it shown. A file that can't be read is a mistake of the user's.
/// What the reader noted is said once.
pub(crate) fn read(jobs: &Jobs<'_>, on_files: Option<&Path>) -> Result<(Work, Output), Failure> {
    let work = match jobs {
        Jobs::File(path) => Work::read_on(path, on_files).map(|work| (work, Output::default())),
        Jobs::Command(words) => Work::command(words, on_files),
    };
    let (work, output) = work.map_err(|error| Failure::from(error).usage())?;
    if let Work::Jobs(file) = &work {
        file.notes.iter().for_each(|note| console::note(note));
    }
    Ok((work, output))
}

fn begin(options: &RunOptions, seed: u64, is_text: bool) -> Result<Session, Failure> {
    let (_, path) = options.work().map_err(Failure::Usage)?;
    let session = session(path, BudgetOptions { limits: options.limits, seed })?;
    keep::check(options.keep.destination(is_text))?;
    Ok(session)
}

/// The session, and what the jobs need, their files fitted to the disk.
fn fit(options: &RunOptions, file: &mut JobFile, is_text: bool) -> Result<(Session, Needs), Failure> {
    let (described, _) = options.work().map_err(Failure::Usage)?;
    Needs::of(&file.jobs).map_err(|reason| Failure::Usage(format!("{described}: {reason}")))?;
    let session = begin(options, file.jobs.first().map_or(0, |job| job.seed), is_text)?;
    let known = file.notes.len();
    let needs = session.fit(file)?;
    file.notes[known..].iter().for_each(|note| console::note(note));
    Ok((session, needs))
}

fn plan(options: &RunOptions, mut file: JobFile) -> Result<(), Failure> {
    let format = options.format.unwrap_or(JobFormat::Text);
    let (session, needs) = fit(options, &mut file, format == JobFormat::Text)?;
    session.unaffordable(&needs).iter().for_each(|reason| console::note(reason));
    match format {
        JobFormat::Text => console::print(&fathom::report::plan(&file.jobs, &needs)),
        JobFormat::Json => {
            let plan = fathom::report::Plan::of(&file, &needs).map_err(Failure::Usage)?;
            console::print(&(plan.json()? + "\n"))
        }
        _ => Err(Failure::Usage(
            "--dry-run has no figures for fio's formats: --format text or json".to_owned(),
        )),
    }
}

fn jobs(
    options: &RunOptions,
    mut file: JobFile,
    wanted: &Wanted,
    benchmark: Option<&Benchmark>,
) -> Result<(), Failure> {
    log::check(&file.jobs).map_err(Failure::Usage)?;
    let (mut session, needs) = fit(options, &mut file, wanted.is_text())?;
    let bar = match file.jobs.iter().all(|job| job.time_based) {
        true => timer("running the jobs", needs.time),
        false => spinner("running the jobs"),
    };
    let (done, summary) = bar.during(|| match benchmark {
        Some(benchmark) => session.run_benchmark(benchmark, &file.jobs),
        None => session.run(&file.jobs).map(|done| (done, String::new())),
    })?;
    let logged = write_logs(&file.jobs, &done.outcomes);
    let logged = logged.map_err(|(path, error)| Failure::unwritable("the log", &path, &error))?;
    logged.iter().for_each(|note| console::note(note));
    console::print(&shown(wanted, &file, &done)?)?;
    if wanted.is_text() {
        console::print(&summary)?;
    }
    keep::result(options.keep.destination(wanted.is_text()), "run", AFTER_JOBS, &done.ran)
}

fn replay(options: &RunOptions, trace: &Path) -> Result<(), Failure> {
    if options.format.is_some_and(|format| format != JobFormat::Text) {
        return Err(Failure::Usage("--format: a trace's replay is shown as text alone".to_owned()));
    }
    let mut session = begin(options, 0, true)?;
    let replayed = spinner("replaying").during(|| session.replay(trace, options.replaying.how()))?;
    console::print(&replayed.text(console::colours(false)))?;
    keep::result(options.keep.destination(true), "run", AFTER_A_TRACE, &replayed)
}

fn shown(wanted: &Wanted, file: &JobFile, done: &Done) -> Result<String, Failure> {
    let as_fio = |detail| {
        let (now, took) = (SystemTime::now(), Duration::from_nanos(done.ran.duration_ns));
        fio::document(file, &done.outcomes, &done.disks, now, took, detail)
    };
    let one = |format: &JobFormat| {
        Ok(match format {
            JobFormat::Text => done.ran.text(console::colours(false)),
            JobFormat::Json => done.ran.json()? + "\n",
            JobFormat::FioJson => as_fio(Detail::Percentiles).json()? + "\n",
            JobFormat::FioJsonPlus => as_fio(Detail::Bins).json()? + "\n",
            JobFormat::FioTerse => as_fio(Detail::Percentiles).terse(wanted.terse_version),
            JobFormat::FioNormal => as_fio(Detail::Percentiles).normal(),
        })
    };
    wanted.formats.iter().map(one).collect()
}
