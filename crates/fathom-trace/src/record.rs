//! Records what a program and all that comes of it ask of files.
//!
//! As root the kernel records every call on files, entered and left, in a private instance of tracefs, and hands
//! its buffers over as bytes. The kernel does not say what paths opens name: strace does, which stops the program
//! at opens alone (`--seccomp-bpf`). Both tell each thread's opens in their order, by which they are put together.
//! A process that runs already is not stopped at all: /proc says what its descriptors mean. Without root strace
//! records everything, and slows the program down.

mod events;
mod kernel;
mod ring;
mod running;

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
use serde::{Deserialize, Serialize};

use self::events::Layouts;
use self::kernel::{Maker, Names, Paths, TracedCall};
use self::running::{Found, Look, Seen, Watch, follow, look};
use crate::calls::Processes;
use crate::error::{Error, Result};
use crate::format::{Writer, create};
use crate::import;
use crate::operation::{CallKind, Clock, Files, Level, Operation, Origin};

/// What each CPU may hold until it is read: more than a second of 200,000 calls.
const BUFFER_KIB: u32 = 48 << 10;
/// How long a reader waits for events.
const PAUSE: Duration = Duration::from_millis(2);

/// Who records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// A process that runs, until it and all that came of it meanwhile have ended, or the recording is interrupted.
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
    /// Calls whose path could not be determined; they are missing, and so is what went through what they opened.
    pub unnamed: u64,
    /// How long the command ran, or the process was recorded, in ns.
    pub ran_ns: u64,
    /// What the command ended with; none where a signal ended it, and of a process that ran already.
    pub exit_code: Option<i32>,
}

/// Records `subject` into a new trace at `out`; by the kernel where that can be, unless told otherwise. `interrupt`
/// ends what the kernel records of a process; a command and strace take their signals themselves.
///
/// # Errors
/// The trace can't be written, strace is missing or may not trace, there is no such process, or the kernel's tracer
/// was asked for and can't be had.
pub fn record(
    subject: &Subject,
    out: &Path,
    method: Option<Method>,
    interrupt: &AtomicBool,
) -> Result<Recorded> {
    if method == Some(Method::Strace) {
        return by_strace(subject, out);
    }
    match prepare() {
        Ok(trace) => by_kernel(&trace, subject, out, interrupt),
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

/// strace's log, a file that is removed when this is dropped.
struct Log(PathBuf);

impl Log {
    fn next_to(out: &Path) -> Self {
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
        io::ErrorKind::NotFound => Error::new(
            "record",
            out,
            "strace is not installed, and the names of files come from it: install it",
        ),
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
    let log = Log::next_to(out);
    let mut command = strace(&log, &traced(FILE_CALLS.iter().map(|call| call.0).chain(DIRECTORIES)));
    let directory = match subject {
        Subject::Command(_) => std::env::current_dir(),
        Subject::Process(process) => fs::read_link(format!("/proc/{process}/cwd")),
    };
    match subject {
        Subject::Command(words) => command.arg("--").args(words),
        Subject::Process(process) => command.args(["-p", &process.to_string()]).stdin(Stdio::null()),
    };
    let start = Instant::now();
    let status = wait(command, out)?;
    let ran_ns = start.elapsed().as_nanos() as u64;
    let log_file = File::open(&log.0).map_err(|error| Error::new("read strace's log for", out, error))?;
    let imported = import::read_strace(log_file, bytes(directory.ok()), |operations, files| {
        writer.add(operations, files).map_err(io::Error::other)
    });
    let imported = imported.map_err(|error| Error::new("record", out, error))?;
    writer.finish()?;
    if imported.bytes == 0 {
        return Err(Error::new("record", out, "strace wrote nothing: it may not trace here"));
    }
    let (operations, lost) = (imported.operations, imported.rejected.count);
    Ok(Recorded { method: Method::Strace, operations, lost, unnamed: 0, ran_ns, exit_code: status.code() })
}

fn by_kernel(trace: &Trace, subject: &Subject, out: &Path, interrupt: &AtomicBool) -> Result<Recorded> {
    let origin = Origin { level: Level::File, clock: Clock::Source, source: "kernel".to_owned() };
    let writer = create(out, &origin)?;
    let recorded = Recording::new(trace, out).and_then(|recording| match subject {
        Subject::Command(words) => recording.of_command(words, writer),
        Subject::Process(process) => recording.of_process(*process, writer, interrupt),
    });
    whole(recorded, out)
}

/// A recording by the kernel.
struct Recording<'a> {
    trace: &'a Trace,
    out: &'a Path,
    layouts: Layouts,
    sub_buffer: usize,
}

/// What each CPU has recorded, and how long it took.
struct Captured {
    events: Vec<File>,
    ran_ns: u64,
}

impl<'a> Recording<'a> {
    fn new(trace: &'a Trace, out: &'a Path) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| Error::new("record", out, error);
        let format = |point| trace.format(point).map_err(|error| failed(&error));
        let layouts = Layouts::new(&format(CALL_ENTERED)?, &format(CALL_LEFT)?, &format(THREAD_MADE)?);
        let layouts =
            layouts.ok_or_else(|| failed(&"this kernel describes its events in a way that is not known"))?;
        let sub_buffer = trace.sub_buffer_bytes().map_err(|error| failed(&error))?;
        Ok(Self { trace, out, layouts, sub_buffer })
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> Error {
        Error::new("record", self.out, error)
    }

    fn of_command(&self, words: &[OsString], writer: Writer<File>) -> Result<Recorded> {
        let log = Log::next_to(self.out);
        let mut command = strace(&log, &traced(PATHS.into_iter().chain(DIRECTORIES)));
        command.arg("--seccomp-bpf").arg("--").args(words);
        let inherited = inherited();
        let (kept, status) = self.run(None, || {
            self.trace.of_this_thread_and_its_children().map_err(|error| self.failed(&error))?;
            wait(command, self.out)
        })?;
        let (mut files, mut processes) = (Files::default(), Processes::default());
        let (root, paths) = read_log(&log, &mut files).map_err(|error| self.failed(&error))?;
        for (descriptor, look) in inherited {
            let file = files.id(&look.path);
            processes.inherit(root, descriptor, file, Some(look.position), look.flags);
        }
        let maker = self.maker(root, false, (processes, &mut files), Names::Traced(paths));
        Ok(Recorded { exit_code: status.code(), ..self.make(maker, &kept, writer)? })
    }

    fn of_process(&self, process: u32, writer: Writer<File>, interrupt: &AtomicBool) -> Result<Recorded> {
        let watch = Watch::default();
        let (kept, found): (Captured, Found) = self.run(Some(&watch), || {
            follow(self.trace, process, interrupt).map_err(|error| self.failed(&error))
        })?;
        let (mut files, mut processes) = (Files::default(), Processes::default());
        let known = (&mut processes, &mut files);
        let seen = Seen::new(found, watch, &kept.events, self.sub_buffer, &self.layouts, known);
        let seen = seen.map_err(|error| self.failed(&error))?;
        let maker = self.maker(process, true, (processes, &mut files), Names::Seen(seen));
        self.make(maker, &kept, writer)
    }

    /// Keeps what each CPU records until `work` has ended.
    fn run<T>(&self, watch: Option<&Watch>, work: impl FnOnce() -> Result<T>) -> Result<(Captured, T)> {
        let buffers = self.trace.raw_buffers().map_err(|error| self.failed(&error))?;
        let events = (0..buffers.len()).map(|cpu| anonymous(self.out, cpu)).collect::<Result<Vec<File>>>()?;
        let done = AtomicBool::new(false);
        let calls = events::names();
        let see = |page: &[u8]| {
            if let Some(watch) = watch {
                watch.see(page, &self.layouts, &calls);
            }
        };
        let (ended, ran_ns) = thread::scope(|scope| {
            // They must run before this thread's children are recorded, and would otherwise record themselves.
            let readers: Vec<_> = buffers
                .into_iter()
                .zip(&events)
                .map(|(buffer, kept)| {
                    let (done, see) = (&done, &see);
                    scope.spawn(move || keep(buffer, kept, self.sub_buffer, done, see))
                })
                .collect();
            let start = Instant::now();
            let ended = work();
            let ran_ns = start.elapsed().as_nanos() as u64;
            let stopped = self.trace.stop();
            done.store(true, Ordering::Release);
            for reader in readers {
                let kept = reader.join().unwrap_or_else(|_| Err(io::Error::other("its reader died")));
                kept.map_err(|error| self.failed(&format!("reading the kernel's buffer: {error}")))?;
            }
            stopped.map_err(|error| self.failed(&error))?;
            Ok::<_, Error>((ended?, ran_ns))
        })?;
        Ok((Captured { events, ran_ns }, ended))
    }

    fn maker<'b>(
        &'b self,
        root: u32,
        has_begun: bool,
        (processes, files): (Processes, &'b mut Files),
        names: Names,
    ) -> Maker<'b> {
        Maker {
            layouts: &self.layouts,
            calls: events::names(),
            processes,
            names,
            root,
            has_begun,
            entered: rustc_hash::FxHashMap::default(),
            files,
            unnamed: 0,
        }
    }

    /// Makes operations of what was kept.
    fn make(&self, mut maker: Maker, kept: &Captured, mut writer: Writer<File>) -> Result<Recorded> {
        let lost = self.trace.lost().map_err(|error| self.failed(&error))?;
        let mut operations = 0;
        let mut batch = Vec::new();
        let missed = maker.run(&kept.events, self.sub_buffer, |operation, files| {
            operations += 1;
            batch.push(*operation);
            if batch.len() < 4096 { Ok(()) } else { add(&mut writer, &mut batch, files) }
        });
        let missed = missed.map_err(|error| self.failed(&error))?;
        add(&mut writer, &mut batch, maker.files).map_err(|error| self.failed(&error))?;
        writer.finish()?;
        Ok(Recorded {
            method: Method::Kernel,
            operations,
            lost: lost.max(missed),
            unnamed: maker.unnamed,
            ran_ns: kept.ran_ns,
            exit_code: None,
        })
    }
}

/// What strace tells next to the kernel: the calls that name files, and when the program begins.
const PATHS: [&str; 12] = [
    "open",
    "openat",
    "openat2",
    "creat",
    "truncate",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "execve",
    "execveat",
];
/// What decides which directory a path is named under: where a process works, and its children after it.
const DIRECTORIES: [&str; 6] = ["chdir", "fchdir", "clone", "clone3", "fork", "vfork"];

fn add(writer: &mut Writer<File>, batch: &mut Vec<Operation>, files: &Files) -> io::Result<()> {
    let added = writer.add(batch, files).map_err(io::Error::other);
    batch.clear();
    added
}

/// A file without a name, in the directory of `out`, one per CPU.
fn anonymous(out: &Path, cpu: usize) -> Result<File> {
    let mut name = out.as_os_str().to_owned();
    name.push(format!(".events-{}-{cpu}", std::process::id()));
    let made = File::options().read(true).write(true).create_new(true).open(&name);
    let file = made.map_err(|error| Error::new("create", Path::new(&name), error))?;
    fs::remove_file(&name).map_err(|error| Error::new("remove", Path::new(&name), error))?;
    Ok(file)
}

/// Keeps a CPU's buffer until the recording is done and nothing is left of it; `see` is shown all of it at once.
fn keep(
    mut buffer: File,
    mut kept: &File,
    sub_buffer: usize,
    done: &AtomicBool,
    see: impl Fn(&[u8]),
) -> io::Result<()> {
    let mut page = vec![0; sub_buffer];
    loop {
        let was_done = done.load(Ordering::Acquire);
        match buffer.read(&mut page) {
            Ok(count) if count > 0 => {
                page[count..].fill(0);
                see(&page);
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

fn bytes(path: Option<PathBuf>) -> Option<Vec<u8>> {
    path.map(|path| path.into_os_string().into_encoded_bytes())
}

/// What strace recorded: the program's first thread, and each thread's calls that name files.
fn read_log(log: &Log, files: &mut Files) -> io::Result<(u32, Paths)> {
    let mut first = String::new();
    BufReader::new(File::open(&log.0)?).read_line(&mut first)?;
    let root = first.split(' ').next().and_then(|word| word.parse().ok());
    let root = root.ok_or_else(|| io::Error::other("strace wrote nothing: it may not trace here"))?;
    let mut paths = Paths::default();
    let directory = bytes(std::env::current_dir().ok());
    import::read_strace(File::open(&log.0)?, directory, |operations, traced| {
        let name_files = |one: &&Operation| {
            matches!(one.kind, CallKind::Open | CallKind::Truncate | CallKind::Unlink | CallKind::Rename)
        };
        for one in operations.iter().filter(name_files) {
            let mut named = |file| files.id(traced.path(file));
            let (file, to) = (named(one.file), one.to.map(&mut named));
            let Operation { kind, flags, result, .. } = *one;
            paths.entry(one.thread).or_default().push_back(TracedCall { kind, file, to, flags, result });
        }
        Ok::<(), io::Error>(())
    })?;
    Ok((root, paths))
}

/// The standard streams, where they are files: a program that begins now gets ours, as they stand.
fn inherited() -> Vec<(i32, Look)> {
    let is_file = |descriptor: &i32| {
        fs::metadata(format!("/proc/self/fd/{descriptor}")).is_ok_and(|about| about.is_file())
    };
    (0..3).filter(is_file).filter_map(|descriptor| Some((descriptor, look("self", descriptor)?))).collect()
}
