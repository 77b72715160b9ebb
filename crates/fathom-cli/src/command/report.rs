//! `fathom report`: a run folder's inference made again, without a machine.

use std::process::ExitCode;

use fathom::report;
use fathom::run_folder::infer_again;

use crate::args::ReportOptions;
use crate::console;
use crate::failure::{Failure, INCONCLUSIVE};
use crate::output::Output;

pub(crate) fn run(options: &ReportOptions) -> Result<ExitCode, Failure> {
    let json = options.json.as_deref().map(Output::open).transpose()?;
    let survey = infer_again(&options.run).map_err(|error| Failure::Failed(error.to_string()))?;
    console::tell(&report::survey(&survey), json.as_ref().is_some_and(Output::is_stdout))?;
    if let Some(output) = json {
        output.write(&survey)?;
    }
    Ok(if survey.is_inconclusive(false) { ExitCode::from(INCONCLUSIVE) } else { ExitCode::SUCCESS })
}
