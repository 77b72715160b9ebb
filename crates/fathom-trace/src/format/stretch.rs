//! Stretches of a trace: groups of rows that follow each other in one part, to be read each by itself.

use std::ops::Range;
use std::path::{Path, PathBuf};

use parquet::file::reader::FileReader;
use serde::{Deserialize, Serialize};

use super::Reader;
use crate::error::Result;
use crate::operation::Origin;

/// Groups in a stretch: two million operations, where we wrote them.
const GROUPS: usize = 16;

/// Some of a trace's operations.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stretch {
    path: PathBuf,
    groups: Range<usize>,
    /// How many operations are before it.
    pub(crate) first_row: u64,
    /// How many it has.
    pub(crate) rows: u64,
}

/// All of a trace.
///
/// # Errors
/// A part can't be read, or is of another trace.
pub(crate) fn stretches(path: &Path) -> Result<(Origin, Vec<Stretch>)> {
    let mut reader = Reader::open(path)?;
    let (mut all, mut first_row) = (Vec::new(), 0);
    loop {
        let groups = reader.file.metadata().row_groups();
        for (at, some) in groups.chunks(GROUPS).enumerate() {
            let rows = some.iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).sum();
            let groups = at * GROUPS..at * GROUPS + some.len();
            all.push(Stretch { path: reader.path.clone(), groups, first_row, rows });
            first_row += rows;
        }
        if !reader.next_part()? {
            return Ok((reader.origin, all));
        }
    }
}

impl Stretch {
    /// A reader of its operations.
    ///
    /// # Errors
    /// The part can't be opened any more.
    pub(crate) fn open(&self) -> Result<Reader> {
        let mut reader = Reader::open(&self.path)?;
        reader.groups = self.groups.clone();
        Ok(reader)
    }
}
