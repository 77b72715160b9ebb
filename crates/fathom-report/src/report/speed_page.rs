//! Curves and costs of calls as pages.

use std::collections::BTreeSet;

use super::counts;
use super::figure::{Axis, Figure, Mark, Origin, Quantity, Series, Style};
use super::limits;
use super::page::{Page, escaped, quoted, table};
use super::table::or_dash;
use fathom_program::units::{Bytes, Nanos};
use fathom_speed::curve::{Curve, Family, Operation, Point, Setting};
use fathom_speed::measurement::Measurement;
use fathom_speed::syscalls::{self, Syscalls};

/// Curves as one HTML file that needs no network.
pub(crate) fn curve_page(curve: &Curve) -> String {
    let mut page = Page::measured("curves", &curve.provenance);
    page.push(
        "<p class=\"soft\">What paper B asked of its machines (raw reads by blocks of 512 B to 512 KiB, cached and cold), and \
         figures 3 to 7 of paper E (throughput by size of file and block), with the state of the cache proven before each \
         sample.</p>\n",
    );
    page.push("<h2>What the curves say</h2>\n");
    for family in &curve.families {
        said(
            &mut page,
            &format!("{} (file of {})", family.name, Bytes(family.setting.file_bytes)),
            &family.sentences,
        );
    }
    for worth in &curve.read_ahead {
        said(
            &mut page,
            &format!("read-ahead, file of {}", Bytes(worth.file_bytes)),
            std::slice::from_ref(&worth.sentence),
        );
    }
    let files: BTreeSet<u64> = curve.points.iter().map(|point| point.setting.file_bytes).collect();
    for (number, file) in files.into_iter().enumerate() {
        let points: Vec<&Point> =
            curve.points.iter().filter(|point| point.setting.file_bytes == file).collect();
        let families: Vec<&Family> =
            curve.families.iter().filter(|family| family.setting.file_bytes == file).collect();
        page.push(&format!("<h2>File of {}</h2>\n", Bytes(file)));
        page.figure(with_halves(rates(number, &by_family(&points)), &families));
        page.figure(latencies(number, &points));
        page.figure(distributions(number, &points));
    }
    if let Some(past) = &curve.past_memory {
        page.push("<h2>Past the memory</h2>\n");
        page.push(&format!("<p>{}.</p>\n", escaped(&past.sentence)));
        page.figure(limits::memory(past));
    }
    if let Some(past) = &curve.past_dirty {
        page.push("<h2>Past the dirty threshold</h2>\n");
        page.push(&format!("<p>{}.</p>\n", escaped(&past.sentence)));
        page.figure(limits::dirty(past));
    }
    if !curve.effects.is_empty() {
        let lines: Vec<Vec<String>> = curve.effects.iter().map(|one| vec![one.clone()]).collect();
        page.push("<h2>On this machine</h2>\n");
        page.push(&table(&["changed meanwhile, and put back"], &lines));
    }
    page.refused(&curve.refused);
    page.repeat(&[command(curve)]);
    page.html()
}

/// Costs of calls as one HTML file that needs no network.
pub(crate) fn syscalls_page(costs: &Syscalls) -> String {
    let mut page = Page::measured("system calls", &costs.provenance);
    for caveat in &costs.caveats {
        page.push(&format!("<p>{}</p>\n", escaped(caveat)));
    }
    page.push(
        "<p class=\"soft\">What paper B found with 1-byte reads and seeks over files of 10 KB to 5 MB, with the cost of the \
         clock taken out.</p>\n",
    );
    page.figure(costs_by_size(costs));
    let lines: Vec<Vec<String>> = costs.measurements.iter().map(line).collect();
    page.push(&table(&["call", "file", "ns per call", "95 % interval", "calls per second"], &lines));
    let from = &costs.provenance;
    let path = quoted(&from.mount.path);
    page.repeat(&[format!("fathom syscalls {path} --rounds {} --seed {}", costs.rounds, from.seed)]);
    page.html()
}

/// What asks for the same points.
fn command(curve: &Curve) -> String {
    let list = |of: &dyn Fn(&Setting) -> String, counts: &dyn Fn(&Setting) -> bool| {
        let mut words: Vec<String> = Vec::new();
        for setting in curve.points.iter().map(|point| &point.setting).filter(|setting| counts(setting)) {
            let word = of(setting);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.join(",")
    };
    // Appends are in order whatever is asked for, to a file that is empty.
    let moves = |setting: &Setting| setting.operation != Operation::Append;
    let options = [
        ("block-sizes", list(&|one| one.block_bytes.to_string(), &|_| true)),
        ("file-size", list(&|one| one.file_bytes.to_string(), &|_| true)),
        ("ops", list(&|one| one.operation.to_string(), &|_| true)),
        ("order", list(&|one| one.order.to_string(), &moves)),
        ("state", list(&|one| one.state.to_string(), &moves)),
        ("threads", list(&|one| one.threads.to_string(), &|_| true)),
    ];
    let options = options.iter().filter(|(_, words)| !words.is_empty());
    let options: String = options.map(|(name, words)| format!(" --{name} {words}")).collect();
    let intrusive =
        if curve.past_memory.is_some() || curve.past_dirty.is_some() { " --intrusive" } else { "" };
    let (path, seed) = (quoted(&curve.provenance.mount.path), curve.provenance.seed);
    format!("fathom curve {path}{options}{intrusive} --seed {seed}")
}

fn said(page: &mut Page, name: &str, sentences: &[String]) {
    page.push(&format!("<p><strong>{}</strong>: {}.</p>\n", escaped(name), escaped(&sentences.join("; "))));
}

fn size_axis() -> Axis {
    Axis::new("bytes per call", Quantity::Bytes).log()
}

/// Series of the points of each curve, in the order of the grid.
pub(super) fn by_family<'a>(points: &[&'a Point]) -> Vec<(String, Vec<&'a Point>)> {
    let chunks = points.chunk_by(|a, b| a.setting.family() == b.setting.family());
    chunks.map(|points| (points[0].setting.family().name(), points.to_vec())).collect()
}

/// Throughput over sizes of the named curves over one file.
pub(super) fn rates(number: usize, curves: &[(String, Vec<&Point>)]) -> Figure {
    let mut figure = Figure::new(
        format!("rates-{number}"),
        "Throughput against the size of a call",
        size_axis(),
        Axis::new("bytes per second", Quantity::BytesPerSecond).log(),
    );
    for (name, points) in curves {
        let rates = points.iter().filter_map(|point| {
            let rate = point.bytes_per_second?;
            let interval = point.bytes_per_second_interval.unwrap_or([rate, rate]);
            Some((point.setting.block_bytes as f64, rate, interval))
        });
        figure.series.push(Series::within(name, Style::Points, rates));
    }
    figure.shown = "Medians with their 95 % intervals.".to_owned();
    figure
}

/// The same with what the curves say of where half of the best is reached.
fn with_halves(mut figure: Figure, families: &[&Family]) -> Figure {
    for family in families {
        if let Some([half, ..]) = family.half_bytes {
            figure.marks.push(Mark::at(format!("half its best: {}", family.name), Origin::Timing, [half]));
        }
    }
    figure.shown += " A mark stands at the size at which moving the bytes costs as much as the call itself: half of \
        the throughput that large calls reach.";
    figure
}

fn latencies(number: usize, points: &[&Point]) -> Figure {
    let mut figure = Figure::new(
        format!("latencies-{number}"),
        "Time of a call against its size",
        size_axis(),
        Axis::new("time of a call", Quantity::Nanoseconds).log(),
    );
    for (name, points) in by_family(points) {
        let measured = points.iter().filter(|point| point.latency.calls > 0);
        let times = measured.map(|Point { setting, latency, .. }| {
            (setting.block_bytes as f64, latency.p50_ns, [latency.min_ns, latency.p99_ns])
        });
        figure.series.push(Series::within(name, Style::Points, times));
    }
    figure.shown = "Medians; bars from the shortest call to the one that 99 of 100 do not exceed.".to_owned();
    figure
}

/// How the latencies of each curve spread, at the size nearest to a page.
fn distributions(number: usize, points: &[&Point]) -> Figure {
    let title = "How long a call takes, at the size nearest to 4 KiB";
    let mut figure = counts::times(&format!("distributions-{number}"), title, "time of a call");
    for (name, points) in by_family(points) {
        let measured = points.into_iter().filter(|point| point.latency.calls > 0);
        let Some(point) = measured.min_by_key(|point| point.setting.block_bytes.abs_diff(4096)) else {
            continue;
        };
        let latency = &point.latency;
        let quantiles = [
            (latency.min_ns, 1.0 / latency.calls as f64),
            (latency.p50_ns, 0.5),
            (latency.p90_ns, 0.9),
            (latency.p99_ns, 0.99),
            (latency.p999_ns, 0.999),
            (latency.max_ns, 1.0),
        ];
        let name = format!("{name}, {}", Bytes(point.setting.block_bytes));
        figure.series.push(Series::of(name, Style::Markers, quantiles));
    }
    figure.shown = "The shortest call, the median, 90 %, 99 %, 99.9 % and the longest.".to_owned();
    figure
}

fn file_bytes(one: &Measurement) -> Option<u64> {
    one.settings.get("file_bytes").and_then(|size| size.parse().ok())
}

fn costs_by_size(costs: &Syscalls) -> Figure {
    let mut figure = Figure::new(
        "costs".to_owned(),
        "What a call costs against the size of its file",
        Axis::new("size of the file", Quantity::Bytes).log(),
        Axis::new("time of a call", Quantity::Nanoseconds),
    );
    for &call in syscalls::ALL {
        let of = costs.measurements.iter().filter(|one| one.name == call.name());
        let costs = of.filter_map(|one| {
            let interval = one.call_ns_interval.unwrap_or([one.call_ns, one.call_ns]);
            Some((file_bytes(one)? as f64, one.call_ns, interval))
        });
        figure.draw(Series::within(call.name(), Style::Points, costs));
    }
    figure.shown = format!(
        "Medians of {} rounds with their 95 % intervals; the clock's {} are taken out of each batch of calls.",
        costs.rounds,
        Nanos(costs.clock_ns)
    );
    figure
}

fn line(one: &Measurement) -> Vec<String> {
    vec![
        one.name.clone(),
        or_dash(file_bytes(one).map(Bytes)),
        format!("{:.1}", one.call_ns),
        or_dash(one.call_ns_interval.map(|[low, high]| format!("{low:.1} to {high:.1}"))),
        format!("{:.0}", one.calls_per_second()),
    ]
}
