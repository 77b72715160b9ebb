//! What lies past the memory and past the dirty threshold, as text and as figures.

use super::figure::{Axis, Figure, Mark, Origin, Quantity, Series, Style};
use super::table::{rate_within, rows, wrap};
use fathom_program::units::Bytes;
use fathom_speed::curve::limits::Rate;
use fathom_speed::curve::{Curve, PastDirty, PastMemory};

/// Both tables with their sentences; nothing where neither was measured.
pub(super) fn text(curve: &Curve) -> String {
    let mut text = String::new();
    if let Some(past) = &curve.past_memory {
        text.push_str(&format!(
            "\npast the memory: {} by {}, by calls of {}\n",
            Bytes(past.limit_bytes),
            past.limit_file,
            Bytes(past.block_bytes)
        ));
        let header = ["file", "read at first", "read again", "cached before second read"];
        let lines: Vec<Vec<String>> = past
            .points
            .iter()
            .map(|point| {
                let share =
                    point.cached_share.map_or_else(|| "?".to_owned(), |it| format!("{:.0} %", it * 100.0));
                vec![Bytes(point.file_bytes).to_string(), rate(&point.first), rate(&point.again), share]
            })
            .collect();
        text.push_str(&rows(&header, &lines));
        text.push_str(&wrap(&format!("{}.", past.sentence)));
    }
    if let Some(past) = &curve.past_dirty {
        text.push_str(&format!(
            "\npast the dirty threshold: background {}, limit {}, by calls of {}\n",
            Bytes(past.background_bytes),
            Bytes(past.limit_bytes),
            Bytes(past.block_bytes)
        ));
        let header = ["written", "rate"];
        let lines: Vec<Vec<String>> = past
            .points
            .iter()
            .map(|point| vec![Bytes(point.written_bytes).to_string(), rate(&point.rate)])
            .collect();
        text.push_str(&rows(&header, &lines));
        text.push_str(&wrap(&format!("{}.", past.sentence)));
    }
    for effect in &curve.effects {
        text.push_str(&wrap(&format!("on this machine: {effect}.")));
    }
    text
}

fn rate(rate: &Rate) -> String {
    rate_within(rate.bytes_per_second, rate.interval)
}

/// Readings against the size of the file.
pub(super) fn memory(past: &PastMemory) -> Figure {
    let mut figure = Figure::new(
        "past-memory".to_owned(),
        "Reading a file again, against its size",
        Axis::new("size of the file", Quantity::Bytes),
        Axis::new("bytes per second", Quantity::BytesPerSecond).log(),
    );
    for (name, of) in [
        ("at first", (|point| point.first) as fn(&fathom_speed::curve::limits::WorkingSet) -> Rate),
        ("again", |point| point.again),
    ] {
        let points = past.points.iter().map(|point| drawn(point.file_bytes, of(point)));
        figure.series.push(Series::within(name, Style::Points, points));
    }
    figure.marks.extend(past.fall_bytes.map(|[low, high]| {
        Mark::at(
            "the last size from memory, the first that is not",
            Origin::Timing,
            [low as f64, high as f64],
        )
    }));
    figure.marks.push(Mark::at("limit of memory", Origin::Declared, [past.limit_bytes as f64]));
    figure.shown = "Medians with their 95 % intervals.".to_owned();
    figure
}

/// The rate along a burst of writes.
pub(super) fn dirty(past: &PastDirty) -> Figure {
    let mut figure = Figure::new(
        "past-dirty".to_owned(),
        "Writing without a sync, against what has been written",
        Axis::new("written", Quantity::Bytes),
        Axis::new("bytes per second", Quantity::BytesPerSecond).log(),
    );
    let points = past.points.iter().map(|point| drawn(point.written_bytes, point.rate));
    figure.series.push(Series::within("from the beginning", Style::Points, points));
    figure.marks.extend(
        past.waits_from_bytes.map(|[bytes, ..]| Mark::at("writers begin to wait", Origin::Timing, [bytes])),
    );
    let declared = [past.background_bytes as f64, past.limit_bytes as f64];
    figure.marks.push(Mark::at("background threshold and limit", Origin::Declared, declared));
    figure.shown =
        "Medians with their 95 % intervals. Each burst begins with nothing dirty on the machine.".to_owned();
    figure
}

fn drawn(bytes: u64, rate: Rate) -> (f64, f64, [f64; 2]) {
    let median = rate.bytes_per_second;
    (bytes as f64, median, rate.interval.unwrap_or([median, median]))
}
