//! Programs whose operations are known, recorded by the kernel and by strace.

mod support;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use fathom_trace::format::Reader;
use fathom_trace::record::{Method, Subject, record};
use fathom_trace::{Clock, Kind, Level};
use support::{Scratch, has, skip};

/// Descriptors inherited, copied, shared and closed; appends; a child in the background; a truncated file.
const SCRIPT: &str = "cd \"$1\"; exec 7<data; dd bs=4096 count=3 <&7 >copy 2>/dev/null; \
    dd bs=1000 count=1 <&7 >>copy 2>/dev/null; (cat <&7 >rest) & wait; exec 7<&-; \
    dd if=data of=copy bs=512 seek=2 count=4 conv=notrunc,fsync 2>/dev/null; truncate -s 100 rest; cat absent 2>/dev/null; exit 5";

/// What was done to a file: kind, name, offset, bytes moved, whether it went well.
type Done = (Kind, String, Option<u64>, u64, bool);

fn recorded(scratch: &Scratch, method: Method) -> Option<Vec<Done>> {
    for name in ["copy", "rest"] {
        let _ = fs::remove_file(scratch.0.join(name));
    }
    let out = scratch.0.join(format!("{method:?}.parquet"));
    let words = ["sh", "-c", SCRIPT, "sh"].map(OsString::from);
    let command: Vec<OsString> = words.into_iter().chain([scratch.0.clone().into_os_string()]).collect();
    let recorded = match record(&Subject::Command(command), &out, Some(method)) {
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
    let name = |path: &[u8]| {
        Path::new(std::str::from_utf8(path).unwrap())
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    let ours = operations.iter().filter(|one| !matches!(one.kind, Kind::Fork | Kind::Dup | Kind::Map));
    let done = ours.filter_map(|one| {
        let name = name(files.path(one.file))
            .filter(|name| ["data", "copy", "rest", "absent"].contains(&name.as_str()))?;
        Some((one.kind, name, one.offset, one.moved_bytes(), one.result.is_some_and(|result| result >= 0)))
    });
    Some(done.collect())
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
        by_strace.iter().filter(|one| one.0 == Kind::Read && one.1 == "data" && one.3 > 0).collect();
    assert_eq!(reads[0].2, Some(0));
    assert!(by_strace.contains(&(Kind::Write, "copy".to_owned(), Some(12288), 1000, true)), "{by_strace:?}");
    assert!(by_strace.contains(&(Kind::Write, "copy".to_owned(), Some(1024), 512, true)), "{by_strace:?}");
    assert!(by_strace.contains(&(Kind::Fsync, "copy".to_owned(), None, 0, true)), "{by_strace:?}");
    assert!(by_strace.iter().any(|one| one.0 == Kind::Open && one.1 == "absent" && !one.4));
    let Some(by_kernel) = recorded(&scratch, Method::Kernel) else { return };
    assert_eq!(by_kernel, by_strace);
    let left: Vec<_> = fs::read_dir(&scratch.0).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 5, "{left:?}");
}

#[test]
fn a_command_that_is_not_there_is_told() {
    if !has("strace") {
        return;
    }
    let scratch = Scratch::new("nothing");
    let subject = Subject::Command(vec![OsString::from("/nonexistent/program")]);
    let recorded = record(&subject, &scratch.0.join("t"), Some(Method::Strace));
    assert!(recorded.is_err() || recorded.is_ok_and(|recorded| recorded.exit_code != Some(0)));
}
