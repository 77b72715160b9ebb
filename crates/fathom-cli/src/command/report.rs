//! `fathom report`: the text and the page of a run folder again, without a machine; of a survey, inferred again.

use std::process::ExitCode;

use fathom::{results, run_folder};

use crate::args::ReportOptions;
use crate::console::{self, spinner};
use crate::failure::{self, Failure};
use crate::keep;

pub(crate) fn run(options: &ReportOptions) -> Result<ExitCode, Failure> {
    let json = options.json.open()?;
    let bar = spinner("inferring and drawing");
    let result = results::open(&options.result)?;
    let page = run_folder::write_page(&options.result, &result.page())?;
    drop(bar);
    json.tell(&result.text(json.colours()))?;
    console::advise(&keep::whereabouts(&page, &options.result));
    json.write(&*result)?;
    Ok(failure::done(!result.is_inconclusive()))
}
