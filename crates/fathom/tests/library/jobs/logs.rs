//! The logs that fio and Fathom write, and those that they replay.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fathom::load::{Limits, Testbed, run_all};
use fathom::report::fio::Detail;

use super::behaviour::{counts, here, there};
use super::{Place, fio, has_fio, instrument, read};

/// Runs jobs here and has their logs written.
fn logged(text: &str) {
    let file = read(text).unwrap();
    let limits = Limits { max_write: 1 << 30, deadline: None };
    let mut testbed =
        Testbed::at(&std::env::temp_dir(), 1 << 20, instrument(), limits, Arc::new(AtomicBool::new(false)))
            .unwrap();
    let outcomes = run_all(&file.jobs, &mut testbed).unwrap();
    assert_eq!(fathom::load::write_logs(&file.jobs, &outcomes).unwrap(), Vec::<String>::new());
}

#[test]
fn a_log_is_written_as_by_fio_and_replayed_by_it() {
    if !has_fio("a_log_is_written_as_by_fio_and_replayed_by_it") {
        return;
    }
    // Files and actions; of transfers where they go as well. Both open files when they like, and fio syncs at an offset.
    let lines = |text: &str| -> Vec<String> {
        let line = |line: &str| -> Option<String> {
            let parts: Vec<&str> = line.split(' ').skip(1).collect();
            let is_transfer = matches!(*parts.get(1)?, "read" | "write" | "trim");
            let is_sync = matches!(parts[1], "sync" | "datasync" | "sync_file_range");
            is_transfer.then(|| parts.join(" ")).or(is_sync.then(|| parts[..2].join(" ")))
        };
        text.lines().skip(1).filter_map(line).collect()
    };
    let place = Place::new("written");
    for options in [
        "rw=write\nsize=32k\nfsync=3\nend_fsync=1",
        "rw=write\nsize=32k\nnrfiles=2\nfdatasync=4",
        "rw=write\nsize=32k\nnrfiles=2\nloops=2",
        "rw=read\nsize=32k\nio_size=40k\nfilename=named",
        "rw=write\nsize=16k\nverify=md5",
        "rw=trimwrite\nsize=16k\nioengine=falloc",
        "rw=write\nsize=32k\nsync_file_range=write:2\nnumber_ios=6",
        "rw=write\nsize=64k\nioengine=libaio\niodepth=1\nnrfiles=2",
    ] {
        let path = place.0.join("log");
        let text = format!("[x]\nioengine=psync\n{options}\nwrite_iolog={}\n", path.display());
        logged(&text);
        let mine = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let (_, said) = fio(&place, &["--disk_util=0"], &place.write("run.fio", &text));
        let fios = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{said}"));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(mine.lines().next(), fios.lines().next());
        assert_eq!(lines(&mine), lines(&fios), "{options}");
        if !options.contains("sync_file_range") && !options.contains("trim") {
            let log = place.write("log", &mine);
            let replay = format!("[x]\nioengine=psync\nread_iolog={}\n", log.display());
            let count = |what: &str| mine.lines().filter(|line| line.contains(what)).count() as u64;
            let replayed = counts(&there(&place, &replay, "json")).remove(0).1;
            assert_eq!([replayed[1], replayed[3]], [count(" read "), count(" write ")], "{options}");
        }
    }
}

#[test]
fn histograms_are_logged_as_by_fio() {
    if !has_fio("histograms_are_logged_as_by_fio") {
        return;
    }
    let place = Place::new("histograms");
    for (options, columns) in [("", 1856), ("log_hist_coarseness=4", 116)] {
        let text = format!(
            "[x]\nioengine=psync\nrw=randrw\nsize=1m\nrate_iops=1000\nwrite_hist_log={}/h\nlog_hist_msec=20\n{options}\n",
            place.0.display()
        );
        let path = place.0.join("h_clat_hist.1.log");
        let table = |text: &str| -> Vec<Vec<u64>> {
            let line = |line: &str| line.split(", ").map(|part| part.parse().unwrap()).collect();
            text.lines().map(line).collect()
        };
        logged(&text);
        let mine = table(&std::fs::read_to_string(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        fio(&place, &["--disk_util=0"], &place.write("run.fio", &text));
        let fios = table(&std::fs::read_to_string(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        for table in [mine, fios] {
            assert!((4..20).contains(&table.len()), "{}", table.len());
            assert!(table.iter().all(|line| line.len() == 3 + columns && line[1] < 2 && line[2] == 4096));
            // Each stretch of 20 ms has about twenty transfers of its direction.
            let sums: Vec<u64> = table.iter().map(|line| line[3..].iter().sum()).collect();
            assert!(sums.iter().all(|sum| (10..40).contains(sum)), "{sums:?}");
        }
    }
}

/// A log of two files, with the times of version 3 or without.
fn log(has_times: bool) -> String {
    let lines = [
        "10 a add",
        "11 b add",
        "12 a open",
        "20 a read 0 4096",
        "900 b open",
        "1000 b write 8192 512",
        "1500 a read 4096 8192",
        "1600 b sync 0 0",
        "1700 a write 0 1024",
        "1800 b close",
        "1900 a datasync 0 0",
        "2000 a read 12288 4096",
        "2100 a close",
    ];
    let line =
        |line: &&str| if has_times { (*line).to_owned() } else { line.split_once(' ').unwrap().1.to_owned() };
    let version = if has_times { 3 } else { 2 };
    let lines: Vec<String> = lines.iter().map(line).collect();
    format!("fio version {version} iolog\n{}\n", lines.join("\n"))
}

#[test]
fn a_log_is_replayed_as_by_fio() {
    if !has_fio("a_log_is_replayed_as_by_fio") {
        return;
    }
    let place = Place::new("replayed");
    for has_times in [true, false] {
        for more in [
            "",
            "replay_no_stall=1",
            "replay_time_scale=50",
            "replay_align=4096",
            "loops=2\nsize=4k\nfsync=1\nnumber_ios=2",
            "numjobs=2\nioengine=sync",
        ] {
            let (path, files) = (place.write("log", &log(has_times)), ["a", "b"]);
            files.iter().for_each(|file| drop(place.write(file, &"x".repeat(16384))));
            let text = format!("[x]\nioengine=psync\nread_iolog={}\n{more}\n", path.display());
            let mut here = counts(&here(&text, Detail::Percentiles));
            // fio counts no fdatasync(2).
            here.iter_mut().for_each(|(_, counts)| counts[4] -= 1);
            assert_eq!(here, counts(&there(&place, &text, "json")), "{text}");
        }
    }
    let path = place.write("log", &log(true));
    let text = |more: &str| format!("[x]\nread_iolog={}\n{more}\n", path.display());
    let of = |more: &str| counts(&here(&text(more), Detail::Percentiles)).remove(0).1;
    // fio 3.33 replays what it is to skip, and fails where all is done to one file.
    assert_eq!(of("replay_skip=write,sync")[..5], [16384, 3, 0, 0, 1]);
    assert_eq!(of("replay_redirect=/dev/sdz")[..5], [16384, 3, 1536, 2, 2]);
    assert_eq!(of("ioengine=libaio\niodepth=4")[..5], [16384, 3, 1536, 2, 2]);
    let file = read(&text("")).unwrap();
    assert_eq!(file.jobs[0].files.scratch, ["a", "b"]);
    let missing = read("[x]\nread_iolog=/nowhere\n").unwrap();
    assert_eq!(missing.jobs[0].unsupported().unwrap(), "read_iolog=/nowhere: there is no such file");
}
