//! How fast traces are imported and shown, and reuse distances counted.
//!
//! ```text
//! cargo bench -p fathom-trace --bench trace [importing [FORMAT]|showing|reusing]
//! ```
//! For comparison each import is printed with the rate at which the lines of the same bytes can be counted.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fathom_trace::format::{Writer, create};
use fathom_trace::import::{Format, read};
use fathom_trace::show::{Point, Reuse, hit_ratios, show};
use fathom_trace::{CallKind, Direction, Error, FileId, Files, Operation};

const BYTES: usize = 128 << 20;

/// A stream of numbers that stays the same: Knuth's MMIX.
struct Stream(u64);

impl Stream {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

fn line(text: &mut String, format: Format, stream: &mut Stream, at: u64) {
    // A request of a device is issued in one line and completed in the next.
    let mut of_request = Stream(at / 2);
    let stream = if format == Format::Blkparse { &mut of_request } else { stream };
    let (offset, size, kind) =
        (stream.next(1 << 31) * 512, (1 + stream.next(64)) * 4096, stream.next(2) as usize);
    let _ = match format {
        Format::Msr => writeln!(
            text,
            "{},usr,{},{},{offset},{size},{}",
            128_166_372_003_061_629 + at * 977,
            at % 3,
            ["Read", "Write"][kind],
            1000 + stream.next(90_000)
        ),
        Format::Alibaba => writeln!(
            text,
            "{},{},{offset},{size},{}",
            stream.next(1000),
            ["R", "W"][kind],
            1_577_808_144_360_767 + at * 13
        ),
        Format::Tencent => writeln!(
            text,
            "{},{},{},{kind},{}",
            1_538_323_200 + at / 5000,
            offset / 512,
            size / 512,
            1000 + stream.next(600)
        ),
        Format::Spc => writeln!(
            text,
            "{},{},{size},{},{}.{:06}",
            at % 24,
            offset / 512,
            ["R", "w"][kind],
            at / 10_000,
            at * 97 % 1_000_000
        ),
        Format::Fio => {
            writeln!(text, "{} /srv/data/file{} {} {offset} {size}", at * 31, at % 7, ["read", "write"][kind])
        }
        Format::Darshan => writeln!(
            text,
            " X_POSIX {:>7} {:>6} {at:>8} {offset:>15} {size:>15} {:>11.4} {:>11.4}",
            at % 64,
            ["read", "write"][kind],
            at as f64 / 1e4,
            at as f64 / 1e4 + 0.0012
        ),
        Format::Blkparse => writeln!(
            text,
            "  8,0    1 {at:>8} {:>5}.{:09} {:>5}  {}   {} {} + {} [fio]",
            at / 100_000,
            at * 9871 % 1_000_000_000,
            4000 + at % 9,
            ["D", "C"][at as usize % 2],
            ["R", "W"][kind],
            offset / 512,
            size / 512
        ),
        _ => writeln!(
            text,
            "{} 1795324446.{:06} {}(3</srv/data/file{}>, \"\\177ELF\\2\\1\\1\\3\\0\\0\\0\\0\\0\\0\\0\\0\\3\\0>\\0\\1\\0\\0\\0\\20t\\2\\0\\0\\0\\0\\0\"..., {size}, {offset}) = {size} <0.000010>",
            18_000 + at % 5,
            at % 1_000_000,
            ["pread64", "pwrite64"][kind],
            at % 7
        ),
    };
}

fn text(format: Format) -> String {
    let mut text = String::with_capacity(BYTES + 4096);
    match format {
        Format::Fio => text.push_str("fio version 3 iolog\n"),
        Format::Darshan => text.push_str("# DXT, file_id: 1, file_name: /scratch/out\n"),
        _ => {}
    }
    let (mut stream, mut at) = (Stream(1), 0);
    while text.len() < BYTES {
        line(&mut text, format, &mut stream, at);
        at += 1;
    }
    text
}

/// The best of three runs, in MB/s.
fn rate(bytes: usize, mut run: impl FnMut()) -> f64 {
    let once = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        bytes as f64 / 1e6 / start.elapsed().as_secs_f64()
    };
    (0..3).map(|_| once(&mut run)).fold(0.0, f64::max)
}

fn importing() {
    println!(
        "{:<10} {:>12} {:>12} {:>12} {:>12}",
        "format", "lines MB/s", "read MB/s", "import MB/s", "rejected"
    );
    for &format in Format::ALL {
        let only = std::env::args().nth(2);
        let is_meant = only.is_none_or(|name| name == format.name());
        if !is_meant || matches!(format, Format::Blktrace | Format::Vscsi) {
            continue;
        }
        let text = text(format);
        let bytes = text.as_bytes();
        let counted = rate(bytes.len(), || {
            std::hint::black_box(memchr::memchr_iter(b'\n', bytes).count());
        });
        let mut rejected = 0;
        let parsed = rate(bytes.len(), || {
            let imported = read(bytes, format, |operations, _| {
                std::hint::black_box(operations);
                Ok::<(), io::Error>(())
            });
            rejected = imported.expect("bytes can be read").rejected.count;
        });
        let kept = rate(bytes.len(), || {
            let mut writer =
                Writer::new(io::sink(), Path::new("nowhere"), &format.origin()).expect("nothing is written");
            let imported = read(bytes, format, |operations, files| {
                writer.add(operations, files).map_err(io::Error::other)
            });
            imported.expect("bytes can be read");
            let ended: Result<(), Error> = writer.finish();
            ended.expect("nothing is written");
        });
        println!("{:<10} {counted:>12.0} {parsed:>12.0} {kept:>12.0} {rejected:>12}", format.name());
    }
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// One of so many blocks: half of them of an eighth of these, and so on.
fn skewed(stream: &mut Stream, mut below: u64) -> u64 {
    while below > 64 && stream.next(2) == 0 {
        below /= 8;
    }
    stream.next(below)
}

/// 100 million accesses to 40 million blocks, skewed: half of them to an eighth of the blocks, again and again. Of all blocks,
/// of as many as a trace is shown with, and of one in a hundred; the last by two threads, each with a half of the accesses.
fn reusing() {
    let count = number_of("FATHOM_ACCESSES", 100_000_000);
    let mut stream = Stream(1);
    let blocks: Vec<u32> = (0..count).map(|_| skewed(&mut stream, count / 5 * 2) as u32).collect();
    let counted = |mut reuse: Reuse, blocks: &[u32]| {
        blocks.iter().for_each(|&block| reuse.access(0, block.into(), Direction::Read, 0));
        reuse
    };
    let report = |name: &str, run: &dyn Fn() -> Reuse| {
        let start = Instant::now();
        let mut reuse = run();
        let (seconds, (curve, error)) = (start.elapsed().as_secs_f64(), reuse.curve(4096));
        println!(
            "{name}: {:.1} million accesses/s to {} blocks, rate {:.4}, standard error at most {error:.5}, peak of memory so far {} MiB",
            count as f64 / 1e6 / seconds,
            reuse.blocks(),
            reuse.rate(),
            peak_mib()
        );
        curve
    };
    let at_once = |begin: &(dyn Fn() -> Reuse + Sync)| {
        let (early, late) = blocks.split_at(blocks.len() / 2);
        std::thread::scope(|scope| {
            let late = scope.spawn(|| counted(begin(), late));
            let mut whole = counted(begin(), early);
            whole.merge(late.join().expect("it counts"));
            whole
        })
    };
    let sampled = [
        report("1 % of the blocks", &|| at_once(&|| Reuse::default().at_rate(0.01))),
        report("as shown", &|| at_once(&Reuse::default)),
    ];
    let exact = report("exact", &|| counted(Reuse::with_bound(1 << 26), &blocks));
    for curve in sampled {
        let sizes = (12..40).flat_map(|power| [1u64 << power, 3u64 << (power - 1)]);
        let errors: Vec<f64> = sizes.map(|bytes| (at(&exact, bytes) - at(&curve, bytes)).abs()).collect();
        let (sum, worst) = (errors.iter().sum::<f64>(), errors.iter().copied().fold(0.0, f64::max));
        let linear = |step: u64| {
            (at(&exact, step * 4096 * count / 2500) - at(&curve, step * 4096 * count / 2500)).abs()
        };
        println!(
            "differences of hit ratios from exact: {:.5} on average over sizes of steps of a doubling, {:.5} over even steps, {worst:.5} at most",
            sum / errors.len() as f64,
            (1..=1000).map(linear).sum::<f64>() / 1000.0
        );
    }
}

/// The hit ratio of a cache.
fn at(curve: &[Point], bytes: u64) -> f64 {
    let place = curve.partition_point(|point| point.cache_bytes <= bytes);
    place.checked_sub(1).map_or(0.0, |place| curve[place].hit_ratio)
}

/// A number from the environment.
fn number_of(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(otherwise)
}

/// Requests to 100 volumes and a million blocks (`FATHOM_BLOCKS`), half of them to an eighth of the blocks, again and again; in
/// parts, which are made in `FATHOM_BENCH_DIR`.
fn showing() {
    const PART: u64 = 2_000_000;
    let operations = number_of("FATHOM_OPERATIONS", 20_000_000);
    let directory = std::env::var_os("FATHOM_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let parts = directory.join(format!("fathom-bench-{}", std::process::id()));
    std::fs::create_dir(&parts).expect("a directory can be made");
    let (mut stream, blocks) = (Stream(1), number_of("FATHOM_BLOCKS", 1 << 20));
    let mut request = |at: u64| {
        let block = skewed(&mut stream, blocks);
        let kind = [CallKind::Read, CallKind::Write][stream.next(2) as usize];
        Operation {
            offset: Some(block / 100 * 4096),
            length: 4096,
            duration_ns: Some(1000 + stream.next(90_000)),
            ..Operation::new(kind, FileId((block % 100) as u32), at as i64 * 13_000)
        }
    };
    let mut files = Files::default();
    (0..100).for_each(|volume| _ = files.id(format!("volume {volume}").as_bytes()));
    for first in (0..operations).step_by(PART as usize) {
        let requests: Vec<Operation> = (first..operations.min(first + PART)).map(&mut request).collect();
        let path = parts.join(format!("part-{:05}.parquet", first / PART));
        let mut writer = create(&path, &Format::Msr.origin()).expect("a part can be made");
        writer.add(&requests, &files).expect("it can be written");
        writer.finish().expect("it can be written");
    }
    // From here on the peak of memory is that of showing alone.
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux counts a new peak");
    let start = Instant::now();
    let shown = show(&parts).expect("it can be shown");
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} operations on {} MiB, {:.3} of the blocks followed: {:.2} million/s, peak of memory {} MiB",
        shown.operations,
        shown.footprint_bytes >> 20,
        shown.sampled,
        shown.operations as f64 / 1e6 / seconds,
        peak_mib()
    );
    for rate in [0.01, 1.0] {
        std::fs::write("/proc/self/clear_refs", "5").expect("Linux counts a new peak");
        let start = Instant::now();
        let found = hit_ratios(&parts, rate).expect("it can be read");
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "hit ratios alone, {:.3} of the blocks followed: {:.2} million/s, peak of memory {} MiB, standard error at most {:.5}",
            found.sampled,
            operations as f64 / 1e6 / seconds,
            peak_mib(),
            found.error
        );
    }
    std::fs::remove_dir_all(&parts).expect("it can be removed");
}

fn main() {
    let part = std::env::args().nth(1).unwrap_or_default();
    let is_meant = |name: &str| part == name || !["importing", "showing", "reusing"].contains(&part.as_str());
    if is_meant("importing") {
        importing();
    }
    if is_meant("showing") {
        showing();
    }
    if is_meant("reusing") {
        reusing();
    }
}
