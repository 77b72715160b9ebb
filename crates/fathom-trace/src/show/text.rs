//! What a trace does, for people.

use std::fmt::Write;

use super::{Histogram, Moved, Point, Shown, Window};
use crate::operation::Clock;

const WIDTH: usize = 72;

/// Writing to a string can't fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {
        let _ = writeln!($text, $($format)*);
    };
}

/// All of it as text.
#[must_use]
pub fn render(shown: &Shown) -> String {
    let mut text = String::new();
    head(&mut text, shown);
    moved(&mut text, "reads", &shown.reads);
    moved(&mut text, "writes", &shown.writes);
    timing(&mut text, shown);
    files(&mut text, shown);
    working_set(&mut text, shown);
    if !shown.hit_ratios.is_empty() {
        line!(text, "");
        text += &hit_ratios(&shown.hit_ratios, shown.sampled, shown.hit_ratio_error);
    }
    picture(&mut text, shown);
    text
}

fn head(text: &mut String, shown: &Shown) {
    let level = shown.origin.level.words();
    let clock = match shown.origin.clock {
        Clock::Unix => "",
        Clock::Source => " (times from the source's own beginning)",
    };
    let (source, count) = (&shown.origin.source, shown.operations);
    line!(text, "{count} {level}, from {source}, in {}{clock}", nanos(shown.span_ns));
    for mix in &shown.mix {
        let failed = if mix.failed > 0 { format!(", {} failed", mix.failed) } else { String::new() };
        let part = 100.0 * mix.count as f64 / shown.operations.max(1) as f64;
        line!(text, "  {:<12} {:>12}  {part:5.1} %{failed}", mix.kind.name(), mix.count);
    }
    if shown.without_offset > 0 {
        line!(text, "  of {} reads and writes it is not known where they went", shown.without_offset);
    }
}

fn moved(text: &mut String, name: &str, moved: &Moved) {
    if moved.count == 0 {
        return;
    }
    let percent = |part: f64| 100.0 * part;
    line!(text, "\n{name}: {} in {}", bytes(moved.bytes), moved.count);
    line!(
        text,
        "  sequential {:.1} %, forward {:.1} %, backward {:.1} %; runs of {} on average",
        percent(moved.sequential),
        percent(moved.forward),
        percent(moved.backward),
        bytes(moved.run_bytes as u64)
    );
    bars(text, "size from", &moved.sizes, bytes);
}

fn bars(text: &mut String, name: &str, histogram: &Histogram, unit: fn(u64) -> String) {
    let most = histogram.steps().map(|(_, count)| count).max().unwrap_or(1);
    for (least, count) in histogram.steps() {
        let bar = "#".repeat((40 * count / most) as usize);
        line!(text, "  {name} {:>9}  {count:>12}  {bar}", unit(least));
    }
}

fn timing(text: &mut String, shown: &Shown) {
    let timing = &shown.timing;
    line!(text, "\ntime: {} threads", timing.threads);
    let median = |histogram: &Histogram| histogram.quantile(0.5).map_or("-".to_owned(), nanos);
    line!(text, "  from start to start, median from {}", median(&timing.gaps_ns));
    if !timing.has_durations {
        line!(text, "  the source does not say how long operations took");
        return;
    }
    line!(text, "  between operations (think time), median from {}", median(&timing.think_ns));
    line!(
        text,
        "  under way at once: {:.2} on average, {} at most",
        timing.mean_concurrency,
        timing.most_concurrency
    );
    bars(text, "lasting from", &timing.durations_ns, nanos);
}

fn files(text: &mut String, shown: &Shown) {
    line!(text, "\nfiles: {}", shown.file_count);
    line!(text, "  {:>10}  {:>10}  {:>10}", "operations", "read", "written");
    for used in &shown.files {
        let path = if used.path.is_empty() { "-" } else { &used.path };
        line!(
            text,
            "  {:>10}  {:>10}  {:>10}  {}",
            used.operations,
            bytes(used.read_bytes),
            bytes(used.written_bytes),
            path.escape_debug()
        );
    }
}

fn working_set(text: &mut String, shown: &Shown) {
    let most = shown.working_set.iter().map(|window| window.touched_bytes).max().unwrap_or(0);
    let windows = shown.working_set.len();
    let window = nanos(shown.span_ns / windows.max(1) as u64);
    line!(
        text,
        "\nworking set: {} in all; touched per {window}, at most {}",
        bytes(shown.footprint_bytes),
        bytes(most)
    );
    let level = |window: &Window, row: u64| {
        let at = |bytes: u64| bytes * 8 > most * row;
        if at(window.new_bytes) {
            '#'
        } else if at(window.touched_bytes) {
            '+'
        } else {
            ' '
        }
    };
    if most > 0 {
        for row in (0..8).rev() {
            let line: String = shown.working_set.iter().map(|window| level(window, row)).collect();
            line!(text, "  |{line}|");
        }
        line!(text, "   + touched, # for the first time");
    }
}

/// Hit ratios as text, of which the part `sampled` of the blocks gave a standard error of at most `error`.
#[must_use]
pub fn hit_ratios(points: &[Point], sampled: f64, error: f64) -> String {
    let exact = if sampled < 1.0 {
        format!(
            "from a sample of {:.3} % of the blocks, standard error at most {:.2} percentage points",
            100.0 * sampled,
            100.0 * error
        )
    } else {
        "exact".to_owned()
    };
    let mut text = format!("hits in an LRU cache, by its size ({exact}):\n");
    let mut next = 0;
    for (at, point) in points.iter().enumerate() {
        // A line per doubling, and the last.
        if point.cache_bytes >= next || at + 1 == points.len() {
            let bar = "#".repeat((40.0 * point.hit_ratio) as usize);
            line!(text, "  {:>10}  {:5.1} %  {bar}", bytes(point.cache_bytes), 100.0 * point.hit_ratio);
            next = point.cache_bytes.saturating_mul(2);
        }
    }
    text
}

fn picture(text: &mut String, shown: &Shown) {
    if shown.picture.dots.is_empty() {
        return;
    }
    let height = bytes(shown.picture.bytes);
    line!(text, "\noffset (up, {height} in all) against order: . read, x write, * both");
    for line in shown.picture.lines(WIDTH, 20) {
        line!(text, "  |{line}|");
    }
}

/// A size in IEC units.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = (bytes.max(1).ilog2() / 10) as usize;
    let value = bytes as f64 / 1024f64.powi(unit as i32);
    if unit == 0 || bytes.is_multiple_of(1 << (10 * unit)) {
        format!("{value:.0} {}", units[unit])
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

/// A time in the unit that fits it.
#[must_use]
pub fn nanos(nanos: u64) -> String {
    let value = nanos as f64;
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{:.1} us", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", value / 1e6),
        _ => format!("{:.2} s", value / 1e9),
    }
}
