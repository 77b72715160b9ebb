//! Readings against a place, a distance or a size, and how they spread.

use std::collections::BTreeMap;

use fathom_stats::quantile;

use super::marks::Answer;
use crate::report::figure::{Axis, Figure, Mark, Origin, Quantity, Rounded, Series, Shape, Style};
use crate::report::survey_page::thin::{self, Drawn, Readings, drawn};
use fathom_program::units::{Bytes, Nanos};
use fathom_program::workload::{Buffer, CacheState, CallKind, Pass};
use fathom_run::samples::{Reading, Samples};
use fathom_survey::experiment;
use fathom_survey::finding::Kind;

/// A pass of at least this many places is a sweep.
const SWEEP: u64 = 32;
/// How many periods of a comb the frame holds at first.
const PERIODS: f64 = 12.0;

/// The run and the pass with the most places, among the last runs: a repeated question repeats its sweep.
pub(super) fn longest(runs: &[Samples]) -> Option<(&Samples, usize)> {
    let places = |run: &Samples, pass: usize| run.workload.passes[pass].region.count;
    let pass = |run: &Samples| {
        let timed = (0..run.workload.passes.len()).filter(|&pass| run.workload.passes[pass].timed);
        // Of several alike the first: what follows is there to compare.
        timed.rev().max_by_key(|&pass| places(run, pass)).filter(|&pass| places(run, pass) >= SWEEP)
    };
    let found = runs.iter().rev().filter(|run| !run.readings.is_empty());
    found.filter_map(|run| Some((run, pass(run)?))).next()
}

/// Latency against the place.
pub(super) fn sweep(answer: &Answer<'_>, runs: &[Samples]) -> Option<Figure> {
    let (run, main) = longest(runs)?;
    let plan = &run.workload.passes[main];
    let places = places(run, main);
    let length = extent(plan);
    let mut figure = Figure::new(
        answer.id(1),
        format!("Time of each {} against its place", word(plan.ops[0])),
        Axis::new(place_label(plan), Quantity::Bytes),
        latency_axis(),
    );
    let mut shown = Vec::new();
    for (number, &pass) in alike(run, main).iter().enumerate() {
        let name = pass_name(answer, run, pass, number);
        let drawn = drawn(&name, Style::Line, &self::places(run, pass));
        shown.push(put(&mut figure, drawn));
    }
    figure.marks = levels(run, main);
    figure.marks.extend(answer.along(length, &|period| slowest(&places, period)));
    frame(&mut figure, &places);
    if let Some(period) = answer.period().filter(|_| answer.figure() == experiment::Figure::Comb) {
        let end = (PERIODS * period).min(length);
        figure.x.range = Some([0.0, end].map(Rounded));
        figure.title += &format!(", the first {}", Bytes(end as u64));
    }
    if let Some(end) = ramp_end(&figure) {
        figure.x.range = Some([0.0, (1.25 * end).min(length)].map(Rounded));
    }
    if runs.len() > 1 {
        shown.push(format!("Of {} runs this is the last such one.", runs.len()));
    }
    figure.shown = shown.join(" ") + CLOCK;
    Some(figure)
}

const CLOCK: &str = " Times include what reading the clock costs.";

fn ramp_end(figure: &Figure) -> Option<f64> {
    figure.marks.iter().find_map(|mark| match &mark.shape {
        Shape::At { x } if mark.name.starts_with("windows end") => x.last().map(|end| end.0),
        _ => None,
    })
}

/// The same, with all periods laid over each other, as paper D did.
pub(super) fn folded(answer: &Answer<'_>, runs: &[Samples]) -> Option<Figure> {
    let (run, main) = longest(runs)?;
    let plan = &run.workload.passes[main];
    let period = answer.period()?;
    // Paper D folds at 16 KiB; a larger block needs a larger fold.
    let fold = (4.0 * period).max(16384.0);
    if extent(plan) < 2.0 * fold {
        return None;
    }
    let places = gathered(|put| each(run, main, |x, ns| put((x % fold) as u64, ns)));
    let fold_words = Bytes(fold as u64);
    let mut figure = Figure::new(
        answer.id(2),
        format!("The same folded at {fold_words}"),
        Axis::new(format!("{}, modulo {fold_words}", place_label(plan)), Quantity::Bytes).fixed(),
        latency_axis(),
    );
    let drawn = drawn(&format!("every {}", word(plan.ops[0])), Style::Points, &places);
    figure.marks = answer.along(fold - 1.0, &|period| slowest(&places, period));
    frame(&mut figure, &places);
    figure.shown = put(&mut figure, drawn) + CLOCK;
    Some(figure)
}

/// Writes that several runs made at bytes between each other's.
pub(super) fn interleaved(answer: &Answer<'_>, runs: &[Samples]) -> Option<Figure> {
    let mut op = CallKind::Pwrite;
    let places = gathered(|put| {
        for run in runs {
            for (pass, plan) in run.workload.passes.iter().enumerate().filter(|(_, plan)| plan.timed) {
                op = plan.ops[0];
                each(run, pass, |x, ns| put(x as u64, ns));
            }
        }
    });
    let length = places.last()?.x;
    let mut figure = Figure::new(
        answer.id(1),
        format!("Time of each {} against its place", word(op)),
        Axis::new("place in the file", Quantity::Bytes),
        latency_axis(),
    );
    let drawn = drawn(&format!("{}s", word(op)), Style::Line, &places);
    figure.marks = answer.along(length, &|_| 0.0);
    frame(&mut figure, &places);
    figure.shown = put(&mut figure, drawn) + CLOCK;
    Some(figure)
}

/// Single reads at growing distances from a first one, which tell what it brought along.
pub(super) fn probes(answer: &Answer<'_>, runs: &[Samples]) -> Option<Figure> {
    let run = runs.iter().max_by_key(|run| run.workload.passes.len())?;
    let reads = |pass: &&Pass| pass.ops.contains(&CallKind::Pread);
    let base = run.workload.passes.iter().filter(|pass| !pass.timed).find(reads)?.region.offset as f64;
    let timed = |(_, plan): &(usize, &Pass)| plan.timed && plan.ops == [CallKind::Pread];
    let places = gathered(|put| {
        for (pass, _) in run.workload.passes.iter().enumerate().filter(timed) {
            each(run, pass, |x, ns| put((x - base).max(0.0) as u64, ns));
        }
    });
    let mut figure = Figure::new(
        answer.id(1),
        "Time of one read at a distance from the first",
        Axis::new("distance from the start of the first read", Quantity::Bytes),
        latency_axis(),
    );
    let drawn = drawn("one read after the first", Style::Points, &places);
    let shown = put(&mut figure, drawn);
    figure.shown = format!(
        "{shown} A quick read finds what the first one brought along; a slow one waits for the device.{CLOCK}"
    );
    figure.marks = answer.upright();
    frame(&mut figure, &places);
    // A hit and a miss lie a hundred times apart.
    figure.y.log = true;
    // The far probe, a known miss, would press all others to the edge.
    let near = places.len().checked_sub(2).and_then(|at| places.get(at)).map(|place| place.x * 1.05);
    figure.x.range = near.map(|end| [0.0, end].map(Rounded));
    Some(figure)
}

/// What a call costs against its size, with the line that two answers are: at size zero, and for so many bytes more.
pub(super) fn cost_line(
    answer: &Answer<'_>,
    runs: &[Samples],
    [call, page]: [&str; 2],
    page_bytes: u64,
) -> Option<Figure> {
    let places = by_size(runs, |_, ns| ns);
    let largest = places.last()?.x;
    let mut figure = Figure::new(
        answer.id(1),
        "Time of a cached read against its size",
        Axis::new("bytes per call", Quantity::Bytes),
        Axis::new("time of a call without the clock's", Quantity::Nanoseconds),
    );
    let drawn = drawn("cached reads", Style::Points, &places);
    figure.shown = put(&mut figure, drawn);
    frame(&mut figure, &places);
    // The answer is where the line begins.
    figure.y.log = false;
    figure.x.range = Some([0.0, largest].map(Rounded));
    figure.y.range = figure.y.range.map(|[_, top]| [Rounded(0.0), top]);
    if let (Some(call), Some(page)) = (answer.other(call), answer.other(page)) {
        let line = [0.0, largest].map(|size| (size, call + page * size / page_bytes as f64));
        let name = format!("{} + {} per {}", Nanos(call), Nanos(page), Bytes(page_bytes));
        let (x, y) = line.iter().map(|&(x, y)| (Rounded(x), Rounded(y))).unzip();
        figure.marks.push(Mark::new(name, Origin::Timing, Shape::Curve { x, y }));
    }
    let at_zero = answer.finding.interval.filter(|[low, high]| low < high);
    if let Some(interval) = at_zero.filter(|_| answer.finding.parameter == call) {
        let y = interval.map(Rounded);
        figure.marks.push(Mark::new("interval at size zero", Origin::Timing, Shape::Levels { y }));
    }
    Some(figure)
}

/// Bytes per second against the size of a call.
pub(super) fn rates(answer: &Answer<'_>, runs: &[Samples]) -> Option<Figure> {
    let places = by_size(runs, |size, ns| size / ns * 1e9);
    places.first()?;
    let mut figure = Figure::new(
        answer.id(1),
        "Throughput of cached reads against their size",
        Axis::new("bytes per call", Quantity::Bytes).log(),
        Axis::new("bytes per second", Quantity::BytesPerSecond),
    );
    let drawn = drawn("cached reads", Style::Points, &places);
    figure.shown = put(&mut figure, drawn);
    figure.marks = answer.upright();
    Some(figure)
}

/// The quantiles that the evidence states, case by case.
pub(super) fn quantiles(answer: &Answer<'_>) -> Option<Figure> {
    let cases = answer.finding.evidence.iter().find(|piece| piece.kind == Kind::Timing)?;
    let mut figure = Figure::new(
        answer.id(1),
        "How long it takes, case by case",
        Axis::new("time", Quantity::Nanoseconds).log(),
        Axis::new("share that took no longer", Quantity::Share).fixed(),
    );
    for case in &cases.distributions {
        let quantiles = [
            (case.shortest_ns, 1.0 / case.samples.max(1) as f64),
            (case.median_ns, 0.5),
            (case.p90_ns, 0.9),
            (case.p99_ns, 0.99),
            (case.longest_ns, 1.0),
        ];
        figure.series.push(Series::of(case.case.as_str(), Style::Markers, quantiles));
    }
    figure.marks = answer.upright();
    figure.shown = "Of each case the shortest, the median, 90 %, 99 % and the longest.".to_owned();
    (!figure.series.is_empty()).then_some(figure)
}

/// All readings, by what was called and what the cache held.
pub(super) fn spread(answer: &Answer<'_>, runs: &[Samples]) -> Option<Figure> {
    let mut gathered: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in runs {
        for reading in run.readings.iter().filter(|reading| reading.op != CallKind::Pause) {
            let state = state(reading.cache);
            let name = format!("{}{state}", word(reading.op));
            gathered.entry(name).or_default().push(run.nanoseconds(reading.latency.0 as f64));
        }
    }
    let mut figure = Figure::new(
        answer.id(2),
        "All readings, by call",
        Axis::new("time of a call", Quantity::Nanoseconds).log(),
        Axis::new("share that took no longer", Quantity::Share).fixed(),
    );
    figure.series = gathered.iter().map(|(name, ns)| thin::cumulated(name, ns)).collect();
    let counts: Vec<String> = gathered.iter().map(|(name, ns)| format!("{name} {}", ns.len())).collect();
    figure.shown = format!(
        "Readings: {}. Steps are drawn at about 300 ranks and at the 60 longest.{CLOCK}",
        counts.join(", ")
    );
    (!figure.series.is_empty()).then_some(figure)
}

/// Adds what was drawn, and gives the words for it.
fn put(figure: &mut Figure, drawn: Drawn) -> String {
    figure.series.extend([drawn.line, drawn.outliers].into_iter().filter(|one| !one.x.is_empty()));
    drawn.shown
}

fn latency_axis() -> Axis {
    Axis::new("time of a call", Quantity::Nanoseconds)
}

/// A frame that medians and bands fill; readings far out may lie above it.
fn frame(figure: &mut Figure, places: &[Readings]) {
    let medians: Vec<f64> = places.iter().map(Readings::median).collect();
    let at = |share| quantile::quantile(&medians, share);
    let (Some(quick), Some(highest)) = (at(0.1), at(1.0)) else { return };
    // Waits of a hundred times a hit and hits in one linear frame would hide the hits.
    figure.y.log = highest > 8.0 * quick;
    let tops: Vec<f64> = places.iter().map(|place| place.band()[1]).collect();
    let bottoms: Vec<f64> = places.iter().map(|place| place.band()[0]).collect();
    let share = if places.len() < 200 { 1.0 } else { 0.98 };
    let top = quantile::quantile(&tops, share).unwrap_or(highest).max(highest);
    figure.y.range = quantile::quantile(&bottoms, 0.0).map(|low| [low, top].map(Rounded));
}

/// Calls every reading of a pass's first timed step with its place and ns.
fn each(run: &Samples, pass: usize, mut with: impl FnMut(f64, f64)) {
    let plan = &run.workload.passes[pass];
    let chosen = run.readings.iter().filter(|one| one.pass as usize == pass && one.step == 0);
    for reading in chosen {
        let x = match (plan.region.step, plan.buffer) {
            // Always the same place in the file, and ever new memory.
            (0, Buffer::Fresh { step }) => u64::from(reading.position) * step,
            _ => reading.offset,
        };
        with(x as f64, run.nanoseconds(reading.latency.0 as f64));
    }
}

fn places(run: &Samples, pass: usize) -> Vec<Readings> {
    gathered(|put| each(run, pass, |x, ns| put(x as u64, ns)))
}

/// What is put at places, place by place.
fn gathered(fill: impl FnOnce(&mut dyn FnMut(u64, f64))) -> Vec<Readings> {
    let mut gathered: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    fill(&mut |x, value| gathered.entry(x).or_default().push(value));
    gathered.iter().filter_map(|(&x, values)| Readings::new(x as f64, values)).collect()
}

/// Reads by size, each less what an empty operation of its run took.
fn by_size(runs: &[Samples], y: impl Fn(f64, f64) -> f64) -> Vec<Readings> {
    fn of(run: &Samples, op: CallKind) -> impl Iterator<Item = &Reading> {
        run.readings.iter().filter(move |one| one.op == op)
    }
    gathered(|put| {
        for run in runs {
            let ns = |reading: &Reading| run.nanoseconds(reading.latency.0 as f64);
            let empty: Vec<f64> = of(run, CallKind::Pause).map(ns).collect();
            let clock = quantile::median(&empty).unwrap_or(0.0);
            for reading in of(run, CallKind::Pread) {
                let size = run.workload.passes[reading.pass as usize].region.size;
                put(size, y(size as f64, ns(reading) - clock));
            }
        }
    })
}

/// The passes of a run that do the same at the same places.
fn alike(run: &Samples, main: usize) -> Vec<usize> {
    let passes = &run.workload.passes;
    let same = |pass: &Pass| pass.timed && pass.region == passes[main].region && pass.ops == passes[main].ops;
    (0..passes.len()).filter(|&at| same(&passes[at])).collect()
}

fn pass_name(answer: &Answer<'_>, run: &Samples, pass: usize, number: usize) -> String {
    let plan = &run.workload.passes[pass];
    let known = match answer.figure() {
        experiment::Figure::Sweep { passes } => passes.get(number),
        _ => None,
    };
    match known {
        Some(known) => (*known).to_owned(),
        _ if number > 0 => format!("{}s, pass {pass}", word(plan.ops[0])),
        _ => format!("{}s{}", word(plan.ops[0]), state(plan.needs)),
    }
}

/// The medians of other passes with the same call, in a known state: what a hit and a miss take.
fn levels(run: &Samples, main: usize) -> Vec<Mark> {
    let passes = &run.workload.passes;
    let other = |at: &usize| {
        let pass = &passes[*at];
        pass.timed
            && pass.needs.is_some()
            && pass.ops == passes[main].ops
            && pass.region != passes[main].region
    };
    let level = |at: usize| {
        let median = quantile::median(&run.matrix(at, 0))?;
        let name = match passes[at].needs {
            Some(CacheState::Cold) => "an isolated cold read",
            _ => "a cached read",
        };
        Some(Mark::level(name, Origin::Reference, run.nanoseconds(median)))
    };
    (0..passes.len()).filter(other).filter_map(level).collect()
}

/// Where in a period the slowest readings of the second half stand.
fn slowest(places: &[Readings], period: f64) -> f64 {
    let mut gathered: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for place in &places[places.len() / 2..] {
        gathered.entry((place.x % period) as u64).or_default().push(place.median());
    }
    let typical = gathered.iter().filter_map(|(&at, medians)| Some((at, quantile::median(medians)?)));
    typical.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0.0, |(at, _)| at as f64)
}

fn extent(plan: &Pass) -> f64 {
    let step = match (plan.region.step, plan.buffer) {
        (0, Buffer::Fresh { step }) => step,
        (step, _) => step,
    };
    (plan.region.offset + plan.region.count * step) as f64
}

fn place_label(plan: &Pass) -> &'static str {
    match (plan.region.step, plan.buffer) {
        (0, Buffer::Fresh { .. }) => "place in fresh memory",
        _ => "place in the file",
    }
}

fn state(state: Option<CacheState>) -> &'static str {
    match state {
        Some(CacheState::Cold) => ", cold before",
        Some(CacheState::Cached) => ", cached before",
        Some(CacheState::Unknown) => ", cache unknown",
        None => "",
    }
}

/// What an operation is called in a sentence.
fn word(op: CallKind) -> String {
    match op {
        CallKind::Read | CallKind::Pread => "read".to_owned(),
        CallKind::Write | CallKind::Pwrite => "write".to_owned(),
        CallKind::Seek => "lseek".to_owned(),
        CallKind::SyncRange => "sync_file_range".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}
