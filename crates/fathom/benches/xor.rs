//! `fathom xor` of a file of 1 GiB: cached against plain memory and dd, cold against fio's best.
//!
//! Sides take turns in one run. Figures are ratios of the median rates, ours to theirs, with the interval of
//! the ratio; dd and fio are taken at their own word. The bars: cached at least 0.85 of plain memory with all
//! CPUs, 2.5 of dd with all of them and 1.5 with one; cold at least 0.95 of fio.
//!
//! What a cached file costs depends on the folios that hold it, and they on how it came into the cache: read
//! from the device, or written by so many bytes at a time. So the file is brought there in three ways.
#![allow(clippy::print_stdout, reason = "a benchmark talks to the one who runs it")]

mod pairs;

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Instant;

use fathom::scratch::Scratch;
use fathom::speed::pattern::Pattern;
use fathom::speed::transfer::{self, Writing};
use fathom::speed::watch::Watch;
use fathom::speed::xor::{Request, xor};
use fathom_stats::quantile::median;
use fathom_sys::affinity::allowed_cpus;
use fathom_sys::cache;
use fathom_sys::memory::Mapping;
use fathom_sys::usage::Usage;
use fathom_sys::view::FileView;
use rand_pcg::Pcg64Mcg;

use pairs::Pairs;

const BYTES: u64 = 1 << 30;
const CACHED_TURNS: usize = 21;
const COLD_TURNS: usize = 11;
const GIB: f64 = (1_u64 << 30) as f64;
/// What fio may choose from; all sequential.
const FIO: [&[&str]; 4] = [
    &["--ioengine=libaio", "--direct=1", "--bs=1m", "--iodepth=32"],
    &["--ioengine=libaio", "--direct=1", "--bs=256k", "--iodepth=32"],
    &["--ioengine=libaio", "--direct=1", "--bs=4m", "--iodepth=8"],
    &["--ioengine=psync", "--direct=0", "--bs=1m"],
];

fn main() -> ExitCode {
    match compare(&std::env::temp_dir()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            println!("xor: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn compare(directory: &Path) -> Result<bool, String> {
    let scratch = Scratch::create(directory).map_err(|error| error.to_string())?;
    let mut generator = Pcg64Mcg::new(1);
    let mut memory = Mapping::large(BYTES as usize).map_err(|errno| errno.to_string())?;
    let memory: &[u8] = memory.bytes();
    // As the pages of a mapped file are.
    let mut small = Mapping::touched(BYTES as usize).map_err(|errno| errno.to_string())?;
    let small: &[u8] = small.bytes();
    println!("{:34} {:>9} {:>9} {:>7}  {:16} {:>5}", "", "ours", "theirs", "ratio", "95 % interval", "bar");
    let path = scratch.path().join("file");
    let mut is_kept = true;
    for (name, block, is_read) in
        [("as read", 1 << 20, true), ("written by 1 MiB", 1 << 20, false), ("written by 4 KiB", 4096, false)]
    {
        let writing =
            Writing { block, count: BYTES / block, pattern: Pattern::Random, force: true, sync: true };
        transfer::write(&path, writing, &watch()).map_err(|fault| fault.to_string())?;
        if is_read {
            evict(&path)?;
        }
        // From the device, or from the cache that it is in.
        std::fs::read(&path).map(drop).map_err(|error| error.to_string())?;
        println!("cached {name}: {} page faults map it", faults(&path)?);
        is_kept &= cached(&path, [memory, small], &mut generator)?;
    }
    match best_of_fio(&path) {
        Ok((options, name)) => {
            let cold = || evict(&path).and_then(|()| ours(&path, None));
            let pairs = Pairs::take(COLD_TURNS, &mut generator, cold, || fio(&path, options))?;
            is_kept &= told(&format!("cold, fio {name}"), &pairs, 0.95, &mut generator)?;
        }
        Err(reason) => println!("cold: skipped: {reason}"),
    }
    println!("the bars are {}", if is_kept { "kept" } else { "missed" });
    Ok(is_kept)
}

/// A cached file against plain memory, against bare loops over it by mapping and by copying, and against dd.
fn cached(path: &Path, [memory, small]: [&[u8]; 2], generator: &mut Pcg64Mcg) -> Result<bool, String> {
    let cpus = allowed_cpus().len();
    let mut against = |name: &str, bar: f64, threads, theirs: &mut dyn FnMut() -> Result<f64, String>| {
        let pairs = Pairs::take(CACHED_TURNS, generator, || ours(path, threads), theirs)?;
        told(name, &pairs, bar, generator)
    };
    let mut is_kept = against("  plain memory, all CPUs", 0.85, None, &mut || Ok(plain(memory, cpus)))?;
    is_kept &= against("  plain memory, one thread", 0.0, Some(1), &mut || Ok(plain(memory, 1)))?;
    is_kept &= against("  memory in pages of 4 KiB, all CPUs", 0.0, None, &mut || Ok(plain(small, cpus)))?;
    is_kept &= against("  mapped by a bare loop, all CPUs", 0.0, None, &mut || mapped(path, cpus))?;
    is_kept &= against("  read and not folded, all CPUs", 0.0, None, &mut || copied(path, cpus))?;
    is_kept &= against("  dd bs=128k, all CPUs", 2.5, None, &mut || dd(path))?;
    is_kept &= against("  dd bs=128k, one thread", 1.5, Some(1), &mut || dd(path))?;
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

/// Bytes per second of mapping the file and folding it by so many threads, each its part, with nothing around it.
fn mapped(path: &Path, threads: usize) -> Result<f64, String> {
    const WINDOW: u64 = 16 << 20;
    let started = Instant::now();
    let part = BYTES.div_ceil(threads as u64);
    let fold = |index: usize| -> Result<u64, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let (mut at, end) = (index as u64 * part, ((index as u64 + 1) * part).min(BYTES));
        let mut word = 0;
        while at < end {
            let length = WINDOW.min(end - at);
            let view = FileView::of(file.as_fd(), at, length as usize).map_err(|errno| errno.to_string())?;
            word ^= view.xor().word;
            at += length;
        }
        Ok(word)
    };
    let word = std::thread::scope(|scope| {
        let folding: Vec<_> = (0..threads).map(|index| scope.spawn(move || fold(index))).collect();
        let word = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or(Ok(0));
        folding.into_iter().map(word).try_fold(0, |all, word| word.map(|word| all ^ word))
    })?;
    std::hint::black_box(word);
    Ok(BYTES as f64 / started.elapsed().as_secs_f64())
}

/// Bytes per second of reading the file into buffers by so many threads, and doing nothing with it.
fn copied(path: &Path, threads: usize) -> Result<f64, String> {
    const BUFFER: usize = 2 << 20;
    let mut buffers = Mapping::touched(BUFFER * threads).map_err(|errno| errno.to_string())?;
    let started = Instant::now();
    let part = BYTES.div_ceil(threads as u64);
    let read = |(index, buffer): (usize, &mut [u8])| -> std::io::Result<()> {
        let file = File::open(path)?;
        let (mut at, end) = (index as u64 * part, ((index as u64 + 1) * part).min(BYTES));
        while at < end {
            let length = buffer.len().min((end - at) as usize);
            file.read_exact_at(&mut buffer[..length], at)?;
            at += length as u64;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let parts = buffers.bytes().chunks_mut(BUFFER).enumerate();
        let reading: Vec<_> = parts.map(|part| scope.spawn(move || read(part))).collect();
        reading.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })
    .map_err(|error| error.to_string())?;
    Ok(BYTES as f64 / started.elapsed().as_secs_f64())
}

fn told(name: &str, pairs: &Pairs, bar: f64, generator: &mut Pcg64Mcg) -> Result<bool, String> {
    let ratio = pairs.ratio(generator).ok_or("there is no interval")?;
    let of = |side: &[f64]| median(side).unwrap_or(f64::NAN) / GIB;
    println!(
        "{name:34} {:9.2} {:9.2} {:7.3}  {:.3} to {:.3}   {bar:>5}",
        of(&pairs.ours),
        of(&pairs.theirs),
        ratio.value,
        ratio.interval.low,
        ratio.interval.high
    );
    Ok(ratio.value >= bar)
}

fn watch() -> Watch {
    Watch::new(Arc::default())
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

/// Bytes per second of folding plain memory by so many threads.
fn plain(memory: &[u8], threads: usize) -> f64 {
    let started = Instant::now();
    let word = std::thread::scope(|scope| {
        let parts = memory.chunks(memory.len().div_ceil(threads));
        let folding: Vec<_> = parts.map(|part| scope.spawn(move || folded(part))).collect();
        folding.into_iter().fold(0, |word, thread| word ^ thread.join().unwrap_or(0))
    });
    std::hint::black_box(word);
    memory.len() as f64 / started.elapsed().as_secs_f64()
}

fn folded(bytes: &[u8]) -> u64 {
    let mut lanes = [0_u64; 16];
    for stride in bytes.as_chunks::<128>().0 {
        for (lane, word) in lanes.iter_mut().zip(stride.as_chunks::<8>().0) {
            *lane ^= u64::from_ne_bytes(*word);
        }
    }
    lanes.into_iter().fold(0, |all, lane| all ^ lane)
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
    report["jobs"][0]["read"]["bw_bytes"].as_f64().ok_or_else(|| "fio told no bandwidth".to_owned())
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
