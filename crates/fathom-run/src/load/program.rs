//! fio does what a job says, on the files of a testbed and from the state that a run begins with.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Testbed;
use crate::fault::Fault;
use fathom_program::job::{
    Blocks, Course, Depth, Direction, Engine, EngineOptions, Job, Order, Pattern, Placement,
};

/// The first line that a program prints about its version; none if it can't be run.
pub fn version(program: &str) -> Option<String> {
    let output =
        Command::new(program).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().unwrap_or(program).to_owned())
}

/// Whether fio makes the same calls for a job as [`run`](super::run), and reports the time of each.
pub fn is_same_in_fio(job: &Job) -> bool {
    let is_fixed = |blocks: Blocks| blocks.least == blocks.most;
    // A file is dropped from the cache between passes by fio's own rules, and fdatasync(2) is not in its times.
    let drops_again = job.invalidate && !job.pre_read && job.loops() != Ok(false);
    let is_timed = job.time_based || !job.ramp_time.is_zero() || !job.thinktime.is_zero();
    let course = &job.course;
    let plain_course = Course {
        loops: course.loops.min(1),
        new_group: course.new_group,
        exitall_on_error: course.exitall_on_error,
        ..Course::default()
    };
    let is_plain = job.order == Order::default()
        && job.course == plain_course
        && job.placement == Placement::default()
        && !super::steer::is_steered(job)
        && !job.durability.on_close
        && !job.files.create_only;
    is_plain
        && job.numjobs == 1
        && job.engine != Engine::Mmap
        && job.engine_options == EngineOptions::default()
        && job.directions().all(|direction| is_fixed(job.blocks[direction as usize]))
        && !job.is_paced()
        && job.fdatasync == 0
        && !drops_again
        && !is_timed
}

/// The arguments with which fio runs a job on an existing file. The job is one of which [`is_same_in_fio`] holds; fio leaves the
/// state of the cache as it is.
pub fn fio_arguments(job: &Job, path: &str) -> Vec<String> {
    let [read, write] = job.blocks.map(|blocks| blocks.least);
    let mut arguments = vec![
        format!("--name={}", job.name),
        format!("--filename={}", path.replace(':', "\\:")),
        format!("--rw={}", order(job, job.read_percent)),
        "--allow_file_create=0".to_owned(),
        format!("--ioengine={}", job.engine.name()),
        format!("--bs={}", if read == write { read.to_string() } else { format!("{read},{write}") }),
    ];
    let sizes = [("size", job.size), ("filesize", job.filesize), ("io_size", job.io_size)];
    arguments.extend(sizes.iter().filter_map(|(name, size)| size.map(|size| format!("--{name}={size}"))));
    let others = [
        ("offset", job.offset),
        ("fsync", u64::from(job.fsync)),
        ("end_fsync", u64::from(job.end_fsync)),
        ("direct", u64::from(job.direct)),
        ("norandommap", u64::from(!job.random_map && job.pattern == Pattern::Random)),
    ];
    arguments.extend(others.iter().filter(|one| one.1 > 0).map(|(name, value)| format!("--{name}={value}")));
    if !matches!(job.read_percent, 0 | 100) {
        arguments.push(format!("--rwmixread={}", job.read_percent));
    }
    if job.engine.is_asynchronous() {
        let Depth { most, submit, reap_least, reap_most, low, .. } = job.depth;
        arguments.extend([format!("--iodepth={most}"), format!("--iodepth_batch={submit}")]);
        arguments.push(format!("--iodepth_batch_complete_min={reap_least}"));
        let others = [("iodepth_batch_complete_max", reap_most), ("iodepth_low", low)];
        arguments
            .extend(others.iter().filter(|one| one.1 > 0).map(|(name, value)| format!("--{name}={value}")));
    }
    if !job.runtime.is_zero() {
        arguments.push(format!("--runtime={}us", job.runtime.as_micros()));
    }
    arguments.push("--invalidate=0".to_owned());
    arguments.push(format!("--fadvise_hint={}", u8::from(job.fadvise_hint)));
    arguments.extend(REPORT.map(str::to_owned));
    arguments
}

/// The order and the directions, in fio's words.
fn order(job: &Job, read_percent: u8) -> &'static str {
    match (job.pattern, read_percent) {
        (Pattern::Sequential, 100) => "read",
        (Pattern::Sequential, 0) => "write",
        (Pattern::Sequential, _) => "rw",
        (Pattern::Random, 100) => "randread",
        (Pattern::Random, 0) => "randwrite",
        (Pattern::Random, _) => "randrw",
    }
}

/// How fio is asked to tell. By itself it has percentiles of the time after the submission alone, in which an engine may wait.
const REPORT: [&str; 2] = ["--output-format=json", "--lat_percentiles=1"];

/// What fio reports of the one job that it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct FioReport(Value);

impl FioReport {
    /// Reads fio's JSON, which may follow its remarks.
    ///
    /// # Errors
    /// Anything else.
    pub fn of(text: &[u8]) -> Result<Self, Fault> {
        let start = text.iter().position(|&byte| byte == b'{').unwrap_or(0);
        let report = serde_json::from_slice(&text[start..]);
        let job = report.ok().and_then(|mut report: Value| Some(report.pointer_mut("/jobs/0")?.take()));
        job.map(Self)
            .ok_or_else(|| Fault::Unsupported("fio prints its results in an unknown format".to_owned()))
    }

    /// Bytes that were read or written.
    pub fn bytes(&self, direction: Direction) -> Option<u64> {
        self.0[direction.name()]["io_bytes"].as_u64()
    }

    /// How long reading or writing took, in ns; fio rounds up to whole ms.
    pub fn runtime_ns(&self, direction: Direction) -> Option<f64> {
        Some(self.0[direction.name()]["runtime"].as_f64()? * 1e6)
    }

    /// Bytes per second in one direction, as fio prints them.
    pub fn bytes_per_second(&self, direction: Direction) -> f64 {
        self.0[direction.name()]["bw_bytes"].as_f64().unwrap_or(0.0)
    }

    /// Transfers per second in both directions, as fio prints them.
    pub fn iops(&self) -> f64 {
        let of = |direction: Direction| self.0[direction.name()]["iops"].as_f64().unwrap_or(0.0);
        of(Direction::Read) + of(Direction::Write)
    }

    /// The 99th percentile of the latencies, in ns, of the direction that has more transfers.
    pub fn p99_ns(&self) -> Option<f64> {
        self.latency_ns(0.99)
    }

    /// The latency from submission on that a share of the transfers does not exceed, in ns, of the direction that has more
    /// transfers; none if fio does not report that percentile.
    pub fn latency_ns(&self, share: f64) -> Option<f64> {
        let calls = |direction: &Direction| self.0[direction.name()]["total_ios"].as_u64();
        let most = [Direction::Read, Direction::Write].into_iter().max_by_key(calls)?;
        let percentiles = &self.0[most.name()]["lat_ns"]["percentile"];
        percentiles[format!("{:.6}", share * 100.0)].as_f64()
    }

    /// The sum of the times of a direction's calls, in ns. `which` is `clat_ns`, the call alone, or `lat_ns`, with what fio does
    /// before it.
    pub fn calls_ns(&self, direction: Direction, which: &str) -> Option<f64> {
        sum_ns(&self.0[direction.name()][which])
    }

    /// The sum of the times of all syncs but the last one of `end_fsync`, in ns.
    pub fn syncs_ns(&self) -> Option<f64> {
        sum_ns(&self.0["sync"]["lat_ns"])
    }
}

fn sum_ns(times: &Value) -> Option<f64> {
    Some(times["mean"].as_f64()? * times["N"].as_f64()?)
}

/// Runs a job by fio. It is one of which [`is_same_in_fio`] holds, and runs on the file and from the state of the cache that
/// [`run`](super::run) would take. fio is ended with the time allowed and by an interrupt.
///
/// # Errors
/// Those of [`run`](super::run); that fio can't be run, or fails.
pub fn run_fio(job: &Job, testbed: &mut Testbed) -> Result<FioReport, Fault> {
    testbed.lay_out(std::slice::from_ref(job))?;
    // A runtime may end the writing earlier, and need not.
    let transferred = job.transfer().map_err(Fault::Unsupported)?.unwrap_or(0);
    let wanted = if job.does(Direction::Write) { transferred } else { 0 };
    Fault::unless_affordable(wanted, testbed.write_budget())?;
    testbed.ready(job)?;
    let path = testbed.path(job, 0);
    let mut command = Command::new("fio");
    // One process, which is gone when it is killed: others leave its group. The buffer begins with a page, as here.
    command.args(fio_arguments(job, &path.to_string_lossy())).args(["--thread", "--mem=mmap"]);
    if job.read_percent == 100 {
        // fio touches its buffer beforehand where it may write; a first touch takes longer than a copy.
        command.args([format!("--rw={}", order(job, 50)), "--rwmixread=100".to_owned()]);
    }
    let report = finish(&mut command, &path, testbed).and_then(|said| FioReport::of(&said));
    // However it ended, so much may have been written.
    let written = report.as_ref().ok().and_then(|report| report.bytes(Direction::Write)).unwrap_or(wanted);
    testbed.count_written(written);
    report
}

/// Runs a job by fio from its options, as [`words_of`](fathom_program::job::words_of) gives them, on the files and from the state
/// of the cache that [`run`](super::run) would take; all threads of the job are reported as one.
///
/// # Errors
/// As [`run_fio`].
pub fn run_as_written(words: &[String], job: &Job, testbed: &mut Testbed) -> Result<FioReport, Fault> {
    testbed.lay_out(std::slice::from_ref(job))?;
    let left = testbed.write_budget();
    if left == 0 && job.does(Direction::Write) {
        return Err(Fault::OverBudget { wanted: 1, left });
    }
    testbed.ready(job)?;
    let (path, names) = (testbed.path(job, 0), job.file_names(0));
    let directory = path.parent().unwrap_or(Path::new("/")).to_string_lossy().replace(':', "\\:");
    let mut command = Command::new("fio");
    command.args(words).arg(format!("--directory={directory}"));
    command.args(job.size.map(|size| format!("--size={size}")));
    command.arg(match job.filename.is_none() && job.files.scratch.len() <= 1 {
        true => format!("--filename_format={}", job.own_format()),
        false => format!("--filename={}", names.join(":")),
    });
    command.args(["--group_reporting", "--thread", "--eta=never"]).args(REPORT);
    let report = FioReport::of(&finish(&mut command, &path, testbed)?)?;
    // What the engine 'null' writes goes nowhere.
    let written = report.bytes(Direction::Write).filter(|_| job.engine.has_files());
    testbed.count_written(written.unwrap_or(0));
    Ok(report)
}

/// Runs fio to its end, in the directory of the job's file; gives what it printed.
fn finish(command: &mut Command, file: &Path, testbed: &Testbed) -> Result<Vec<u8>, Fault> {
    let failed = |why: String| Fault::Unsupported(format!("fio {why}"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).env("LC_ALL", "C");
    command.current_dir(file.parent().unwrap_or(Path::new("/")));
    let mut child = command.spawn().map_err(|error| failed(format!("can't be run: {error}")))?;
    let (said, complaints) = (all_of(child.stdout.take()), all_of(child.stderr.take()));
    let status = wait(&mut child, testbed)?;
    let complaints = text_of(complaints);
    if !status.success() {
        let why = String::from_utf8_lossy(&complaints);
        return Err(failed(format!("failed: {}", why.lines().next().unwrap_or("it does not say why"))));
    }
    Ok(text_of(said))
}

/// Reads a stream to its end on a thread of its own, so that the program never waits for a full pipe.
fn all_of(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut text = Vec::new();
        stream.map_or(Ok(0), |mut stream| stream.read_to_end(&mut text)).map(|_| text)
    })
}

/// What could not be read is what was not said.
fn text_of(reader: thread::JoinHandle<io::Result<Vec<u8>>>) -> Vec<u8> {
    reader.join().ok().and_then(Result::ok).unwrap_or_default()
}

/// Waits for the end of a child, and ends it when it is time to stop. One that hangs in the kernel is left behind.
fn wait(child: &mut Child, testbed: &Testbed) -> Result<ExitStatus, Fault> {
    const PATIENCE: Duration = Duration::from_secs(1);
    let mut killed: Option<(Fault, Instant)> = None;
    loop {
        let ended =
            child.try_wait().map_err(|error| Fault::Unsupported(format!("can't wait for fio: {error}")))?;
        match (ended, &killed) {
            (Some(status), None) => return Ok(status),
            (Some(_), Some((fault, _))) => return Err(fault.clone()),
            (None, Some((fault, when))) if when.elapsed() > PATIENCE => return Err(fault.clone()),
            _ => {}
        }
        if let (Err(fault), None) = (Fault::if_stopped(testbed.interrupt(), testbed.deadline()), &killed) {
            // It may have ended by itself meanwhile.
            let _ = child.kill();
            killed = Some((fault, Instant::now()));
        }
        // Rarely enough not to be felt by what is timed.
        thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fio_tells_is_understood() {
        let text = br#"note: both iodepth >= 1 and synchronous I/O engine are selected
{"jobs": [{"read": {"io_bytes": 4096, "runtime": 3, "lat_ns": {"mean": 1500.5, "N": 4}, "clat_ns": {"mean": 1000, "N": 4}},
"sync": {"lat_ns": {"mean": 2.5, "N": 2}}}]}"#;
        let report = FioReport::of(text).unwrap();
        assert_eq!(
            (report.bytes(Direction::Read), report.runtime_ns(Direction::Read)),
            (Some(4096), Some(3e6))
        );
        assert_eq!(report.calls_ns(Direction::Read, "lat_ns"), Some(6002.0));
        assert_eq!(report.calls_ns(Direction::Read, "clat_ns"), Some(4000.0));
        assert_eq!((report.syncs_ns(), report.bytes(Direction::Write)), (Some(5.0), None));
        assert!(FioReport::of(b"{}").is_err() && FioReport::of(b"fio: no such job\n").is_err());
    }

    #[test]
    fn what_is_not_installed_is_missing() {
        assert_eq!(version("no-such-program-anywhere"), None);
    }

    #[test]
    fn what_fio_does_in_another_way_is_not_the_same() {
        let plain = Job { size: Some(1 << 20), ..Job::named("plain") };
        assert!(is_same_in_fio(&plain));
        let others = [
            Job { numjobs: 2, ..plain.clone() },
            Job { engine: Engine::Mmap, ..plain.clone() },
            Job { blocks: [Blocks { least: 512, most: 4096 }; 2], ..plain.clone() },
            Job { rate: [1 << 20, 0], ..plain.clone() },
            Job { fdatasync: 1, ..plain.clone() },
            Job { io_size: Some(2 << 20), ..plain.clone() },
            Job { thinktime: Duration::from_millis(1), ..plain },
        ];
        assert!(!others.iter().any(is_same_in_fio));
    }
}
