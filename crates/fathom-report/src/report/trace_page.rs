//! What a trace does, as a page.

mod picture;

use fathom_trace::operation::Clock;
use fathom_trace::show::{BLOCK, Histogram, Moved, Shown};

use super::counts;
use super::figure::{Axis, Figure, Quantity, Rounded, Series, Style};
use super::page::{Page, definitions, table};
use super::validation::percent;
use fathom_program::units::{Bytes, Nanos};

/// What a trace does, as one HTML file that needs no network; `name` is the trace's file.
pub(crate) fn trace_page(shown: &Shown, name: &str) -> String {
    let mut page = Page::new(&format!("Fathom: what {name} does"), &format!("What {name} does"));
    page.push(&definitions(&facts(shown)));
    page.push("<h2>Offsets of reads and writes</h2>\n");
    if let Some(figure) = picture::picture(shown) {
        page.push(
            "<p class=\"soft\">As figures 18 to 22 of paper E: the place of each read and write against their \
             order.</p>\n",
        );
        page.figure(figure);
    }
    page.push(&table(
        &["", "count", "bytes", "sequential", "forward", "backward", "a run, on average"],
        &ways(shown),
    ));
    page.push("<h2>Cache hit ratio</h2>\n");
    let of_blocks = [hit_ratios(shown), again(shown), working_set(shown)];
    if of_blocks.iter().all(Option::is_none) {
        page.push("<p>It moves no bytes whose place is known.</p>\n");
    }
    of_blocks.into_iter().flatten().for_each(|figure| page.figure(figure));
    page.push("<h2>Operations and sizes</h2>\n");
    page.push(&table(&["operation", "count", "share", "failed"], &mix(shown)));
    sizes(shown).into_iter().for_each(|figure| page.figure(figure));
    page.push("<h2>Times</h2>\n");
    times(shown).into_iter().for_each(|figure| page.figure(figure));
    page.push("<h2>Files</h2>\n");
    page.push(&table(&["file", "operations", "read", "written"], &files(shown)));
    let others = shown.file_count.saturating_sub(shown.files.len() as u64);
    if others > 0 {
        page.push(&format!("<p class=\"soft\">And {others} others, to which fewer bytes went.</p>\n"));
    }
    page.html()
}

fn facts(shown: &Shown) -> Vec<(&'static str, String)> {
    let level = shown.origin.level.words();
    let clock = match shown.origin.clock {
        Clock::Unix => "",
        Clock::Source => "; times count from the source's own beginning",
    };
    let timing = &shown.timing;
    let concurrency = match timing.has_durations {
        true => format!("{:.2} on average, {} at most", timing.mean_concurrency, timing.most_concurrency),
        false => "the source does not say how long operations took".to_owned(),
    };
    let unknown = match shown.without_offset {
        0 => String::new(),
        count => format!("of {count} reads and writes; they count in mix and sizes alone"),
    };
    vec![
        ("operations", format!("{} {level}, from {}{clock}", shown.operations, shown.origin.source)),
        ("in", Nanos(shown.span_ns as f64).to_string()),
        ("threads", timing.threads.to_string()),
        ("under way at once", concurrency),
        ("touched", format!("{} in {} files", Bytes(shown.footprint_bytes), shown.file_count)),
        ("place not known", unknown),
    ]
}

/// Reads and writes, where there are any.
fn directions(shown: &Shown) -> impl Iterator<Item = (&'static str, &Moved)> {
    [("reads", &shown.reads), ("writes", &shown.writes)].into_iter().filter(|(_, moved)| moved.count > 0)
}

fn ways(shown: &Shown) -> Vec<Vec<String>> {
    let line = |(name, moved): (&str, &Moved)| {
        vec![
            name.to_owned(),
            moved.count.to_string(),
            Bytes(moved.bytes).to_string(),
            percent(moved.sequential),
            percent(moved.forward),
            percent(moved.backward),
            Bytes(moved.run_bytes as u64).to_string(),
        ]
    };
    directions(shown).map(line).collect()
}

fn mix(shown: &Shown) -> Vec<Vec<String>> {
    let line = |mix: &fathom_trace::show::Mix| {
        let share = mix.count as f64 / shown.operations.max(1) as f64;
        vec![mix.kind.name().to_owned(), mix.count.to_string(), percent(share), mix.failed.to_string()]
    };
    shown.mix.iter().map(line).collect()
}

fn files(shown: &Shown) -> Vec<Vec<String>> {
    let line = |used: &fathom_trace::show::FileUse| {
        let path = if used.path.is_empty() { "-" } else { &used.path };
        vec![
            path.to_owned(),
            used.operations.to_string(),
            Bytes(used.read_bytes).to_string(),
            Bytes(used.written_bytes).to_string(),
        ]
    };
    shown.files.iter().map(line).collect()
}

fn sampled(shown: &Shown) -> String {
    match shown.sampled < 1.0 {
        true => format!("Estimated from a sample of {:.3} % of the blocks.", shown.sampled * 100.0),
        false => format!("Exact, over all accesses to blocks of {}.", Bytes(BLOCK)),
    }
}

fn hit_ratios(shown: &Shown) -> Option<Figure> {
    shown.hit_ratios.first()?;
    let mut figure = Figure::new(
        "hit-ratio".to_owned(),
        "Hits in an LRU cache against its size",
        Axis::new("size of the cache", Quantity::Bytes).log(),
        Axis::new("share of accesses that hit", Quantity::Share).fixed(),
    );
    let points = shown.hit_ratios.iter();
    let all = points.clone().map(|point| (point.cache_bytes as f64, point.hit_ratio));
    figure.series.push(Series::of("all accesses", Style::Steps, all));
    if shown.reads.count > 0 && shown.writes.count > 0 {
        let reads = points.map(|point| (point.cache_bytes as f64, point.read_hit_ratio));
        figure.series.push(Series::of("reads", Style::Steps, reads));
    }
    let error = match shown.hit_ratio_error * 100.0 {
        0.0 => String::new(),
        error => format!(" The standard error of the shares is at most {error:.2} percentage points."),
    };
    figure.shown =
        format!("{}{error} A larger cache than where the line ends hits no more often.", sampled(shown));
    Some(figure)
}

/// How far apart two accesses to a block are: what the curve of hit ratios gains per doubling.
fn again(shown: &Shown) -> Option<Figure> {
    let last = shown.hit_ratios.last()?;
    let at = |size: u64| {
        let place = shown.hit_ratios.partition_point(|point| point.cache_bytes <= size);
        place.checked_sub(1).map_or(0.0, |place| shown.hit_ratios[place].hit_ratio)
    };
    let (mut names, mut shares) = (Vec::new(), Vec::new());
    let mut size = BLOCK;
    let mut before = 0.0;
    loop {
        names.push(format!("up to {}", Bytes(size)));
        shares.push(at(size) - before);
        before = at(size);
        if size >= last.cache_bytes {
            break;
        }
        size *= 2;
    }
    names.push("never before".to_owned());
    shares.push(1.0 - last.hit_ratio);
    let mut figure = Figure::new(
        "reuse".to_owned(),
        "How much other data is touched until a block is touched again",
        Axis::of_names(names),
        Axis::new("share of accesses", Quantity::Share).fixed(),
    );
    let shares = (0..).map(f64::from).zip(shares);
    figure.series.push(Series::of("reuse distances", Style::Bars, shares));
    figure.shown = format!(
        "{} 'Never before' are first touches, which no cache can answer without reading ahead.",
        sampled(shown)
    );
    Some(figure)
}

fn working_set(shown: &Shown) -> Option<Figure> {
    let most = shown.working_set.iter().map(|window| window.touched_bytes).max()?;
    if most == 0 {
        return None;
    }
    let window = shown.span_ns as f64 / shown.working_set.len() as f64;
    let mut figure = Figure::new(
        "working-set".to_owned(),
        "Different bytes touched, over time",
        Axis::new("time since the first operation", Quantity::Nanoseconds).fixed(),
        Axis::new(format!("bytes in blocks touched within {}", Nanos(window)), Quantity::Bytes).fixed(),
    );
    let windows = (0..).map(|at| f64::from(at) * window).zip(&shown.working_set);
    let touched = windows.clone().map(|(at, one)| (at, one.touched_bytes as f64));
    let new = windows.map(|(at, one)| (at, one.new_bytes as f64));
    figure.series = vec![
        Series::of("touched", Style::Steps, touched),
        Series::of("for the first time", Style::Steps, new),
    ];
    figure.y.range = Some([Rounded(0.0), Rounded(most as f64)]);
    figure.shown = format!("{} Each step is a window of {}.", sampled(shown), Nanos(window));
    Some(figure)
}

fn sizes(shown: &Shown) -> Option<Figure> {
    let mut all = Histogram::default();
    directions(shown).for_each(|(_, moved)| all.merge(&moved.sizes));
    let sizes: Vec<u64> = all.steps().map(|(least, _)| least).collect();
    sizes.first()?;
    let mut figure = Figure::new(
        "sizes".to_owned(),
        "Sizes of reads and writes",
        Axis::of_names(sizes.iter().map(|&size| format!("from {}", Bytes(size))).collect()),
        Axis::new("share of its kind", Quantity::Share).fixed(),
    );
    for (name, moved) in directions(shown) {
        let shares = moved.sizes.steps().filter_map(|(least, count)| {
            let at = sizes.binary_search(&least).ok()?;
            Some((at as f64, count as f64 / moved.count as f64))
        });
        figure.series.push(Series::of(name, Style::Bars, shares));
    }
    figure.shown = "Counted by powers of two: 'from 4 KiB' is up to 8 KiB.".to_owned();
    Some(figure)
}

fn times(shown: &Shown) -> Vec<Figure> {
    let timing = &shown.timing;
    let mut pauses = counts::times("pauses", "Pauses between a thread's operations", "pause");
    pauses.series.push(counts::cumulated("from start to start", &timing.gaps_ns));
    if timing.has_durations {
        pauses.series.push(counts::cumulated("from end to start: think time", &timing.think_ns));
    }
    let mut durations = counts::times("durations", "How long operations took", "time of an operation");
    durations.series.push(counts::cumulated("operations", &timing.durations_ns));
    let is_drawn = |figure: &Figure| figure.series.iter().any(|series| !series.x.is_empty());
    [pauses, durations].into_iter().filter(is_drawn).collect()
}
