//! `fathom io`: files moved by blocks.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use fathom::machine::Fault;
use fathom::report;
use fathom::results::Json;
use fathom::speed::transfer::{self, Transfer, Writing};
use fathom::watch::Watch;

use super::session;
use crate::args::budget::BudgetOptions;
use crate::args::io::{CountOptions, IoCommand, ReadOptions, SizeOptions, WriteOptions};
use crate::args::{State, library};
use crate::console::{self, meter, spinner};
use crate::failure::{self, Failure, plain};
use crate::guard;
use crate::output::Output;

pub(crate) fn run(command: &IoCommand) -> Result<ExitCode, Failure> {
    match command {
        IoCommand::Write(options) => write(options),
        IoCommand::Read(options) => read(options),
        IoCommand::Count(options) => count(options),
        IoCommand::Size(options) => size(options),
    }
}

fn write(options: &WriteOptions) -> Result<ExitCode, Failure> {
    let json = options.json.open()?;
    let watch = Watch::from(guard::interruptible()?);
    let bar = meter(options.block_size.saturating_mul(options.count), watch.clone());
    let writing = Writing {
        block: options.block_size,
        count: options.count,
        pattern: library(options.pattern),
        force: options.force,
        sync: options.sync,
    };
    let outcome = transfer::write(&options.file, writing, &watch);
    drop(bar);
    let transfer = outcome?;
    publish(&report::transfer(&transfer), &transfer, json)
}

fn read(options: &ReadOptions) -> Result<ExitCode, Failure> {
    if !options.discard && options.json.file.as_deref() == Some(Path::new("-")) {
        let why = "--json -: standard output carries what is read; add --discard, or name a file";
        return Err(Failure::Usage(why.to_owned()));
    }
    let json = options.json.open()?;
    if options.discard {
        let transfer = watched(&options.file, |path, watch| {
            transfer::read(path, options.block_size, options.count, &mut |_| Ok(()), watch)
        })?;
        return publish(&report::transfer(&transfer), &transfer, json);
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
    let outcome = watched(&options.file, |path, watch| {
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

fn count(options: &CountOptions) -> Result<ExitCode, Failure> {
    let json = options.json.open()?;
    let transfer = watched(&options.file, |path, watch| transfer::count(path, options.block_size, watch))?;
    publish(&report::transfer(&transfer), &transfer, json)
}

fn size(options: &SizeOptions) -> Result<ExitCode, Failure> {
    if options.time.is_zero() {
        return Err(Failure::Usage("--time: it must be more than zero".to_owned()));
    }
    let mut session = session(&options.path, BudgetOptions { limits: options.limits, seed: 0 })?;
    let json = options.json.open()?;
    let bar = spinner("growing a file and reading it");
    let answer = session.file_size(options.time, options.block_size, matches!(options.state, State::Cold));
    drop(bar);
    let answer = answer?;
    publish(&report::file_size(&answer), &answer, json)?;
    Ok(failure::done(answer.bytes.is_some()))
}

/// Runs what only reads, with a bar.
fn watched(
    file: &Path,
    job: impl FnOnce(&Path, &Watch) -> Result<Transfer, Fault>,
) -> Result<Transfer, Failure> {
    let path = if file == Path::new("-") { Path::new("/dev/stdin") } else { file };
    let watch = Watch::from(guard::over_reading(path)?);
    let bar = meter(path.metadata().map_or(0, |about| about.len()), watch.clone());
    let outcome = job(path, &watch);
    drop(bar);
    Ok(outcome?)
}

fn publish(text: &str, value: &impl Json, json: Output) -> Result<ExitCode, Failure> {
    json.tell(text)?;
    json.write(value)?;
    Ok(ExitCode::SUCCESS)
}
