//! Traces from the command line: recorded, shown, exported and replayed, of programs that are real.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fathom_trace::format::Reader;
use fathom_trace::{Files, Kind, Operation};

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

/// A database in one process: a journal, syncs, reads back.
const DATABASE: &str = "import sqlite3\n\
c = sqlite3.connect('db')\n\
c.execute('pragma journal_mode = truncate')\n\
c.execute('create table t (a integer primary key, b text)')\n\
for i in range(20):\n    c.executemany('insert into t (b) values (?)', [('x' * 500,)] * 20)\n    c.commit()\n\
print(c.execute('select count(*), sum(length(b)) from t').fetchone())\n";

/// What was done, where, to how many bytes, and how many it moved.
type Done = (Kind, Option<u64>, u64, u64);

/// What is done to each file that `is_ours`, in order.
fn per_file(trace: &Path, is_ours: impl Fn(&str) -> bool) -> Vec<Vec<Done>> {
    let (operations, files): (Vec<Operation>, Files) = Reader::open(trace).unwrap().read_all().unwrap();
    let mut all: Vec<Vec<_>> = vec![Vec::new(); files.paths().len()];
    for one in
        operations.iter().filter(|one| one.result.is_none_or(|result| result >= 0) && one.kind != Kind::Map)
    {
        if is_ours(&String::from_utf8_lossy(files.path(one.file))) {
            all[one.file.0 as usize].push((one.kind, one.offset, one.length, one.moved_bytes()));
        }
    }
    all.retain(|done| done.iter().any(|one| one.0.access().is_some()));
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
            let mut closes = done.iter().enumerate().filter(|(_, one)| one.0 == Kind::Close);
            let (laid_out, _) = closes.nth(1).unwrap();
            done[laid_out + 1..].to_vec()
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
    let told = place.done(&["predict", "t", "--on", "assumed", "--pace", "fast", "--format", "json"]);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let job = &told["jobs"][0];
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
    assert!(said.contains("u: the model has no part for 1 x discard"), "{said}");
}
