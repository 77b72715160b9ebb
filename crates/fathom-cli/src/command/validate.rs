//! `fathom validate`: predictions of new jobs, compared with runs of them.

use std::fs;
use std::process::ExitCode;

use fathom::report;
use fathom::results::{Report, WithModel};

use super::session;
use crate::args::calibrate::ValidateOptions;
use crate::console::{self, runs};
use crate::failure::{self, Failure};
use crate::keep;

const NEXT: &str =
    "Next: 'fathom predict JOB.fio --on MODEL.json' predicts other jobs; expect errors of this size.\n";

pub(crate) fn run(options: &ValidateOptions) -> Result<ExitCode, Failure> {
    let (given, against) = (options.on.model()?, options.against()?);
    let mut session = session(&options.path, options.budget)?;
    let json = options.json.open()?;
    let destination = options.keep.destination(!json.is_stdout());
    keep::check(destination)?;
    let model = match given {
        Some(model) => model,
        None => runs("calibrating", session.progress().clone()).during(|| session.calibrate())?.0,
    };
    let repeats = usize::from(options.repeats);
    let result = runs("predicting, then running", session.progress().clone())
        .during(|| session.validate(&model, &against, repeats, &mut console::note))?;
    let validation = WithModel { result, model };
    json.show(|colours| validation.text(colours), &validation)?;
    if let Some(file) = &options.markdown {
        let written = fs::write(file, report::validation_markdown(&validation.result));
        written.map_err(|error| Failure::unwritable("--markdown", file, &error))?;
    }
    keep::result(destination, "validate", NEXT, &validation)?;
    Ok(failure::done(validation.result.refused.is_empty()))
}
