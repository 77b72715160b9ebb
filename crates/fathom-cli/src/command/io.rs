//! `fathom io`: files moved by blocks.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueEnum};
use fathom::machine::Fault;
use fathom::report;
use fathom::speed::file_size::{self, Question};
use fathom::speed::pattern::Pattern;
use fathom::speed::transfer::{self, LARGEST_BLOCK, Transfer, Writing};
use fathom::speed::watch::Watch;
use fathom::units::{parse_bytes, parse_duration};
use serde::Serialize;

use crate::command::survey::directory;
use crate::console::{self, Meter, Spinner};
use crate::failure::{Failure, INCONCLUSIVE};
use crate::output::{Output, plain};
use crate::{guard, interrupt};

#[derive(Debug, Subcommand)]
pub(crate) enum IoCommand {
    /// Write a new file of a given number of blocks.
    Write(WriteOptions),
    /// Read a file block by block, to standard output.
    Read(ReadOptions),
    /// Count a file's blocks by reading them, and compare with what fstat says.
    Count(CountOptions),
    /// Find the size of a file that takes a given time to read.
    Size(SizeOptions),
}

#[derive(Debug, Args)]
pub(crate) struct WriteOptions {
    /// The file to write.
    file: PathBuf,
    /// Bytes that each write moves.
    #[arg(long, value_parser = block, value_name = "SIZE")]
    block_size: u64,
    /// Number of blocks.
    #[arg(long)]
    count: u64,
    /// What the blocks contain.
    #[arg(long, default_value = "random")]
    pattern: Filling,
    /// Replace a file that exists; it stays as it is until the new one is complete.
    #[arg(long)]
    force: bool,
    /// Include the time until the device has all data (fsync).
    #[arg(long)]
    sync: bool,
    /// Write the figures as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReadOptions {
    /// The file to read; '-' is standard input.
    file: PathBuf,
    /// Bytes that each read moves.
    #[arg(long, value_parser = block, value_name = "SIZE")]
    block_size: u64,
    /// Read this many blocks only.
    #[arg(long)]
    count: Option<u64>,
    /// Do not write the data to standard output.
    #[arg(long)]
    discard: bool,
    /// Write the figures as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CountOptions {
    /// The file to read; '-' is standard input.
    file: PathBuf,
    /// Bytes of a block.
    #[arg(long, value_parser = block, value_name = "SIZE")]
    block_size: u64,
    /// Write the figures as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SizeOptions {
    /// A directory on the file system to measure.
    #[arg(default_value = ".")]
    path: PathBuf,
    /// How long reading the file should take.
    #[arg(long, value_parser = parse_duration, value_name = "TIME")]
    time: Duration,
    /// Bytes that each read moves.
    #[arg(long, default_value = "4K", value_parser = block, value_name = "SIZE")]
    block_size: u64,
    /// Where the file's data are when it is read.
    #[arg(long, default_value = "cached")]
    state: State,
    /// Write at most this much.
    #[arg(long, default_value = "256MiB", value_parser = parse_bytes, value_name = "SIZE")]
    max_write: u64,
    /// Take at most this long.
    #[arg(long, default_value = "120s", value_parser = parse_duration, value_name = "TIME")]
    max_time: Duration,
    /// Write the answer as JSON to FILE, or to standard output with '-'.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Filling {
    /// Bytes that cannot be compressed.
    Random,
    /// Zeros.
    Zero,
    /// Numbered lines.
    Text,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    /// In the page cache.
    Cached,
    /// Only on the device.
    Cold,
}

pub(crate) fn run(command: &IoCommand) -> Result<ExitCode, Failure> {
    match command {
        IoCommand::Write(options) => write(options),
        IoCommand::Read(options) => read(options),
        IoCommand::Count(options) => count(options),
        IoCommand::Size(options) => size(options),
    }
}

fn write(options: &WriteOptions) -> Result<ExitCode, Failure> {
    let json = options.json.as_deref().map(Output::open).transpose()?;
    let interrupt = interrupt::flag()?;
    guard::watch_for_interrupts(interrupt.clone());
    let watch = Watch::new(interrupt);
    let meter = Meter::over(options.block_size.saturating_mul(options.count), watch.clone());
    let writing = Writing {
        block: options.block_size,
        count: options.count,
        pattern: match options.pattern {
            Filling::Random => Pattern::Random,
            Filling::Zero => Pattern::Zero,
            Filling::Text => Pattern::Text,
        },
        force: options.force,
        sync: options.sync,
    };
    let outcome = transfer::write(&options.file, writing, &watch);
    drop(meter);
    let transfer = outcome?;
    publish(&report::transfer(&transfer), &transfer, json)
}

fn read(options: &ReadOptions) -> Result<ExitCode, Failure> {
    if !options.discard && options.json.as_deref() == Some(Path::new("-")) {
        let why = "--json -: standard output carries what is read; add --discard, or name a file";
        return Err(Failure::Usage(why.to_owned()));
    }
    let json = options.json.as_deref().map(Output::open).transpose()?;
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
    json.map_or(Ok(()), |output| output.write(&transfer))?;
    Ok(ExitCode::SUCCESS)
}

fn count(options: &CountOptions) -> Result<ExitCode, Failure> {
    let json = options.json.as_deref().map(Output::open).transpose()?;
    let transfer = watched(&options.file, |path, watch| transfer::count(path, options.block_size, watch))?;
    publish(&report::transfer(&transfer), &transfer, json)
}

fn size(options: &SizeOptions) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    if options.time.is_zero() {
        return Err(Failure::Usage("--time: reading takes longer than no time at all".to_owned()));
    }
    let path = directory(&options.path)?;
    let json = options.json.as_deref().map(Output::open).transpose()?;
    let question = Question {
        time: options.time,
        block: options.block_size,
        cold: matches!(options.state, State::Cold),
        max_write: options.max_write,
        deadline: started + options.max_time,
    };
    let interrupt = interrupt::flag()?;
    guard::watch(question.deadline, interrupt.clone());
    let bar = Spinner::new("growing a file and reading it");
    let answer = file_size::find(&path, question, &Watch::new(interrupt));
    drop(bar);
    let answer = answer?;
    publish(&report::file_size(&answer), &answer, json)?;
    Ok(if answer.bytes.is_some() { ExitCode::SUCCESS } else { ExitCode::from(INCONCLUSIVE) })
}

/// Runs what only reads, with a bar.
fn watched(
    file: &Path,
    job: impl FnOnce(&Path, &Watch) -> Result<Transfer, Fault>,
) -> Result<Transfer, Failure> {
    let path = if file == Path::new("-") { Path::new("/dev/stdin") } else { file };
    let watch = Watch::new(guard::over_reading(path)?);
    let meter = Meter::over(path.metadata().map_or(0, |about| about.len()), watch.clone());
    let outcome = job(path, &watch);
    drop(meter);
    Ok(outcome?)
}

fn publish(text: &str, value: &impl Serialize, json: Option<Output>) -> Result<ExitCode, Failure> {
    console::tell(text, json.as_ref().is_some_and(Output::is_stdout))?;
    json.map_or(Ok(()), |output| output.write(value))?;
    Ok(ExitCode::SUCCESS)
}

fn block(text: &str) -> Result<u64, String> {
    let size = parse_bytes(text)?;
    if (1..=LARGEST_BLOCK).contains(&size) {
        Ok(size)
    } else {
        Err(format!("'{text}' is not from 1 to 1 GiB"))
    }
}
