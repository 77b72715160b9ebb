//! `fathom predict`: the jobs of a fio job file, or a trace, on a model.

use std::process::ExitCode;
use std::time::Duration;

use fathom::load::Outcome;
use fathom::model::Model;
use fathom::prediction::{self, Predicted, Prediction, Replay, SCHEMA, Settings};
use fathom::report;
use fathom::report::fio_json::{self, Detail};
use fathom::run_folder::Kept;
use serde_json::Value;

use crate::args::predict::{PredictFormat, PredictOptions};
use crate::command::{replay, run};
use crate::console::{self, Spinner};
use crate::failure::Failure;
use crate::keep;

const NEXT: &str =
    "Next: 'fathom run' does the same for real; '--set readahead=1M' and the like ask what if.\n";

pub(crate) fn run(options: &PredictOptions) -> Result<ExitCode, Failure> {
    let trace = replay::is_trace(&options.job);
    if trace && options.format == PredictFormat::FioJson {
        return Err(Failure::Usage(
            "--format: fio does not know what a trace's replay is; take json".to_owned(),
        ));
    }
    let file = if trace { None } else { Some(run::read(&options.job)?) };
    let place = options.keep.place(options.format == PredictFormat::Text);
    keep::check(place)?;
    let model = options.what_if.model(&options.on)?;
    let bar = Spinner::new("predicting");
    let foretold = match &file {
        Some(file) => prediction::predict(&file.jobs, &model, settings(options))
            .map_err(|reason| refused(options, &reason)),
        None => of_trace(options, &model),
    };
    drop(bar);
    let Prediction { outcomes, forecasts } = foretold?;
    let predicted = Predicted {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        made: model.made.clone(),
        settings: options.what_if.set.clone(),
        seed: options.seed,
        draws: options.draws,
        jobs: forecasts,
    };
    let text = match (options.format, &file) {
        (PredictFormat::FioJson, Some(file)) => {
            let elapsed = outcomes.iter().flatten().map(|one: &Outcome| one.elapsed_ns).max().unwrap_or(0);
            let (now, elapsed) = (jiff::Timestamp::now(), Duration::from_nanos(elapsed));
            let document = fio_json::document(file, &outcomes, now, elapsed, Detail::Percentiles);
            let mut document = serde_json::to_value(&document).map_err(failed)?;
            document["fathom prediction"] = serde_json::to_value(&predicted).map_err(failed)?;
            pretty::<Value>(&document)?
        }
        (PredictFormat::Json, _) => pretty(&predicted)?,
        _ => report::prediction(&predicted),
    };
    console::print(&text)?;
    keep::result(place, "predict", NEXT, || Kept::Prediction(Box::new(predicted), Box::new(model)))?;
    Ok(ExitCode::SUCCESS)
}

fn settings(options: &PredictOptions) -> Settings {
    Settings { draws: options.draws, seed: options.seed }
}

fn refused(options: &PredictOptions, reason: &str) -> Failure {
    Failure::Failed(format!("{}: {reason}", options.job.display()))
}

/// The replay that `fathom run` would make of a trace.
fn of_trace(options: &PredictOptions, model: &Model) -> Result<Prediction, Failure> {
    let plan = fathom::replay::plan(&options.job)?;
    let name = options.job.file_name().unwrap_or_default().to_string_lossy();
    let replay = Replay::new(&plan, options.replaying.how()).map_err(|reason| refused(options, &reason))?;
    let (forecast, outcome) = prediction::predict_trace(&name, &replay, model, settings(options))
        .map_err(|reason| refused(options, &reason))?;
    Ok(Prediction { outcomes: vec![vec![outcome]], forecasts: vec![forecast] })
}

fn pretty<T: serde::Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(failed)
}

fn failed(error: serde_json::Error) -> Failure {
    Failure::Failed(error.to_string())
}
