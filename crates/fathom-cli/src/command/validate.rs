//! `fathom validate`: a model held to runs that it has never seen.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use fathom::fault::Fault;
use fathom::instrument::Instrument;
use fathom::intrusion;
use fathom::load::{Limits, Site, program};
use fathom::model::Model;
use fathom::provenance::Provenance;
use fathom::replay::Bounds;
use fathom::report;
use fathom::run_folder::Kept;
use fathom::units::Bytes;
use fathom::validation::{self, Outcomes, SCHEMA, Trials, Validation, validate_traces};

use crate::args::calibrate::ValidateOptions;
use crate::command::calibrate::calibrated;
use crate::command::survey::directory;
use crate::console::{self, Spinner};
use crate::failure::{Failure, INCONCLUSIVE};
use crate::output::Output;
use crate::{guard, interrupt, keep};

const NEXT: &str =
    "Next: 'fathom predict JOB.fio --on MODEL.json' tells what other jobs will do, as surely as that.\n";

pub(crate) fn run(options: &ValidateOptions) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    let given = options.on.model()?;
    let left = intrusion::restore_leftovers();
    let path = directory(&options.path)?;
    let json = options.json.as_deref().map(Output::open).transpose()?;
    let place = options.keep.place(!json.as_ref().is_some_and(Output::is_stdout));
    keep::check(place)?;
    let budget = options.budget();
    let interrupt = interrupt::flag()?;
    guard::watch(started + budget.max_time, interrupt.clone());
    let instrument = Instrument::calibrate().map_err(Failure::Failed)?;
    let provenance = Provenance::of(&path, &instrument.certificate, budget.seed)?;
    let (model, spent) = match given {
        Some(model) => (model, 0),
        None => {
            let (model, _) = calibrated(&path, &instrument, budget, started, &interrupt)?;
            let spent = model.made.as_ref().map_or(0, |made| made.bytes_written);
            (model, spent)
        }
    };
    let limits = Limits {
        max_write: budget.max_write.saturating_sub(spent),
        deadline: Some(started + budget.max_time),
    };
    let repeats = usize::from(options.repeats);
    let by_fio = by_fio(options, &model, repeats, limits.max_write)?;
    let trials = Trials { model: &model, path: &path, repeats, by_fio, seed: budget.seed };
    let bar = Spinner::new("predicting, then running");
    let held = if options.traces.is_empty() {
        against_jobs(options, &trials, &instrument, limits, interrupt)
    } else {
        let Limits { max_write, deadline } = limits;
        let bounds = Bounds { max_write, instrument: instrument.clone(), deadline, interrupt };
        let held = validate_traces(&options.traces, options.replaying.how(), &trials, &bounds);
        held.map_err(Failure::from)
    };
    drop(bar);
    let (outcomes, written) = held?;
    let Outcomes { jobs, again, refused, effects, reclaimed_bytes } = outcomes;
    let validation = Validation {
        schema: SCHEMA.to_owned(),
        provenance,
        classes: validation::classes(&jobs, &again),
        jobs,
        again,
        refused,
        repeats,
        effects: left.into_iter().chain(effects).collect(),
        duration_ns: started.elapsed().as_nanos() as u64,
        bytes_written: spent + written,
        reclaimed_bytes,
    };
    let stdout_is_taken = json.as_ref().is_some_and(Output::is_stdout);
    console::tell(&report::validation(&validation, console::colours(stdout_is_taken)), stdout_is_taken)?;
    let is_complete = validation.refused.is_empty();
    json.map_or(Ok(()), |output| output.write(&validation))?;
    keep::result(place, "validate", NEXT, || Kept::Validation(Box::new(validation), Box::new(model)))?;
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::from(INCONCLUSIVE) })
}

/// How often fio runs each job: never where it is not installed, or what it writes is more than is left; that is said.
fn by_fio(
    options: &ValidateOptions,
    model: &Model,
    repeats: usize,
    max_write: u64,
) -> Result<usize, Failure> {
    let wanted = options.by_fio();
    if wanted == 0 {
        return Ok(0);
    }
    if program::version("fio").is_none() {
        console::complain("fio is not installed: Fathom alone runs the jobs");
        return Ok(0);
    }
    let writes =
        |by_fio| validation::needs(&options.conditions(), model, repeats, by_fio).map(|needs| needs.writes);
    let [alone, beside] = [writes(0), writes(wanted)].map(|writes| writes.map_err(Failure::Failed));
    let (alone, beside) = (alone?, beside?);
    // Where even Fathom's runs write too much, that ends everything.
    if alone <= max_write && beside > max_write {
        console::complain(&format!(
            "Fathom alone runs the jobs: with fio's runs they write {}, and {} are left of what is allowed: raise --max-write",
            Bytes(beside),
            Bytes(max_write)
        ));
        return Ok(0);
    }
    Ok(wanted)
}

/// Holds the model against jobs; gives the bytes written as well. The files are gone before anything is said.
fn against_jobs(
    options: &ValidateOptions,
    trials: &Trials<'_>,
    instrument: &Instrument,
    limits: Limits,
    interrupt: Arc<AtomicBool>,
) -> Result<(Outcomes, u64), Failure> {
    let conditions = options.conditions();
    let needs = validation::needs(&conditions, trials.model, trials.repeats, trials.by_fio)
        .map_err(Failure::Failed)?;
    let allowed = limits.max_write;
    if needs.writes > allowed {
        return Err(Failure::Failed(format!(
            "the jobs write {}, and {} are left of what is allowed: raise --max-write",
            Bytes(needs.writes),
            Bytes(allowed)
        )));
    }
    let mut site = Site::at(trials.path, needs.space, instrument, limits, interrupt)?;
    let mut outcomes = Outcomes::default();
    for condition in conditions {
        let one = match validation::validate(condition, trials, &mut site) {
            // What was held so far is worth something.
            Err(fault @ Fault::OutOfTime) if !outcomes.jobs.is_empty() => {
                let jobs = condition.word().unwrap_or("all jobs");
                outcomes.refused.push(format!("{jobs}: {fault}: raise --max-time"));
                break;
            }
            one => one?,
        };
        outcomes.jobs.extend(one.jobs);
        outcomes.again.extend(one.again);
        outcomes.refused.extend(one.refused);
        outcomes.effects.extend(one.effects);
        outcomes.reclaimed_bytes = outcomes.reclaimed_bytes.or(one.reclaimed_bytes);
    }
    Ok((outcomes, site.bytes_written()))
}
