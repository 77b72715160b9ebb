//! How long the runs are that a fresh file is made of.
//!
//! Paper A looked for the ends of extents in the cost of syncs and concluded "83 or 84 MiB, with more
//! questions than answers". docs/papers/allocation.md says why nothing is to be found there; the map
//! of the file's extents tells.

use std::ops::Range;
use std::slice;

use super::layouts::{self, INDIRECT, Layout, MEMORY, scheme_of};
use super::pointers::{self, Shown};
use super::prelude::*;
use crate::case::{self};
use crate::finding::Trial;
use fathom_run::witness::Extent;

pub(super) struct ExtentLength;

const SET_ASIDE: &str = "fiemap_set_aside";
const WRITTEN: &str = "fiemap_written";
/// The file whose space is set aside is twice as long as the longest extents of ext4 and btrfs; on a
/// full file system shorter ones are tried, down to the least.
const LONGEST: u64 = 256 << 20;
const LEAST: u64 = 16 << 20;
/// What is written in one go, and piece by piece from the end.
const WRITTEN_BYTES: u64 = 8 << 20;
const PIECE: u64 = 64 << 10;
const PIECES: u64 = 16;

impl Experiment for ExtentLength {
    fn about(&self) -> &'static About {
        &About {
            parameter: "extent_length",
            unit: "bytes",
            question: "How long is the longest extent of a new file?",
            method: "Space is allocated for one file; others are written at once, and backward in pieces. The maps of their extents (FIEMAP) show the longest extent.",
            source: "paper A",
            cost: Cost { seconds: 1, write_bytes: 10 << 20, read_bytes: 0 },
            nature: Nature::Incidental,
            figure: Figure::Extents,
            recipes: &["paper-a-extents"],
            inconclusive: "There are no extents here, or they can't be seen.",
            ..About::USUAL
        }
    }

    fn timing(&self, _: &mut Session<'_>) -> Result<Evidence, Fault> {
        let reason =
            "where one extent ends and the next begins costs less than syncs differ among themselves";
        Ok(Evidence::inconclusive(Kind::Timing, "none", reason))
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        let silent =
            |method, status, reason: &str| Ok(vec![Evidence::silent(Kind::Witness, method, status, reason)]);
        if witness.declared().is_memory_only() {
            let reason = "files live in the page cache and have no extents";
            return silent(WRITTEN, Status::NotApplicable, reason);
        }
        if let Shown::Pointers { .. } = pointers::shown(witness)? {
            let reason = "each block has a pointer of its own: there are no extents";
            return silent(pointers::COUNTED, Status::NotApplicable, reason);
        }
        let written = layouts::written(witness, 0, &[slice::from_ref(&(0..WRITTEN_BYTES))])?
            .pop()
            .and_then(|layout| layout.extents);
        let Some(written) = written else {
            return silent(
                WRITTEN,
                Status::Inconclusive,
                "the file system has no map of a file's extents (FIEMAP)",
            );
        };
        let backward = backward(witness)?;
        let note = format!(
            "{} written in one go lie in {}; {} written backward by {} lie in {}",
            Bytes(WRITTEN_BYTES),
            counted(&written),
            Bytes(PIECES * PIECE),
            Bytes(PIECE),
            counted(&backward)
        );
        let mut trials = [seen("written in one go", &written), seen("written backward", &backward)].concat();
        let (method, extents, length) = match set_aside(witness)? {
            Some((extents, length)) => {
                trials.splice(..0, seen("set aside", &extents));
                (SET_ASIDE, extents, length)
            }
            None => (WRITTEN, written, WRITTEN_BYTES),
        };
        let longest = extents.iter().map(|extent| extent.length).max().unwrap_or(0);
        let found =
            Evidence::measured(Kind::Witness, method, Value::Whole(longest)).tried(trials).caveat(note);
        Ok(vec![if extents.len() > 1 {
            found.caveat(format!("{} set aside lie in {}", Bytes(length), counted(&extents)))
        } else {
            found.caveat("the whole file is one extent: a longer file might have longer ones")
        }])
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        let Some(limit) = largest_possible(&declared.fs_type, declared.block_size) else { return Vec::new() };
        // The map joins extents that lie side by side, so that this is no bound of what it shows.
        let reason = format!("one extent of this format has at most {}", Bytes(limit));
        vec![Evidence::inconclusive(Kind::Declared, "format_limit", reason)]
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        match (scheme_of(case), case.layout) {
            (Some(INDIRECT | MEMORY), _) => pointers::truth(case, None),
            (Some(_), case::Layout::Holes(bytes)) => Truth::known(bytes, Basis::Made),
            _ => Truth::Unknown,
        }
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let longest = Bytes(finding.whole()?);
        let notes = finding.evidence.iter().filter(|piece| piece.kind != Kind::Timing);
        let notes: Vec<&str> = notes.flat_map(|piece| &piece.caveats).map(String::as_str).collect();
        Some(format!("The longest run of the fresh file has {longest}. {}.", notes.join("; ")))
    }
}

/// The longest extent that a format can describe, in bytes, for its blocks of so many bytes.
///
/// Source: ext4 has 15 bits for the blocks of a written extent and one value more (`EXT_INIT_MAX_LEN`
/// of `fs/ext4/ext4_extents.h`), xfs 21 (`BMBT_BLOCKCOUNT_BITLEN`); btrfs sets space aside 256 MiB
/// at a time (`__btrfs_prealloc_file_range`), while what it writes has at most 128 MiB.
fn largest_possible(fs_type: &str, block: u64) -> Option<u64> {
    match fs_type {
        "ext4" => Some(block << 15),
        "xfs" => Some(block * ((1 << 21) - 1)),
        "btrfs" => Some(256 << 20),
        _ => None,
    }
}

/// The extents of a file with as much space set aside as can be had, and its length.
fn set_aside(witness: &mut dyn Witness) -> Result<Option<(Vec<Extent>, u64)>, Fault> {
    let mut length = LONGEST;
    while length >= LEAST {
        witness.create(layouts::FILE)?;
        if witness.set_aside(layouts::FILE, length)? {
            let layout = Layout::seen(witness)?;
            witness.remove(layouts::FILE);
            return Ok(layout.extents.map(|extents| (extents, length)));
        }
        length /= 2;
    }
    witness.remove(layouts::FILE);
    Ok(None)
}

/// The extents of a file whose pieces were written and synced one by one, the last one first.
fn backward(witness: &mut dyn Witness) -> Result<Vec<Extent>, Fault> {
    let pieces: Vec<Range<u64>> = (0..PIECES).rev().map(|piece| piece * PIECE..(piece + 1) * PIECE).collect();
    let steps: Vec<&[Range<u64>]> = pieces.iter().map(slice::from_ref).collect();
    Ok(layouts::written(witness, 0, &steps)?.pop().and_then(|layout| layout.extents).unwrap_or_default())
}

/// The extents of a file in their order, as far as a picture can show them.
fn seen(case: &str, extents: &[Extent]) -> Vec<Trial> {
    const MOST: usize = 500;
    extents.iter().take(MOST).map(|extent| Trial::new(case, extent.length, "extent")).collect()
}

fn counted(extents: &[Extent]) -> String {
    match extents.len() {
        1 => "1 extent".to_owned(),
        several => format!("{several} extents"),
    }
}
