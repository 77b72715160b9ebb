//! `fathom io`: files moved by blocks.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use fathom::machine::Fault;
use fathom::report;
use fathom::speed::transfer::{self, Writing};
use fathom::watch::Watch;

use super::{reading, session};
use crate::args::budget::BudgetOptions;
use crate::args::io::{CountOptions, IoCommand, ReadOptions, SizeOptions, WriteOptions};
use crate::args::{State, library};
use crate::console::{self, meter, spinner};
use crate::failure::{self, Failure, plain};
use crate::guard;

pub(crate) fn run(command: &IoCommand) -> Result<ExitCode, Failure> {
    match command {
        IoCommand::Write(options) => write(options)?,
        IoCommand::Read(options) => return read(options),
        IoCommand::Count(options) => count(options)?,
        IoCommand::Size(options) => return size(options),
    }
    Ok(ExitCode::SUCCESS)
}

fn write(options: &WriteOptions) -> Result<(), Failure> {
    let json = options.json.open()?;
    let watch = Watch::from(guard::interruptible()?);
    let writing = Writing {
        block: options.block_size,
        count: options.count,
        pattern: library(options.pattern),
        force: options.force,
        sync: options.sync,
    };
    let transfer = meter(options.block_size.saturating_mul(options.count), watch.clone())
        .during(|| transfer::write(&options.file, writing, &watch))?;
    json.show(|_| report::transfer(&transfer), &transfer)
}

fn read(options: &ReadOptions) -> Result<ExitCode, Failure> {
    if !options.discard && options.json.file.as_deref() == Some(Path::new("-")) {
        let why = "--json -: standard output carries what is read; add --discard, or name a file";
        return Err(Failure::Usage(why.to_owned()));
    }
    let json = options.json.open()?;
    if options.discard {
        let transfer = reading(&options.file, |path, watch| {
            transfer::read(path, options.block_size, options.count, &mut |_| Ok(()), watch)
        })?;
        json.show(|_| report::transfer(&transfer), &transfer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = console::unbuffered()?;
    let mut is_closed = false;
    let mut copy = |bytes: &[u8]| match out.write_all(bytes) {
        Ok(()) => Ok(()),
        Err(error) => {
            is_closed = error.kind() == std::io::ErrorKind::BrokenPipe;
            Err(Fault::Unsupported(format!("can't write to standard output: {}", plain(&error))))
        }
    };
    let outcome = reading(&options.file, |path, watch| {
        transfer::read(path, options.block_size, options.count, &mut copy, watch)
    });
    if is_closed {
        // The reader has what it wanted: an end as quiet as SIGPIPE's, with its code.
        return Ok(ExitCode::from(141));
    }
    let transfer = outcome?;
    console::tell(&report::transfer(&transfer), true)?;
    json.write(&transfer)?;
    Ok(ExitCode::SUCCESS)
}

fn count(options: &CountOptions) -> Result<(), Failure> {
    let json = options.json.open()?;
    let transfer = reading(&options.file, |path, watch| transfer::count(path, options.block_size, watch))?;
    json.show(|_| report::transfer(&transfer), &transfer)
}

fn size(options: &SizeOptions) -> Result<ExitCode, Failure> {
    if options.time.is_zero() {
        return Err(Failure::Usage("--time: it must be more than zero".to_owned()));
    }
    let mut session = session(&options.path, BudgetOptions { limits: options.limits, seed: 0 })?;
    let json = options.json.open()?;
    let is_cold = matches!(options.state, State::Cold);
    let answer = spinner("growing a file and reading it")
        .during(|| session.file_size(options.time, options.block_size, is_cold))?;
    json.show(|_| report::file_size(&answer), &answer)?;
    Ok(failure::done(answer.bytes.is_some()))
}
