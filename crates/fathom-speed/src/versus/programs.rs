//! Fathom's loop, dd and fio: how each is started, and what each tells of itself.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use fathom_stats::interval::median_interval;
use fathom_stats::quantile;
use fathom_sys::Error;

use super::{Entry, Sample};
use crate::curve::{Operation, Proof, Refusal, State};
use crate::measurement::LEVEL;
use crate::rounds::{self, Bench, Progress, Series, Settings};
use fathom_program::job::{Blocks, DIRECTIONS, Direction, Job};
use fathom_program::units::Bytes;
use fathom_run::fault::Fault;
use fathom_run::load::program::{self, fio_arguments, version};
use fathom_run::load::{self, Testbed};

/// Who works.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Program {
    /// The load engine, in this process.
    Fathom,
    /// coreutils' dd and its version.
    Dd(String),
    /// fio and its version.
    Fio(String),
}

/// One program's pass over the file by blocks of one size from one state of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    program: Program,
    operation: Operation,
    block_bytes: u64,
    state: State,
}

/// The tasks of all programs that are installed, and the names of those that are not.
pub fn programs(block_bytes: &[u64], works: &[(Operation, State)]) -> (Vec<Task>, Vec<&'static str>) {
    let mut missing = Vec::new();
    let mut found = vec![Program::Fathom];
    for (name, made) in [("dd", Program::Dd as fn(String) -> Program), ("fio", Program::Fio)] {
        match version(name) {
            Some(version) => found.push(made(version)),
            None => missing.push(name),
        }
    }
    let mut tasks = Vec::new();
    for program in &found {
        for &(operation, state) in works {
            let of = |&block_bytes| Task { program: program.clone(), operation, block_bytes, state };
            tasks.extend(block_bytes.iter().map(of));
        }
    }
    (tasks, missing)
}

/// Takes the tasks out that write more than is left in the fewest rounds that give an interval, and says so.
pub fn affordable(tasks: Vec<Task>, file_bytes: u64, max_write: u64) -> (Vec<Task>, Vec<Refusal>) {
    let is_read = |task: &Task| task.operation == Operation::Read;
    let writes = tasks.iter().filter(|task| !is_read(task)).count() as u64;
    // Once more, to fill the file.
    let wanted = file_bytes.saturating_mul(writes * u64::from(rounds::FEWEST_ROUNDS) + 1);
    if writes == 0 || wanted <= max_write {
        return (tasks, Vec::new());
    }
    let reason = format!(
        "{} rounds of it write {}: raise --max-write to {}MiB, or choose a smaller --file-size",
        rounds::FEWEST_ROUNDS,
        Bytes(wanted),
        wanted.div_ceil(1 << 20)
    );
    (tasks.into_iter().filter(is_read).collect(), vec![Refusal { what: "writing".to_owned(), reason }])
}

/// Runs the tasks over a file of so many bytes at `testbed` in rounds, until the interval of every median is narrow enough or the deadline
/// has come; the entries are in the order of the tasks.
///
/// # Errors
/// What making the file gives, and [`Fault::Interrupted`]. A program that fails ends its own entry: the
/// second of each pair says why.
pub fn measure(
    testbed: &mut Testbed,
    tasks: &[Task],
    file_bytes: u64,
    settings: Settings,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<(Entry, Option<String>)>, Fault> {
    testbed.lay_out(&[pass(Operation::Read, file_bytes, 1 << 20, State::Cached)])?;
    let mut bench = Programs { testbed, tasks, file_bytes };
    let series = rounds::measure(&mut bench, tasks.len(), settings, progress)?;
    Ok(tasks.iter().zip(&series).map(|(task, one)| entry(task, one, tasks, &series, file_bytes)).collect())
}

struct Programs<'a> {
    testbed: &'a mut Testbed,
    tasks: &'a [Task],
    file_bytes: u64,
}

impl Bench for Programs<'_> {
    type Sample = Sample;

    fn sample(&mut self, index: usize, round: u32) -> Result<Sample, Fault> {
        let task = &self.tasks[index];
        let job = task.job(self.file_bytes);
        let path = self.testbed.path(&job, 0);
        if task.operation != Operation::Read {
            // What was measured before stays.
            Fault::unless_affordable(self.file_bytes, self.testbed.write_budget())?;
            // What was written before is not to be waited for now.
            let synced = File::open(&path).and_then(|file| file.sync_all());
            synced.map_err(|error| Error::from_io("fsync", &path, &error))?;
        }
        if task.program == Program::Fathom {
            let outcomes = load::run(&job, self.testbed)?;
            let one = outcomes.first().ok_or_else(|| Fault::Unsupported("no thread ran".to_owned()))?;
            let done = &one.transfers[task.operation.direction() as usize];
            return Ok(Sample {
                round,
                bytes: done.bytes,
                inside_ns: one.elapsed_ns as f64,
                calls_ns: Some(done.latency.sum() as f64 * one.ns_per_tick),
                outside_ns: None,
                proof: Proof::of(task.state, one.cached_before),
            });
        }
        let cached = self.testbed.ready(&job)?;
        let mut command = task.command(&path, self.file_bytes);
        let before = Instant::now();
        let output = command.stdin(Stdio::null()).output();
        let outside_ns = before.elapsed().as_nanos() as f64;
        let output =
            output.map_err(|error| Fault::Unsupported(format!("can't run {}: {error}", task.name())))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
            return Err(Fault::Unsupported(format!("{} failed: {said}", task.name())));
        }
        let reported = match task.program {
            Program::Fio(_) => reported_by_fio(&output.stdout, task.operation.direction()),
            _ => reported_by_dd(&String::from_utf8_lossy(&output.stderr)),
        };
        let Reported { bytes, inside_ns, calls_ns } = reported.ok_or_else(|| {
            Fault::Unsupported(format!("{} prints its time in an unknown format", task.name()))
        })?;
        if task.operation != Operation::Read {
            self.testbed.count_written(bytes);
        }
        let proof = Proof::of(task.state, cached);
        Ok(Sample { round, bytes, inside_ns, calls_ns, outside_ns: Some(outside_ns), proof })
    }

    fn rate(sample: &Sample) -> Option<f64> {
        (sample.proof != Proof::Refuted).then(|| sample.bytes as f64 / sample.inside_ns * 1e9)
    }
}

/// One pass over the whole file, as a job.
fn pass(operation: Operation, file_bytes: u64, block_bytes: u64, state: State) -> Job {
    Job {
        filename: Some("versus".to_owned()),
        read_percent: if operation == Operation::Read { 100 } else { 0 },
        blocks: [Blocks::fixed(block_bytes); DIRECTIONS],
        size: Some(file_bytes),
        invalidate: state == State::Cold,
        pre_read: state == State::Cached,
        // dd gives no hint, so no program does.
        fadvise_hint: false,
        ..Job::named("versus")
    }
}

impl Task {
    fn job(&self, file_bytes: u64) -> Job {
        pass(self.operation, file_bytes, self.block_bytes, self.state)
    }

    fn name(&self) -> &'static str {
        match self.program {
            Program::Fathom => "fathom",
            Program::Dd(_) => "dd",
            Program::Fio(_) => "fio",
        }
    }

    fn title(&self) -> String {
        match &self.program {
            Program::Fathom => format!("fathom {}", env!("CARGO_PKG_VERSION")),
            Program::Dd(version) => version.clone(),
            Program::Fio(version) => version.replace("fio-", "fio "),
        }
    }

    fn arguments(&self, path: &str, file_bytes: u64) -> Vec<String> {
        match self.program {
            Program::Fathom => vec![format!("p{} in this process", self.operation.direction().name())],
            Program::Dd(_) if self.operation == Operation::Read => {
                vec![format!("if={path}"), "of=/dev/null".to_owned(), format!("bs={}", self.block_bytes)]
            }
            Program::Dd(_) => vec![
                "if=/dev/zero".to_owned(),
                format!("of={path}"),
                "conv=notrunc".to_owned(),
                format!("bs={}", self.block_bytes),
                format!("count={}", file_bytes / self.block_bytes),
            ],
            Program::Fio(_) => fio_arguments(&self.job(file_bytes), path),
        }
    }

    fn command(&self, path: &Path, file_bytes: u64) -> Command {
        let mut command = Command::new(self.name());
        // Numbers with a decimal point, and words as they are known here.
        command.env("LC_ALL", "C").args(self.arguments(&path.to_string_lossy(), file_bytes));
        command
    }
}

/// What a program says of its reading.
#[derive(Debug, PartialEq)]
struct Reported {
    bytes: u64,
    inside_ns: f64,
    calls_ns: Option<f64>,
}

/// dd's last line: `67108864 bytes (67 MB, 64 MiB) copied, 0.0123 s, 5.4 GB/s`.
fn reported_by_dd(text: &str) -> Option<Reported> {
    let line = text.lines().find(|line| line.contains(" copied, "))?;
    let bytes = line.split(' ').next()?.parse().ok()?;
    let seconds: f64 = line.split(" copied, ").nth(1)?.split(' ').next()?.parse().ok()?;
    (seconds > 0.0).then_some(Reported { bytes, inside_ns: seconds * 1e9, calls_ns: None })
}

/// Of fio's JSON. Its runtime is rounded up to whole ms, so half of one is taken off; the mean latency times
/// the number of calls is exact, and leaves out what fio does between them.
fn reported_by_fio(text: &[u8], direction: Direction) -> Option<Reported> {
    let reported = program::FioReport::of(text).ok()?;
    let calls = reported.calls_ns(direction, "lat_ns")?;
    let inside_ns = reported.runtime_ns(direction)? - 0.5e6;
    let bytes = reported.bytes(direction)?;
    (inside_ns > 0.0).then_some(Reported { bytes, inside_ns, calls_ns: Some(calls) })
}

fn entry(
    task: &Task,
    series: &Series<Sample>,
    tasks: &[Task],
    all: &[Series<Sample>],
    file_bytes: u64,
) -> (Entry, Option<String>) {
    let same = |other: &Task| Task { program: task.program.clone(), ..other.clone() } == *task;
    let fathom = tasks.iter().position(|other| other.program == Program::Fathom && same(other));
    let against = |rate: &dyn Fn(&Sample) -> Option<f64>| {
        let index = fathom.filter(|_| task.program != Program::Fathom)?;
        median_of_ratios(&series.samples, &all[index].samples, |sample| sample.round, rate)
    };
    let call_rate = |sample: &Sample| {
        let calls = sample.calls_ns.filter(|_| sample.proof != Proof::Refuted)?;
        Some(sample.bytes as f64 / calls)
    };
    let around: Vec<f64> = series
        .samples
        .iter()
        .filter_map(|sample| sample.outside_ns.map(|outside| outside - sample.inside_ns))
        .collect();
    let file = PathBuf::from("FILE");
    let words = task.arguments(&file.to_string_lossy(), file_bytes).join(" ");
    let entry = Entry {
        program: task.title(),
        command: format!("{} {words}", task.name()),
        operation: task.operation,
        block_bytes: task.block_bytes,
        state: task.state,
        bytes_per_second: series.median,
        bytes_per_second_interval: series.interval,
        rate_over_fathoms: against(&Programs::rate),
        call_rate_over_fathoms: against(&call_rate),
        around_ns: quantile::median(&around),
        is_settled: series.is_settled,
        samples: series.samples.clone(),
    };
    (entry, series.refusal.clone())
}

/// The median of the ratios within rounds, with its interval: what slows the machine for a while slows both.
pub(super) fn median_of_ratios<S>(
    mine: &[S],
    others: &[S],
    round: fn(&S) -> u32,
    rate: &dyn Fn(&S) -> Option<f64>,
) -> Option<[f64; 3]> {
    let of = |sample: &S| {
        let other = others.iter().find(|other| round(other) == round(sample))?;
        Some(rate(sample)? / rate(other)?)
    };
    let ratios: Vec<f64> = mine.iter().filter_map(of).collect();
    let estimate = median_interval(&ratios, LEVEL)?;
    Some([estimate.value, estimate.interval.low, estimate.interval.high])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_tell_is_understood() {
        let dd = "1024+0 records in\n1024+0 records out\n67108864 bytes (67 MB, 64 MiB) copied, 0.0123456 s, 5.4 GB/s\n";
        let reported = reported_by_dd(dd).unwrap();
        assert!(reported.bytes == 67_108_864 && (reported.inside_ns - 12_345_600.0).abs() < 1.0);
        assert_eq!(reported_by_dd("dd: failed to open 'x': No such file or directory\n"), None);
        let fio = br#"note: both iodepth >= 1 and synchronous I/O engine are selected
{"jobs": [{"read": {"io_bytes": 4096, "runtime": 3, "lat_ns": {"mean": 1500.5, "N": 4}}}]}"#;
        let reported = Reported { bytes: 4096, inside_ns: 2.5e6, calls_ns: Some(6002.0) };
        assert_eq!(reported_by_fio(fio, Direction::Read), Some(reported));
        assert_eq!(
            (reported_by_fio(fio, Direction::Write), reported_by_fio(b"{}", Direction::Read)),
            (None, None)
        );
    }

    #[test]
    fn what_is_not_installed_is_missing_by_name() {
        let works = [State::Cached, State::Cold].map(|state| (Operation::Read, state));
        let (tasks, missing) = programs(&[4096, 65536], &works);
        assert_eq!(tasks.len(), (3 - missing.len()) * 4);
    }

    #[test]
    fn writes_beyond_the_budget_are_named_and_reads_stay() {
        let works = [(Operation::Read, State::Cached), (Operation::Overwrite, State::Cached)];
        let (tasks, _) = programs(&[4096], &works);
        let programs = tasks.len() as u64 / 2;
        let wanted = (1 << 20) * (programs * u64::from(rounds::FEWEST_ROUNDS) + 1);
        assert_eq!(affordable(tasks.clone(), 1 << 20, wanted), (tasks.clone(), vec![]));
        let (left, refused) = affordable(tasks, 1 << 20, wanted - 1);
        assert!(left.iter().all(|task| task.operation == Operation::Read) && left.len() as u64 == programs);
        assert!(refused[0].reason.contains(&format!("raise --max-write to {}MiB", wanted >> 20)));
    }
}
