//! Offset against order: paper E's figures 18 to 22.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reuse::mixed;
use crate::operation::{Direction, FileId};

/// Dots that are kept, about.
const DOTS: u64 = 20_000;

/// The picture: files lie one behind the other, in the order in which they first appear.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Picture {
    /// Operations in all: the picture's width.
    pub operations: u64,
    /// Bytes in all files together, as far as they are touched: its height.
    pub bytes: u64,
    /// One of so many reads and writes has a dot, taken by chance; 1 where all have.
    pub every: u64,
    /// The dots.
    pub dots: Vec<Dot>,
}

/// A read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dot {
    /// Its place among all operations, from 0.
    pub order: u64,
    /// Where it begins, in bytes from the first file's beginning.
    pub offset: u64,
    /// How much it asked for, in bytes.
    pub length: u64,
    /// Which way.
    pub access: Direction,
}

impl Picture {
    /// Whether the operation of a place has a dot where it reads or writes. By chance and not by count: every third of three
    /// threads in turn would be one thread alone.
    pub(super) fn has(order: u64, operations: u64) -> bool {
        mixed(order + 1).is_multiple_of(every(operations))
    }

    /// The dots' offsets count from the beginning of their files, of which `ends` says how far they are touched.
    pub(super) fn new(operations: u64, ends: &[u64], dots: Vec<(FileId, Dot)>) -> Self {
        let mut bytes = 0u64;
        let base = |end: &u64| {
            let after = bytes.saturating_add(*end);
            std::mem::replace(&mut bytes, after)
        };
        let bases: Vec<u64> = ends.iter().map(base).collect();
        let placed = |(file, dot): (FileId, Dot)| Dot {
            offset: bases[file.0 as usize].saturating_add(dot.offset),
            ..dot
        };
        Self { operations, bytes, every: every(operations), dots: dots.into_iter().map(placed).collect() }
    }

    /// The picture in characters, the highest offsets first: `.` reads, `x` writes, `*` both.
    #[must_use]
    pub fn lines(&self, columns: usize, rows: usize) -> Vec<String> {
        let mut cells = vec![[false; 2]; columns * rows];
        let place = |value: u64, all: u64, cells: usize| {
            let part = value as f64 / all.max(1) as f64;
            ((part * cells as f64) as usize).min(cells - 1)
        };
        for dot in &self.dots {
            let column = place(dot.order, self.operations, columns);
            let first = place(dot.offset, self.bytes, rows);
            let last = place(dot.offset.saturating_add(dot.length.saturating_sub(1)), self.bytes, rows);
            for row in first..=last {
                cells[row * columns + column][dot.access as usize] = true;
            }
        }
        let letter = |cell: &[bool; 2]| match cell {
            [false, false] => ' ',
            [true, false] => '.',
            [false, true] => 'x',
            [true, true] => '*',
        };
        cells.chunks(columns).rev().map(|row| row.iter().map(letter).collect()).collect()
    }
}

fn every(operations: u64) -> u64 {
    operations.div_ceil(DOTS).max(1)
}
