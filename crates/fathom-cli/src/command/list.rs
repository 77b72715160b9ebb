//! `fathom list`: the experiments as the registry has them.

use std::process::ExitCode;

use fathom::experiment::REGISTRY;
use fathom::report;

use crate::args::ListOptions;
use crate::console;
use crate::failure::Failure;

pub(crate) fn run(options: &ListOptions) -> Result<ExitCode, Failure> {
    let abouts: Vec<_> = REGISTRY.iter().map(|experiment| experiment.about()).collect();
    if options.json {
        let text =
            serde_json::to_string_pretty(&abouts).map_err(|error| Failure::Failed(error.to_string()))?;
        console::print(&format!("{text}\n"))?;
    } else {
        console::print(&report::list(&abouts))?;
    }
    Ok(ExitCode::SUCCESS)
}
