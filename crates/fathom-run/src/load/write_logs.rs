//! The logs of jobs, written once these have ended.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use super::log::{Kind, MOST, files, transfers};
use super::outcome::Outcome;
use fathom_program::job::Job;

/// Writes the logs of jobs; returns a sentence about each log that is incomplete. Threads that share a file are written one after
/// the other.
///
/// # Errors
/// A file that can't be made or written, with its path.
pub fn write_logs(jobs: &[Job], outcomes: &[Vec<Outcome>]) -> Result<Vec<String>, (PathBuf, io::Error)> {
    let mut notes = Vec::new();
    let mut made: Vec<PathBuf> = Vec::new();
    for (path, job, thread, kind) in files(jobs) {
        let Some(outcome) = outcomes.get(job).and_then(|threads| threads.get(thread)) else { continue };
        let text = match (kind, &outcome.calls, &outcome.log) {
            (Kind::Transfers, Some(calls), _) => {
                transfers::text(&jobs[job], thread as u32, calls, outcome.ns_per_tick)
            }
            (_, _, Some(log)) => log.text(kind, &jobs[job], outcome.ns_per_tick),
            _ => String::new(),
        };
        let is_first = !made.contains(&path);
        let to = if is_first { File::create_new(&path) } else { File::options().append(true).open(&path) };
        to.and_then(|mut to| to.write_all(text.as_bytes())).map_err(|error| (path.clone(), error))?;
        let is_cut = match kind {
            Kind::Transfers => outcome.calls.as_ref().is_some_and(|calls| calls.len() >= MOST),
            _ => outcome.log.as_ref().is_some_and(|log| log.is_cut),
        };
        if is_cut {
            let path = path.display();
            notes.push(format!(
                "{path} ends early: the number of lines that a thread keeps is limited; log_avg_msec= writes averages instead"
            ));
        }
        if is_first {
            made.push(path);
        }
    }
    Ok(notes)
}
