//! Records what a program and all that comes of it ask of files.
//!
//! As root the kernel records every call on files, entered and left, in a private instance of tracefs, and hands
//! its buffers over as bytes. The kernel does not say what paths opens name: strace does, which stops the program
//! at opens alone (`--seccomp-bpf`). Both tell each thread's opens in their order, by which they are put together.
//! Without root, or of a process that runs already, strace tells everything, at its price.

mod kernel;
mod ring;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fathom_sys::call_number::FILE_CALLS;
use fathom_sys::tracing::{CALL_ENTERED, CALL_LEFT, THREAD_MADE, Trace};
use serde::Serialize;

use self::kernel::{Layouts, Maker, Paths};
use crate::calls::Processes;
use crate::error::{Error, Result};
use crate::format::{Writer, create};
use crate::import::{self, Format};
use crate::operation::{Clock, FileId, Files, Kind, Level, Operation, Origin};

/// What each CPU may hold until it is read: more than a second of 200,000 calls.
const BUFFER_KIB: u32 = 48 << 10;
/// How long a reader waits for events.
const PAUSE: Duration = Duration::from_millis(2);

/// Who records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The kernel's tracer, and strace for paths; as root.
    Kernel,
    /// strace alone.
    Strace,
}

/// What is recorded.
#[derive(Debug, Clone)]
pub enum Subject {
    /// A command, from its first instruction to its end, and all that comes of it.
    Command(Vec<OsString>),
    /// A process that runs, until it ends or the recording is interrupted.
    Process(u32),
}

/// What a recording came to.
#[derive(Debug, Clone, Serialize)]
pub struct Recorded {
    /// Who recorded.
    pub method: Method,
    /// Operations on files.
    pub operations: u64,
    /// Events that found no room. Where there are any, operations are missing.
    pub lost: u64,
    /// Opens whose path could not be told; what went through them is missing.
    pub unnamed: u64,
    /// How long the command ran, in ns.
    pub ran_ns: u64,
    /// What the command ended with; none where a signal ended it.
    pub exit_code: Option<i32>,
}

/// Records `subject` into a new trace at `out`; by the kernel where that can be, unless told otherwise.
///
/// # Errors
/// The trace can't be written, strace is missing or may not trace, or the kernel's tracer was asked for and
/// can't be had.
pub fn record(subject: &Subject, out: &Path, method: Option<Method>) -> Result<Recorded> {
    let Subject::Command(command) = subject else { return by_strace(subject, out) };
    if method == Some(Method::Strace) {
        return by_strace(subject, out);
    }
    match prepare() {
        Ok(trace) => by_kernel(&trace, command, out),
        Err(error) if method == Some(Method::Kernel) => Err(Error::new("record", out, error)),
        Err(_) => by_strace(subject, out),
    }
}

fn prepare() -> fathom_sys::Result<Trace> {
    let numbers: Vec<String> = FILE_CALLS.iter().map(|(_, number)| format!("id == {number}")).collect();
    let filter = numbers.join(" || ");
    Trace::prepare(
        &[(CALL_ENTERED, Some(&filter)), (CALL_LEFT, Some(&filter)), (THREAD_MADE, None)],
        BUFFER_KIB,
    )
}

/// strace's log, which goes when its owner does.
struct Log(PathBuf);

impl Log {
    fn beside(out: &Path) -> Self {
        let mut name = out.as_os_str().to_owned();
        name.push(format!(".strace-{}", std::process::id()));
        Self(name.into())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The calls that strace is to tell of: `?` where not every architecture has one.
fn traced(names: impl Iterator<Item = &'static str>) -> String {
    format!("trace={}", names.map(|name| format!("?{name}")).collect::<Vec<_>>().join(","))
}

fn strace(log: &Log, calls: &str) -> Command {
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-q", "-y", "-ttt", "-T", "-s", "0", "-e", calls, "-e", "signal=none", "-o"])
        .arg(&log.0);
    strace
}

/// Runs strace to its end; gives what it ended with, which is what the traced command ended with.
fn wait(mut strace: Command, out: &Path) -> Result<ExitStatus> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            Error::new("record", out, "strace is not installed, which tells paths; install it")
        }
        _ => Error::new("record", out, format!("strace does not start: {error}")),
    };
    strace.spawn().map_err(failed)?.wait().map_err(failed)
}

/// Half a trace is none.
fn whole<T>(recorded: Result<T>, out: &Path) -> Result<T> {
    if recorded.is_err() {
        let _ = fs::remove_file(out);
    }
    recorded
}

fn by_strace(subject: &Subject, out: &Path) -> Result<Recorded> {
    let origin = Origin { level: Level::File, clock: Clock::Unix, source: "strace".to_owned() };
    let writer = create(out, &origin)?;
    whole(strace_tells(subject, writer, out), out)
}

fn strace_tells(subject: &Subject, mut writer: Writer<File>, out: &Path) -> Result<Recorded> {
    let log = Log::beside(out);
    let forks = ["clone", "clone3", "fork", "vfork"];
    let mut command = strace(&log, &traced(FILE_CALLS.iter().map(|call| call.0).chain(forks)));
    match subject {
        Subject::Command(words) => command.arg("--").args(words),
        Subject::Process(process) => command.args(["-p", &process.to_string()]).stdin(Stdio::null()),
    };
    let start = Instant::now();
    let status = wait(command, out)?;
    let ran_ns = start.elapsed().as_nanos() as u64;
    let told = File::open(&log.0).map_err(|error| Error::new("read strace's log for", out, error))?;
    let imported = import::read(told, Format::Strace, |operations, files| {
        writer.add(operations, files).map_err(io::Error::other)
    });
    let imported = imported.map_err(|error| Error::new("record", out, error))?;
    writer.finish()?;
    if imported.bytes == 0 {
        return Err(Error::new("record", out, "strace told nothing: it may not trace here"));
    }
    let (operations, lost) = (imported.operations, imported.rejected.count);
    Ok(Recorded { method: Method::Strace, operations, lost, unnamed: 0, ran_ns, exit_code: status.code() })
}

fn by_kernel(trace: &Trace, words: &[OsString], out: &Path) -> Result<Recorded> {
    let origin = Origin { level: Level::File, clock: Clock::Source, source: "kernel".to_owned() };
    let writer = create(out, &origin)?;
    whole(kernel_tells(trace, words, writer, out), out)
}

fn kernel_tells(trace: &Trace, words: &[OsString], mut writer: Writer<File>, out: &Path) -> Result<Recorded> {
    let failed = |error: &dyn std::fmt::Display| Error::new("record", out, error);
    let of_kernel = |error: fathom_sys::Error| failed(&error);
    let formats = [CALL_ENTERED, CALL_LEFT, THREAD_MADE].map(|point| trace.format(point));
    let [entered, left, made] = formats;
    let layouts =
        Layouts::new(&entered.map_err(of_kernel)?, &left.map_err(of_kernel)?, &made.map_err(of_kernel)?);
    let layouts =
        layouts.ok_or_else(|| failed(&"this kernel describes its events in a way that is not known"))?;
    let sub_buffer = trace.sub_buffer_bytes().map_err(of_kernel)?;
    let log = Log::beside(out);
    let mut command = strace(&log, &traced(PATHS.into_iter()));
    command.arg("--seccomp-bpf").arg("--").args(words);

    let (kept, status, ran_ns) = run(trace, command, sub_buffer, out)?;
    let lost = trace.lost().map_err(of_kernel)?;
    let mut files = Files::default();
    let (root, paths) = told(&log, &mut files).map_err(|error| failed(&error))?;
    let mut maker = maker(layouts, root, paths, &mut files);
    let mut count = 0;
    let mut batch = Vec::new();
    let missed = maker.run(kept, sub_buffer, |operation, files| {
        count += 1;
        batch.push(*operation);
        if batch.len() < 4096 { Ok(()) } else { add(&mut writer, &mut batch, files) }
    });
    let missed = missed.map_err(|error| failed(&error))?;
    let unnamed = maker.unnamed;
    add(&mut writer, &mut batch, &files).map_err(|error| failed(&error))?;
    writer.finish()?;
    let lost = lost.max(missed);
    Ok(Recorded {
        method: Method::Kernel,
        operations: count,
        lost,
        unnamed,
        ran_ns,
        exit_code: status.code(),
    })
}

/// Runs the command to its end; gives what each CPU has recorded, what the command came to, and how long it took.
fn run(
    trace: &Trace,
    command: Command,
    sub_buffer: usize,
    out: &Path,
) -> Result<(Vec<File>, ExitStatus, u64)> {
    let failed = |error: &dyn std::fmt::Display| Error::new("record", out, error);
    let buffers = trace.raw_buffers().map_err(|error| failed(&error))?;
    let kept = (0..buffers.len()).map(|cpu| anonymous(out, cpu)).collect::<Result<Vec<File>>>()?;
    let done = AtomicBool::new(false);
    let (status, ran_ns) = thread::scope(|scope| {
        // They must run before this thread's children are recorded, and would otherwise record themselves.
        let readers: Vec<_> = buffers
            .into_iter()
            .zip(&kept)
            .map(|(buffer, kept)| {
                let done = &done;
                scope.spawn(move || keep(buffer, kept, sub_buffer, done))
            })
            .collect();
        let start = Instant::now();
        let begun = trace.of_this_thread_and_its_children().map_err(|error| failed(&error));
        let ended = begun.and_then(|()| wait(command, out));
        let ran_ns = start.elapsed().as_nanos() as u64;
        let stopped = trace.stop();
        done.store(true, Ordering::Release);
        for reader in readers {
            let kept = reader.join().unwrap_or_else(|_| Err(io::Error::other("its reader died")));
            kept.map_err(|error| failed(&format!("reading the kernel's buffer: {error}")))?;
        }
        stopped.map_err(|error| failed(&error))?;
        Ok::<_, Error>((ended?, ran_ns))
    })?;
    Ok((kept, status, ran_ns))
}

/// What strace tells beside the kernel: paths, and when the program begins.
const PATHS: [&str; 7] = ["open", "openat", "openat2", "creat", "truncate", "execve", "execveat"];

fn add(writer: &mut Writer<File>, batch: &mut Vec<Operation>, files: &Files) -> io::Result<()> {
    let added = writer.add(batch, files).map_err(io::Error::other);
    batch.clear();
    added
}

fn maker<'a>(layouts: Layouts, root: u32, paths: Paths, files: &'a mut Files) -> Maker<'a> {
    let mut processes = Processes::default();
    inherited(root, &mut processes, files);
    let number = |call: &(&'static str, i64)| (call.1.cast_unsigned(), call.0);
    Maker {
        layouts,
        calls: FILE_CALLS.iter().map(number).collect(),
        processes,
        paths,
        root,
        has_begun: false,
        entered: rustc_hash::FxHashMap::default(),
        files,
        unnamed: 0,
    }
}

/// A file without a name, beside `out`, one per CPU.
fn anonymous(out: &Path, cpu: usize) -> Result<File> {
    let mut name = out.as_os_str().to_owned();
    name.push(format!(".events-{}-{cpu}", std::process::id()));
    let made = File::options().read(true).write(true).create_new(true).open(&name);
    let file = made.map_err(|error| Error::new("create", Path::new(&name), error))?;
    fs::remove_file(&name).map_err(|error| Error::new("remove", Path::new(&name), error))?;
    Ok(file)
}

/// Keeps a CPU's buffer until the recording is done and nothing is left of it.
fn keep(mut buffer: File, mut kept: &File, sub_buffer: usize, done: &AtomicBool) -> io::Result<()> {
    let mut page = vec![0; sub_buffer];
    loop {
        let was_done = done.load(Ordering::Acquire);
        match buffer.read(&mut page) {
            Ok(count) if count > 0 => {
                page[count..].fill(0);
                kept.write_all(&page)?;
            }
            Ok(_) if was_done => return Ok(()),
            Ok(_) => thread::sleep(PAUSE),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if was_done {
                    return Ok(());
                }
                thread::sleep(PAUSE);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// What strace told: the program's first thread, and each thread's opens.
fn told(log: &Log, files: &mut Files) -> io::Result<(u32, Paths)> {
    let mut first = String::new();
    BufReader::new(File::open(&log.0)?).read_line(&mut first)?;
    let root = first.split(' ').next().and_then(|word| word.parse().ok());
    let root = root.ok_or_else(|| io::Error::other("strace told nothing: it may not trace here"))?;
    let mut paths = Paths::default();
    import::read(File::open(&log.0)?, Format::Strace, |operations, told| {
        for one in operations.iter().filter(|one| matches!(one.kind, Kind::Open | Kind::Truncate)) {
            let file: FileId = files.id(told.path(one.file));
            paths.entry(one.thread).or_default().push_back((one.kind, file, one.flags, one.result));
        }
        Ok::<(), io::Error>(())
    })?;
    Ok((root, paths))
}

/// The standard streams, where they are files: the program gets ours.
fn inherited(root: u32, processes: &mut Processes, files: &mut Files) {
    for descriptor in 0..3 {
        let Ok(path) = fs::read_link(format!("/proc/self/fd/{descriptor}")) else { continue };
        if !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let information = fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).unwrap_or_default();
        let value = |key: &str| information.lines().find_map(|line| line.strip_prefix(key).map(str::trim));
        let position = value("pos:").and_then(|position| position.parse().ok()).unwrap_or(0);
        let flags = value("flags:").and_then(|flags| u32::from_str_radix(flags, 8).ok()).unwrap_or(0);
        let file = files.id(path.as_os_str().as_encoded_bytes());
        processes.inherit(root, descriptor, file, position, flags);
    }
}
