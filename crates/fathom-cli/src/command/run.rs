//! `fathom run`: the jobs of a fio job file, or a trace, for real.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fathom::instrument::Instrument;
use fathom::job::{self, JobFile};
use fathom::load::{self, Limits, Needs, Outcome, Site};
use fathom::provenance::Provenance;
use fathom::report;
use fathom::report::fio_json::{self, Detail};
use fathom::run_folder::Kept;
use fathom::speed::jobs::{Ran, RanJob, SCHEMA};
use fathom::units::{Bytes, Nanos};

use crate::args::run::{JobFormat, RunOptions};
use crate::command::replay;
use crate::command::survey::directory;
use crate::console::{self, Spinner};
use crate::failure::Failure;
use crate::output::plain;
use crate::{guard, interrupt, keep};

const NEXT: &str =
    "Next: 'fathom calibrate' makes a model, on which 'fathom predict' tells what such jobs will do.\n";

pub(crate) fn run(options: &RunOptions) -> Result<ExitCode, Failure> {
    if replay::is_trace(&options.job) {
        return replay::run(options);
    }
    let started = Instant::now();
    let file = read(&options.job)?;
    let needs = Needs::of(&file.jobs).map_err(|reason| wrong(&options.job, &reason))?;
    affordable(&needs, options)?;
    let path = directory(&options.path)?;
    let place = options.keep.place(options.format == JobFormat::Text);
    keep::check(place)?;
    let interrupt = interrupt::flag()?;
    guard::watch(started + options.max_time, interrupt.clone());
    let instrument = Instrument::calibrate().map_err(Failure::Failed)?;
    let seed = file.jobs.first().map_or(0, |job| job.seed);
    let provenance = Provenance::of(&path, &instrument.certificate, seed)?;
    let limits = Limits { max_write: options.max_write, deadline: Some(started + options.max_time) };
    let mut site = Site::at(&path, needs.space, &instrument, limits, interrupt)?;
    let bar = Spinner::new("running the jobs");
    let outcomes = load::run_all(&file.jobs, &mut site);
    drop(bar);
    let outcomes = outcomes?;
    let bytes_written = site.bytes_written();
    // Gone before anything is said: a closed pipe must leave nothing behind either.
    drop(site);
    let jobs =
        file.jobs.iter().zip(&outcomes).filter_map(|(job, threads)| RanJob::of(job, threads)).collect();
    let duration_ns = started.elapsed().as_nanos() as u64;
    let ran = Ran { schema: SCHEMA.to_owned(), provenance, jobs, duration_ns, bytes_written };
    console::print(&shown(options.format, &file, &outcomes, &ran)?)?;
    keep::result(place, "run", NEXT, || Kept::Run(Box::new(ran)))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn read(path: &Path) -> Result<JobFile, Failure> {
    let text = fs::read_to_string(path).map_err(|error| wrong(path, &plain(&error)))?;
    let variable = |name: &str| std::env::var(name).ok();
    let name = path.to_string_lossy();
    let file = job::parse(&text, &job::Surroundings { path: &name, ..load::surroundings(&variable) })
        .map_err(|mistake| Failure::Usage(format!("{name}:{}: {}", mistake.line, mistake.reason)))?;
    let unsupported =
        file.jobs.iter().find_map(|job| job.unsupported().map(|reason| format!("[{}]: {reason}", job.name)));
    if let Some(reason) = unsupported {
        return Err(wrong(path, &reason));
    }
    file.notes.iter().for_each(|note| console::note(note));
    Ok(file)
}

fn wrong(path: &Path, reason: &str) -> Failure {
    Failure::Usage(format!("{}: {reason}", path.display()))
}

/// Refuses what is known not to fit the budgets, before anything is made.
fn affordable(needs: &Needs, options: &RunOptions) -> Result<(), Failure> {
    if needs.writes > options.max_write {
        return Err(Failure::Failed(format!(
            "{}: the jobs write {}, and {} are allowed: raise --max-write",
            options.job.display(),
            Bytes(needs.writes),
            Bytes(options.max_write)
        )));
    }
    if needs.time > options.max_time {
        return Err(Failure::Failed(format!(
            "{}: the jobs take {}, and {} are allowed: raise --max-time",
            options.job.display(),
            Nanos(needs.time.as_nanos() as f64),
            Nanos(options.max_time.as_nanos() as f64)
        )));
    }
    Ok(())
}

fn shown(format: JobFormat, file: &JobFile, outcomes: &[Vec<Outcome>], ran: &Ran) -> Result<String, Failure> {
    let as_fio_does = |detail| {
        let duration = Duration::from_nanos(ran.duration_ns);
        fio_json::document(file, outcomes, jiff::Timestamp::now(), duration, detail)
    };
    let text = match format {
        JobFormat::Text => return Ok(report::jobs(ran)),
        JobFormat::Json => serde_json::to_string_pretty(ran),
        JobFormat::FioJson => serde_json::to_string_pretty(&as_fio_does(Detail::Percentiles)),
        JobFormat::FioJsonPlus => serde_json::to_string_pretty(&as_fio_does(Detail::Bins)),
    };
    text.map(|text| text + "\n").map_err(|error| Failure::Failed(error.to_string()))
}
