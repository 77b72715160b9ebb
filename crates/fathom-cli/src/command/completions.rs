//! `fathom completions` and `fathom man`: from the definition that the parser has, so that they can't part.

use std::fs;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use fathom::experiment::REGISTRY;
use fathom::recipe::RECIPES;
use fathom::{lab, model};

use crate::args::Arguments;
use crate::args::completions::{CompletionsOptions, ManOptions};
use crate::console;
use crate::failure::Failure;

pub(crate) fn complete(options: &CompletionsOptions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut with_names(Arguments::command()), "fathom", &mut script);
    console::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// The command, with the names that its arguments take. The parser takes more, such as several names with commas between them.
fn with_names(command: Command) -> Command {
    let named = command.mut_args(|argument| match names(argument.get_id().as_str()) {
        none if none.is_empty() => argument,
        names => argument.value_parser(PossibleValuesParser::new(names)),
    });
    named.mut_subcommands(with_names)
}

/// The names that an argument takes, where there is a list of them.
fn names(argument: &str) -> Vec<&'static str> {
    match argument {
        "only" | "parameter" => REGISTRY.iter().map(|experiment| experiment.about().parameter).collect(),
        "recipe" => RECIPES.iter().map(|recipe| recipe.name).collect(),
        "set" => model::names().collect(),
        "cases" => lab::cases().into_iter().map(|case| &*case.name.leak()).collect(),
        _ => Vec::new(),
    }
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
