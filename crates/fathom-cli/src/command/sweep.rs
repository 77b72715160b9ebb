//! `fathom sweep`: a prediction for each cell of a grid of settings.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use fathom::prediction::Settings;
use fathom::report;
use fathom::results::{Report, WithModel};
use fathom::session;
use fathom::sweep::{By, Plan};

use crate::args::model;
use crate::args::sweep::{SweepFormat, SweepOptions};
use crate::console::{self, Progress, spinner};
use crate::failure::{Failure, done};
use crate::keep::{self, whereabouts};

const NEXT: &str = "Next: 'fathom run' runs the jobs with the settings that you choose.\n";

pub(crate) fn run(options: &SweepOptions) -> Result<ExitCode, Failure> {
    if let (Some(by), Some(model), Some(jobs)) = (options.best, &options.model, &options.jobs) {
        return best(options, by, model, jobs);
    }
    let (result, is_complete) = match (&options.merge, &options.model, &options.jobs) {
        (Some(folder), ..) => merged(folder)?,
        (None, Some(model), Some(jobs)) => (predicted(options, model, jobs)?, true),
        _ => return Err(Failure::Usage("name a model and a job file".to_owned())),
    };
    console::print(&match options.format {
        SweepFormat::Text => result.text(console::colours(false)),
        SweepFormat::Json => fathom::results::Json::json(&result)? + "\n",
        SweepFormat::Csv => report::sweep_csv(&result.result),
    })?;
    match options.out.as_ref().or(options.merge.as_ref()).filter(|_| options.format == SweepFormat::Text) {
        Some(folder) if result.result.missing == 0 => {
            console::advise(&(whereabouts(&folder.join("report.html"), folder) + NEXT));
        }
        Some(folder) => {
            let next = format!("\nWhen all parts are done: 'fathom sweep --merge {}'.\n", folder.display());
            console::advise(&next);
        }
        None if options.merge.is_none() => keep::result(options.destination(), "sweep", NEXT, &result)?,
        None => {}
    }
    Ok(done(is_complete))
}

type Swept = WithModel<fathom::sweep::Sweep>;

/// What is in a folder, and whether nothing is missing.
fn merged(folder: &Path) -> Result<(Swept, bool), Failure> {
    let (plan, result) = session::merge_sweep(folder)?;
    let is_complete = result.missing == 0;
    Ok((WithModel { result, model: plan.model }, is_complete))
}

/// Finds the best cell instead.
fn best(options: &SweepOptions, by: By, model: &Path, jobs: &Path) -> Result<ExitCode, Failure> {
    if options.format == SweepFormat::Csv {
        return Err(Failure::Usage("--best gives one combination, and no CSV: say --format json".to_owned()));
    }
    let plan = planned(options, model, jobs)?;
    let found =
        spinner("comparing combinations").during(|| session::best(&plan, by, &AtomicBool::new(false)));
    let result = WithModel { result: found?, model: plan.model };
    console::print(&match options.format {
        SweepFormat::Json => fathom::results::Json::json(&result)? + "\n",
        _ => result.text(console::colours(false)),
    })?;
    keep::result(options.destination(), "sweep", NEXT, &result)?;
    Ok(ExitCode::SUCCESS)
}

fn planned(options: &SweepOptions, named: &Path, jobs: &Path) -> Result<Plan, Failure> {
    let model = model::read(named)?;
    let axes = options.set.iter().chain(&options.job).cloned().collect();
    let settings = Settings { draws: options.draws, seed: options.seed };
    let planned = session::job_text(jobs).and_then(|text| session::plan_sweep(model, text, axes, settings));
    planned.map_err(|error| Failure::from(error).usage())
}

fn predicted(options: &SweepOptions, named: &Path, jobs: &Path) -> Result<Swept, Failure> {
    let plan = planned(options, named, jobs)?;
    let cells = (0..plan.cells()).filter(|&cell| options.shard.is_none_or(|shard| shard.has(cell)));
    let cells: Vec<usize> = cells.collect();
    let bar = Progress::over(vec![1; cells.len()]);
    let progress = |done: usize| bar.at(done, "predicting");
    // Nothing has to be put back: a signal may simply end the process, and what is kept is kept whole.
    let swept = session::sweep(&plan, &cells, options.out.as_deref(), &AtomicBool::new(false), &progress);
    Ok(WithModel { result: swept?, model: plan.model })
}
