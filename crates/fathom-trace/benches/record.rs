//! What recording costs a program that reads 4 KiB at a time from the page cache, and whether all of it is seen.
//!
//! ```text
//! cargo bench -p fathom-trace --bench record
//! ```

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use fathom_trace::CallKind;
use fathom_trace::format::Reader;
use fathom_trace::record::{Method, Subject, record};

/// What the traced program does: `loop PATH CALLS PER_SECOND`; a rate of 0 is none.
fn read_loop(arguments: &[String]) {
    let file = File::open(&arguments[0]).expect("the file is there");
    let (calls, rate): (u64, u64) = (arguments[1].parse().unwrap_or(1), arguments[2].parse().unwrap_or(0));
    let size = file.metadata().map_or(1, |about| about.len() / 4096).max(1);
    let mut buffer = [0; 4096];
    let start = Instant::now();
    for call in 0..calls {
        let due_ns = (call * 1_000_000_000).checked_div(rate).unwrap_or(0);
        while start.elapsed() < Duration::from_nanos(due_ns) {
            std::hint::spin_loop();
        }
        file.read_exact_at(&mut buffer, call % size * 4096).expect("the file can be read");
    }
    fs::write(format!("{}.took", arguments[0]), start.elapsed().as_nanos().to_string())
        .expect("a number can be kept");
}

fn took_ns(path: &Path, calls: u64) -> f64 {
    let text = fs::read_to_string(format!("{}.took", path.display())).unwrap_or_default();
    text.parse::<f64>().unwrap_or(f64::NAN) / calls as f64
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "loop") {
        return read_loop(&arguments[1..]);
    }
    let directory = std::env::temp_dir().join(format!("fathom-record-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory can be made");
    let path = directory.join("data");
    fs::write(&path, vec![1; 4 << 20]).expect("a file can be made");
    let program = std::env::current_exe().expect("this program has a name");
    let words = |calls: u64, rate: u64| -> Vec<OsString> {
        let words = [calls.to_string(), rate.to_string()].map(OsString::from);
        [program.clone().into(), "loop".into(), path.clone().into()].into_iter().chain(words).collect()
    };
    println!(
        "{:<10} {:>10} {:>10} {:>12} {:>10} {:>10} {:>8}",
        "by", "calls", "calls/s", "ns per call", "cost", "recorded", "lost"
    );
    for round in 0..3 {
        for (calls, rate) in [(2_000_000, 0), (1_000_000, 200_000)] {
            let bare = words(calls, rate);
            let status = Command::new(&bare[0]).args(&bare[1..]).status();
            assert!(status.is_ok_and(|status| status.success()));
            let alone = took_ns(&path, calls);
            println!("{:<10} {calls:>10} {:>10.0} {alone:>12.1}", "none", 1e9 / alone);
            for method in [Method::Kernel, Method::Strace] {
                let calls = if method == Method::Strace { calls / 20 } else { calls };
                let out = directory.join(format!("{round}-{method:?}-{rate}.parquet"));
                match record(
                    &Subject::Command(words(calls, rate)),
                    &out,
                    Some(method),
                    &AtomicBool::new(false),
                ) {
                    Ok(recorded) => {
                        let with = took_ns(&path, calls);
                        let (operations, _) = Reader::open(&out).and_then(Reader::read_all).expect("a trace");
                        let seen = operations
                            .iter()
                            .filter(|one| one.kind == CallKind::Pread && one.length == 4096)
                            .count();
                        println!(
                            "{:<10} {calls:>10} {:>10.0} {with:>12.1} {:>9.1}% {seen:>10} {:>8}",
                            format!("{method:?}"),
                            1e9 / with,
                            100.0 * (with / alone - 1.0),
                            recorded.lost
                        );
                    }
                    Err(error) => println!("{method:?}: {error}"),
                }
                let _ = fs::remove_file(&out);
            }
        }
    }
    let _ = fs::remove_dir_all(&directory);
}
