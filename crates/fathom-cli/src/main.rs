//! The `fathom` command: arguments in, text and exit codes out. All that it knows is in the library.

mod args;
mod command;
mod console;
mod failure;
mod interrupt;
mod output;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Survey(options) => command::survey::run(&options),
        Command::List(options) => command::list::run(&options),
        Command::Probe(options) => command::probe::run(&options),
        Command::Lab(command) => command::lab::run(&command),
        Command::Report(options) => command::report::run(&options),
        Command::Schema(options) => command::schema::run(&options),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            console::complain(&failure.to_string());
            failure.code()
        }
    }
}
