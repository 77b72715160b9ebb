//! `fathom predict`: the jobs of a fio job file, or a trace, on a model.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use fathom::model::Runner;
use fathom::prediction::Settings;
use fathom::report::fio::{self, Detail};
use fathom::results::{Json, Report, WithModel};
use fathom::session::{self, Work};

use crate::args::predict::{PredictFormat, PredictOptions};
use crate::console::{self, spinner};
use crate::failure::Failure;
use crate::keep;

const NEXT: &str =
    "Next: 'fathom run' runs the jobs; '--set readahead=1M' predicts them with another read-ahead window.\n";

pub(crate) fn run(options: &PredictOptions) -> Result<ExitCode, Failure> {
    let (work, output) = super::run::read(&options.work(), None)?;
    if !output.formats.is_empty() {
        console::note("--output-format has no effect on a prediction: --format fio-json gives fio's JSON");
    }
    if matches!(work, Work::Trace(_)) && options.format == PredictFormat::FioJson {
        return Err(Failure::Usage(
            "--format fio-json is for jobs; for a trace use --format json".to_owned(),
        ));
    }
    let destination = options.keep.destination(options.format == PredictFormat::Text);
    keep::check(destination)?;
    let mut model = options.what_if.model(&options.on)?;
    if let Some(by) = options.runner {
        if by == Runner::Fio && model.runner() != Runner::Fio {
            return Err(Failure::Usage(
                "--as fio: this model does not know what fio does itself: install fio and calibrate again, or give it by --set \
                 fio_call=TIME"
                    .to_owned(),
            ));
        }
        model.parameters.choices.runner = by;
    }
    let settings = Settings { draws: options.draws, seed: options.seed };
    let predicted =
        spinner("predicting").during(|| session::predict(&work, options.replaying.how(), &model, settings));
    let (mut result, outcomes) = predicted.map_err(|error| match error {
        session::Error::Failed(reason) => Failure::Failed(format!("{}: {reason}", options.work())),
        other => other.into(),
    })?;
    result.settings = options.what_if.set.clone();
    let predicted = WithModel { result, model };
    console::print(&match (options.format, &work) {
        (PredictFormat::FioJson, Work::Jobs(file)) => {
            let elapsed = outcomes.iter().flatten().map(|one| one.elapsed_ns).max().unwrap_or(0);
            let (now, elapsed) = (SystemTime::now(), Duration::from_nanos(elapsed));
            let document = fio::document(file, &outcomes, &[], now, elapsed, Detail::Percentiles);
            let mut document = serde_json::to_value(&document)?;
            document["fathom prediction"] = serde_json::to_value(&predicted)?;
            document.json()? + "\n"
        }
        (PredictFormat::Json, _) => predicted.json()? + "\n",
        _ => predicted.text(console::colours(false)),
    })?;
    keep::result(destination, "predict", NEXT, &predicted)?;
    Ok(ExitCode::SUCCESS)
}
