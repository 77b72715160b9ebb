//! Traces that the tools themselves make, where they are installed.

use std::fs;
use std::process::Command;

use crate::support::{Scratch, has, import};
use fathom_trace::format::create;
use fathom_trace::import::{Format, detect};
use fathom_trace::{CallKind, Operation, export};

fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn count(operations: &[Operation], kinds: &[CallKind]) -> usize {
    operations.iter().filter(|one| kinds.contains(&one.kind)).count()
}

#[test]
fn fio_writes_what_is_imported_and_reads_what_is_exported() {
    if !has("fio") {
        return;
    }
    let scratch = Scratch::new("fio");
    let (data, log) = (scratch.0.join("data"), scratch.0.join("log"));
    let fio = |arguments: &[String]| {
        let mut command = Command::new("fio");
        run(command
            .current_dir(&scratch.0)
            .args(["--name=job", "--output-format=json", "--size=1M"])
            .args(arguments))
    };
    let named = |option: &str, path: &std::path::Path| format!("--{option}={}", path.display());
    fio(&[
        named("filename", &data),
        named("write_iolog", &log),
        "--rw=randrw".into(),
        "--bs=8k".into(),
        "--fsync=16".into(),
    ]);
    assert_eq!(detect(&log).unwrap(), Format::Fio);
    let (operations, files, imported) = import(&fs::read(&log).unwrap(), Format::Fio);
    assert_eq!(imported.rejected.count, 0, "{imported:?}");
    assert_eq!(count(&operations, &[CallKind::Pread, CallKind::Pwrite]), 128);
    assert_eq!((count(&operations, &[CallKind::Open]), count(&operations, &[CallKind::Close])), (1, 1));
    assert!(operations.iter().all(|one| files.path(one.file) == data.as_os_str().as_encoded_bytes()));
    assert!(operations.iter().map(|one| one.length).all(|length| length == 0 || length == 8192));

    let (trace, iolog) = (scratch.0.join("trace"), scratch.0.join("iolog"));
    let mut writer = create(&trace, &Format::Fio.origin()).unwrap();
    writer.add(&operations, &files).unwrap();
    writer.finish().unwrap();
    let exported = export::fio(&trace, &mut fs::File::create(&iolog).unwrap()).unwrap();
    let syncs = count(&operations, &[CallKind::Fsync]);
    assert_eq!(exported.operations as usize, 128 + syncs);
    let replayed: serde_json::Value = serde_json::from_str(&fio(&[named("read_iolog", &iolog)])).unwrap();
    let job = &replayed["jobs"][0];
    for (way, kind) in [("read", CallKind::Pread), ("write", CallKind::Pwrite)] {
        let wanted = operations.iter().filter(|one| one.kind == kind);
        assert_eq!(job[way]["total_ios"], wanted.clone().count() as u64, "{way}");
        assert_eq!(job[way]["io_bytes"], wanted.map(|one| one.length).sum::<u64>(), "{way}");
    }
}

/// Descriptors that are inherited, copied and closed, in a shell; what dd does is known to the byte.
const SCRIPT: &str = "exec 7<data; dd bs=4096 count=3 <&7 >copy 2>/dev/null; dd bs=1000 count=1 <&7 >>copy 2>/dev/null; \
    (cat <&7 >/dev/null) & wait; exec 7<&-";

#[test]
fn strace_with_and_without_paths_gives_the_same_operations() {
    if !has("strace") {
        return;
    }
    let scratch = Scratch::new("strace");
    fs::write(scratch.0.join("data"), vec![7; 65536]).unwrap();
    let traced = |options: &[&str]| {
        let log = scratch.0.join("log");
        let mut command = Command::new("strace");
        command.current_dir(&scratch.0).args(["-f", "-ttt", "-T", "-o", "log"]).args(options);
        let status = command.args(["sh", "-c", SCRIPT]).status().expect("strace starts");
        if !status.success() {
            crate::support::skip("strace", "it may not trace here");
            return None;
        }
        assert_eq!(detect(&log).unwrap(), Format::Strace);
        let (operations, files, imported) = import(&fs::read(&log).unwrap(), Format::Strace);
        assert_eq!(imported.rejected.count, 0, "{:?}", imported.rejected);
        let of_data = |name: &str, kind: CallKind| -> Vec<(Option<u64>, u64)> {
            let ours = operations.iter().filter(|one| one.kind == kind && one.moved_bytes() > 0);
            let ours = ours.filter(|one| files.path(one.file).ends_with(name.as_bytes()));
            ours.map(|one| (one.offset, one.moved_bytes())).collect()
        };
        Some((of_data("data", CallKind::Read), of_data("copy", CallKind::Write)))
    };
    let (Some(with), Some(without)) = (traced(&["-y"]), traced(&[])) else { return };
    assert_eq!(with.0[..4], [(Some(0), 4096), (Some(4096), 4096), (Some(8192), 4096), (Some(12288), 1000)]);
    assert_eq!(with.0.iter().map(|read| read.1).sum::<u64>(), 65536, "{:?}", with.0);
    // The second dd appends: where, only the file's size tells.
    assert_eq!(with.1, [(Some(0), 4096), (Some(4096), 4096), (Some(8192), 4096), (Some(12288), 1000)]);
    assert_eq!(with, without);
}

#[test]
fn blkparse_and_our_reader_of_blktrace_agree() {
    if !has("blkparse") {
        return;
    }
    let scratch = Scratch::new("blktrace");
    let binary = requests();
    fs::write(scratch.0.join("t.blktrace.0"), &binary).unwrap();
    let text = run(Command::new("blkparse").current_dir(&scratch.0).args(["-i", "t"]));
    let (from_text, _, parsed) = import(text.as_bytes(), Format::Blkparse);
    let (from_binary, _, read) = import(&binary, Format::Blktrace);
    assert_eq!((parsed.rejected.count, read.rejected.count), (0, 0), "{parsed:?} {read:?}\n{text}");
    assert_eq!(count(&from_binary, &[CallKind::Read, CallKind::Write, CallKind::Discard]), 300);
    assert_eq!(from_text.len(), from_binary.len());
    for (one, other) in from_text.iter().zip(&from_binary) {
        assert_eq!(one, other);
    }
}

/// Requests that are queued, issued and completed, up to eight under way at once.
fn requests() -> Vec<u8> {
    // The kernel's `BLK_TC_*` are bits: 0 read, 1 write, 4 queue, 6 issue, 7 complete, 13 discard.
    let ways: [u32; 3] = [1, 1 << 1, 1 << 1 | 1 << 13];
    let mut events = Vec::new();
    for at in 0..300u64 {
        let (way, sector, bytes) =
            (ways[at as usize % 3], at * 7919 % 100_000 * 8, 4096 * (1 + at as u32 % 5));
        for (stage, (category, action)) in [(4, 1), (6, 7), (7, 8)].into_iter().enumerate() {
            let time = at * 10_000 + stage as u64 * (5000 + at % 7 * 11_000);
            events.push((time, sector, bytes, (way | 1 << category) << 16 | action));
        }
    }
    events.sort();
    let record = |(at, event): (usize, &(u64, u64, u32, u32))| {
        crate::support::blktrace_record(7, at as u32 + 1, event.0, event.1, event.2, event.3, b"")
    };
    events.iter().enumerate().flat_map(record).collect()
}
