//! What new files take and where they lie: shared by all that is asked of allocation.

use std::ops::Range;

use fathom_program::workload::ScratchFile;
use fathom_run::machine::Fault;
use fathom_run::witness::{Extent, Witness};

/// The file that is made anew each time.
pub(super) const FILE: &str = "layout";

/// What a file takes, and where it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Bytes set aside for it, with what points to its blocks.
    pub(super) allocated: u64,
    /// Its extents in order, where the file system draws a map of them.
    pub(super) extents: Option<Vec<Extent>>,
}

impl Layout {
    /// The layout of the file at hand.
    pub(super) fn seen(witness: &mut dyn Witness) -> Result<Self, Fault> {
        Ok(Self { allocated: witness.allocated(FILE)?, extents: witness.extents(FILE)? })
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
    for step in steps {
        for range in *step {
            witness.write(FILE, range.clone())?;
        }
        witness.sync(FILE)?;
        layouts.push(Layout::seen(witness)?);
    }
    witness.remove(FILE);
    Ok(layouts)
}

/// The sparse file.
pub(super) const SPARSE: &str = "sparse";
/// Its size, and where its one byte is: beyond what an inode or a first extent could
/// hold inline, far from the end, behind which space is set aside, and within the twelve blocks that
/// ext2 and ext3 point to directly, so that no block of pointers is counted with it.
pub(super) const SPARSE_BYTES: u64 = 64 << 20;
const SPARSE_OFFSET: u64 = 8 << 10;

/// Makes [`SPARSE`], which is all hole but for one byte, on disk.
pub(super) fn make_sparse(witness: &mut dyn Witness) -> Result<(), Fault> {
    witness.provide(&ScratchFile::empty(SPARSE))?;
    witness.lengthen(SPARSE, 0)?;
    witness.lengthen(SPARSE, SPARSE_BYTES)?;
    witness.write(SPARSE, SPARSE_OFFSET..SPARSE_OFFSET + 1)?;
    witness.sync(SPARSE)
}
