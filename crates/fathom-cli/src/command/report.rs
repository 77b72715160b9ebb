//! `fathom report`: the text and the page of a run folder again, without a machine; of a survey, inferred again.

use std::process::ExitCode;

use fathom::{results, run_folder};

use crate::args::ReportOptions;
use crate::console::{self, spinner};
use crate::failure::{self, Failure};
use crate::keep;
use crate::output::Output;

pub(crate) fn run(options: &ReportOptions) -> Result<ExitCode, Failure> {
    let json = Output::open(options.json.as_deref())?;
    let bar = spinner("inferring and drawing");
    let result = results::open(&options.run)?;
    let page = run_folder::write_page(&options.run, &result.page())?;
    drop(bar);
    json.tell(&result.text(json.colours()))?;
    console::advise(&keep::whereabouts(&page, &options.run));
    json.write(&*result)?;
    Ok(failure::done(!result.is_inconclusive()))
}
