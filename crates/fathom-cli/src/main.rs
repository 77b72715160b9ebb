//! The `fathom` command: arguments in, text and exit codes out. All that it knows is in the library.
//!
//! In reading order: each module uses only what stands above it.

mod interrupt;
mod failure;
mod console;
mod output;
mod guard;
mod keep;
mod ranks;
mod args;
mod command;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use failure::Failure;

fn main() -> ExitCode {
    match ranks::join()
        .and_then(|()| parsed())
        .and_then(|arguments| arguments.map_or(Ok(ExitCode::SUCCESS), run))
    {
        Ok(code) => code,
        Err(failure) => {
            console::complain(&failure.to_string());
            failure.code()
        }
    }
}

/// What was asked for; nothing where help or the version was, which is then printed.
fn parsed() -> Result<Option<Arguments>, Failure> {
    match Arguments::try_parse() {
        Ok(arguments) => Ok(Some(arguments)),
        Err(error) if !error.use_stderr() => console::print(&error.render().to_string()).map(|()| None),
        Err(error) => Err(Failure::Usage(args::complaint(&error))),
    }
}

fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    if arguments.quiet {
        console::be_quiet();
    }
    if arguments.command.is_guarded() {
        guard::supervise();
    }
    match arguments.command {
        Command::Survey(options) => command::survey::run(&options),
        Command::List(options) => command::list::run(&options),
        Command::Probe(options) => command::probe::run(&options),
        Command::Curve(options) => command::curve::run(&options),
        Command::Versus(options) => command::versus::run(&options),
        Command::Run(options) => command::run::run(&options),
        Command::Trace(command) => command::trace::run(&command),
        Command::Predict(options) => command::predict::run(&options),
        Command::Sweep(options) => command::sweep::run(&options),
        Command::Calibrate(options) => command::calibrate::run(&options),
        Command::Validate(options) => command::validate::run(&options),
        Command::Net(command) => command::net::run(&command),
        Command::Lab(command) => command::lab::run(&command),
        Command::Io(command) => command::io::run(&command),
        Command::Syscalls(options) => command::syscalls::run(&options),
        Command::Xor(options) => command::xor::run(&options),
        Command::Report(options) => command::report::run(&options),
        Command::Compare(options) => command::compare::run(&options),
        Command::Explain(options) => command::explain::run(&options),
        Command::Completions(options) => command::completions::complete(&options),
        Command::Man(options) => command::completions::manual(&options),
        Command::Schema(options) => command::schema::run(&options),
    }
}
