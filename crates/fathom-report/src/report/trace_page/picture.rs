//! Offset against order, thinned to what can be told apart.

use std::collections::BTreeSet;

use fathom_trace::operation::Direction;
use fathom_trace::show::{Dot, Shown};

use crate::report::figure::{Axis, Figure, Quantity, Series, Style};

/// Dots of each kind that are drawn, about: more make a browser slow.
const MOST: usize = 4000;
/// Cells of the frame; dots within one would lie on each other.
const CELLS: [u64; 2] = [600, 300];

/// The place of each read and write against their order.
pub(super) fn picture(shown: &Shown) -> Option<Figure> {
    let picture = &shown.picture;
    picture.dots.first()?;
    let mut figure = Figure::new(
        "picture".to_owned(),
        "Place against order",
        Axis::new("order among all operations", Quantity::Count).fixed(),
        Axis::new("place: files lie one behind the other", Quantity::Bytes).fixed(),
    );
    let mut thinned = Vec::new();
    for (name, access) in [("reads", Direction::Read), ("writes", Direction::Write)] {
        let dots: Vec<&Dot> = picture.dots.iter().filter(|dot| dot.access == access).collect();
        let told_apart = apart(&dots, picture.operations, picture.bytes);
        let every = told_apart.len().div_ceil(MOST).max(1) as u64;
        let kept = told_apart.iter().filter(|dot| is_drawn(dot, every));
        let points = kept.map(|dot| (dot.order as f64, dot.offset as f64));
        let series = Series::of(name, Style::Specks, points);
        if series.x.is_empty() {
            continue;
        }
        if series.x.len() < dots.len() {
            thinned.push(format!("{} of {} dots of {name}", series.x.len(), dots.len()));
        }
        figure.series.push(series);
    }
    let every = match picture.every {
        1 => "Every read and write has a dot where it begins".to_owned(),
        every => format!("One of {every} reads and writes, taken by chance, has a dot where it begins"),
    };
    figure.shown = match thinned.is_empty() {
        true => format!("{every}."),
        false => format!(
            "{every}; of those that would lie on each other, {} by {} places in the frame, or beyond {MOST}, only some are \
             drawn: {}.",
            CELLS[0],
            CELLS[1],
            thinned.join(", ")
        ),
    };
    Some(figure)
}

/// One of so many, by chance: what comes in turns would lose all but one of them otherwise.
fn is_drawn(dot: &Dot, every: u64) -> bool {
    // Fibonacci hashing: Knuth, The Art of Computer Programming, 6.4.
    (dot.order.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).is_multiple_of(every)
}

/// The first dot of each cell of the frame.
fn apart<'a>(dots: &[&'a Dot], operations: u64, bytes: u64) -> Vec<&'a Dot> {
    let cell = |value: u64, all: u64, cells: u64| (value as f64 / all.max(1) as f64 * cells as f64) as u64;
    let mut taken = BTreeSet::new();
    let mut is_new =
        |dot: &Dot| taken.insert((cell(dot.order, operations, CELLS[0]), cell(dot.offset, bytes, CELLS[1])));
    dots.iter().copied().filter(|dot| is_new(dot)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_that_lie_on_each_other_are_one_and_the_rest_stay() {
        let dot = |order, offset| Dot { order, offset, length: 1, access: Direction::Read };
        let dots = [dot(0, 0), dot(1, 10), dot(0, 900_000), dot(5000, 0)];
        let left = apart(&dots.iter().collect::<Vec<_>>(), 10_000, 1_000_000);
        assert_eq!(
            left.iter().map(|dot| (dot.order, dot.offset)).collect::<Vec<_>>(),
            [(0, 0), (0, 900_000), (5000, 0)]
        );
    }
}
