//! Jobs here against the same jobs in fio, pair by pair in one run, each side first in turn.
//!
//! Where the cache answers, what counts is the cost of the loop: the bar is 1.3 times fio's calls per
//! second, with latencies recorded on both sides. Where the device answers, both must say the same:
//! the bar is 5 %. `FATHOM_BENCH_DIR` names the directory, on a disk if it is to say anything of one.
#![allow(clippy::print_stdout, reason = "a benchmark talks to the one who runs it")]

mod ratio;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fathom::instrument::Instrument;
use fathom::job::{Direction, Job, parse};
use fathom::load::{Limits, Needs, Outcome, Testbed, run, surroundings};
use fathom::scratch::Scratch;
use fathom_stats::quantile::median;
use rand_pcg::Pcg64Mcg;
use ratio::ratio;

/// A job, how often it is repeated, and the ratio that is wanted: at least, at most.
struct Case {
    name: &'static str,
    options: &'static str,
    pairs: usize,
    bar: [f64; 2],
}

const FASTER: [f64; 2] = [1.3, f64::INFINITY];
const ALIKE: [f64; 2] = [0.95, 1.05];
const CACHED: &str = "size=64m\npre_read=1\ninvalidate=0\ntime_based\nruntime=500ms\n";
const CASES: [Case; 7] = [
    Case { name: "cached randread 4k", options: "rw=randread\n", pairs: 15, bar: FASTER },
    Case { name: "cached read 4k", options: "rw=read\n", pairs: 15, bar: FASTER },
    Case {
        name: "O_DIRECT randread 4k",
        options: "rw=randread\ndirect=1\nsize=256m\ntime_based\nruntime=1s\n",
        pairs: 21,
        bar: ALIKE,
    },
    Case {
        name: "O_DIRECT randread, 2 jobs",
        options: "rw=randread\ndirect=1\nnumjobs=2\ngroup_reporting\nsize=128m\ntime_based\nruntime=1s\n",
        pairs: 21,
        bar: ALIKE,
    },
    Case {
        name: "O_DIRECT read 128k",
        options: "rw=read\nbs=128k\ndirect=1\nsize=256m\ntime_based\nruntime=1s\n",
        pairs: 21,
        bar: ALIKE,
    },
    Case { name: "cold read 128k", options: "rw=read\nbs=128k\nsize=256m\n", pairs: 21, bar: ALIKE },
    Case {
        name: "write 4k with fdatasync",
        options: "rw=write\nfdatasync=1\nsize=64m\ntime_based\nruntime=1s\n",
        pairs: 21,
        bar: ALIKE,
    },
];

fn main() -> ExitCode {
    let directory = std::env::var_os("FATHOM_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    match compare(&directory) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            println!("job: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn compare(directory: &Path) -> Result<bool, String> {
    let only = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let mut generator = Pcg64Mcg::new(1);
    let mut within = true;
    println!("{:26} {:>10} {:>10} {:>7}  95 % interval", "per second", "fathom", "fio", "ratio");
    for case in CASES.iter().filter(|case| case.name.contains(&only)) {
        let (mine, fios) = interleaved(case, directory)?;
        let ratio = ratio(&mine, &fios, &mut generator)?;
        println!(
            "{:26} {:10.0} {:10.0} {:7.3}  {:.3} to {:.3}",
            case.name,
            median(&mine).unwrap_or(f64::NAN),
            median(&fios).unwrap_or(f64::NAN),
            ratio.value,
            ratio.interval.low,
            ratio.interval.high
        );
        within &= (case.bar[0]..=case.bar[1]).contains(&ratio.value);
    }
    println!("peak memory of this side: {}", peak_memory());
    Ok(within)
}

/// Transfers per second of both sides, pair by pair.
fn interleaved(case: &Case, directory: &Path) -> Result<(Vec<f64>, Vec<f64>), String> {
    let is_cached = case.name.starts_with("cached");
    let text = format!("[bench]\nioengine=psync\n{}{}", case.options, if is_cached { CACHED } else { "" });
    let file = parse(&text, &surroundings(&|_| None)).map_err(|mistake| mistake.to_string())?;
    let needs = Needs::of(&file.jobs)?;
    let limits = Limits { max_write: u64::MAX, deadline: None };
    let instrument = Instrument::calibrate()?;
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut testbed = Testbed::at(directory, needs.space, &instrument, limits, interrupt)
        .map_err(|fault| fault.to_string())?;
    let scratch = Scratch::create(directory).map_err(|error| error.to_string())?;
    let job_file = scratch.path().join("bench.fio");
    std::fs::write(&job_file, &text).map_err(|error| error.to_string())?;
    let (mut mine, mut fios) = (Vec::new(), Vec::new());
    // The first pair lays the files out and is forgotten.
    for pair in 0..=case.pairs {
        if pair % 2 == 0 {
            mine.push(here(&file.jobs[0], &mut testbed)?);
            fios.push(there(&job_file, scratch.path())?);
        } else {
            fios.push(there(&job_file, scratch.path())?);
            mine.push(here(&file.jobs[0], &mut testbed)?);
        }
    }
    Ok((mine.split_off(1), fios.split_off(1)))
}

fn here(job: &Job, testbed: &mut Testbed) -> Result<f64, String> {
    let outcomes = run(job, testbed).map_err(|fault| fault.to_string())?;
    let sum = Outcome::together(&outcomes).ok_or("there are no threads")?;
    Ok(sum.iops(Direction::Read) + sum.iops(Direction::Write))
}

fn there(job_file: &Path, directory: &Path) -> Result<f64, String> {
    let output =
        Command::new("fio").arg("--output-format=json").arg(job_file).current_dir(directory).output();
    let output = output.map_err(|error| format!("fio: {error}"))?;
    let value: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("fio's JSON: {error}"))?;
    let of = |side: &str| value["jobs"][0][side]["iops"].as_f64();
    Ok(of("read").ok_or("fio names no rate")? + of("write").ok_or("fio names no rate")?)
}

/// The most memory that this process has had, from `/proc/self/status`.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned())
}
