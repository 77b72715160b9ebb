//! The readings of all runs of an experiment as one CSV.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::{Error, RunFacts};
use fathom_run::samples::{Reading, Samples};

/// A line has the run and its [`Reading`].
const COLUMNS: [&str; 10] = [
    "run",
    "offset_bytes",
    "latency_ticks",
    "round",
    "cached",
    "op",
    "pass",
    "step",
    "position",
    "start_ticks",
];

pub(super) fn write(runs: &[Samples], to: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(to);
    // Written even where no reading follows.
    writer.write_record(COLUMNS)?;
    for (run, samples) in runs.iter().enumerate() {
        for reading in &samples.readings {
            writer.serialize((run, reading)).map_err(io::Error::other)?;
        }
    }
    writer.flush()
}

/// The readings of each of `runs`.
pub(super) fn read(path: &Path, runs: &[RunFacts]) -> Result<Vec<Vec<Reading>>, Error> {
    let file = File::open(path).map_err(|error| Error::file("read", path, &error))?;
    let damaged = |line, reason: String| Error::Damaged { path: path.to_owned(), line, reason };
    let mut reader = csv::Reader::from_reader(file);
    let header = reader.headers().map_err(|error| damaged(Some(1), error.to_string()))?;
    if header != COLUMNS.as_slice() {
        return Err(damaged(Some(1), format!("the columns should be {}", COLUMNS.join(","))));
    }
    let mut readings: Vec<Vec<Reading>> =
        runs.iter().map(|run| Vec::with_capacity(run.readings.min(MOST_AT_ONCE))).collect();
    let mut record = csv::StringRecord::new();
    loop {
        let line = reader.position().line();
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return Err(damaged(Some(line), error.to_string())),
        }
        let line = record.position().map_or(line, csv::Position::line);
        let (run, reading): (usize, Reading) =
            record.deserialize(None).map_err(|error| damaged(Some(line), why(&error)))?;
        let (Some(facts), Some(kept)) = (runs.get(run), readings.get_mut(run)) else {
            return Err(damaged(Some(line), format!("there is no run {run}, only {}", runs.len())));
        };
        check(&reading, facts).map_err(|reason| damaged(Some(line), reason))?;
        kept.push(reading);
    }
    let short = runs.iter().zip(&readings).position(|(facts, kept)| facts.readings != kept.len());
    match short {
        None => Ok(readings),
        Some(run) => {
            let (found, wanted) = (readings[run].len(), runs[run].readings);
            Err(damaged(None, format!("run {run} has {found} readings and should have {wanted}")))
        }
    }
}

/// Memory set aside for the readings of a run before they are seen: a damaged count must not ask for more.
const MOST_AT_ONCE: usize = 1 << 20;

/// A reading that its workload can't have made would be out of bounds later.
fn check(reading: &Reading, facts: &RunFacts) -> Result<(), String> {
    let Some(pass) = facts.run.workload.passes.get(reading.pass as usize) else {
        return Err(format!("the workload has no pass {}", reading.pass));
    };
    if reading.round >= facts.run.workload.rounds {
        return Err(format!("the workload has no round {}", reading.round));
    }
    if u64::from(reading.position) >= pass.region.count {
        return Err(format!("pass {} has no position {}", reading.pass, reading.position));
    }
    if pass.ops.get(reading.step as usize) != Some(&reading.op) {
        return Err(format!("pass {} does something else in step {}", reading.pass, reading.step));
    }
    Ok(())
}

/// What is wrong with a line, without its number, which the caller says.
fn why(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => match err.field() {
            Some(field) => {
                let column = COLUMNS.get(field as usize).unwrap_or(&"?");
                format!("column {column}: {}", err.kind())
            }
            None => err.kind().to_string(),
        },
        _ => error.to_string(),
    }
}
