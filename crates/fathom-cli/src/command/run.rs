//! `fathom run`: the jobs of a fio job file, or the operations of a trace, for real.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use fathom::job::JobFile;
use fathom::load::{Needs, Outcome, log};
use fathom::report::fio_json::{self, Detail};
use fathom::results::{Json, Report};
use fathom::session::{Session, Work};
use fathom::speed::jobs::Ran;

use super::session;
use crate::args::run::{JobFormat, Jobs, RunOptions};
use crate::console::{self, spinner};
use crate::failure::Failure;
use crate::keep;

const AFTER_JOBS: &str = "Next: 'fathom calibrate' makes a model, with which 'fathom predict' predicts jobs without running them.\n";
const AFTER_A_TRACE: &str =
    "Next: 'fathom trace show' describes the trace; '--pace' chooses when its operations begin.\n";

pub(crate) fn run(options: &RunOptions) -> Result<ExitCode, Failure> {
    let (described, _) = options.work().map_err(Failure::Usage)?;
    match read(&described, options.on_files.as_deref())? {
        Work::Jobs(file) if options.dry_run => plan(options, file),
        Work::Trace(_) if options.dry_run => Err(Failure::Usage(format!(
            "--dry-run: {described} is a trace; 'fathom trace show' describes it"
        ))),
        Work::Jobs(file) => jobs(options, file),
        Work::Trace(trace) => replay(options, &trace),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// What is to be done. A file that can't be read is a mistake of the user's. What the reader noted is said once.
pub(crate) fn read(jobs: &Jobs<'_>, on_files: Option<&Path>) -> Result<Work, Failure> {
    let work = match jobs {
        Jobs::File(path) => Work::read_on(path, on_files),
        Jobs::Command(words) => Work::command(words, on_files),
    };
    let work = work.map_err(|error| Failure::from(error).usage())?;
    if let Work::Jobs(file) = &work {
        file.notes.iter().for_each(|note| console::note(note));
    }
    Ok(work)
}

fn begin(options: &RunOptions, seed: u64) -> Result<Session, Failure> {
    let (_, path) = options.work().map_err(Failure::Usage)?;
    let session = session(path, options.max_write, options.max_time, seed)?;
    keep::check(options.keep.place(options.format == JobFormat::Text))?;
    Ok(session)
}

/// The session, and what the jobs need, their files fitted to the disk.
fn fit(options: &RunOptions, file: &mut JobFile) -> Result<(Session, Needs), Failure> {
    let (described, _) = options.work().map_err(Failure::Usage)?;
    Needs::of(&file.jobs).map_err(|reason| Failure::Usage(format!("{described}: {reason}")))?;
    let session = begin(options, file.jobs.first().map_or(0, |job| job.seed))?;
    let known = file.notes.len();
    let needs = session.fit(file)?;
    file.notes[known..].iter().for_each(|note| console::note(note));
    Ok((session, needs))
}

fn plan(options: &RunOptions, mut file: JobFile) -> Result<(), Failure> {
    let (session, needs) = fit(options, &mut file)?;
    session.unaffordable(&needs).iter().for_each(|reason| console::note(reason));
    match options.format {
        JobFormat::Text => console::print(&fathom::report::plan(&file.jobs, &needs)),
        JobFormat::Json => {
            let plan = fathom::report::Plan::of(&file, &needs).map_err(Failure::Usage)?;
            console::print(&(plan.json()? + "\n"))
        }
        JobFormat::FioJson | JobFormat::FioJsonPlus => Err(Failure::Usage(
            "--dry-run has no figures for fio's formats: --format text or json".to_owned(),
        )),
    }
}

fn jobs(options: &RunOptions, mut file: JobFile) -> Result<(), Failure> {
    log::check(&file.jobs).map_err(Failure::Usage)?;
    let (mut session, _) = fit(options, &mut file)?;
    let bar = spinner("running the jobs");
    let done = session.run(&file.jobs);
    drop(bar);
    let (ran, outcomes) = done?;
    let logged = log::write(&file.jobs, &outcomes);
    let logged = logged.map_err(|(path, error)| Failure::unwritable("the log", &path, &error))?;
    logged.iter().for_each(|note| console::note(note));
    console::print(&shown(options.format, &file, &outcomes, &ran)?)?;
    keep::result(options.keep.place(options.format == JobFormat::Text), "run", AFTER_JOBS, &ran)
}

fn replay(options: &RunOptions, trace: &Path) -> Result<(), Failure> {
    if options.format != JobFormat::Text {
        return Err(Failure::Usage("--format: a trace's replay is shown as text alone".to_owned()));
    }
    let mut session = begin(options, 0)?;
    let bar = spinner("replaying");
    let replayed = session.replay(trace, options.replaying.how());
    drop(bar);
    let replayed = replayed?;
    console::print(&replayed.text(console::colours(false)))?;
    keep::result(options.keep.place(true), "run", AFTER_A_TRACE, &replayed)
}

fn shown(format: JobFormat, file: &JobFile, outcomes: &[Vec<Outcome>], ran: &Ran) -> Result<String, Failure> {
    let as_fio_does = |detail| {
        let duration = Duration::from_nanos(ran.duration_ns);
        fio_json::document(file, outcomes, jiff::Timestamp::now(), duration, detail).json()
    };
    let text = match format {
        JobFormat::Text => return Ok(ran.text(console::colours(false))),
        JobFormat::Json => ran.json(),
        JobFormat::FioJson => as_fio_does(Detail::Percentiles),
        JobFormat::FioJsonPlus => as_fio_does(Detail::Bins),
    };
    Ok(text? + "\n")
}
