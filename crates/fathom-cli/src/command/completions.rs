//! `fathom completions` and `fathom man`: from the definition that the parser has, so that they can't part.

use std::fs;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::Arguments;
use crate::args::completions::{CompletionsOptions, ManOptions};
use crate::console;
use crate::failure::Failure;
use crate::output::plain;

pub(crate) fn complete(options: &CompletionsOptions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "fathom", &mut script);
    console::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn manual(options: &ManOptions) -> Result<ExitCode, Failure> {
    match &options.out {
        None => {
            let mut page = Vec::new();
            let rendered = clap_mangen::Man::new(Arguments::command()).render(&mut page);
            rendered.map_err(|error| Failure::Failed(error.to_string()))?;
            console::print(&String::from_utf8_lossy(&page))?;
        }
        Some(directory) => {
            let written = fs::create_dir_all(directory)
                .and_then(|()| clap_mangen::generate_to(Arguments::command(), directory));
            written.map_err(|error| {
                Failure::Failed(format!("--out: can't write {}: {}", directory.display(), plain(&error)))
            })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
