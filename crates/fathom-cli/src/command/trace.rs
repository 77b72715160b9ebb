//! `fathom trace`: traces in, out, and what they do.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use fathom::results::{NamedTrace, Report as _};
use fathom_trace::import::{self, Format, Imported};
use fathom_trace::record::{self, Method, Recorded, Subject};
use fathom_trace::{Error, export, show};
use serde::Serialize;

use crate::args::library;
use crate::args::trace::{ExportOptions, ImportOptions, RecordOptions, ShowOptions, TraceCommand};
use crate::console::{self, spinner};
use crate::failure::Failure;
use crate::interrupt;
use crate::keep::{self, Destination};
use crate::output::Output;

/// Operations that are read and drawn in seconds.
const READ_AT_ONCE: u64 = 10_000_000;

pub(crate) fn run(command: &TraceCommand) -> Result<ExitCode, Failure> {
    match command {
        TraceCommand::Record(options) => return record(options),
        TraceCommand::Import(options) => import(options),
        TraceCommand::Show(options) => show(options),
        TraceCommand::Export(options) => export(options),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn record(options: &RecordOptions) -> Result<ExitCode, Failure> {
    let subject = match options.pid {
        Some(process) => Subject::Process(process),
        None => Subject::Command(options.command.clone()),
    };
    let method = options.method.map(library);
    // A signal from the terminal reaches the command too; what it did until then is kept.
    let interrupt = interrupt::flag()?;
    let recorded = record::record(&subject, &options.out, method, &interrupt)?;
    let Recorded { operations, lost, unnamed, ran_ns, .. } = recorded;
    let by = if recorded.method == Method::Kernel { "the kernel" } else { "strace" };
    let took = show::text::nanos(ran_ns);
    console::print(&format!(
        "{operations} operations in {took}, recorded by {by} in {}\n",
        options.out.display()
    ))?;
    if lost > 0 {
        console::note(&format!("{lost} events were lost: the trace is not complete"));
    }
    if unnamed > 0 {
        console::note(&format!(
            "the paths of {unnamed} calls are not known: these calls, and those on the files that they opened, are missing"
        ));
        if options.pid.is_some() && recorded.method == Method::Kernel {
            console::hint(
                "'--method strace' finds all paths of a process that runs already, but slows it down more.",
            );
        }
    }
    draw(&options.out, operations, options.no_report)?;
    if options.pid.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    // As 'time' and 'strace' do it, so that a script sees what the command came to.
    Ok(recorded.exit_code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// What an import prints as JSON.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    format: &'static str,
    #[serde(flatten)]
    imported: Imported,
}

fn import(options: &ImportOptions) -> Result<(), Failure> {
    let rows = options.rows_per_part.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
    let (format, imported) = spinner("importing").during(|| {
        import::import(&options.from, options.format, &options.out, rows, &AtomicBool::new(false))
    })?;
    let operations = imported.operations;
    if options.json {
        let report = Report { schema: "fathom.trace-import/1", format: format.name(), imported };
        return Output::Stdout.write(&report);
    }
    console::print(&in_words(format, &imported, &options.out))?;
    draw(&options.out, operations, options.no_report)
}

fn in_words(format: Format, imported: &Imported, out: &Path) -> String {
    let Imported { operations, ignored, rejected, .. } = imported;
    let name = format.name();
    let mut text = format!("{operations} operations from {name} in {}", out.display());
    text += &format!("; {ignored} others ignored, {} rejected\n", rejected.count);
    for reject in &rejected.first {
        text += &format!("  rejected {}: {}\n", reject.number, reject.reason);
    }
    if rejected.count > rejected.first.len() as u64 {
        text += "  and more\n";
    }
    text
}

fn show(options: &ShowOptions) -> Result<(), Failure> {
    let json = options.json.open()?;
    if let Some(part) = options.hit_ratios {
        let found = spinner("reading the trace").during(|| show::hit_ratios(&options.trace, part))?;
        return json.show(|_| show::text::hit_ratios(&found.points, found.sampled, found.error), &found);
    }
    let destination = options.keep.destination(!json.is_stdout());
    keep::check(destination)?;
    let shown = spinner("reading the trace").during(|| show::show(&options.trace))?;
    let named = NamedTrace { name: options.trace.display().to_string(), shown };
    json.show(|colours| named.text(colours), &named.shown)?;
    keep_page(destination, &named)
}

/// Keeps what a trace does.
fn keep_page(destination: Destination<'_>, trace: &NamedTrace) -> Result<(), Failure> {
    let next = format!("Next: 'fathom run {}' replays it, on scratch files.\n", trace.name);
    keep::result(destination, "trace", &next, trace)
}

/// The page of a trace that was just written, where it is soon read; otherwise how to have it.
fn draw(trace: &Path, operations: u64, no_report: bool) -> Result<(), Failure> {
    let advice = format!("'fathom trace show {}' says what they do.", trace.display());
    console::hint(&advice);
    if no_report || operations == 0 || operations > READ_AT_ONCE {
        return Ok(());
    }
    let shown = spinner("drawing what was traced").during(|| show::show(trace))?;
    keep_page(Destination::Shelf, &NamedTrace { name: trace.display().to_string(), shown })
}

fn export(options: &ExportOptions) -> Result<(), Failure> {
    let out = &options.out;
    let file = File::options().write(true).create_new(true).open(out);
    let file = file.map_err(|error| Error::new("create", out, error))?;
    let exported = spinner("exporting")
        .during(|| export::fio(&options.trace, &mut BufWriter::new(file)))
        // Half a trace is none.
        .inspect_err(|_| drop(fs::remove_file(out)))?;
    console::print(&format!(
        "{} operations in {}; {} others left out\n",
        exported.operations,
        out.display(),
        exported.left_out
    ))
}
