//! `fathom calibrate`: a model of the machine and the file system at a path, by measuring.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use fathom::calibration::{self, Account};
use fathom::instrument::Instrument;
use fathom::load::{Limits, Site};
use fathom::machine::linux::Linux;
use fathom::model::{Made, Model};
use fathom::provenance::{MachineFacts, MountFacts};
use fathom::report;
use fathom::run_folder::Kept;
use fathom::units::Bytes;

use crate::args::calibrate::{BudgetOptions, CalibrateOptions};
use crate::command::survey::directory;
use crate::console::{self, Spinner};
use crate::failure::{Failure, closed};
use crate::output::plain;
use crate::{guard, interrupt, keep};

/// What the survey of a calibration may write.
const SURVEY: u64 = 256 << 20;

pub(crate) fn run(options: &CalibrateOptions) -> Result<ExitCode, Failure> {
    let path = directory(&options.path)?;
    keep::check(options.place())?;
    let cant = |error: std::io::Error| {
        Failure::Failed(format!("--out: can't write {}: {}", options.out.display(), plain(&error)))
    };
    // Taken now, so that a wrong name costs no time; a file that is there is kept.
    let mut file = OpenOptions::new().write(true).create_new(true).open(&options.out).map_err(cant)?;
    let made = made(&path, options.budget);
    if made.is_err() {
        // It is empty.
        let _ = std::fs::remove_file(&options.out);
    }
    let (model, accounts) = made?;
    let text =
        serde_json::to_string_pretty(&model).map_err(|error| Failure::Failed(error.to_string()))? + "\n";
    file.write_all(text.as_bytes()).map_err(cant)?;
    console::print(&report::calibration(&model, &accounts))?;
    let (name, path) = (options.out.display(), path.display());
    console::print(&format!("\nThe model is {name}.\n"))?;
    let next = format!(
        "Next: 'fathom validate {path} --on {name}' holds it to runs that it has never seen; \
         'fathom predict JOB.fio --on {name}' tells what jobs will do.\n"
    );
    keep::result(options.place(), "calibrate", &next, || Kept::Calibration(Box::new(model), accounts))?;
    Ok(ExitCode::SUCCESS)
}

fn made(path: &Path, budget: BudgetOptions) -> Result<(Model, Vec<Account>), Failure> {
    let started = Instant::now();
    let interrupt = interrupt::flag()?;
    guard::watch(started + budget.max_time, interrupt.clone());
    let instrument = Instrument::calibrate().map_err(Failure::Failed)?;
    calibrated(path, &instrument, budget, started, &interrupt)
}

/// The model of a mount, and how its stages went.
pub(crate) fn calibrated(
    path: &Path,
    instrument: &Instrument,
    budget: BudgetOptions,
    started: Instant,
    interrupt: &Arc<AtomicBool>,
) -> Result<(Model, Vec<Account>), Failure> {
    let began = jiff::Timestamp::now().to_string();
    let needs = calibration::needs().map_err(Failure::Failed)?;
    if needs.writes > budget.max_write {
        return Err(Failure::Failed(format!(
            "calibrating writes {} at least, and {} are allowed: raise --max-write",
            Bytes(needs.writes),
            Bytes(budget.max_write)
        )));
    }
    let bar = Spinner::new("calibrating");
    let mut model = Model::assumed();
    let deadline = Some(started + budget.max_time);
    // The survey never needs more, and asks for as much to be free.
    let limits = Limits { max_write: SURVEY.min(budget.max_write - needs.writes), deadline };
    let mut linux = Linux::at(path, instrument, limits, interrupt.clone())?;
    let found = calibration::found_by_other_means(&mut model, &mut linux, path, budget.seed);
    let surveyed = linux.bytes_written();
    closed(found, linux)?;
    let limits = Limits { max_write: budget.max_write - surveyed, deadline };
    let mut site = Site::at(path, needs.space, instrument, limits, interrupt.clone())?;
    let accounts = calibration::calibrate(&mut model, &mut site, budget.seed, &mut |_| ())?;
    model.made = Some(Made {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: began,
        duration_ns: started.elapsed().as_nanos() as u64,
        bytes_written: surveyed + site.bytes_written(),
        reclaimed_bytes: site.reclaimed_bytes(),
        machine: MachineFacts::here(),
        mount: MountFacts::of(path).map_err(|error| Failure::Failed(error.to_string()))?,
    });
    drop(bar);
    Ok((model, accounts))
}
