//! Counts by powers of two as figures.

use fathom_trace::show::Histogram;

use super::figure::{Axis, Figure, Quantity, Series, Style};

/// What a figure of cumulated counts says of itself.
pub(super) const COUNTED: &str =
    "Counted by powers of two: each step stands at the end of the power whose counts it adds.";

/// The share of all values up to the end of each power of two.
pub(super) fn cumulated(name: &str, counts: &Histogram) -> Series {
    let mut series = Series::new(name, Style::Steps);
    let all = counts.total().max(1) as f64;
    let mut sum = 0;
    for (least, count) in counts.steps() {
        if sum == 0 {
            series.push(least.max(1) as f64, 0.0);
        }
        sum += count;
        // A zero has no place on a logarithmic axis; it counts as one.
        series.push((least as f64 * 2.0).max(1.0), sum as f64 / all);
    }
    series
}

/// The share of all calls up to each bucket, which is narrow.
pub(super) fn stepped(name: &str, buckets: &[(f64, u64)]) -> Series {
    let mut series = Series::new(name, Style::Steps);
    let all: u64 = buckets.iter().map(|(_, count)| count).sum();
    let mut sum = 0;
    for &(ns, count) in buckets {
        sum += count;
        series.push(ns, sum as f64 / all.max(1) as f64);
    }
    series
}

/// A figure of times, none of them drawn yet.
pub(super) fn times(id: &str, title: &str, label: &str) -> Figure {
    let share = Axis::new("share that took no longer", Quantity::Share).fixed();
    let mut figure = Figure::new(id.to_owned(), title, Axis::new(label, Quantity::Nanoseconds).log(), share);
    figure.shown = COUNTED.to_owned();
    figure
}
