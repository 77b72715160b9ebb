//! `fathom predict`: the jobs of a fio job file, on a model.

use std::process::ExitCode;
use std::time::Duration;

use fathom::load::Outcome;
use fathom::prediction::{self, Predicted, Prediction, SCHEMA, Settings};
use fathom::report;
use fathom::report::fio_json::{self, Detail};
use fathom::run_folder::Kept;
use serde_json::Value;

use crate::args::predict::{PredictFormat, PredictOptions};
use crate::command::run;
use crate::console::{self, Spinner};
use crate::failure::Failure;
use crate::keep;

const NEXT: &str =
    "Next: 'fathom run' does the same for real; '--set readahead=1M' and the like ask what if.\n";

pub(crate) fn run(options: &PredictOptions) -> Result<ExitCode, Failure> {
    let file = run::read(&options.job)?;
    let place = options.keep.place(options.format == PredictFormat::Text);
    keep::check(place)?;
    let model = options.what_if.model(&options.on)?;
    let bar = Spinner::new("predicting");
    let settings = Settings { draws: options.draws, seed: options.seed };
    let Prediction { outcomes, forecasts } = prediction::predict(&file.jobs, &model, settings)
        .map_err(|reason| Failure::Failed(format!("{}: {reason}", options.job.display())))?;
    drop(bar);
    let predicted = Predicted {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        made: model.made.clone(),
        settings: options.what_if.set.clone(),
        seed: options.seed,
        draws: options.draws,
        jobs: forecasts,
    };
    let text = match options.format {
        PredictFormat::Text => report::prediction(&predicted),
        PredictFormat::Json => pretty(&predicted)?,
        PredictFormat::FioJson => {
            let elapsed = outcomes.iter().flatten().map(|one: &Outcome| one.elapsed_ns).max().unwrap_or(0);
            let (now, elapsed) = (jiff::Timestamp::now(), Duration::from_nanos(elapsed));
            let document = fio_json::document(&file, &outcomes, now, elapsed, Detail::Percentiles);
            let mut document = serde_json::to_value(&document).map_err(failed)?;
            document["fathom prediction"] = serde_json::to_value(&predicted).map_err(failed)?;
            pretty::<Value>(&document)?
        }
    };
    console::print(&text)?;
    keep::result(place, "predict", NEXT, || Kept::Prediction(Box::new(predicted), Box::new(model)))?;
    Ok(ExitCode::SUCCESS)
}

fn pretty<T: serde::Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(failed)
}

fn failed(error: serde_json::Error) -> Failure {
    Failure::Failed(error.to_string())
}
