//! What a reader must do with any bytes: read them or refuse them with a reason. The fuzzer calls these functions,
//! and so does a test that replays the inputs in `inputs/`.
#![allow(dead_code)]

#[path = "command_line.rs"]
mod command_line;

use std::collections::HashMap;

use fathom_program::job::{IoLog, Job, JobFile, Replay, Surroundings, parse, parse_command};
use fathom_trace::import::{Format, read};

/// A job file, and behind lines `=== PATH` the files that it may include or replay.
pub(super) fn job(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut files = files(&text);
    let first = files.remove("").unwrap_or_default();
    within(&files, |surroundings| match parse(first, surroundings) {
        Ok(file) => is_sound(&file, surroundings),
        Err(mistake) => assert!(mistake.line > 0 && !mistake.reason.is_empty()),
    });
}

/// A command line, one word a line, and behind lines `=== PATH` the job files that it may name.
pub(super) fn command(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut files = files(&text);
    let words: Vec<String> = files.remove("").unwrap_or_default().lines().map(str::to_owned).collect();
    within(&files, |surroundings| match parse_command(&words, surroundings) {
        Ok(line) => is_sound(&line.jobs, surroundings),
        Err(reason) => assert!(!reason.is_empty()),
    });
}

/// A log to be replayed, behind a byte that says how.
pub(super) fn iolog(input: &[u8]) {
    let Some((&how, log)) = input.split_first() else { return };
    let replay = Replay {
        no_stall: how & 1 != 0,
        time_scale: if how & 2 != 0 { 33 } else { 100 },
        scale: if how & 4 != 0 { 3 } else { 1 },
        align: if how & 8 != 0 { 4096 } else { 0 },
        redirect: (how & 16 != 0).then(|| "/one".to_owned()),
        ..Replay::default()
    };
    match IoLog::parse(&String::from_utf8_lossy(log), &replay) {
        Ok(log) => assert!(log.entries.iter().all(|entry| entry.file < log.files.len().max(1))),
        Err(reason) => assert!(!reason.is_empty()),
    }
}

/// A trace of another tool, behind a byte that says which.
pub(super) fn trace(input: &[u8]) {
    let Some((&format, trace)) = input.split_first() else { return };
    let format = Format::ALL[usize::from(format) % Format::ALL.len()];
    let mut operations = 0;
    let imported = read(trace, format, |some, _| {
        operations += some.len() as u64;
        Ok::<(), std::io::Error>(())
    });
    let imported = imported.expect("bytes in memory can be read");
    assert_eq!((imported.operations, imported.bytes), (operations, trace.len() as u64));
    let _ = Format::detect(trace);
}

/// The parts between lines `=== PATH`; the first has no name.
fn files(text: &str) -> HashMap<&str, &str> {
    let mut parts = text.split("=== ");
    let first = ("", parts.next().unwrap_or_default());
    std::iter::once(first).chain(parts.map(|part| part.split_once('\n').unwrap_or((part, "")))).collect()
}

fn within(files: &HashMap<&str, &str>, look: impl FnOnce(&Surroundings<'_>)) {
    look(&Surroundings {
        page_size: 4096,
        cpus: 2,
        memory_mib: 1000,
        variable: &|name| (name == "V").then(|| "4k".to_owned()),
        file: &|path| files.get(path).map(|text| (*text).to_owned()),
        path: "jobs/x.fio",
        on_files: None,
        added: &[],
    });
}

fn is_sound(file: &JobFile, surroundings: &Surroundings<'_>) {
    assert!(!file.jobs.is_empty());
    file.jobs.iter().filter(|job| job.unsupported().is_none()).for_each(is_sound_job);
    // On a command line a log has to have a name.
    let mut options = file.sections.iter().flat_map(|section| &section.options);
    if options.any(|(key, value)| key.starts_with("write_") && value.is_none()) {
        return;
    }
    let shown = command_line::words(file);
    let again = parse_command(&shown, surroundings).expect("what is shown can be read").jobs;
    // A command line says the name as an option, which a file does not.
    let plain =
        |jobs: &[Job]| jobs.iter().map(|job| Job { written: Vec::new(), ..job.clone() }).collect::<Vec<_>>();
    assert_eq!(plain(&again.jobs), plain(&file.jobs), "{shown:?}");
}

fn is_sound_job(job: &Job) {
    if job.check().is_err() {
        return;
    }
    let region = job.region().expect("what is checked has a part of its file");
    assert!(region.length > 0 && region.offset + region.length <= region.file, "{job:?}");
    job.transfer().and(job.loops()).expect("what is checked has an amount");
    if job.file_count() <= 64 {
        job.files_of(job.numjobs - 1).expect("what is checked has files");
    }
}
