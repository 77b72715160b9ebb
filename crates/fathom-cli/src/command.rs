//! One file per command.

pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod curve;
pub(crate) mod explain;
pub(crate) mod io;
pub(crate) mod lab;
pub(crate) mod list;
pub(crate) mod net;
pub(crate) mod predict;
pub(crate) mod probe;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod survey;
pub(crate) mod sweep;
pub(crate) mod syscalls;
pub(crate) mod trace;
pub(crate) mod validate;
pub(crate) mod versus;
pub(crate) mod xor;

use std::path::Path;
use std::time::SystemTime;

use fathom::load::input;
use fathom::machine::Fault;
use fathom::provenance::Provenance;
use fathom::report::{comma_separated, fio, google_benchmark, hyperfine};
use fathom::results::{Json, Report};
use fathom::session::{Budget, Error, Session};
use fathom::speed::measurement::Measurement;
use fathom::speed::rounds;
use fathom::watch::Watch;

use crate::args::budget::{BudgetOptions, LimitOptions};
use crate::args::format::Format;
use crate::args::measuring::MeasuringOptions;
use crate::console::{self, Progress, meter};
use crate::failure::Failure;
use crate::guard;
use crate::interrupt;
use crate::keep;

/// A session that signals end, and the watchdog.
fn session(path: &Path, BudgetOptions { limits, seed }: BudgetOptions) -> Result<Session, Failure> {
    let LimitOptions { max_write, max_time } = limits;
    let session = Session::at(path, Budget { max_write, max_time })?.seed(seed);
    Ok(session.interrupted_by(interrupt::flag()?).watched_by(guard::give_up))
}

/// The session of what is measured in rounds; the place for the result is checked.
fn begin(options: &MeasuringOptions) -> Result<Session, Failure> {
    let session = session(&options.path, options.budget)?;
    keep::check(options.destination())?;
    Ok(session)
}

/// Measures until enough is known or the time is over, with a bar.
fn in_rounds<T>(
    options: &MeasuringOptions,
    measure: impl FnOnce(&mut Session, &mut dyn FnMut(rounds::Progress)) -> Result<T, Error>,
) -> Result<T, Failure> {
    let mut session = begin(options)?;
    let bar = Progress::over(vec![options.budget.limits.max_time.as_millis() as u64]);
    Ok(measure(&mut session, &mut |progress| bar.rounds(progress))?)
}

/// Reads a file, or standard input where that is `-`, with a bar.
fn reading<T>(file: &Path, read: impl FnOnce(&Path, &Watch) -> Result<T, Fault>) -> Result<T, Failure> {
    let path = input(file);
    let watch = Watch::from(guard::over_reading(path)?);
    let total = path.metadata().map_or(0, |about| about.len());
    Ok(meter(total, watch.clone()).during(|| read(path, &watch))?)
}

/// Prints the result of a command: as text for people, as JSON, or its `measurements` for other people's tools. Then keeps it,
/// and says what comes `next`.
fn publish(
    options: &MeasuringOptions,
    (command, next): (&str, &str),
    result: &dyn Report,
    measurements: &[Measurement],
    provenance: &Provenance,
) -> Result<(), Failure> {
    let json = |value: &dyn Json| value.json().map(|text| text + "\n");
    console::print(&match options.format {
        Format::Text => result.text(console::colours(false)),
        Format::Json => result.json()? + "\n",
        Format::Csv => comma_separated::of(measurements),
        Format::FioJson => json(&fio::measured(measurements, SystemTime::now()))?,
        Format::GoogleBenchmark => {
            json(&google_benchmark::of(measurements, &provenance.machine, &provenance.started))?
        }
        Format::Hyperfine => json(&hyperfine::of(measurements))?,
    })?;
    keep::result(options.destination(), command, next, result)
}
