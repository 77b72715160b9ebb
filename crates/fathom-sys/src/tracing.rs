//! Tracepoints of the kernel, recorded in a private instance of tracefs.
//!
//! An instance has buffers, filters and switches of its own, so that other users' tracing is not touched.
//! It goes when its owner drops it; after a crash the next run removes it. Source: the kernel's
//! `Documentation/trace/ftrace.rst` and `events.rst`. Errors are those of reading and writing its files.
//!
//! ```no_run
//! use fathom_sys::tracing::{Event, PAGE_ADDED, Trace};
//!
//! let trace = Trace::start(&[PAGE_ADDED], Some("i_ino == 12"))?;
//! // ... what is to be seen, with marks in between ...
//! trace.mark(1)?;
//! let recorded = trace.finish()?;
//! assert_eq!(recorded.lost, 0);
//! let pages = recorded.records.iter().filter(|one| matches!(one.event, Event::PageAdded { .. }));
//! # Ok::<(), fathom_sys::Error>(())
//! ```

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::{Error, Result, facts};

/// A folio enters the page cache. Fields to filter by: `i_ino`, `index`, `s_dev`, `order`.
pub const PAGE_ADDED: &str = "filemap/mm_filemap_add_to_page_cache";
/// A thread enters a system call. Fields: `id`, `args`.
pub const CALL_ENTERED: &str = "raw_syscalls/sys_enter";
/// A thread leaves a system call. Fields: `id`, `ret`.
pub const CALL_LEFT: &str = "raw_syscalls/sys_exit";
/// A thread makes another. Fields: `pid`, `clone_flags`.
pub const THREAD_MADE: &str = "task/task_newtask";
/// A request goes to the server of a FUSE file system. Fields: `connection`, `opcode`, `len`. Since Linux 6.12.
pub const FUSE_REQUEST: &str = "fuse/fuse_request_send";

const PREFIX: &str = "fathom-";
/// What the buffer of the CPU that is traced may hold.
const BUFFER_KIB: u32 = 8192;

/// A running trace.
#[derive(Debug)]
pub struct Trace {
    instance: PathBuf,
    /// An instance with an open file can't be removed: this tells the living from the dead.
    marker: File,
    points: Vec<&'static str>,
    _tracefs: OwnedFd,
}

/// What was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// In order of time.
    pub records: Vec<Record>,
    /// Events that found no room, and lines that could not be understood. Where there are any, nothing may
    /// be concluded from an absence.
    pub lost: u64,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The thread that it happened in.
    pub thread: i32,
    /// When, on the clock of [`monotonic_raw_ns`](crate::clock::monotonic_raw_ns), in ns, to the microsecond.
    pub time_ns: u64,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// [`PAGE_ADDED`].
    PageAdded {
        /// The file's inode number.
        inode: u64,
        /// Where in the file, in bytes.
        offset: u64,
        /// How much, in bytes.
        bytes: u64,
    },
    /// [`Trace::mark`].
    Mark(u64),
    /// Any other tracepoint: its name and its text.
    Other(&'static str, String),
}

impl Trace {
    /// Records `points`, all with the same `filter`, where they happen in this thread or in others.
    ///
    /// # Errors
    /// EPERM without CAP_SYS_ADMIN, ENODEV without tracefs, ENOENT where this kernel has no such point.
    pub fn start(points: &[&'static str], filter: Option<&str>) -> Result<Self> {
        let filtered: Vec<(&'static str, Option<&str>)> =
            points.iter().map(|point| (*point, filter)).collect();
        let trace = Self::prepare(&filtered, BUFFER_KIB)?;
        trace.write("tracing_on", "1")?;
        Ok(trace)
    }

    /// Sets a trace up that is still off, each point with a filter of its own, and `buffer_kib` per CPU.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn prepare(points: &[(&'static str, Option<&str>)], buffer_kib: u32) -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (tracefs, root) = tracefs()?;
        remove_leftovers(&root);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let instance = root.join("instances").join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&instance).map_err(|error| named("make", &instance, &error))?;
        let opened = fs::OpenOptions::new().write(true).open(instance.join("trace_marker"));
        let marker = opened.map_err(|error| {
            let _ = fs::remove_dir(&instance);
            named("open", &instance.join("trace_marker"), &error)
        })?;
        let names = points.iter().map(|(point, _)| *point).collect();
        let trace = Self { instance, marker, points: names, _tracefs: tracefs };
        trace.write("tracing_on", "0")?;
        trace.write("trace_clock", "mono_raw")?;
        trace.write("buffer_size_kb", &buffer_kib.to_string())?;
        for (point, filter) in points {
            if let Some(filter) = filter {
                trace.write(&format!("events/{point}/filter"), filter)?;
            }
            trace.write(&format!("events/{point}/enable"), "1")?;
        }
        Ok(trace)
    }

    /// Records the events of this thread, and of every thread and process that comes of it; begins now.
    pub fn of_this_thread_and_its_children(&self) -> Result<()> {
        self.write("options/event-fork", "1")?;
        self.write("set_event_pid", &rustix::thread::gettid().as_raw_nonzero().to_string())?;
        self.write("tracing_on", "1")
    }

    /// Records the events of a process that runs already, and of every thread and process that comes of it; begins
    /// now. Gives its threads; those that others make meanwhile are found too.
    ///
    /// # Errors
    /// What writing to tracefs gives, and ENOENT where there is no such process.
    pub fn of_process_and_its_children(&self, process: u32) -> Result<Vec<u32>> {
        self.write("options/event-fork", "1")?;
        self.write("set_event_pid", &process.to_string())?;
        self.write("tracing_on", "1")?;
        let tasks = PathBuf::from(format!("/proc/{process}/task"));
        let listed = || -> Result<Vec<u32>> {
            let entries = fs::read_dir(&tasks).map_err(|error| Error::from_io("list", &tasks, &error))?;
            let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
            Ok(entries.flatten().filter_map(number).collect())
        };
        let mut followed = vec![process];
        loop {
            // A thread that was not followed yet may have made another, which is found here.
            let mut missing = listed()?;
            missing.retain(|thread| !followed.contains(thread));
            if missing.is_empty() {
                return Ok(followed);
            }
            let words: Vec<String> = missing.iter().map(u32::to_string).collect();
            let path = self.instance.join("set_event_pid");
            let appended = fs::OpenOptions::new()
                .append(true)
                .open(&path)
                .and_then(|mut setting| setting.write_all(words.join(" ").as_bytes()));
            appended.map_err(|error| named("write", &path, &error))?;
            followed.extend(missing);
        }
    }

    /// Whether any of those whose events are recorded still runs.
    pub fn follows_anybody(&self) -> Result<bool> {
        Ok(text(&self.instance.join("set_event_pid"))?
            .split_whitespace()
            .any(|word| word.parse::<u32>().is_ok()))
    }

    /// Records nothing more; what was recorded stays to be read.
    pub fn stop(&self) -> Result<()> {
        self.write("tracing_on", "0")
    }

    /// The buffers as they are, one per CPU: each read of [`sub_buffer_bytes`](Self::sub_buffer_bytes) gives
    /// one, EAGAIN where there is none. They must be closed before the trace goes.
    ///
    /// # Errors
    /// What opening gives.
    pub fn raw_buffers(&self) -> Result<Vec<File>> {
        let cpus = self.instance.join("per_cpu");
        let mut paths: Vec<PathBuf> = fs::read_dir(&cpus)
            .map_err(|error| named("list", &cpus, &error))?
            .flatten()
            .map(|cpu| cpu.path().join("trace_pipe_raw"))
            .collect();
        paths.sort();
        let open = |path: &PathBuf| {
            let opened = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
            opened.map_err(|error| named("open", path, &error))
        };
        paths.iter().map(open).collect()
    }

    /// How large a sub-buffer is, its header included, in bytes.
    pub fn sub_buffer_bytes(&self) -> Result<usize> {
        // Kernels before 6.8 have no such setting, and pages.
        let kib = text(&self.instance.join("buffer_subbuf_size_kb")).unwrap_or_default();
        Ok(kib.trim().parse::<usize>().map_or(facts::page_size() as usize, |kib| kib * 1024))
    }

    /// The kernel's description of an event's fields.
    pub fn format(&self, point: &str) -> Result<String> {
        text(&self.instance.join("events").join(point).join("format"))
    }

    /// How many events found no room so far.
    pub fn lost(&self) -> Result<u64> {
        let cpus = self.instance.join("per_cpu");
        let entries = fs::read_dir(&cpus).map_err(|error| named("list", &cpus, &error))?;
        let of_cpu = |cpu: fs::DirEntry| text(&cpu.path().join("stats")).map(|stats| overrun(&stats));
        entries.flatten().map(of_cpu).sum()
    }

    /// Records the events of this thread alone.
    pub fn of_this_thread(self) -> Result<Self> {
        self.write("set_event_pid", &rustix::thread::gettid().as_raw_nonzero().to_string())?;
        Ok(self)
    }

    /// Puts a number between the events so far and those to come.
    pub fn mark(&self, number: u64) -> Result<()> {
        let text = format!("{MARK}{number}");
        (&self.marker)
            .write_all(text.as_bytes())
            .map_err(|error| named("write", &self.instance.join("trace_marker"), &error))
    }

    /// Stops, and gives what was recorded.
    pub fn finish(self) -> Result<Recorded> {
        self.stop()?;
        let lost = self.lost()?;
        let (records, unread) = parse(&text(&self.instance.join("trace"))?, &self.points);
        Ok(Recorded { records, lost: lost + unread })
    }

    fn write(&self, setting: &str, value: &str) -> Result<()> {
        let path = self.instance.join(setting);
        fs::write(&path, value).map_err(|error| named("write", &path, &error))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = self.write("tracing_on", "0");
        // The open marker keeps the instance: what it opens instead keeps nothing.
        if let Ok(nothing) = File::open("/dev/null") {
            self.marker = nothing;
        }
        let _ = fs::remove_dir(&self.instance);
    }
}

/// A tracefs of this process alone, which no list of mounts shows, and the path to it.
fn tracefs() -> Result<(OwnedFd, PathBuf)> {
    let name = Path::new("tracefs");
    let failed = |errno| Error::new("mount", name, errno);
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).map_err(failed)?;
    fsconfig_create(&context).map_err(failed)?;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty()).map_err(failed)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
    Ok((mount, path))
}

/// Removes the instances of processes that are gone. One of another container's process stays by its open marker.
fn remove_leftovers(root: &Path) {
    let Ok(instances) = fs::read_dir(root.join("instances")) else { return };
    for instance in instances.flatten() {
        let name = instance.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        // A living process may not have opened its marker yet.
        if owner.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = fs::remove_dir(instance.path());
        }
    }
}

/// An error with a path that means something to a reader: not the one through our own descriptor.
fn named(operation: &'static str, path: &Path, error: &std::io::Error) -> Error {
    let inside: PathBuf = path.components().skip(5).collect();
    Error::from_io(operation, &Path::new("tracefs").join(inside), error)
}

/// Files of tracefs have no size.
fn text(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| named("read", path, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

const MARK: &str = "fathom:";
const MARK_POINT: &str = "tracing_mark_write";

/// The sum of what a CPU's statistics call overrun and dropped.
fn overrun(stats: &str) -> u64 {
    let counted = ["overrun", "commit overrun", "dropped events"];
    let of_line = |line: &str| {
        let (name, count) = line.split_once(':')?;
        counted.contains(&name.trim()).then(|| count.trim().parse::<u64>().ok()).flatten()
    };
    stats.lines().filter_map(of_line).sum::<u64>()
}

/// The records of a trace as text, and how many lines tell of losses or can't be understood.
fn parse(text: &str, points: &[&'static str]) -> (Vec<Record>, u64) {
    let names: Vec<&'static str> =
        points.iter().map(|point| point.rsplit('/').next().unwrap_or(point)).chain([MARK_POINT]).collect();
    let mut records = Vec::new();
    let mut lost = 0;
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        match record(line, &names) {
            Some(record) => records.push(record),
            None => lost += 1,
        }
    }
    (records, lost)
}

/// `      fathom-1234    [001] d..1.  123.456789: NAME: TEXT`; a command's name may hold anything.
fn record(line: &str, names: &[&'static str]) -> Option<Record> {
    let at = |name: &&'static str| Some((line.find(&format!(": {name}: "))?, *name));
    let (end, name) = names.iter().filter_map(at).min()?;
    let text = &line[end + name.len() + 4..];
    let mut before = line[..end].split_whitespace().rev();
    let (seconds, micros) = before.next()?.split_once('.')?;
    let time_us = seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?;
    before.find(|word| is_cpu(word))?;
    let thread = before.next()?.rsplit('-').next()?.parse().ok()?;
    Some(Record { thread, time_ns: time_us * 1000, event: event(name, text)? })
}

/// `[001]`, which stands right after the thread.
fn is_cpu(word: &str) -> bool {
    word.strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|cpu| cpu.parse::<u32>().is_ok())
}

fn event(name: &'static str, text: &str) -> Option<Event> {
    match name {
        MARK_POINT => Some(Event::Mark(text.trim().strip_prefix(MARK)?.parse().ok()?)),
        "mm_filemap_add_to_page_cache" => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let after = |key| words.iter().find_map(|word| word.strip_prefix(key));
            let inode = words.iter().position(|&word| word == "ino").and_then(|at| words.get(at + 1))?;
            // Kernels before 5.18 have no folios, and no order.
            let order: u32 = after("order=").map_or(Some(0), |order| order.parse().ok())?;
            Some(Event::PageAdded {
                inode: u64::from_str_radix(inode, 16).ok()?,
                offset: after("ofs=")?.parse().ok()?,
                bytes: facts::page_size() << order,
            })
        }
        other => Some(Event::Other(other, text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [&str; 2] = [PAGE_ADDED, "block/block_rq_issue"];

    #[test]
    fn lines_are_read_whatever_the_command_is_called() {
        let text = "# tracer: nop\n#\n\
            \x20          fathom-1234    [001] d..1.   123.456789: mm_filemap_add_to_page_cache: dev 7:0 ino c pfn=0x1f ofs=8192 order=2\n\
            \x20    a b-7 [000]-99      [000] .....     9.000001: tracing_mark_write: fathom:5\n\
            \x20 kworker/u8:3-77      [000] .....    10.000000: block_rq_issue: 7,0 RA 16384 () 40 + 32 none,0,0 [kworker/u8:3]\n";
        let (records, lost) = parse(text, &POINTS);
        let added = Event::PageAdded { inode: 12, offset: 8192, bytes: facts::page_size() * 4 };
        let events: Vec<(i32, u64, Event)> =
            records.into_iter().map(|one| (one.thread, one.time_ns, one.event)).collect();
        let expected = [
            (1234, 123_456_789_000, added),
            (99, 9_000_001_000, Event::Mark(5)),
            (
                77,
                10_000_000_000,
                Event::Other("block_rq_issue", "7,0 RA 16384 () 40 + 32 none,0,0 [kworker/u8:3]".to_owned()),
            ),
        ];
        assert_eq!((events.as_slice(), lost), (expected.as_slice(), 0));
    }

    #[test]
    fn losses_are_counted() {
        let (records, lost) = parse("CPU:1 [LOST 12 EVENTS]\n garbage\n", &POINTS);
        assert_eq!((records.len(), lost), (0, 2));
        assert_eq!(
            overrun("entries: 5\noverrun: 3\ncommit overrun: 0\ndropped events: 4\nread events: 9\n"),
            7
        );
    }

    #[test]
    #[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
    fn a_file_that_is_read_is_seen_page_by_page_and_nothing_is_left() {
        let path = std::env::temp_dir().join(format!("fathom-tracing-{}", std::process::id()));
        fs::write(&path, [1; 20_000]).unwrap();
        let trace = match Trace::start(&[PAGE_ADDED], None).and_then(Trace::of_this_thread) {
            Ok(trace) => trace,
            // Without privilege there is nothing to be seen, and the error says so.
            Err(error) => {
                fs::remove_file(&path).unwrap();
                assert!(error.to_string().contains("tracefs"), "{error}");
                let all = std::env::var("FATHOM_REQUIRE").is_ok_and(|what| what == "all");
                assert!(!all, "skipped, and everything is required: tracing: {error}");
                println!("skipped: a_file_that_is_read_is_seen_page_by_page_and_nothing_is_left: {error}");
                return;
            }
        };
        trace.mark(7).unwrap();
        fs::write(path.with_extension("new"), [1; 20_000]).unwrap();
        trace.mark(8).unwrap();
        let instance = trace.instance.clone();
        let (_tracefs, root) = tracefs().unwrap();
        let unopened = |process: u32| root.join("instances").join(format!("{PREFIX}{process}-unopened"));
        let (living, gone) = (unopened(std::process::id()), unopened(u32::MAX));
        fs::create_dir(&living).and_then(|()| fs::create_dir(&gone)).unwrap();
        remove_leftovers(&root);
        assert!(instance.exists() && living.exists(), "a living process lost its instance");
        assert!(!gone.exists(), "a leftover stayed");
        fs::remove_dir(&living).unwrap();
        let recorded = trace.finish().unwrap();
        fs::remove_file(&path).unwrap();
        fs::remove_file(path.with_extension("new")).unwrap();
        assert!(!root.join("instances").join(instance.file_name().unwrap()).exists());
        assert_eq!(recorded.lost, 0);
        let place = |mark| recorded.records.iter().position(|one| one.event == Event::Mark(mark)).unwrap();
        let between = &recorded.records[place(7)..place(8)];
        let bytes: u64 = between
            .iter()
            .map(|one| if let Event::PageAdded { bytes, .. } = one.event { bytes } else { 0 })
            .sum();
        assert!(bytes >= 20_000, "{bytes} of 20000");
    }
}
