//! What new files take and where they lie: shared by all that is asked of allocation.

use std::ops::Range;
use std::slice;

use super::prelude::*;
use super::silence::{Answer, inconclusive};
use fathom_run::witness::Extent;

/// Schemes by which file systems keep track of where a file's bytes are.
pub(super) const INDIRECT: &str = "indirect";
pub(super) const EXTENTS: &str = "extents";
pub(super) const COPY_ON_WRITE: &str = "copy_on_write";
pub(super) const MEMORY: &str = "memory";

/// The file that is made anew each time.
pub(super) const FILE: &str = "layout";

/// What a file takes, and where it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Bytes set aside for it, with what points to its blocks.
    pub(super) allocated: u64,
    /// Its extents in order, where the file system draws a map of them.
    pub(super) extents: Option<Vec<Extent>>,
    /// Its first bytes that are data and no hole, where the file system knows holes.
    pub(super) data: Option<Range<u64>>,
}

impl Layout {
    /// The layout of the file at hand.
    pub(super) fn seen(witness: &mut dyn Witness) -> Result<Self, Fault> {
        let (allocated, extents) = (witness.allocated(FILE)?, witness.extents(FILE)?);
        Ok(Self { allocated, extents, data: witness.data(FILE)? })
    }

    /// The same without a map that lacks any of some ranges: such a map tells nothing.
    fn tried(self, written: &[&[Range<u64>]]) -> Self {
        let has = |extents: &[Extent], byte: u64| {
            extents.iter().any(|one| (one.logical..one.logical + one.length).contains(&byte))
        };
        let extents = self.extents.filter(|extents| {
            let mut ranges = written.iter().copied().flatten().filter(|range| !range.is_empty());
            ranges.all(|range| has(extents, range.start) && has(extents, range.end - 1))
        });
        Self { extents, ..self }
    }
}

/// The layouts of a new file after each of some steps, in which ranges of bytes are written and synced. The file is
/// all hole at first and `size` bytes long, or as long as what is written where that is more.
pub(super) fn written(
    witness: &mut dyn Witness,
    size: u64,
    steps: &[&[Range<u64>]],
) -> Result<Vec<Layout>, Fault> {
    witness.create(FILE)?;
    witness.lengthen(FILE, size)?;
    let mut layouts = Vec::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        for range in *step {
            witness.write(FILE, range.clone())?;
        }
        witness.sync(FILE)?;
        layouts.push(Layout::seen(witness)?.tried(&steps[..=at]));
    }
    witness.remove(FILE);
    Ok(layouts)
}

/// The length of a file of holes, and where its one byte is: beyond what an inode or a first extent could hold
/// inline, far from the end, behind which space is set aside, and within the twelve blocks that ext2 and ext3 point
/// to directly, so that no block of pointers is counted with it.
const HOLES_BYTES: u64 = 64 << 20;
const BYTE: u64 = 8 << 10;
/// The most that one byte in a hole may take for there to be holes.
const LARGEST_UNIT: u64 = 1 << 20;

/// The unit in which files take space, in bytes, by a count of a file's bytes that is tried here first; or why that
/// count tells nothing. One byte in a file of holes must take a unit, the rest of that unit nothing more, and the next
/// unit as much again: a count of something else, such as the length of the file or the blocks of an encrypted copy
/// of it, fails in one of the three.
pub(super) fn unit(witness: &mut dyn Witness, count: impl Fn(&Layout) -> u64) -> Answer<u64> {
    let mut taken = |steps: &[&[Range<u64>]]| -> Result<Vec<u64>, Fault> {
        let counts: Vec<u64> = written(witness, HOLES_BYTES, steps)?.iter().map(&count).collect();
        Ok(counts[1..].iter().map(|bytes| bytes.saturating_sub(counts[0])).collect())
    };
    let byte = slice::from_ref(&(BYTE..BYTE + 1));
    let unit = match taken(&[&[], byte])?[0] {
        0 => return inconclusive("it does not change when a byte is written into a hole"),
        unit if unit.is_power_of_two() && (512..=LARGEST_UNIT).contains(&unit) => unit,
        other => return inconclusive(format!("a byte in a hole takes {}, as no block does", Bytes(other))),
    };
    let start = BYTE / unit * unit;
    let [rest, next] = [start..start + unit, start + unit..start + 2 * unit];
    let grown = taken(&[&[], byte, slice::from_ref(&rest), slice::from_ref(&next)])?;
    match grown == [unit, unit, 2 * unit] {
        true => Ok(unit),
        false => inconclusive(format!(
            "a byte in a hole takes {}, all of that {}, and twice as much {}: it does not count blocks of the file",
            Bytes(grown[0]),
            Bytes(grown[1]),
            Bytes(grown[2])
        )),
    }
}

/// The scheme of a case of the lab, where its format is one that the lab knows.
pub(super) fn scheme_of(case: &Case) -> Option<&'static str> {
    match case.fs_type.as_str() {
        "ext2" | "ext3" => Some(INDIRECT),
        "ext4" if case.layout == crate::case::Layout::SingleBlocks => Some(INDIRECT),
        "ext4" | "xfs" => Some(EXTENTS),
        "btrfs" => Some(COPY_ON_WRITE),
        "tmpfs" => Some(MEMORY),
        _ => None,
    }
}

/// The last number of a range that `holds`, where it holds for all numbers up to that, and for the
/// first without being asked. The limit is looked for in ever longer steps, then by halves.
pub(super) fn last_where(
    range: Range<u64>,
    mut holds: impl FnMut(u64) -> Result<bool, Fault>,
) -> Result<u64, Fault> {
    let (mut low, mut high, mut step) = (range.start, range.end, 1);
    while low + step < high {
        if !holds(low + step)? {
            high = low + step;
            break;
        }
        low += step;
        step *= 2;
    }
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if holds(middle)? { low = middle } else { high = middle }
    }
    Ok(low)
}
