//! How many blocks one block of pointers points to.

use super::prelude::*;
use super::{block_size, direct_pointers, pointers};

pub(super) struct PointersPerIndirect;

/// Bytes of a pointer of ext2, ext3 and ext4.
const POINTER: u64 = 4;

impl Experiment for PointersPerIndirect {
    fn about(&self) -> &'static About {
        &About {
            parameter: "pointers_per_indirect",
            unit: "count",
            question: "How many blocks does one block of pointers point to?",
            method: "Single writes go to growing offsets of sparse files. Those that need a new block of pointers are slower than their neighbours, and lie at equal distances.",
            source: "paper C; KERNEL: ext4_block_to_path",
            cost: Cost { seconds: 1, write_bytes: 26 << 20, read_bytes: 0 },
            nature: Nature::Fixed,
            figure: Figure::Interleaved,
            recipes: &["paper-d-inode"],
            samples_of: Some(direct_pointers::PARAMETER),
            not_applicable: "No blocks of pointers belong to a file here.",
            inconclusive: "No blocks of pointers show in the cost of writes.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        pointers::timed(session, |pointers| pointers.per_block)
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        pointers::witnessed(witness, |[_, per_block]| per_block)
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        pointers::truth(case, case.block_size.map(|block| block / POINTER))
    }

    fn along(&self, value: &Value, _: &Finding, others: &Others<'_>) -> Option<Along> {
        let block = others(block_size::PARAMETER)?;
        let first = others(direct_pointers::PARAMETER)? * block;
        Some(Along::Every { first, period: value.as_number()? * block })
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        Some(format!(
            "One block of pointers leads to {} blocks; the second of them is reached by a block of pointers to such, the doubly indirect one.",
            finding.whole()?
        ))
    }
}
