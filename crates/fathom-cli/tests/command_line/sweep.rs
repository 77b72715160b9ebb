//! Sweeps from the command line: shards, threads and interruptions leave every bit as it is.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::published;
use crate::support::{Place, command, fathom};

/// Twelve cells that take a moment each.
const GRID: [&str; 6] = ["--set", "readahead=64K,1M", "--job", "bs=4k,8k,16k", "--job", "iodepth=1,8"];

struct Swept {
    place: Place,
    job: String,
}

impl Swept {
    fn of(size: &str) -> Self {
        let place = Place::new();
        let job = place.join("job.fio");
        let jobs = format!("[global]\nsize={size}\n[reads]\nrw=read\n[jumps]\nstonewall\nrw=randread\n");
        fs::write(&job, jobs).unwrap();
        Self { place, job }
    }

    fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["sweep", "assumed", &self.job, "--draws", "2"], &GRID[..], more].concat()
    }

    /// The JSON of a sweep with these options.
    fn json(&self, more: &[&str], threads: &str) -> String {
        let arguments = self.arguments(&[more, &["--format", "json"]].concat());
        let done = command(&arguments).env("RAYON_NUM_THREADS", threads).output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    }
}

/// The cells of a folder, each with the number of its file: a cell that is written again gets another.
fn cells(folder: &str) -> Vec<(String, u64)> {
    let folder = Path::new(folder).join("cells");
    let mut names = if folder.exists() { Place::names_in(&folder) } else { Vec::new() };
    names.retain(|name| name.ends_with(".json"));
    names.sort();
    names.into_iter().map(|name| (name.clone(), folder.join(&name).metadata().unwrap().ino())).collect()
}

#[test]
fn shards_and_threads_change_no_bit() {
    let swept = Swept::of("2m");
    let whole = swept.json(&[], "1");
    assert_eq!(swept.json(&[], "2"), whole);
    let json: Value = serde_json::from_str(&whole).unwrap();
    published::check("sweep", &json);
    assert_eq!((json["cells"].as_array().unwrap().len(), &json["missing"]), (12, &0.into()));
    let folder = swept.place.join("folder");
    for shard in ["2/3", "1/3"] {
        let part = swept.json(&["--out", &folder, "--shard", shard], "2");
        assert_eq!(serde_json::from_str::<Value>(&part).unwrap()["missing"], 8);
    }
    let early = fathom(&["sweep", "--merge", &folder]);
    assert_eq!(early.code, Some(3), "{early:?}");
    assert!(early.out.contains("4 of 12 combinations are missing"), "{early:?}");
    let before = cells(&folder);
    swept.json(&["--out", &folder, "--shard", "3/3"], "2");
    let merged = fathom(&["sweep", "--merge", &folder, "--format", "json"]);
    assert_eq!((merged.code, merged.out), (Some(0), whole.clone()));
    assert!(before.iter().all(|cell| cells(&folder).contains(cell)), "no cell is predicted twice");
    assert_eq!(fs::read_to_string(format!("{folder}/sweep.json")).unwrap(), whole);
    assert_eq!(fathom(&["report", &folder]).code, Some(0));
}

#[test]
fn a_sweep_that_was_killed_goes_on_where_it_was() {
    let swept = Swept::of("32m");
    let (whole, folder) = (swept.json(&[], "2"), swept.place.join("folder"));
    let arguments = swept.arguments(&["--out", &folder]);
    let mut child = command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while cells(&folder).is_empty() && child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(60), "no cell was kept");
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = cells(&folder);
    assert!(!kept.is_empty());
    // As after a crash of the machine: one that was renamed before its bytes were on the disk.
    let lost = format!("{folder}/cells/{}", kept[0].0);
    fs::write(&lost, "").unwrap();
    fs::write(format!("{folder}/cells/0000003.1.unfinished"), "{").unwrap();
    assert_eq!(swept.json(&["--out", &folder], "2"), whole);
    let after = cells(&folder);
    assert!(after.len() == 12 && kept[1..].iter().all(|cell| after.contains(cell)), "{kept:?} {after:?}");
    assert!(fs::metadata(lost).unwrap().len() > 0);
    assert_eq!(Place::names_in(&Path::new(&folder).join("cells")).len(), 12, "what was unfinished is gone");
}

#[test]
fn a_cell_that_can_t_be_predicted_says_why_and_stops_nothing() {
    let swept = Swept::of("2m");
    let more = ["--job", "ioengine=psync,splice", "--format", "csv"];
    let done = fathom(&swept.arguments(&more));
    assert_eq!(done.code, Some(0), "{done:?}");
    let mut lines = csv_lines(&done.out);
    let header = lines.next().unwrap();
    assert_eq!(header[..6], ["readahead", "bs", "iodepth", "ioengine", "job", "what"]);
    let (refused, predicted): (Vec<_>, Vec<_>) = lines.partition(|line| line[4].is_empty());
    assert_eq!((refused.len(), predicted.len()), (12, 2 * 12));
    assert!(refused.iter().all(|line| line[3] == "splice"), "{refused:?}");
    assert!(refused[0].last().unwrap().contains("only plain reads"), "{refused:?}");
    let text = fathom(&swept.arguments(&more[..2]));
    assert!(text.out.contains("refused, 12 of 24 combinations"), "{text:?}");
    assert!(text.out.contains("iodepth=8 has no effect with ioengine=psync"), "{text:?}");
}

/// Reasons have commas, and stand last.
fn csv_lines(text: &str) -> impl Iterator<Item = Vec<String>> {
    text.lines().map(|line| line.splitn(16, ',').map(str::to_owned).collect())
}

#[test]
fn the_best_cell_is_that_of_the_sweep() {
    let swept = Swept::of("2m");
    let whole: Value = serde_json::from_str(&swept.json(&[], "2")).unwrap();
    let text = swept.json(&["--best", "bandwidth"], "1");
    assert_eq!(swept.json(&["--best", "bandwidth"], "2"), text);
    let best: Value = serde_json::from_str(&text).unwrap();
    published::check("best", &best);
    let cells = whole["cells"].as_array().unwrap();
    let at = best["best"]["cell"].as_u64().unwrap() as usize;
    assert_eq!(best["best"], cells[at]);
    let rate = |cell: &Value| {
        let of = |job: &Value| job["sides"][0]["bytes_per_second"]["value"].as_f64().unwrap();
        cell["jobs"].as_array().unwrap().iter().map(of).sum::<f64>()
    };
    assert!(cells.iter().all(|cell| rate(cell) <= rate(&cells[at])), "{best}");
    let done = fathom(&swept.arguments(&["--best", "p99"]));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.starts_with("The shortest latency of 99 % of the calls: "), "{done:?}");
    assert!(
        done.out.contains("runs of the model for 12 combinations; predicting all of them takes 36"),
        "{done:?}"
    );
    assert!(done.err.contains("report.html"), "{done:?}");
}

#[test]
fn what_is_no_sweep_is_said() {
    let swept = Swept::of("2m");
    let sweep = |more: &[&str]| fathom(&[&["sweep", "assumed", &swept.job], more].concat());
    sweep(&["--set", "readahaed=1M,2M"]).complains(2, "did you mean 'readahead'");
    sweep(&["--set", "readahead=1M,tape"]).complains(2, "'tape' is no value");
    sweep(&["--job", "iodpeth=1,2"]).complains(2, "did you mean iodepth");
    sweep(&["--job", "bs"]).complains(2, "NAME=VALUE,VALUE");
    sweep(&["--job", "bs=4k", "--job", "bs=8k"]).complains(2, "bs is set twice");
    sweep(&["--shard", "3/2"]).complains(2, "write I/N");
    sweep(&["--job", "bs=4k,8k", "--best", "speed"]).complains(2, "use bandwidth, iops");
    sweep(&["--job", "bs=4k,8k", "--best", "iops", "--format", "csv"]).complains(2, "no CSV");
    fathom(&["sweep", "assumed"]).complains(2, "JOB.fio");
    let folder = swept.place.join("folder");
    fathom(&["sweep", "--merge", &folder]).complains(1, "plan.json");
    swept.json(&["--out", &folder, "--shard", "1/12"], "2");
    sweep(&["--job", "bs=4k,32k", "--out", &folder]).complains(1, "predictions of another sweep");
    let taken = swept.place.join("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(format!("{taken}/run.json"), "{}").unwrap();
    sweep(&["--out", &taken]).complains(1, "earlier run");
}
