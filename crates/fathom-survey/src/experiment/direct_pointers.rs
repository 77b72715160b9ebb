//! How many blocks the inode itself points to.

use super::prelude::*;
use super::{block_size, pointers};

pub(super) struct DirectPointers;

pub(super) const PARAMETER: &str = "direct_pointers";
/// Pointers in the inode of ext2, ext3 and ext4 without extents. Source: `EXT4_NDIR_BLOCKS` of `fs/ext4/ext4.h`.
const DIRECT: u64 = 12;

impl Experiment for DirectPointers {
    fn about(&self) -> &'static About {
        &About {
            parameter: PARAMETER,
            unit: "count",
            question: "How many blocks of a file does its inode point to directly?",
            method: "Single writes go to growing offsets of sparse files. The first one that needs a block of pointers is slower than its neighbours, and more follow at equal distances.",
            source: "papers C and D",
            cost: Cost { seconds: 1, write_bytes: 26 << 20, read_bytes: 0 },
            nature: Nature::Fixed,
            figure: Figure::Interleaved,
            recipes: &["paper-c-inode", "paper-c-inode-sync", "paper-d-inode"],
            not_applicable: "No blocks of pointers belong to a file here.",
            inconclusive: "No blocks of pointers show in the cost of writes.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        pointers::timed(session, |pointers| pointers.direct)
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        pointers::witnessed(witness, |[direct, _]| direct)
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        pointers::truth(case, Some(DIRECT))
    }

    fn along(&self, value: &Value, _: &Finding, others: &Others<'_>) -> Option<Along> {
        Some(Along::At(value.as_number()? * others(block_size::PARAMETER)?))
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let direct = finding.whole()?;
        let slower = match finding.answer(Kind::Timing) {
            Some(_) => "the one after them is slower to write, for it",
            None => "the one after them",
        };
        Some(format!("The inode points to {direct} blocks; {slower} needs a block of pointers as well."))
    }
}
