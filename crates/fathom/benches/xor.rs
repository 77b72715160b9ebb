//! `fathom xor` of a file of 1 GiB: cached against plain memory, bare loops in C and dd, cold against fio's best.
//!
//! Sides take turns in one run. Figures are ratios of the median rates, ours to theirs, with the interval of
//! the ratio; dd and fio are taken at their own word. The bars: cached at least 0.85 of plain memory with all
//! CPUs, 2.5 of dd with all of them and 1.5 with one; cold at least 0.95 of fio. For comparison each is printed with
//! the better of two bare loops over the same file: one that maps it, and one that reads it.
//!
//! What a cached file costs depends on the folios that hold it, and they on how it came into the cache: read
//! from the device, or written by so many bytes at a time. So the file is brought there in several ways.
//! `FATHOM_BENCH_DIR` names the directory.
#![allow(clippy::print_stdout, reason = "a benchmark talks to the one who runs it")]

mod bare;
mod pairs;
mod ratio;

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use fathom::scratch::Scratch;
use fathom::speed::pattern::Pattern;
use fathom::speed::transfer::{self, Writing};
use fathom::speed::xor::{Request, xor};
use fathom::watch::Watch;
use fathom_stats::quantile::median;
use fathom_sys::affinity::allowed_cpus;
use fathom_sys::cache;
use fathom_sys::usage::Usage;
use fathom_sys::view::FileView;
use rand_pcg::Pcg64Mcg;

use bare::Bare;
use pairs::in_turns;
use ratio::ratio;

const BYTES: u64 = 1 << 30;
const CACHED_TURNS: usize = 21;
const COLD_TURNS: usize = 11;
const GIB: f64 = (1_u64 << 30) as f64;
/// How the file comes into the cache: read, or written by so many bytes at a time.
const STATES: [(&str, u64, bool); 4] = [
    ("as read", 1 << 20, true),
    ("written by 1 MiB", 1 << 20, false),
    ("written by 128 KiB", 128 << 10, false),
    ("written by 4 KiB", 4096, false),
];
/// What fio may choose from; all sequential.
const FIO: [&[&str]; 4] = [
    &["--ioengine=libaio", "--direct=1", "--bs=1m", "--iodepth=32"],
    &["--ioengine=libaio", "--direct=1", "--bs=256k", "--iodepth=32"],
    &["--ioengine=libaio", "--direct=1", "--bs=4m", "--iodepth=8"],
    &["--ioengine=psync", "--direct=0", "--bs=1m"],
];

/// Who takes a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Ours,
    /// What `bare/xor.c` does, by its order.
    Bare(char),
    Dd,
}

use Side::{Bare as C, Dd, Ours};

/// Plain memory in large pages and in small ones, the file mapped, read, and read without folding.
const SIDES: [(Side, &str); 7] = [
    (Ours, "fathom xor"),
    (C('p'), "plain memory, large pages"),
    (C('s'), "plain memory, pages of 4 KiB"),
    (C('m'), "bare loop, mapped"),
    (C('r'), "bare loop, read"),
    (C('c'), "read and not folded"),
    (Dd, "dd bs=128k"),
];

fn main() -> ExitCode {
    let directory = std::env::var_os("FATHOM_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    match compare(&directory) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            println!("xor: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn compare(directory: &Path) -> Result<bool, String> {
    let only = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let scratch = Scratch::create(directory).map_err(|error| error.to_string())?;
    let mut generator = Pcg64Mcg::new(1);
    let path = scratch.path().join("file");
    let mut is_kept = true;
    for (name, block, is_read) in STATES.into_iter().filter(|(name, ..)| name.contains(&only)) {
        write(&path, block)?;
        if is_read {
            evict(&path)?;
        }
        // From the device, or from the cache that it is in.
        std::fs::read(&path).map(drop).map_err(|error| error.to_string())?;
        println!("cached {name}: {} page faults map it", faults(&path)?);
        is_kept &= cached(&path, &mut generator)?;
    }
    if "cold".contains(&only) {
        is_kept &= cold(&path, &mut generator)?;
    }
    println!("the bars are {}", if is_kept { "kept" } else { "missed" });
    Ok(is_kept)
}

fn write(path: &Path, block: u64) -> Result<(), String> {
    let writing = Writing { block, count: BYTES / block, pattern: Pattern::Random, force: true, sync: true };
    transfer::write(path, writing, &watch()).map(drop).map_err(|fault| fault.to_string())
}

fn cold(path: &Path, generator: &mut Pcg64Mcg) -> Result<bool, String> {
    write(path, 1 << 20)?;
    let (options, name) = match best_of_fio(path) {
        Ok(best) => best,
        Err(reason) => {
            println!("cold: skipped: {reason}");
            return Ok(true);
        }
    };
    let rates = in_turns(COLD_TURNS, 2, generator, |side| match side {
        0 => evict(path).and_then(|()| ours(path, None)),
        _ => fio(path, options),
    })?;
    let (ratio, shown) = shown(&rates[0], &rates[1], generator)?;
    println!("cold, fio {name}: {shown}, bar 0.95: {}", if ratio >= 0.95 { "kept" } else { "missed" });
    Ok(ratio >= 0.95)
}

/// Bytes per second of each side with all CPUs and with one, turn by turn.
struct Rates(Vec<(Side, usize, Vec<f64>)>);

impl Rates {
    fn take(path: &Path, cpus: usize, generator: &mut Pcg64Mcg) -> Result<Self, String> {
        let scratch = path.parent().unwrap_or(Path::new("."));
        let name = path.display().to_string();
        let mut bare = Bare::start(scratch, include_str!("bare/xor.c"), &["-O3", "-pthread"], &[&name])?;
        let threads = |side| if side == Dd { vec![1] } else { vec![cpus, 1] };
        let sides = SIDES.into_iter().flat_map(|(side, _)| threads(side).into_iter().map(move |n| (side, n)));
        let sides: Vec<(Side, usize)> = sides.collect();
        let rates = in_turns(CACHED_TURNS, sides.len(), generator, |at| match sides[at] {
            (Ours, threads) => ours(path, Some(threads).filter(|&threads| threads != cpus)),
            (C(what), threads) => Ok(BYTES as f64 / bare.ask(&format!("{what} {threads}"))?),
            (Dd, _) => dd(path),
        })?;
        let named = sides.into_iter().zip(rates);
        Ok(Self(named.map(|((side, threads), rates)| (side, threads, rates)).collect()))
    }

    fn of(&self, side: Side, threads: usize) -> &[f64] {
        let found = self.0.iter().find(|(which, with, _)| *which == side && *with == threads);
        found.map_or(&[], |(.., rates)| rates)
    }

    /// GiB per second, the median.
    fn median(&self, side: Side, threads: usize) -> f64 {
        median(self.of(side, threads)).unwrap_or(f64::NAN) / GIB
    }
}

/// A cached file against plain memory and dd, with the better of the bare loops for comparison.
fn cached(path: &Path, generator: &mut Pcg64Mcg) -> Result<bool, String> {
    let cpus = allowed_cpus().len();
    let rates = Rates::take(path, cpus, generator)?;
    println!("  {:34} {:>9} {:>9}", "GiB/s, medians", "all CPUs", "one CPU");
    for (side, name) in SIDES {
        println!("  {name:34} {:9.1} {:9.1}", rates.median(side, cpus), rates.median(side, 1));
    }
    println!("  {:34} {:>23} {:>23}   {:>4}", "ratios, 95 % intervals", "fathom xor", "bare loop", "bar");
    let mut is_kept = true;
    for (name, threads, theirs, their_threads, bar) in [
        ("of plain memory, large pages", cpus, C('p'), cpus, Some(0.85)),
        ("of plain memory, pages of 4 KiB", cpus, C('s'), cpus, None),
        ("of dd, all CPUs", cpus, Dd, 1, Some(2.5)),
        ("of dd, one CPU", 1, Dd, 1, Some(1.5)),
    ] {
        let best = [C('m'), C('r')]
            .into_iter()
            .max_by(|&a, &b| rates.median(a, threads).total_cmp(&rates.median(b, threads)));
        let best = best.unwrap_or(C('m'));
        let theirs = rates.of(theirs, their_threads);
        let (ours, mine) = shown(rates.of(Ours, threads), theirs, generator)?;
        let (bare, its) = shown(rates.of(best, threads), theirs, generator)?;
        let verdict = match bar {
            None => String::new(),
            Some(bar) if ours >= bar => format!("{bar:4} kept"),
            Some(bar) if bare < bar => format!("{bar:4} missed, by the bare loops as well"),
            Some(bar) => format!("{bar:4} missed"),
        };
        println!("  {name:34} {mine:>23} {its:>23}   {verdict}");
        is_kept &= bar.is_none_or(|bar| ours >= bar);
    }
    Ok(is_kept)
}

/// How often the kernel is asked for pages while the file is read through a mapping: once for each folio,
/// or for 64 KiB where folios are smaller.
fn faults(path: &Path) -> Result<u64, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let before = Usage::of_this_thread();
    let view = FileView::of(file.as_fd(), 0, BYTES as usize).map_err(|errno| format!("map: {errno}"))?;
    std::hint::black_box(view.xor());
    Ok(Usage::of_this_thread().since(before).minor_faults)
}

/// The ratio of the medians, alone and with its interval.
fn shown(ours: &[f64], theirs: &[f64], generator: &mut Pcg64Mcg) -> Result<(f64, String), String> {
    let ratio = ratio(ours, theirs, generator)?;
    let (low, high) = (ratio.interval.low, ratio.interval.high);
    Ok((ratio.value, format!("{:.2} ({low:.2} to {high:.2})", ratio.value)))
}

fn watch() -> Watch {
    Watch::default()
}

fn evict(path: &Path) -> Result<(), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    cache::evict(&file, 0, 0).map_err(|errno| format!("evict: {errno}"))
}

/// Bytes per second of `fathom xor`, from opening the file to the answer.
fn ours(path: &Path, threads: Option<usize>) -> Result<f64, String> {
    let answer = xor(path, Request { method: None, threads }, &watch()).map_err(|fault| fault.to_string())?;
    Ok(answer.bytes_per_second)
}

/// Bytes per second as dd reports its seconds.
fn dd(path: &Path) -> Result<f64, String> {
    let input = format!("if={}", path.display());
    let output = Command::new("dd").args([&input, "of=/dev/null", "bs=128k"]).env("LC_ALL", "C").output();
    let said = String::from_utf8_lossy(&output.map_err(|error| format!("dd can't be run: {error}"))?.stderr)
        .into_owned();
    let seconds = said.split(", ").find_map(|part| part.strip_suffix(" s")?.parse::<f64>().ok());
    seconds.map(|seconds| BYTES as f64 / seconds).ok_or_else(|| format!("dd said '{said}'"))
}

/// Bytes per second as fio reports them, from a cold cache.
fn fio(path: &Path, options: &[&str]) -> Result<f64, String> {
    evict(path)?;
    let output = Command::new("fio")
        .args(["--name=cold", "--rw=read", "--readonly", "--output-format=json", "--invalidate=0"])
        .arg(format!("--filename={}", path.display()))
        .arg(format!("--size={BYTES}"))
        .args(options)
        .output()
        .map_err(|error| format!("fio can't be run: {error}"))?;
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    report["jobs"][0]["read"]["bw_bytes"].as_f64().ok_or_else(|| "fio reported no bandwidth".to_owned())
}

/// The options with which fio is fastest here, by the median of three.
fn best_of_fio(path: &Path) -> Result<(&'static [&'static str], String), String> {
    let mut best = (0.0, FIO[0]);
    for options in FIO {
        let rates: Vec<f64> = (0..3).map(|_| fio(path, options)).collect::<Result<_, _>>()?;
        let rate = median(&rates).unwrap_or(0.0);
        if rate > best.0 {
            best = (rate, options);
        }
    }
    let name: Vec<&str> = best.1.iter().filter_map(|option| option.split('=').nth(1)).collect();
    Ok((best.1, name.join(" ")))
}
