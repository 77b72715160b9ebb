//! `fathom run` in fio's own formats, each held against what fio writes of the same jobs.

use std::process::Command;

use crate::support::{Place, fathom, require};

/// Tiny jobs, as fio's words.
const JOBS: [&str; 6] = [
    "--name=a --size=256k --rw=read",
    "--name=a --size=256k --rw=randwrite --fsync=16 --description=synced --name=b --size=64k --rw=read --new_group",
    "--name=a --size=256k --rw=randread --ioengine=io_uring --iodepth=8 --numjobs=3 --group_reporting \
     --percentile_list=50:99.9 --lat_percentiles=1 --continue_on_error=all",
    "--name=a --size=256k --rw=write --bs=16k --gtod_reduce=1 --unit_base=1",
    "--name=a --size=256k --rw=write --unified_rw_reporting=mixed --stonewall --name=b --size=1m --bs=64k \
     --stonewall --rw=read --unified_rw_reporting=both",
    "--name=a --size=256k --rw=read --bs=1k --rate=200k --runtime=1200ms --time_based --disk_util=0",
];

/// What fio and what Fathom print of a job in one format; neither leaves anything else behind.
fn both(job: &str, format: &[&str]) -> [String; 2] {
    let (place, fios) = (Place::new(), Place::new());
    let words: Vec<&str> = format.iter().copied().chain(job.split_whitespace()).collect();
    let theirs = Command::new("timeout").args(["60", "fio"]).args(&words).current_dir(fios.text()).output();
    let theirs = theirs.unwrap();
    assert!(theirs.status.success(), "{job}: {theirs:?}");
    let ours = fathom(&[&["run", place.text(), "--", "fio"], words.as_slice()].concat());
    assert!(ours.code == Some(0) && place.names().is_empty(), "{job}: {ours:?}");
    [String::from_utf8(theirs.stdout).unwrap(), ours.out]
}

/// What is in a terse field: a count, a number with its digits behind the point, a percentage, a percentile, a word.
fn kind(field: &str) -> String {
    let number = |text: &str| text.split_once('.').map(|(_, digits)| format!("number.{}", digits.len()));
    match (field.parse::<u64>(), field.strip_suffix('%'), field.split_once("%=")) {
        (Ok(_), ..) => "count".to_owned(),
        (_, Some(percent), _) => format!("{}%", number(percent).unwrap_or_default()),
        (.., Some((percent, _))) => format!("{percent}%="),
        _ if field.parse::<f64>().is_ok() => number(field).unwrap_or_default(),
        _ if field.starts_with("fio-") || field.starts_with("fathom-") => "version".to_owned(),
        _ => format!("word {field}"),
    }
}

#[test]
fn terse_lines_have_fios_fields() {
    let test = "terse_lines_have_fios_fields";
    if !require(test, fathom::load::program::version("fio").is_some(), "fio is not installed") {
        return;
    }
    for job in JOBS {
        for version in ["2", "3", "4", "5"] {
            let format = ["--output-format=terse", "--terse-version", version];
            let [theirs, ours] = both(job, &format);
            assert_eq!(ours.lines().count(), theirs.lines().count(), "{job}: {ours}");
            for (ours, theirs) in ours.lines().zip(theirs.lines()) {
                let [ours, theirs] = [ours, theirs].map(|line| line.split(';').collect::<Vec<_>>());
                assert_eq!(ours.len(), theirs.len(), "{job} in version {version}: {ours:?}");
                let kinds = |fields: &[&str]| fields.iter().map(|field| kind(field)).collect::<Vec<_>>();
                assert_eq!(kinds(&ours), kinds(&theirs), "{job} in version {version}");
                // Name, group, error, and how much was read; a timed job reads what it can.
                let counts = if version == "2" { 0..5 } else { 2..6 };
                let counts = if job.contains("runtime") { counts.start..counts.end - 1 } else { counts };
                // In version 2 a description has a line of its own.
                assert_eq!(ours.get(counts.clone()), theirs.get(counts), "{job} in version {version}");
            }
        }
    }
    let (place, line) = (Place::new(), "--name=a --size=64k --minimal");
    let words: Vec<&str> = line.split_whitespace().collect();
    let minimal = fathom(&[&["run", place.text(), "--"], words.as_slice()].concat());
    assert!(minimal.out.starts_with("3;fathom-") && minimal.out.lines().count() == 1, "{minimal:?}");
    let chosen = ["run", place.text(), "--format", "fio-terse", "--terse-version", "5", "--"];
    let fifth = fathom(&[&chosen[..], words.as_slice()].concat());
    assert!(fifth.out.starts_with("5;fathom-"), "{fifth:?}");
}

/// A line without what is measured: units that depend on it, numbers with their spaces, and the number of the process.
fn head(line: &str) -> String {
    let line = line.split("pid=").next().unwrap_or_default();
    let line =
        ["(nsec)", "(usec)", "(msec)"].iter().fold(line.to_owned(), |line, unit| line.replace(unit, "()"));
    // Short numbers are padded.
    let line = line.replace("= ", "=");
    let mut head = String::new();
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        let is_number = word.starts_with(|c: char| c.is_ascii_digit() || c == '(');
        let mut rest = word.split(|c: char| c.is_ascii_digit() || "=[(/-".contains(c));
        head += if is_number { "" } else { rest.next().unwrap_or_default() };
        head.push(' ');
    }
    head
}

#[test]
fn normal_text_has_fios_lines() {
    let test = "normal_text_has_fios_lines";
    if !require(test, fathom::load::program::version("fio").is_some(), "fio is not installed") {
        return;
    }
    // How many lines there are of these depends on the latencies.
    let is_measured = |line: &&str| line.starts_with("  lat (") || line.starts_with("     | ");
    let is_fios = |line: &&str| line.contains("Laying out") || line.starts_with("Starting ");
    for job in JOBS {
        let [theirs, ours] = both(job, &["--output-format=normal"]).map(|text| {
            let kept = text.lines().filter(|line| !is_measured(line) && !is_fios(line));
            kept.filter(|line| !line.starts_with("fio-") && !line.starts_with("fathom-"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        let heads = |lines: &[String]| lines.iter().map(|line| head(line)).collect::<Vec<_>>();
        assert_eq!(heads(&ours), heads(&theirs), "{job}: {ours:#?}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let is_count = ours.contains("issued rwts") && !job.contains("runtime");
            if is_count || ours.contains("(g=") || ours.contains("errors  ") || ours.contains("target=") {
                assert_eq!(ours, theirs, "{job}");
            }
        }
    }
}

#[test]
fn several_formats_stand_in_fios_order() {
    let place = Place::new();
    let words = ["--name=a", "--size=64k", "--output-format=normal,json+,terse", "--output=x", "--eta=never"];
    let done = fathom(&[&["run", place.text(), "--"], &words[..]].concat());
    assert_eq!(done.code, Some(0), "{done:?}");
    let at = |words: &str| done.out.find(words).unwrap_or_else(|| panic!("{words} in {done:?}"));
    assert!(done.out.starts_with("3;fathom-") && at("\"jobs\"") < at("a: (groupid=0, jobs=1): err= 0"));
    assert!(done.out.contains("\"bins\"") && done.out.contains("Run status group 0 (all jobs):"));
    for option in ["--output", "--eta"] {
        assert!(done.err.contains(&format!("{option} has no effect: the results go to standard output")));
    }
    let disks = fathom(&["run", place.text(), "--format", "fio-json", "--", "--name=a", "--size=64k"]);
    let value: serde_json::Value = serde_json::from_str(&disks.out).unwrap();
    assert!(value["disk_util"].as_array().is_none_or(|disks| disks[0]["util"].is_number()), "{disks:?}");
    fathom(&["run", place.text(), "--terse-version", "6", "--", "--name=a"]).complains(2, "--terse-version");
}

#[test]
fn rates_are_sampled_every_half_second() {
    let place = Place::new();
    let words = ["--name=a", "--size=64k", "--rate=1m", "--runtime=1300ms", "--time_based", "--numjobs=2"];
    let options =
        ["run", place.text(), "--format", "fio-json", "--", "--group_reporting", "--iopsavgtime=200"];
    let done = fathom(&[&options[..], &words[..]].concat());
    let value: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    let read = &value["jobs"][0]["read"];
    let figure = |key: &str| read[key].as_f64().unwrap_or_else(|| panic!("{key} in {read}"));
    // Two threads; a thread that waits for its CPU may miss the last samples.
    assert!((2.0..=4.0).contains(&figure("bw_samples")), "{read}");
    assert!((4.0..=12.0).contains(&figure("iops_samples")), "{read}");
    assert!(figure("bw_min") <= figure("bw_mean") && figure("bw_mean") <= figure("bw_max"), "{read}");
    // 1 MiB per second is never exceeded by more than what was behind.
    assert!(figure("bw_max") > 0.0 && figure("bw_agg") > 0.0 && figure("bw_agg") <= 100.0, "{read}");
    assert_eq!(value["jobs"][0]["write"]["bw_samples"], 0);
}
