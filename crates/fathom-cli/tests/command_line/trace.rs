//! Traces from the command line: recorded, shown, exported and replayed, of programs that are real.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fathom_trace::format::Reader;
use fathom_trace::{CallKind, Files, Operation};

use crate::published;
use crate::support::require;

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fathom-cli-trace-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_fathom"))
            .current_dir(&self.0)
            .args(arguments)
            .env("XDG_STATE_HOME", crate::support::STATE)
            .output()
            .unwrap()
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether programs can be traced here.
fn can_trace(name: &str, place: &Place) -> bool {
    let output = place.run(&["trace", "record", "--method", "strace", "--out", "try", "--", "true"]);
    let _ = std::fs::remove_file(place.0.join("try"));
    require(name, output.status.success(), &String::from_utf8_lossy(&output.stderr))
}

#[test]
fn what_a_program_gets_from_us_stands_where_it_stood() {
    let place = Place::new("inherited");
    let record = ["trace", "record", "--method", "kernel", "--no-report", "--out"];
    let possible = place.run(&[record.as_slice(), &["try", "--", "true"]].concat());
    if !require(
        "what a program gets from us",
        possible.status.success(),
        &String::from_utf8_lossy(&possible.stderr),
    ) {
        return;
    }
    let mut said = std::fs::File::create(place.0.join("said")).unwrap();
    std::io::Write::write_all(&mut said, b"before").unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .current_dir(&place.0)
        .args([record.as_slice(), &["t", "--", "sh", "-c", "echo one; echo two"]].concat())
        .stdout(said)
        .status();
    assert!(status.unwrap().success());
    let written = per_file(&place.0.join("t"), |path| path.ends_with("/said"));
    assert_eq!(written, [[(CallKind::Write, Some(6), 4, 4), (CallKind::Write, Some(10), 4, 4)]]);
}

/// A database in one process: a journal, syncs, reads back.
const DATABASE: &str = "import sqlite3\n\
c = sqlite3.connect('db')\n\
c.execute('pragma journal_mode = truncate')\n\
c.execute('create table t (a integer primary key, b text)')\n\
for i in range(20):\n    c.executemany('insert into t (b) values (?)', [('x' * 500,)] * 20)\n    c.commit()\n\
print(c.execute('select count(*), sum(length(b)) from t').fetchone())\n";

/// What was done, where, to how many bytes, and how many it moved.
type Done = (CallKind, Option<u64>, u64, u64);

/// What is done to each file that `is_ours`, in order.
fn per_file(trace: &Path, is_ours: impl Fn(&str) -> bool) -> Vec<Vec<Done>> {
    let (operations, files): (Vec<Operation>, Files) = Reader::open(trace).unwrap().read_all().unwrap();
    let mut all: Vec<Vec<_>> = vec![Vec::new(); files.paths().len()];
    for one in operations
        .iter()
        .filter(|one| one.result.is_none_or(|result| result >= 0) && one.kind != CallKind::Map)
    {
        if is_ours(&String::from_utf8_lossy(files.path(one.file))) {
            all[one.file.0 as usize].push((one.kind, one.offset, one.length, one.moved_bytes()));
        }
    }
    all.retain(|done| done.iter().any(|one| one.0.direction().is_some()));
    all.sort();
    all
}

#[test]
fn a_replay_of_a_database_that_is_recorded_gives_the_same_operations() {
    let place = Place::new("replay");
    if !can_trace("a replay of a database", &place) {
        return;
    }
    std::fs::write(place.0.join("load.py"), DATABASE).unwrap();
    place.done(&["trace", "record", "--method", "strace", "--out", "one", "--", "python3", "load.py"]);
    let shown = place.done(&["trace", "show", "one"]);
    assert!(shown.contains("fdatasync") && shown.contains("hits in an LRU cache"), "{shown}");
    let json = place.done(&["trace", "show", "one", "--json", "-"]);
    published::check("trace-show", &serde_json::from_str(&json).unwrap());
    let whole: serde_json::Value = serde_json::from_str(&json).unwrap();
    let alone = place.done(&["trace", "show", "one", "--hit-ratios", "--json", "-"]);
    let alone: serde_json::Value = serde_json::from_str(&alone).unwrap();
    published::check("trace-hit-ratios", &alone);
    assert_eq!((&alone["points"], &alone["sampled"]), (&whole["hit_ratios"], &1.0.into()));
    let curve = shown.split_once("hits in").unwrap().1.split_once("\n\n").unwrap().0;
    assert_eq!(place.done(&["trace", "show", "one", "--hit-ratios"]), format!("hits in{curve}\n"));
    assert!(place.done(&["trace", "show", "one", "--hit-ratios=0.5"]).contains("a sample of 50.000 % of"));
    assert_eq!(place.run(&["trace", "show", "one", "--hit-ratios=0"]).status.code(), Some(2));
    let fathom = env!("CARGO_BIN_EXE_fathom");
    let replay = [fathom, "run", "one", ".", "--pace", "fast"];
    let record = ["trace", "record", "--method", "strace", "--out", "two", "--"];
    let said = place.done(&[record.as_slice(), &replay].concat());
    assert_eq!(said.matches("each; 0 moved other than in the trace").count(), 2, "{said}");
    // The files of the database; their replays begin by being laid out.
    let mut first = per_file(&place.0.join("one"), |path| path.contains("/db"));
    let replayed =
        per_file(&place.0.join("two"), |path| path.contains("/.fathom-") && path.contains("/file"));
    let made_again: Vec<Vec<_>> = replayed
        .into_iter()
        .map(|done| {
            // Once when it was filled, and once when it was on the device.
            let mut closes = done.iter().enumerate().filter(|(_, one)| one.0 == CallKind::Close);
            let (laid_out, _) = closes.nth(1).unwrap();
            let mut done = done[laid_out + 1..].to_vec();
            // The scratch files go at the end.
            assert_eq!(done.pop().map(|last| last.0), Some(CallKind::Unlink));
            done
        })
        .collect();
    first.sort();
    for done in first {
        assert!(
            made_again.contains(&done),
            "{} operations on a file are not made again: {done:?}",
            done.len()
        );
    }
}

/// Saves as an editor does, by another file and its name; turns a log over; removes a file that it still uses.
const EDITOR: &str = "import os\n\
log = open('log', 'wb', 0)\n\
for i in range(5):\n\
\x20   with open('text.new', 'xb', 0) as new:\n\
\x20       new.write(bytes(1000 + i))\n\
\x20       os.fsync(new.fileno())\n\
\x20   os.replace('text.new', 'text')\n\
\x20   log.write(b'saved')\n\
\x20   with open('text', 'rb', 0) as text:\n\
\x20       text.read(5000)\n\
os.rename('log', 'log.old')\n\
log.write(b'still here')\n\
with open('log', 'xb', 0) as again:\n\
\x20   again.write(b'another')\n\
work = open('work', 'w+b', 0)\n\
os.unlink('work')\n\
work.write(bytes(70))\n\
os.pread(work.fileno(), 100, 0)\n\
work.close()\n\
with open('work', 'xb', 0) as again:\n\
\x20   again.write(bytes(7))\n\
os.unlink('text')\n";

/// What was done to the files that `name` knows, in order: with their names, the new one of a rename too.
fn in_order(trace: &Path, name: impl Fn(&str) -> Option<String>) -> Vec<(String, Option<String>, Done)> {
    let (operations, files): (Vec<Operation>, Files) = Reader::open(trace).unwrap().read_all().unwrap();
    let name = |file| name(&String::from_utf8_lossy(files.path(file)));
    let went_well = operations.iter().filter(|one| one.result.is_none_or(|result| result >= 0));
    went_well
        .filter_map(|one| {
            let done = (one.kind, one.offset, one.length, one.moved_bytes());
            Some((name(one.file)?, one.to.and_then(name), done))
        })
        .collect()
}

#[test]
fn a_replay_renames_and_removes_as_the_program_did_and_nothing_else() {
    let place = Place::new("names");
    if !can_trace("a replay of an editor", &place) {
        return;
    }
    let work = place.0.join("w");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(place.0.join("edit.py"), format!("import os\nos.chdir('w')\n{EDITOR}")).unwrap();
    let record = ["trace", "record", "--method", "strace", "--out"];
    place.done(&[record.as_slice(), &["one", "--", "python3", "edit.py"]].concat());
    let shown = place.done(&["trace", "show", "one"]);
    assert!(
        shown.contains("rename                  6") && shown.contains("unlink                  2"),
        "{shown}"
    );
    let listed = |at: &Path| {
        let mut names: Vec<_> = std::fs::read_dir(at).unwrap().flatten().map(|one| one.file_name()).collect();
        names.sort();
        names
    };
    let before = (listed(&work), std::fs::read(work.join("work")).unwrap());
    assert_eq!(before.0, ["log", "log.old", "work"]);

    let fathom = env!("CARGO_BIN_EXE_fathom");
    let replay = [record.as_slice(), &["two", "--", fathom, "run", "one", "w", "--pace", "fast"]].concat();
    let said = place.done(&replay);
    assert_eq!(said.matches("each; 0 moved other than in the trace").count(), 2, "{said}");
    assert_eq!((listed(&work), std::fs::read(work.join("work")).unwrap()), before);

    let within = work.to_string_lossy().into_owned() + "/";
    let done = in_order(&place.0.join("one"), |path| path.strip_prefix(&within).map(str::to_owned));
    // A path of the trace is a file of its number in the scratch directory.
    let (_, files) = Reader::open(&place.0.join("one")).unwrap().read_all().unwrap();
    let replayed = in_order(&place.0.join("two"), |path| {
        let number: usize = path.strip_prefix(&within)?.split_once("/file")?.1.parse().ok()?;
        let path = String::from_utf8_lossy(&files.paths()[number]).into_owned();
        path.strip_prefix(&within).map(str::to_owned)
    });
    assert_eq!(done.iter().filter(|one| one.1.is_some()).count(), 6);
    // Before it the files were laid out, and after it they are removed.
    let first = replayed.windows(done.len()).position(|window| window == done);
    assert!(first.is_some(), "{done:#?} is not in {replayed:#?}");
    place.done(&["predict", "one", "--on", "assumed", "--draws", "1"]);
}

#[test]
fn a_trace_that_is_there_is_kept() {
    let place = Place::new("kept");
    std::fs::write(place.0.join("t"), "precious").unwrap();
    std::fs::write(place.0.join("in.csv"), "1,R,0,4096,5\n").unwrap();
    for arguments in [
        ["trace", "record", "--method", "strace", "--out", "t", "--", "true"].as_slice(),
        &["trace", "import", "in.csv", "--out", "t"],
        &["trace", "export", "t", "--out", "t"],
    ] {
        let output = place.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert_eq!(std::fs::read(place.0.join("t")).unwrap(), b"precious");
    }
    let said = place.done(&["trace", "import", "in.csv", "--out", "u"]);
    assert!(said.starts_with("1 operations from alibaba in u"), "{said}");
    let said = place.done(&["trace", "export", "u", "--out", "log"]);
    assert!(said.starts_with("1 operations in log"), "{said}");
    assert_eq!(place.run(&["trace", "show", "in.csv"]).status.code(), Some(1));
}

#[test]
fn a_replay_is_predicted_and_what_the_model_lacks_is_named() {
    let place = Place::new("predicted");
    let lines: String = (0..64).map(|at| format!("{} /a read {} 65536\n", at * 100, at << 16)).collect();
    let log = format!("fio version 3 iolog\n0 /a add\n0 /a open\n{lines}9000 /a close\n");
    std::fs::write(place.0.join("log"), &log).unwrap();
    place.done(&["trace", "import", "log", "--out", "t"]);
    let predicted = place.done(&["predict", "t", "--on", "assumed", "--pace", "fast", "--format", "json"]);
    let predicted: serde_json::Value = serde_json::from_str(&predicted).unwrap();
    let job = &predicted["jobs"][0];
    assert_eq!(job["class"], "trace: cold_sequential_read");
    assert_eq!(
        (&job["sides"][0]["bytes"], &job["sides"][0]["latency"]["calls"]),
        (&(4 << 20).into(), &64.into())
    );
    let warm = ["predict", "t", "--on", "assumed", "--cache", "warm", "--draws", "1"];
    assert!(place.done(&warm).contains("cached_sequential_read"));
    assert_eq!(
        place.run(&["predict", "t", "--on", "assumed", "--format", "fio-json"]).status.code(),
        Some(2)
    );

    std::fs::write(place.0.join("log"), log.replace("9000 /a close", "9000 /a trim 0 4096")).unwrap();
    place.done(&["trace", "import", "log", "--out", "u"]);
    let refused = place.run(&["predict", "u", "--on", "assumed"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("u: the model does not know 1 x discard"), "{said}");
}
