//! Curves as text: rates against the size of a call, one column per curve, then latencies, bends and refusals.

use std::collections::BTreeSet;

use super::colours::Colours;
use super::limits;
use super::table::{place, rate_within, refused, rows, spent, wrap};
use fathom_program::units::{Bytes, Nanos};
use fathom_speed::curve::{Curve, Family, Point, Setting};

/// The curves as text.
pub fn curve(curve: &Curve, colours: Colours) -> String {
    let mut text = format!(
        "{}\nclock {}: own cost {} taken out of every call\n",
        place(&curve.provenance),
        curve.provenance.instrument.clock,
        Nanos(curve.provenance.instrument.overhead_ns)
    );
    let files: BTreeSet<u64> = curve.points.iter().map(|point| point.setting.file_bytes).collect();
    for file in files {
        let points: Vec<&Point> =
            curve.points.iter().filter(|point| point.setting.file_bytes == file).collect();
        let head = colours.strong(&format!("bytes per second, file of {}", Bytes(file)));
        text.push_str(&format!("\n{head}\n"));
        text.push_str(&matrix(&points, colours, |point| match point.bytes_per_second {
            Some(_) if point.is_settled => rate(point),
            // Wider than what was asked for, or nothing at all.
            _ => colours.open(&rate(point)),
        }));
        text.push_str(&format!("\n{}\n", colours.strong("time of a call: median, p99")));
        text.push_str(&matrix(&points, colours, |point| {
            format!("{}, {}", Nanos(point.latency.p50_ns), Nanos(point.latency.p99_ns))
        }));
    }
    text.push('\n');
    for family in &curve.families {
        let file = Bytes(family.setting.file_bytes);
        text.push_str(&colours.lines(&sketch(curve, family), bars));
        text.push_str(&wrap(&format!("{} (file of {file}): {}.", family.name, family.sentences.join("; "))));
    }
    for worth in &curve.read_ahead {
        text.push_str(&wrap(&format!("file of {}: {}.", Bytes(worth.file_bytes), worth.sentence)));
    }
    text.push_str(&limits::text(curve));
    text.push_str(&refused(&curve.refused, colours));
    let unsettled = curve.points.iter().filter(|point| !point.is_settled).count();
    let samples: usize = curve.points.iter().map(|point| point.samples.len()).sum();
    text.push_str(&format!(
        "\n{samples} samples at {} points, {unsettled} of them with a wider interval than asked for; {}\n",
        curve.points.len(),
        spent(curve.bytes_written, curve.duration_ns)
    ));
    text
}

/// A line of [`sketch`] with its bars in a colour.
fn bars(colours: Colours, line: &str) -> String {
    let (bars, words) = line.split_at(line.find(' ').unwrap_or(0));
    colours.good(bars) + words
}

/// The throughput of one curve over the sizes of calls, on a logarithmic scale; nothing for fewer than three.
fn sketch(curve: &Curve, family: &Family) -> String {
    const STEPS: [char; 8] =
        ['\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'];
    let points: Vec<(u64, f64)> = curve
        .points
        .iter()
        .filter(|point| point.setting.family() == family.setting)
        .filter_map(|point| Some((point.setting.block_bytes, point.bytes_per_second?.max(1.0).ln())))
        .collect();
    let ([(first, _), .., (last, _)], 3..) = (points.as_slice(), points.len()) else { return String::new() };
    let low = points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    let step = |log: f64| STEPS[((log - low) / (high - low).max(1e-9) * 7.0).round() as usize];
    let bars: String = points.iter().map(|&(_, log)| step(log)).collect();
    let [low, high] = [low, high].map(|log| Bytes(log.exp() as u64));
    format!("{bars}  {low}/s to {high}/s over calls of {} to {}\n", Bytes(*first), Bytes(*last))
}

fn rate(point: &Point) -> String {
    let Some(median) = point.bytes_per_second else { return "?".to_owned() };
    rate_within(median, point.bytes_per_second_interval)
}

/// A line per size of a call, a column per curve.
fn matrix(points: &[&Point], colours: Colours, cell: impl Fn(&Point) -> String) -> String {
    let sizes: BTreeSet<u64> = points.iter().map(|point| point.setting.block_bytes).collect();
    let families: BTreeSet<Setting> = points.iter().map(|point| point.setting.family()).collect();
    let header: Vec<String> = ["call".to_owned()]
        .into_iter()
        .chain(families.iter().map(Setting::name))
        .map(|title| colours.faint(&title))
        .collect();
    let lines: Vec<Vec<String>> = sizes
        .into_iter()
        .map(|block_bytes| {
            let cells = families.iter().map(|family| {
                let setting = Setting { block_bytes, ..*family };
                let point = points.iter().find(|point| point.setting == setting);
                point.map_or_else(|| "-".to_owned(), |point| cell(point))
            });
            [Bytes(block_bytes).to_string()].into_iter().chain(cells).collect()
        })
        .collect();
    rows(&header, &lines)
}
