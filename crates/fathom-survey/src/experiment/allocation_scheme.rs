//! How a file system keeps track of where a file's bytes are.
//!
//! The answer is one of four words:
//!
//! | word | means |
//! |---|---|
//! | `indirect` | pointers to single blocks: some in the inode, more in blocks of pointers |
//! | `extents` | runs of blocks, which stay where they are when they are overwritten |
//! | `copy_on_write` | an overwrite goes to another place |
//! | `memory` | there is no other place than the page cache |

use std::slice;

use super::layouts::{self, COPY_ON_WRITE, EXTENTS, INDIRECT, MEMORY, scheme_of};
use super::pointers::{self, Shown};
use super::silence::answer_or_silence;
use super::{About, Along, Cost, Experiment, Figure, Others, Session, block_size, direct_pointers};
use crate::case::{Basis, Case, Kernel, Truth};
use crate::finding::{Evidence, Finding, Kind, Status, Value};
use fathom_run::machine::Fault;
use fathom_run::witness::{Declared, Extent, Witness};

pub(super) struct AllocationScheme;

impl Experiment for AllocationScheme {
    fn about(&self) -> &'static About {
        &About {
            parameter: "allocation_scheme",
            unit: "word",
            question: "How does the file system keep track of where a file's bytes are?",
            method: "Blocks of pointers make some appends slower and are counted in st_blocks. The map of the file's extents (FIEMAP) shows whether an overwrite stays in place.",
            source: "paper A",
            cost: Cost { seconds: 1, write_bytes: 27 << 20, read_bytes: 0 },
            figure: Figure::Interleaved,
            recipes: &["paper-a-extents"],
            samples_of: Some(direct_pointers::PARAMETER),
            inconclusive: "Neither blocks of pointers nor a map of extents can be seen.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        Ok(match answer_or_silence(pointers::by_timing(session))? {
            Ok(found) => Evidence::measured(Kind::Timing, pointers::TIMED, word(INDIRECT))
                .resting_on(found.confidence, found.samples),
            Err(_) => Evidence::inconclusive(
                Kind::Timing,
                pointers::TIMED,
                "no blocks of pointers show in the cost of writes; that says nothing about the other schemes",
            ),
        })
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        let pointers = match pointers::shown(witness)? {
            Shown::Pointers { .. } => Evidence::measured(Kind::Witness, pointers::COUNTED, word(INDIRECT)),
            Shown::Nothing => Evidence::inconclusive(
                Kind::Witness,
                pointers::COUNTED,
                "no blocks of pointers are counted with a file",
            ),
            Shown::Unclear(reason) => Evidence::inconclusive(Kind::Witness, pointers::COUNTED, reason),
        };
        if pointers.status == Status::Measured {
            return Ok(vec![pointers]);
        }
        Ok(vec![pointers, overwritten(witness)?])
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        let scheme = match declared.fs_type.as_str() {
            "ext2" | "ext3" | "minix" | "sysv" | "ufs" => INDIRECT,
            "ext4" | "xfs" | "jfs" | "ocfs2" | "exfat" | "ntfs3" => EXTENTS,
            "btrfs" | "bcachefs" | "zfs" | "nilfs2" => COPY_ON_WRITE,
            _ if declared.is_memory_only() => MEMORY,
            _ => return Vec::new(),
        };
        vec![Evidence::measured(Kind::Declared, "fs_type", word(scheme))]
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        scheme_of(case).map_or(Truth::Unknown, |scheme| Truth::word(scheme, Basis::Format))
    }

    fn along(&self, _: &Value, _: &Finding, others: &Others<'_>) -> Option<Along> {
        let end = others(direct_pointers::PARAMETER)? * others(block_size::PARAMETER)?;
        Some(Along::Ends { what: "direct pointers", at: vec![end] })
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let words = match finding.word()? {
            INDIRECT => "Files are made of single blocks, with blocks of pointers between them.",
            EXTENTS => "Files are made of runs of blocks, and an overwrite stays in its place.",
            COPY_ON_WRITE => "An overwrite goes to another place: the old bytes are never written over.",
            _ => "Files live in the page cache and nowhere else.",
        };
        Some(words.to_owned())
    }
}

fn word(text: &str) -> Value {
    Value::Word(text.to_owned())
}

/// Whether an overwritten block stays where it is.
fn overwritten(witness: &mut dyn Witness) -> Result<Evidence, Fault> {
    let method = "fiemap_overwrite";
    let silent = |reason: &str| Ok(Evidence::inconclusive(Kind::Witness, method, reason));
    // Longer than anything that is kept inline, and whole blocks of any size.
    const BYTES: u64 = 512 << 10;
    const CHANGED: u64 = 256 << 10;
    let (whole, part) = (0..BYTES, CHANGED..CHANGED + (64 << 10));
    let layouts = layouts::written(witness, 0, &[slice::from_ref(&whole), slice::from_ref(&part)])?;
    let places: Option<Vec<_>> =
        layouts.iter().map(|layout| place(layout.extents.as_deref()?, CHANGED)).collect();
    match places.as_deref() {
        Some([before, after]) if before == after => {
            Ok(Evidence::measured(Kind::Witness, method, word(EXTENTS)))
        }
        Some([_, _]) => Ok(Evidence::measured(Kind::Witness, method, word(COPY_ON_WRITE))),
        _ => silent("the file system has no map of a file's extents (FIEMAP)"),
    }
}

/// Where on the device a byte of a file is. Not known of compressed bytes, but then the extent's start is as good.
fn place(extents: &[Extent], byte: u64) -> Option<u64> {
    let extent =
        extents.iter().find(|extent| (extent.logical..extent.logical + extent.length).contains(&byte))?;
    Some(extent.physical + if extent.encoded { 0 } else { byte - extent.logical })
}
