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
use std::time::Duration;

use fathom::provenance::Provenance;
use fathom::report::{comma_separated, fio, google_benchmark, hyperfine};
use fathom::results::{Json, Report};
use fathom::session::{Budget, Session};
use fathom::speed::measurement::Measurement;

use crate::args::format::Format;
use crate::args::keep::KeepOptions;
use crate::args::measuring::MeasuringOptions;
use crate::console;
use crate::failure::Failure;
use crate::guard;
use crate::interrupt;
use crate::keep::{self, Place};

/// A session that signals end, and the watchdog.
fn session(path: &Path, max_write: u64, max_time: Duration, seed: u64) -> Result<Session, Failure> {
    let session = Session::at(path, Budget { max_write, max_time })?.seed(seed);
    Ok(session.interrupted_by(interrupt::flag()?).watched_by(guard::give_up))
}

/// What commands that measure in rounds begin with: their session, and a place for the result that is checked.
fn begin<'a>(
    path: &Path,
    measuring: &MeasuringOptions,
    keep: &'a KeepOptions,
) -> Result<(Session, Place<'a>), Failure> {
    let &MeasuringOptions { format, max_write, max_time, seed } = measuring;
    let session = session(path, max_write, max_time, seed)?;
    let place = keep.place(format == Format::Text);
    keep::check(place)?;
    Ok((session, place))
}

/// Prints one result: as text for people, as JSON, or its `measurements` for other people's tools.
fn print(
    format: Format,
    result: &dyn Report,
    measurements: &[Measurement],
    provenance: &Provenance,
) -> Result<(), Failure> {
    let json = |value: &dyn Json| value.json().map(|text| text + "\n");
    console::print(&match format {
        Format::Text => result.text(console::colours(false)),
        Format::Json => result.json()? + "\n",
        Format::Csv => comma_separated::of(measurements),
        Format::FioJson => json(&fio::measured(measurements, jiff::Timestamp::now()))?,
        Format::GoogleBenchmark => {
            json(&google_benchmark::of(measurements, &provenance.machine, &provenance.started))?
        }
        Format::Hyperfine => json(&hyperfine::of(measurements))?,
    })
}
