//! `fathom list`: the experiments as the registry has them.

use std::process::ExitCode;

use fathom::experiment::REGISTRY;
use fathom::report;
use fathom::results::Json;

use crate::args::ListOptions;
use crate::console;
use crate::failure::Failure;

pub(crate) fn run(options: &ListOptions) -> Result<ExitCode, Failure> {
    let abouts: Vec<_> = REGISTRY.iter().map(|experiment| experiment.about()).collect();
    let text = if options.json { abouts.json()? + "\n" } else { report::list(&abouts) };
    console::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
