//! What jobs would do, as a table and as JSON: nothing has run yet.

use fathom_program::job::{Blocks, Direction, Job, JobFile, Pattern};
use fathom_program::units::{Bytes, Nanos};
use fathom_run::load::{Needs, groups};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table;

const HEADER: [&str; 8] = ["group", "job", "threads", "engine", "depth", "transfers", "time", "files"];

/// The plan of jobs as text: one line per job, with the same number for jobs that run at the same time, and what all of them need.
pub fn plan(jobs: &[Job], needs: &Needs) -> String {
    let numbered = groups(jobs).zip(1..);
    let lines: Vec<Vec<String>> =
        numbered.flat_map(|(group, number)| group.iter().map(move |job| line(number, job))).collect();
    let time = Nanos(needs.time.as_nanos() as f64);
    let needs = format!(
        "Files of {}; at least {} to write, in at least {time}. Nothing was run or written.",
        Bytes(needs.space),
        Bytes(needs.writes),
    );
    format!("{}\n{needs}\n", table::rows(&HEADER, &lines))
}

/// The plan of jobs as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.plan/1")]
pub struct Plan {
    /// Always `fathom.plan/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The jobs, in order.
    pub jobs: Vec<PlannedJob>,
    /// Notes on the job file, one sentence each.
    pub notes: Vec<String>,
    /// Bytes of disk that the jobs' files need.
    pub space_bytes: u64,
    /// Bytes that the jobs write at least.
    pub write_bytes: u64,
    /// How long the jobs take at least.
    pub time_ns: u64,
}

/// A job of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedJob {
    /// The group of the job, from 1: jobs of one group run at the same time, and groups follow each other.
    pub group: u32,
    /// The name of the job.
    pub name: String,
    /// The number of threads.
    pub threads: u32,
    /// fio's name of its engine.
    pub engine: String,
    /// Whether the job bypasses the page cache.
    pub direct: bool,
    /// The most requests under way in a thread.
    pub depth: u32,
    /// What is transferred, in words.
    pub transfers: String,
    /// Bytes that each thread transfers; none for a job that ends after a time.
    pub transfer_bytes: Option<u64>,
    /// The longest time that the job runs after its ramp, for a job that ends after a time.
    pub runtime_ns: Option<u64>,
    /// The files of the job.
    pub files: Vec<PlannedFile>,
}

/// A file of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedFile {
    /// The name of the file in the scratch directory, or the path of an existing file.
    pub name: String,
    /// The path in the job, if it names one.
    pub wanted: Option<String>,
    /// The length of the file.
    pub bytes: u64,
}

const SCHEMA: &str = "fathom.plan/1";

impl Plan {
    /// The plan of the jobs of a file.
    ///
    /// # Errors
    /// A job without a size.
    pub fn of(file: &JobFile, needs: &Needs) -> Result<Self, String> {
        let numbered = groups(&file.jobs).zip(1..);
        let jobs = numbered.flat_map(|(group, number)| group.iter().map(move |job| (number, job)));
        Ok(Self {
            schema: SCHEMA.to_owned(),
            jobs: jobs.map(|(group, job)| PlannedJob::of(group, job)).collect::<Result<_, String>>()?,
            notes: file.notes.clone(),
            space_bytes: needs.space,
            write_bytes: needs.writes,
            time_ns: needs.time.as_nanos() as u64,
        })
    }
}

impl PlannedJob {
    fn of(group: u32, job: &Job) -> Result<Self, String> {
        let mut files: Vec<PlannedFile> = Vec::new();
        for thread in 0..if job.engine.has_files() { job.numjobs } else { 0 } {
            for (number, file) in job.files_of(thread)?.into_iter().enumerate() {
                if files.iter().all(|known| known.name != file.name) {
                    let wanted = job.files.paths.get(number).cloned();
                    files.push(PlannedFile { name: file.name, wanted, bytes: file.region.file });
                }
            }
        }
        Ok(Self {
            group,
            name: job.name.clone(),
            threads: job.numjobs,
            engine: job.engine.name().to_owned(),
            direct: job.direct,
            depth: job.depth.most,
            transfers: transfers(job),
            transfer_bytes: job.transfer()?,
            runtime_ns: (!job.runtime.is_zero()).then_some(job.runtime.as_nanos() as u64),
            files,
        })
    }
}

fn line(group: u32, job: &Job) -> Vec<String> {
    let direct = if job.direct { ", direct" } else { "" };
    vec![
        group.to_string(),
        job.name.clone(),
        job.numjobs.to_string(),
        format!("{}{direct}", job.engine.name()),
        job.depth.most.to_string(),
        transfers(job),
        time(job),
        files(job),
    ]
}

fn transfers(job: &Job) -> String {
    let order = match job.pattern {
        Pattern::Sequential => "sequential",
        Pattern::Random => "random",
    };
    let side = |direction: Direction| {
        let (share, verb) = match direction {
            Direction::Read => (job.read_percent, "reads"),
            Direction::Write => (100 - job.read_percent, "writes"),
        };
        let share = if share < 100 { format!("{share} % ") } else { String::new() };
        format!("{share}{verb} of {}", blocks(job.blocks[direction as usize]))
    };
    let sides: Vec<String> = job.directions().map(side).collect();
    format!("{order} {}", sides.join(", "))
}

fn blocks(Blocks { least, most }: Blocks) -> String {
    match least == most {
        true => Bytes(least).to_string(),
        false => format!("{} to {}", Bytes(least), Bytes(most)),
    }
}

/// How long it goes on: by time, by bytes, or by whichever ends first.
fn time(job: &Job) -> String {
    let shown = |time: std::time::Duration| Nanos(time.as_nanos() as f64).to_string();
    let bytes = job.transfer().ok().flatten().map(|bytes| Bytes(bytes).to_string());
    let run = match (bytes, job.runtime.is_zero()) {
        (Some(bytes), true) => bytes,
        (Some(bytes), false) => format!("{bytes} or {}", shown(job.runtime)),
        (None, _) => shown(job.runtime),
    };
    if job.ramp_time.is_zero() { run } else { format!("{run} after {}", shown(job.ramp_time)) }
}

/// The first and the last scratch file of all threads, and how long each is.
fn files(job: &Job) -> String {
    let shown = || -> Result<String, String> {
        let [first, last] = [job.files_of(0)?, job.files_of(job.numjobs.saturating_sub(1))?];
        let size = first.first().map_or(0, |file| file.region.file);
        let names = [first.first(), last.last()].map(|file| file.map_or("", |file| file.name.as_str()));
        Ok(match names[0] == names[1] {
            true => format!("{}, {}", names[0], Bytes(size)),
            false => format!("{} to {}, {} each", names[0], names[1], Bytes(size)),
        })
    };
    shown().unwrap_or_else(|reason| reason)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_job_is_said_on_one_line() {
        let timed = Job {
            read_percent: 70,
            pattern: Pattern::Random,
            filename: Some("dev_sdb".to_owned()),
            filesize: Some(1 << 30),
            runtime: Duration::from_secs(60),
            time_based: true,
            ramp_time: Duration::from_secs(5),
            direct: true,
            ..Job::named("mixed")
        };
        let own = Job { numjobs: 4, size: Some(1 << 20), stonewall: true, ..Job::named("own") };
        let jobs = [timed, own];
        let shown = plan(&jobs, &Needs::of(&jobs).unwrap());
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 5, "{shown}");
        for words in [
            "1 ",
            "psync, direct",
            "random 70 % reads of 4 KiB, 30 % writes of 4 KiB",
            "60 s after 5 s",
            "file.dev_sdb, 1 GiB",
        ] {
            assert!(lines[1].contains(words), "{words}: {shown}");
        }
        for words in ["2 ", "sequential reads of 4 KiB", "1 MiB ", "file.own.0.0 to file.own.3.0, 1 MiB each"]
        {
            assert!(lines[2].contains(words), "{words}: {shown}");
        }
        assert_eq!(
            lines[4],
            "Files of 1 GiB; at least 1 GiB to write, in at least 65 s. Nothing was run or written."
        );
    }
}
