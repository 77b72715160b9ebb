//! `fathom report`: a run folder's inference made again, without a machine, as text and as a page.

use std::process::ExitCode;

use fathom::experiment::REGISTRY;
use fathom::report;
use fathom::run_folder::{self, Kept};

use crate::args::ReportOptions;
use crate::console;
use crate::failure::{Failure, INCONCLUSIVE};
use crate::keep;
use crate::output::Output;

/// What is no survey: the text and the page from its JSON.
fn again(options: &ReportOptions, kept: &Kept, json: Option<Output>) -> Result<ExitCode, Failure> {
    let page = run_folder::write_page(&options.run, &report::kept_page(kept))
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let stdout_is_taken = json.as_ref().is_some_and(Output::is_stdout);
    console::tell(&report::kept(kept, console::colours(stdout_is_taken)), stdout_is_taken)?;
    console::tell(&keep::whereabouts(&page, &options.run), true)?;
    json.map_or(Ok(()), |output| output.write(kept))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn run(options: &ReportOptions) -> Result<ExitCode, Failure> {
    let json = options.json.as_deref().map(Output::open).transpose()?;
    let failed = |error: run_folder::Error| Failure::Failed(error.to_string());
    if let Some(kept) = run_folder::read_kept(&options.run).map_err(failed)? {
        return again(options, &kept, json);
    }
    let (recorded, recordings) = run_folder::read(&options.run).map_err(failed)?;
    let survey = run_folder::infer_from(&recorded, recordings.clone()).map_err(failed)?;
    let runs = recordings.iter().map(|one| (one.parameter.as_str(), one.runs.as_slice())).collect();
    let page = run_folder::write_page(&options.run, &report::survey_page(&survey, &runs, REGISTRY))
        .map_err(failed)?;
    let stdout_is_taken = json.as_ref().is_some_and(Output::is_stdout);
    console::tell_survey(&survey, stdout_is_taken)?;
    console::tell(&keep::whereabouts(&page, &options.run), true)?;
    if let Some(output) = json {
        output.write(&survey)?;
    }
    Ok(if survey.is_inconclusive(false) { ExitCode::from(INCONCLUSIVE) } else { ExitCode::SUCCESS })
}
