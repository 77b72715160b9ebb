//! `fathom completions` and `fathom man`: from the definition that the parser has, so that they can't part.

use std::fs;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::Arguments;
use crate::args::completions::{CompletionsOptions, ManOptions};
use crate::console;
use crate::failure::Failure;

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
            clap_mangen::Man::new(Arguments::command()).render(&mut page)?;
            console::print(&String::from_utf8_lossy(&page))?;
        }
        Some(directory) => {
            let written = fs::create_dir_all(directory)
                .and_then(|()| clap_mangen::generate_to(Arguments::command(), directory));
            written.map_err(|error| Failure::unwritable("--out", directory, &error))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
