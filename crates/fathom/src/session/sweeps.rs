//! Sweeps: jobs predicted for each cell of a grid of settings, by one process or many.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fathom_predict::model::Model;
use fathom_predict::prediction::{Settings, check};
use fathom_predict::sweep::{Axis, Best, By, Cell, Of, Plan, Race, Sweep, Task, Tried, each};
use fathom_program::job::{self, JobFile, Surroundings};
use fathom_report::results::{self, WithModel};
use fathom_report::run_folder::{self, Parts};
use fathom_run::fault::plain;
use fathom_run::load::{self, groups};

use super::Error;

/// The path of a job file, and its text. `-` is standard input, as in fio.
///
/// # Errors
/// A file that can't be read, a trace.
pub fn job_text(jobs: &Path) -> Result<(String, String), Error> {
    let failed = |reason: &str| Error::Failed(format!("{}: {reason}", jobs.display()));
    let text = fs::read(load::input(jobs)).map_err(|error| failed(&plain(&error)))?;
    let text = String::from_utf8(text).map_err(|_| failed("not a job file: a sweep is one of jobs"))?;
    Ok((jobs.to_string_lossy().into_owned(), text))
}

/// Plans the sweep of a job file, given by its path and its text.
///
/// # Errors
/// Axes that make no grid; where none of the cells can be predicted, the reason of the first.
pub fn plan_sweep(
    model: Model,
    jobs: (String, String),
    axes: Vec<Axis>,
    settings: Settings,
) -> Result<Plan, Error> {
    let plan = Plan::new(model, jobs, axes, settings).map_err(Error::Failed)?;
    let is_possible = |cell| jobs_of(&plan, cell).and_then(|file| groups(&file.jobs).try_for_each(check));
    let mut refusals = (0..plan.cells()).map(is_possible).take_while(Result::is_err);
    match refusals.next() {
        Some(Err(reason)) if refusals.count() + 1 == plan.cells() => {
            Err(Error::Failed(format!("{}: {reason}", plan.path)))
        }
        _ => Ok(plan),
    }
}

/// Predicts these cells of a plan on all CPUs. Those that `parts` has are not predicted again, and each that is done is
/// kept there at once. `progress` is told how many are done.
///
/// # Errors
/// An interrupt; a folder of another plan, or one that can't be written.
pub fn sweep(
    plan: &Plan,
    cells: &[usize],
    parts: Option<&Path>,
    interrupt: &AtomicBool,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Sweep, Error> {
    let parts = parts.map(|folder| folder_of(folder, plan)).transpose()?;
    let done = AtomicUsize::new(0);
    let predict = |&cell: &usize| -> Result<Cell, Error> {
        if interrupt.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let known = parts.as_ref().and_then(|parts| parts.cell(cell));
        let cell = match known {
            Some(cell) => cell,
            None => {
                let cell = plan.predict(cell, jobs_of(plan, cell));
                parts.as_ref().map_or(Ok(()), |parts| parts.keep(&cell)).map_err(failed)?;
                cell
            }
        };
        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(cell)
    };
    let swept = plan.sweep(each(cells, predict)?);
    if let Some(parts) = parts.filter(|_| swept.missing == 0) {
        finish(&parts, plan, &swept)?;
    }
    Ok(swept)
}

/// Puts together what several processes left in a folder; with the result and its page where no cell is missing.
///
/// # Errors
/// A folder that is none of a sweep, or that can't be written.
pub fn merge_sweep(folder: &Path) -> Result<(Plan, Sweep), Error> {
    let (parts, plan) = Parts::read(folder).map_err(failed)?;
    let swept = plan.sweep((0..plan.cells()).filter_map(|cell| parts.cell(cell)).collect());
    if swept.missing == 0 {
        finish(&parts, &plan, &swept)?;
    }
    Ok((plan, swept))
}

/// Finds the best cell of a plan, on all CPUs.
///
/// # Errors
/// An interrupt; where all cells are refused, the reason.
pub fn best(plan: &Plan, by: By, interrupt: &AtomicBool) -> Result<Best, Error> {
    let mut race = Race::new(plan, by);
    loop {
        let tasks = race.tasks();
        if tasks.is_empty() {
            return end_race(plan, race);
        }
        race.take(try_cells(plan, by, &tasks, interrupt)?);
    }
}

/// Does some tasks of a search for the best cell, on all CPUs.
///
/// # Errors
/// An interrupt.
pub fn try_cells(plan: &Plan, by: By, tasks: &[Task], interrupt: &AtomicBool) -> Result<Vec<Tried>, Error> {
    let one = |task: &Task| {
        if interrupt.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        Ok(plan.try_cell(*task, by, jobs_of(plan, task.cell)))
    };
    each(tasks, one)
}

/// What a search came to that has no more tasks.
///
/// # Errors
/// Where all cells are refused, the reason.
pub fn end_race(plan: &Plan, race: Race) -> Result<Best, Error> {
    let leader = race.leader().unwrap_or(0);
    let best = plan.predict(leader, jobs_of(plan, leader));
    race.end(plan, best).map_err(|reason| Error::Failed(format!("{}: {reason}", plan.path)))
}

/// The jobs of a cell, with the variables of this process's environment.
fn jobs_of(plan: &Plan, cell: usize) -> Result<JobFile, String> {
    let variable = |name: &str| std::env::var(name).ok();
    let added = plan.settings(cell, Of::Job);
    let around = Surroundings { path: &plan.path, added: &added, ..load::surroundings(&variable) };
    job::parse(&plan.jobs, &around).map_err(|mistake| mistake.reason)?.supported()
}

fn folder_of(folder: &Path, plan: &Plan) -> Result<Parts, Error> {
    if !Parts::are_in(folder) {
        results::check_free(folder).map_err(failed)?;
    }
    Parts::of(folder, plan).map_err(failed)
}

fn finish(parts: &Parts, plan: &Plan, swept: &Sweep) -> Result<(), Error> {
    parts.tidy();
    let whole = WithModel { result: swept.clone(), model: plan.model.clone() };
    results::keep(parts.path(), &whole).map(drop).map_err(failed)
}

fn failed(error: run_folder::Error) -> Error {
    Error::Failed(error.to_string())
}
