//! Counts by powers of two as figures.

use fathom_trace::show::Histogram;

use super::figure::{Axis, Figure, Quantity, Series, Style};

/// What a figure of cumulated counts says of itself.
pub(super) const COUNTED: &str = "Counted by powers of two; each step is at the upper end of its power.";

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

/// What a figure of [`stepped`] counts says of itself.
pub(super) const STEPPED: &str = "Every call is counted, in buckets no wider than 1/128 of their time; steps of less than \
     0.4 % within 5 % of a time are drawn as one.";

/// The share of all calls up to each bucket. Buckets are narrow: what would be less than about a pixel apart is one step.
pub(super) fn stepped(name: &str, buckets: &[(f64, u64)]) -> Series {
    let mut series = Series::new(name, Style::Steps);
    let all: u64 = buckets.iter().map(|(_, count)| count).sum();
    let (mut sum, mut last_ns, mut last_share) = (0, 0.0, 0.0);
    for (at, &(ns, count)) in buckets.iter().enumerate() {
        sum += count;
        let share = sum as f64 / all.max(1) as f64;
        if share - last_share >= 0.004 || ns >= 1.05 * last_ns || at + 1 == buckets.len() {
            series.push(ns, share);
            (last_ns, last_share) = (ns, share);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_nobody_can_tell_apart_are_one_and_the_longest_stays() {
        let buckets: Vec<(f64, u64)> = (0..20_000).map(|at| (1000.0 * 1.001_f64.powi(at), 1)).collect();
        let series = stepped("x", &buckets);
        assert!(series.x.len() < 700, "{}", series.x.len());
        assert_eq!(series.x.last().unwrap().0, buckets.last().unwrap().0);
        assert_eq!(series.y.last().unwrap().0, 1.0);
        let two = stepped("x", &[(1.0, 1), (2.0, 1)]);
        assert_eq!((two.x.len(), two.y[0].0), (2, 0.5));
    }
}
