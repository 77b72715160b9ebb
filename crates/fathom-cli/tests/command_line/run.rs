//! `fathom run`: what it prints, what it refuses, and what it leaves behind, which is nothing.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::published;
use crate::support::{NO_MOUNTS, Outcome, Place, can_mount, command, fathom, mounted, require};

/// A place with a job file in it, and the file's path.
fn with_job(text: &str) -> (Place, Place, String) {
    let (place, jobs) = (Place::new(), Place::new());
    let path = jobs.join("x.fio");
    fs::write(&path, text).unwrap();
    (place, jobs, path)
}

fn run(text: &str, more: &[&str]) -> Outcome {
    let (place, _jobs, path) = with_job(text);
    let outcome = fathom(&[&["run", path.as_str(), place.text()], more].concat());
    assert!(place.names().is_empty(), "{:?} is left after {outcome:?}", place.names());
    outcome
}

#[test]
fn jobs_run_and_leave_nothing() {
    let text = "[global]\nsize=256k\n[a]\nrw=randread\nnumjobs=2\n[b]\nstonewall\nrw=write\nfsync=16\nioengine=mmap\n";
    let table = run(text, &[]);
    assert_eq!(table.code, Some(0), "{table:?}");
    for words in ["median", "a    2", "b    1", "sync", "nothing was left behind"] {
        assert!(table.out.contains(words), "{words} in {table:?}");
    }
    let json = run(text, &["--format", "fio-json"]);
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(value["jobs"].as_array().unwrap().len(), 3);
    assert_eq!(value["jobs"][2]["write"]["io_bytes"], 256 << 10);
    let json = run(text, &["--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    published::check("run", &value);
    assert_eq!(value["jobs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_command_line_of_fio_is_run_and_predicted() {
    let place = Place::new();
    let words = ["--", "fio", "--name=x", "--rw=randread", "--size=64k", "--loops=2", "--randrepeat=0"];
    let done = fathom(&[&["run", place.text(), "--format", "json"], &words[..]].concat());
    let value: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(value["jobs"][0]["sides"][0]["bytes"], 128 << 10, "{done:?}");
    assert!(done.err.contains("[x] randrepeat=0: randseed="), "{done:?}");
    assert!(place.names().is_empty());
    let outcome = fathom(&[&["predict", "--on", "assumed", "--draws", "0"], &words[..]].concat());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    fathom(&["run", place.text(), "--", "--name=x", "--sice=1"]).complains(2, "there is no option '--sice'");
    fathom(&["run", "x.fio", place.text(), "--", "--name=x"])
        .complains(2, "give only the directory before --");
    fathom(&["run"]).complains(2, "JOB.fio|TRACE");
}

#[test]
fn command_lines_of_ior_and_mdtest_are_run_and_predicted() {
    let place = Place::new();
    let ior = ["--", "ior", "-a", "POSIX", "-b", "2m", "-t1m", "-s", "2", "-i", "2", "-e"];
    let ran = fathom(&[&["run", place.text()], ior.as_slice()].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = ran.out;
    let row = |title: &str| {
        let line =
            ran.lines().rfind(|line| line.starts_with(title)).unwrap_or_else(|| panic!("{title}: {ran}"));
        line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect::<Vec<f64>>()
    };
    for name in ["write", "read"] {
        let [most, least, mean, deviation] = row(&format!("{name}  ")).try_into().unwrap_or([0.0; 4]);
        assert!(most >= mean && mean >= least && least > 0.0, "{ran}");
        // Of two, as both programs have it.
        assert!((deviation - (most - least) / 2_f64.sqrt()).abs() < 0.02, "{ran}");
        let title = if name == "write" { "Max Write:" } else { "Max Read:" };
        assert!(ran.contains(&format!("{title:<10} {most:.2} MiB/sec")), "{ran}");
    }
    let mdtest = ["--", "mdtest", "-n", "20", "-F", "-C", "-T"];
    let ran = fathom(&[&["run", place.text()], mdtest.as_slice()].concat()).out;
    assert!(ran.contains("   File stat") && !ran.contains("File removal"), "{ran}");
    assert!(place.names().is_empty());
    let outcome = fathom(&[&["predict", "--on", "assumed", "--draws", "0"], ior.as_slice()].concat()).out;
    assert!(outcome.contains("write") && outcome.contains("read"), "{outcome}");
    fathom(&["run", place.text(), "--", "ior", "-a", "MPIIO"]).complains(2, "ior: -a MPIIO: POSIX alone");
}

#[test]
fn a_bad_job_file_is_named_with_its_line() {
    run("[x]\nsize=1m\nsice=1m\n", &[]).complains(2, "x.fio:3: there is no option 'sice'");
    run("[x]\nsize=1m\ncreate_on_open=1\nioengine=mmap\n", &[])
        .complains(2, "x.fio: [x]: create_on_open=1 with ioengine=mmap: a new file is empty");
    let empty = "x.fio: [x]: create_on_open=1 of a job that reads: its files are empty";
    run("[x]\nsize=1m\ncreate_on_open=1\n", &[]).complains(2, empty);
    let (_, _jobs, job) = with_job("[x]\nsize=1m\ncreate_on_open=1\n");
    fathom(&["predict", "--on", "assumed", &job]).complains(2, empty);
    let path = run("[x]\nsize=64k\nfilename=/etc/passwd\n", &[]);
    assert!(path.err.contains("'/etc/passwd' is the scratch file 'etc_passwd' below PATH"), "{path:?}");
    run("[x]\nsize=1m\nnumjobs=0\n", &[]).complains(2, "x.fio:3: [x]: numjobs=0 leaves nothing to do");
    run("", &[]).complains(2, "there is no job");
    fathom(&["run", "/nonexistent.fio"]).complains(2, "/nonexistent.fio: No such file");
}

#[test]
fn budgets_are_refused_before_the_first_byte() {
    run("[x]\nsize=2m\n", &["--max-write", "1M"])
        .complains(1, "write 2 MiB, and 1 MiB are allowed: raise --max-write");
    run("[x]\nsize=1m\ntime_based\nruntime=5m\n", &["--max-time", "1m"]).complains(1, "raise --max-time");
    run("[x]\nrw=write\nsize=1m\ntime_based\nruntime=5m\n", &["--max-write", "20M", "--max-time", "10m"])
        .complains(1, "raise --max-write");
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let text = "[global]\nfilename=/dev/nvme0n1\ndirect=1\nioengine=libaio\niodepth=32\nruntime=20m\ntime_based\n\
                [fill]\nrw=write\nbs=1m\nsize=100%\n[mix]\nstonewall\nrw=randrw\nrwmixread=70\nnumjobs=4\n";
    let outcome = run(text, &["--dry-run"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    for words in [
        "1      fill  1        libaio, direct  32",
        "sequential writes of 1 MiB",
        "2      mix   4",
        "random 70 % reads of 4 KiB, 30 % writes of 4 KiB",
        "file.dev_nvme0n1, 1 GiB",
        "Nothing was run or written.",
    ] {
        assert!(outcome.out.contains(words), "{words} in {outcome:?}");
    }
    assert!(
        outcome.err.contains("'/dev/nvme0n1' is the scratch file 'dev_nvme0n1' below PATH"),
        "{outcome:?}"
    );
    assert!(outcome.err.contains("raise --max-time"), "{outcome:?}");
    let huge = run("[x]\nrw=read\nsize=100p\nruntime=10\n", &["--dry-run"]);
    assert!(huge.code == Some(0) && huge.err.contains("% of what the jobs say"), "{huge:?}");
    let open = run("[x]\nrw=read\n", &["--dry-run"]);
    assert!(open.code == Some(0) && open.err.contains("[x] has no size of its own"), "{open:?}");
    run("[x]\nsice=1m\n", &["--dry-run"]).complains(2, "x.fio:2: there is no option 'sice'");
    let json = run("[x]\nfilename=/dev/sdz\nsize=1m\nnumjobs=2\n", &["--dry-run", "--format", "json"]);
    let plan: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(plan["schema"], "fathom.plan/1");
    let file = serde_json::json!({"name": "file.dev_sdz", "wanted": "/dev/sdz", "bytes": 1 << 20});
    assert_eq!((&plan["jobs"][0]["files"][0], plan["space_bytes"].as_u64()), (&file, Some(1 << 20)));
    run("[x]\nsize=1m\n", &["--dry-run", "--format", "fio-json"]).complains(2, "--format text or json");
}

#[test]
fn a_dry_run_takes_what_people_write_on_command_lines() {
    let place = Place::new();
    for line in [
        "sudo fio -filename=/dev/sdb -direct=1 -iodepth 1 -thread -rw=randrw -rwmixread=70 -ioengine=psync -bs=16k \
         -size=200G -numjobs=4 -runtime=60 -group_reporting -name=mix",
        "/usr/bin/fio --randrepeat=1 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=t --filename=t --bs=4k \
         --iodepth=64 --size=4G --readwrite=randrw --eta=never --output-format=json+ --output=/tmp/never-written",
        "--rw=write --ioengine=sync --fdatasync=1 --directory=/var/lib/x --size=22m --bs=2300 --name=log --minimal",
        "--name=a --readonly --warnings-fatal --status-interval=1 --filename=/dev/vda --rw=read --time_based --runtime=30s",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let outcome = fathom(&[&["run", "--dry-run", place.text(), "--"], words.as_slice()].concat());
        assert_eq!(outcome.code, Some(0), "{line}: {outcome:?}");
    }
    assert!(place.names().is_empty());
}

/// `-` and any other pipe give their text once; a remark may be in any encoding.
#[test]
fn jobs_come_from_standard_input_and_pipes() {
    let place = Place::new();
    let text = b"; gr\xf6\xdfer als je\n[x]\nsize=64k\ndescription=\xe9tat\n";
    for arguments in [
        &["run", "--dry-run", "-", place.text()][..],
        &["run", "--dry-run", "/dev/stdin", place.text()],
        &["run", "--dry-run", place.text(), "--", "fio", "-"],
        &["predict", "--on", "assumed", "--draws", "0", "--no-report", "-"],
    ] {
        let (input, mut output) = std::io::pipe().unwrap();
        output.write_all(text).unwrap();
        drop(output);
        let outcome = Outcome::from(command(arguments).stdin(input).output().unwrap());
        assert!(outcome.code == Some(0) && outcome.out.contains("x"), "{arguments:?}: {outcome:?}");
    }
    fathom(&["run", "-", place.text()]).complains(2, "there is no job");
}

#[test]
fn a_job_reads_what_another_wrote_by_fios_name_of_its_file() {
    let text = "[global]\ndirectory=/mnt/a\nbs=4k\n[w]\nrw=write\nsize=64k\n[r]\nstonewall\nrw=read\nfilename=w.0.0\n";
    let outcome = run(text, &["--dry-run"]);
    assert!(
        outcome.out.contains("Files of 64 KiB") && outcome.out.contains("file.mnt_a_w.0.0"),
        "{outcome:?}"
    );
    let done = run(text, &["--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    let written = value["bytes_written"].as_u64().unwrap();
    assert!((64 << 10..128 << 10).contains(&written), "nothing was laid out for the reader: {written}");
}

#[test]
fn jobs_read_files_that_are_there_and_leave_them_as_they_are() {
    let (data, place) = (Place::new(), Place::new());
    let (a, b) = (Path::new(data.text()).join("a"), Path::new(data.text()).join("own.0.0"));
    std::fs::write(&a, vec![7; 100_000]).unwrap();
    std::fs::write(&b, vec![7; 40_960]).unwrap();
    let kept = |path: &Path| {
        let about = std::fs::metadata(path).unwrap();
        (std::fs::read(path).unwrap(), about.modified().unwrap(), about.permissions())
    };
    let before = [&a, &b].map(|path| kept(path));
    let job = |text: &str, more: &[&str]| {
        let (_, _jobs, path) = with_job(text);
        fathom(&[&["run", &path, place.text(), "--no-report", "--on-files", data.text()], more].concat())
    };
    let text = "[shared]\nfilename=a\nrw=randread\nbs=4k\nnumjobs=2\n[own]\nstonewall\nrw=read\nioengine=libaio\niodepth=4\n";
    let outcome = job(text, &["--format", "json"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let ran: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    let bytes = |job: usize| ran["jobs"][job]["sides"][0]["bytes"].as_u64();
    assert_eq!((bytes(0), bytes(1)), (Some(2 * 98_304), Some(40_960)), "{}", ran["jobs"]);
    let all = job("[all]\nopendir=.\nrw=read\nbs=4k\n", &["--format", "fio-json"]);
    let all: serde_json::Value = serde_json::from_str(&all.out).unwrap();
    assert_eq!(all["jobs"][0]["read"]["io_bytes"], 98_304 + 40_960, "{all}");
    run("[x]\nopendir=/var\nsize=1m\n", &[]).complains(2, "--on-files DIR allows it below DIR");
    for (text, reason) in [
        ("[x]\nfilename=a\nrw=write\n", "this job writes"),
        ("[x]\nfilename=none\n", "there is none here"),
        ("[x]\nfilename=../a\n", "reads there alone"),
        ("[x]\nfilename=a\nsize=1m\n", "lower size="),
    ] {
        job(text, &[]).complains(2, reason);
    }
    assert_eq!([&a, &b].map(|path| kept(path)), before);
    assert_eq!((data.names().len(), place.names().len()), (2, 0));
}

#[test]
fn a_disk_without_room_is_refused_before_the_first_byte() {
    if !require("a_disk_without_room_is_refused_before_the_first_byte", can_mount(), NO_MOUNTS) {
        return;
    }
    let (_, _jobs, path) = with_job("[x]\nrw=write\nsize=3m\n");
    let setup = "mount -t tmpfs -o size=4m fathom-test \"$AT\"; head -c 3600k /dev/zero > \"$AT/other\"";
    let (outcome, left) = mounted(setup, &["run", &path, "AT"]);
    outcome.complains(1, "free some space");
    assert_eq!(left, ["other"]);
}

#[test]
fn an_interrupt_removes_everything() {
    for signal in [Signal::INT, Signal::TERM] {
        let (place, _jobs, path) =
            with_job("[x]\nsize=1m\nrw=randrw\nthinktime=10ms\ntime_based\nruntime=60s\nnumjobs=3\n");
        let mut child = command(&["run", &path, place.text()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while place.names().is_empty() && start.elapsed() < Duration::from_secs(30) {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it made anything");
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_millis(300));
        kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), signal).unwrap();
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        outcome.complains(128 + signal.as_raw(), "interrupted; all scratch files were removed");
        assert!(place.names().is_empty(), "{:?}", place.names());
        assert!(start.elapsed() < Duration::from_secs(30), "it hears the signal");
    }
}

/// The names of a directory's logs, each with how many lines it has.
fn logs(directory: &Place) -> Vec<(String, usize)> {
    let logs = directory.names().into_iter().filter(|name| name.ends_with(".log"));
    let mut logs: Vec<(String, usize)> = logs
        .map(|name| {
            let text = fs::read_to_string(directory.join(&name)).unwrap();
            (name, text.lines().count())
        })
        .collect();
    logs.sort();
    logs
}

#[test]
fn logs_have_the_names_and_the_lines_of_fios_and_are_not_written_over() {
    let (place, mine, fios) = (Place::new(), Place::new(), Place::new());
    let job = place.join("logs.fio");
    let text = "[global]\nbs=4k\nsize=64k\nrw=randrw\nwrite_bw_log=x\nwrite_lat_log=x\nwrite_iops_log=x\n\
                [queued]\nioengine=libaio\niodepth=4\ndirect=1\n\
                [two]\nnumjobs=2\nlog_offset=1\nwrite_bw_log\n[one]\ndisable_slat=1\nper_job_logs=0\n";
    fs::write(&job, text).unwrap();
    let run = || {
        let mut command = command(&["run", &job, place.text(), "--no-report"]);
        Outcome::from(command.current_dir(mine.text()).output().unwrap())
    };
    let first = run();
    assert_eq!(first.code, Some(0), "{first:?}");
    let own = logs(&mine);
    assert_eq!(own.len(), 3 * 5 + 4, "{own:?}");
    // Time, value, direction, bytes, offset, priority.
    let line = fs::read_to_string(mine.join("x_clat.2.log")).unwrap();
    let fields: Vec<u64> = line.lines().next().unwrap().split(", ").map(|one| one.parse().unwrap()).collect();
    assert!(fields.len() == 6 && fields[1] > 0 && fields[2] < 2 && fields[3] == 4096, "{fields:?}");
    assert_eq!((fields[4] % 4096, fields[5]), (0, 0));
    let again = run();
    assert!(again.code == Some(2) && again.err.contains("a log never replaces one"), "{again:?}");
    assert_eq!(logs(&mine), own);
    let test = "logs_have_the_names_and_the_lines_of_fios_and_are_not_written_over";
    if require(test, fathom::load::program::version("fio").is_some(), "fio is not installed") {
        let outcome = Command::new("fio").arg(&job).current_dir(fios.text()).output().unwrap();
        assert!(outcome.status.success(), "{outcome:?}");
        assert_eq!(logs(&fios), own);
    }
}

#[test]
fn ranks_of_mpi_go_on_as_the_python_package() {
    let (place, bin) = (Place::new(), Place::new());
    let python = bin.path().join("python3");
    fs::write(&python, "#!/bin/sh\nshift 2\necho \"$@\"\n").unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let start = |size: &str, path: &str, words: &[&str]| -> Outcome {
        command(words).env("PATH", path).env("OMPI_COMM_WORLD_SIZE", size).output().unwrap().into()
    };
    let words = ["run", "none.fio", place.text(), "--shift", "1"];
    assert_eq!(start("2", bin.text(), &words).out, format!("{}\n", words.join(" ")));
    start("2", place.text(), &words).complains(1, "python3");
    start("1", bin.text(), &words[..3]).complains(2, "none.fio");
    assert_eq!(start("2", bin.text(), &["list"]).code, Some(0), "no command of many");
}
