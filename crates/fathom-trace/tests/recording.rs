//! Programs whose operations are known, recorded by the kernel and by strace.

mod support;

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use fathom_trace::format::Reader;
use fathom_trace::record::{Method, Subject, record};
use fathom_trace::{CallKind, Clock, Files, Level, Operation};
use support::{Scratch, has, skip};

/// Descriptors inherited, copied, shared and closed; appends; a child in the background; a truncated file; one that is
/// renamed and removed while it is open, and others in a directory that a child goes to.
const SCRIPT: &str = "cd \"$1\"; exec 7<data; dd bs=4096 count=3 <&7 >copy 2>/dev/null; \
    dd bs=1000 count=1 <&7 >>copy 2>/dev/null; (cat <&7 >rest) & wait; exec 7<&-; \
    dd if=data of=copy bs=512 seek=2 count=4 conv=notrunc,fsync 2>/dev/null; truncate -s 100 rest; cat absent 2>/dev/null; \
    exec 8>log; echo 1 >&8; mv log old; echo 2 >&8; mkdir -p d; (cd d; echo 3 >x; mv ./x ../d/y; rm y); rm old; echo 4 >&8; \
    rm -f gone; exit 5";

/// What was done to a file: kind, name, offset, bytes moved, whether it went well.
type Done = (CallKind, String, Option<u64>, u64, bool);

/// What an operation did, if it was to a file of one of these names.
fn done(one: &Operation, files: &Files, names: &[&str]) -> Option<Done> {
    if matches!(one.kind, CallKind::Fork | CallKind::Dup | CallKind::Map) {
        return None;
    }
    let path = String::from_utf8_lossy(files.path(one.file)).into_owned();
    let name = |path: &str| Some(Path::new(path).file_name()?.to_string_lossy().into_owned());
    let (mut name, to) =
        (name(&path)?, one.to.map(|to| String::from_utf8_lossy(files.path(to)).into_owned()));
    let went_well = one.result.is_some_and(|result| result >= 0);
    let is_meant = names.contains(&name.as_str());
    if let Some(to) = to {
        // Both in the same directory.
        let stem = path.strip_suffix(&name)?;
        name = format!("{name} to {}", to.strip_prefix(stem)?);
    }
    is_meant.then(|| (one.kind, name, one.offset, one.moved_bytes(), went_well))
}

fn recorded(scratch: &Scratch, method: Method) -> Option<Vec<Done>> {
    for name in ["copy", "rest"] {
        let _ = fs::remove_file(scratch.0.join(name));
    }
    let out = scratch.0.join(format!("{method:?}.parquet"));
    let words = ["sh", "-c", SCRIPT, "sh"].map(OsString::from);
    let command: Vec<OsString> = words.into_iter().chain([scratch.0.clone().into_os_string()]).collect();
    let recorded = match record(&Subject::Command(command), &out, Some(method), &AtomicBool::new(false)) {
        Ok(recorded) => recorded,
        Err(error) => {
            skip("recording", &error.to_string());
            return None;
        }
    };
    assert_eq!(
        (recorded.method, recorded.lost, recorded.unnamed, recorded.exit_code),
        (method, 0, 0, Some(5)),
        "{recorded:?}"
    );
    let reader = Reader::open(&out).unwrap();
    let clock = if method == Method::Kernel { Clock::Source } else { Clock::Unix };
    assert_eq!((reader.origin().level, reader.origin().clock), (Level::File, clock));
    let (operations, files) = reader.read_all().unwrap();
    assert_eq!(operations.len() as u64, recorded.operations);
    let done = |one| done(one, &files, &["data", "copy", "rest", "absent", "log", "old", "x", "y", "gone"]);
    Some(operations.iter().filter_map(done).collect())
}

#[test]
fn the_kernel_and_strace_tell_the_same() {
    if !has("strace") {
        return;
    }
    let scratch = Scratch::new("record");
    fs::write(scratch.0.join("data"), vec![7; 65536]).unwrap();
    let Some(by_strace) = recorded(&scratch, Method::Strace) else { return };
    let reads: Vec<_> =
        by_strace.iter().filter(|one| one.0 == CallKind::Read && one.1 == "data" && one.3 > 0).collect();
    assert_eq!(reads[0].2, Some(0));
    assert!(
        by_strace.contains(&(CallKind::Write, "copy".to_owned(), Some(12288), 1000, true)),
        "{by_strace:?}"
    );
    assert!(
        by_strace.contains(&(CallKind::Write, "copy".to_owned(), Some(1024), 512, true)),
        "{by_strace:?}"
    );
    assert!(by_strace.contains(&(CallKind::Fsync, "copy".to_owned(), None, 0, true)), "{by_strace:?}");
    assert!(by_strace.iter().any(|one| one.0 == CallKind::Open && one.1 == "absent" && !one.4));
    let names: Vec<_> = by_strace
        .iter()
        .filter(|one| matches!(one.0, CallKind::Rename | CallKind::Unlink))
        .cloned()
        .collect();
    let of = |kind, name: &str, went_well| (kind, name.to_owned(), None, 0, went_well);
    let expected = [
        of(CallKind::Rename, "log to old", true),
        of(CallKind::Rename, "x to y", true),
        of(CallKind::Unlink, "y", true),
        of(CallKind::Unlink, "old", true),
        of(CallKind::Unlink, "gone", false),
    ];
    assert_eq!(names, expected);
    let written = [("log", 0), ("old", 2), ("old", 4)];
    let written = written.map(|(name, at)| (CallKind::Write, name.to_owned(), Some(at), 2, true));
    let to_log: Vec<_> = by_strace
        .iter()
        .filter(|one| one.0 == CallKind::Write && ["log", "old"].contains(&one.1.as_str()))
        .cloned()
        .collect();
    assert_eq!(to_log, written);
    let Some(by_kernel) = recorded(&scratch, Method::Kernel) else { return };
    assert_eq!(by_kernel, by_strace);
    let left: Vec<_> = fs::read_dir(&scratch.0).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 6, "{left:?}");
}

#[test]
fn a_command_that_is_not_there_is_told() {
    if !has("strace") {
        return;
    }
    let scratch = Scratch::new("nothing");
    let subject = Subject::Command(vec![OsString::from("/nonexistent/program")]);
    let recorded = record(&subject, &scratch.0.join("t"), Some(Method::Strace), &AtomicBool::new(false));
    assert!(recorded.is_err() || recorded.is_ok_and(|recorded| recorded.exit_code != Some(0)));
}

/// Waits, and then: reads on where it stood, opens, has a child and a thread, and opens for a moment.
const RUNNING: &str = "import os, sys, threading, time\n\
data = os.open('data', os.O_RDONLY)\n\
os.lseek(data, 1000, 0)\n\
print('ready', flush=True)\n\
sys.stdin.readline()\n\
os.read(data, 500)\n\
copy = os.open('copy', os.O_CREAT | os.O_RDWR)\n\
time.sleep(0.3)\n\
os.write(copy, bytes(300))\n\
child = os.fork()\n\
if child == 0:\n\
\x20   os.read(data, 700)\n\
\x20   rest = os.open('rest', os.O_CREAT | os.O_WRONLY)\n\
\x20   time.sleep(0.3)\n\
\x20   os.write(rest, bytes(10))\n\
\x20   os._exit(0)\n\
os.waitpid(child, 0)\n\
thread = threading.Thread(target=lambda: os.read(data, 4096))\n\
thread.start()\n\
thread.join()\n\
os.close(os.open('brief', os.O_CREAT | os.O_RDWR))\n\
os.fsync(copy)\n\
os.close(copy)\n";

/// Waits until a process is recorded, or for long enough where that can't be seen.
fn wait_for_recorder(process: u32) {
    for _ in 0..200 {
        let instances = fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
        let followed = |instance: fs::DirEntry| fs::read_to_string(instance.path().join("set_event_pid"));
        if instances
            .map(followed)
            .any(|pids| pids.is_ok_and(|pids| pids.split_whitespace().any(|pid| pid == process.to_string())))
        {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
}

#[test]
fn a_process_that_runs_already_is_recorded_with_what_it_has_open() {
    if !has("python3") {
        return;
    }
    let scratch = Scratch::new("running");
    fs::write(scratch.0.join("data"), vec![7; 65536]).unwrap();
    let mut python = Command::new("python3");
    python.args(["-c", RUNNING]).current_dir(&scratch.0).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut python = python.spawn().unwrap();
    let mut said = String::new();
    BufReader::new(python.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let (out, process) = (scratch.0.join("t"), python.id());
    let (recorded, never) = (Subject::Process(process), AtomicBool::new(false));
    let recorded = std::thread::scope(|scope| {
        let recorder = scope.spawn(|| record(&recorded, &out, Some(Method::Kernel), &never));
        wait_for_recorder(process);
        writeln!(python.stdin.take().unwrap(), "go").unwrap();
        python.wait().unwrap();
        recorder.join().unwrap()
    });
    let recorded = match recorded {
        Ok(recorded) => recorded,
        Err(error) => return skip("recording a process", &error.to_string()),
    };
    assert_eq!((recorded.method, recorded.lost, recorded.exit_code), (Method::Kernel, 0, None));
    let (operations, files) = Reader::open(&out).unwrap().read_all().unwrap();
    let done: Vec<Done> =
        operations.iter().filter_map(|one| done(one, &files, &["data", "copy", "rest"])).collect();
    let of = |kind, name: &str, offset, bytes| (kind, name.to_owned(), offset, bytes, true);
    let expected = [
        of(CallKind::Read, "data", Some(1000), 500),
        of(CallKind::Open, "copy", None, 0),
        of(CallKind::Write, "copy", Some(0), 300),
        of(CallKind::Read, "data", Some(1500), 700),
        of(CallKind::Open, "rest", None, 0),
        of(CallKind::Write, "rest", Some(0), 10),
        of(CallKind::Read, "data", Some(2200), 4096),
        of(CallKind::Fsync, "copy", None, 0),
        of(CallKind::Close, "copy", None, 0),
    ];
    assert_eq!(done, expected);
    let children = operations.iter().filter(|one| one.kind == CallKind::Fork && one.process == process);
    assert_eq!(children.count(), 1);
    // Files may be open for too short a time to be named; they are counted, and so are the interpreter's own.
    let brief = operations.iter().filter(|one| files.path(one.file).ends_with(b"brief")).count();
    assert!(brief > 0 || recorded.unnamed > 0, "{recorded:?}");
    let left = fs::read_dir(&scratch.0).unwrap().count();
    assert_eq!(left, 5, "data, copy, rest, brief and the trace");
}

#[test]
fn a_process_that_is_not_there_is_reported() {
    let scratch = Scratch::new("none");
    let out = scratch.0.join("t");
    let error = record(&Subject::Process(0x3f_ffff), &out, Some(Method::Kernel), &AtomicBool::new(false));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("record") && !out.exists(), "{error}");
}
