//! The hit ratios of a trace alone: what was accessed is read, and neither the times nor the threads.

use std::io::Write;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reuse::{block_key, number};
use super::{BLOCK, Point, Reuse, blocks, in_order};
use crate::error::{Error, Result};
use crate::format::{Reader, Stretch, stretches};
use crate::operation::{Direction, FileId};

/// What [`HitRatios`] is called where it is written.
const SCHEMA: &str = "fathom.trace-hit-ratios/1";

/// The hit ratio of an LRU cache of every size, over accesses to blocks of 4096 bytes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.trace-hit-ratios/1")]
pub struct HitRatios {
    /// Always `fathom.trace-hit-ratios/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// By the cache's size, ascending.
    pub points: Vec<Point>,
    /// The largest standard error of the hit ratios; 0 where they are exact.
    pub error: f64,
    /// The part of the blocks that was followed.
    pub sampled: f64,
    /// Bytes in all blocks that were touched.
    pub footprint_bytes: u64,
}

/// Finds the hit ratios of a trace, on all CPUs, by following at most a part `rate` of its blocks.
///
/// # Errors
/// The trace can't be read.
pub fn hit_ratios(path: &Path, rate: f64) -> Result<HitRatios> {
    let begin = |before: Option<&Reuse>, _: &Stretch| {
        Reuse::default().at_rate(before.map_or(rate, |before| before.rate().min(rate)))
    };
    let whole = in_order(&stretches(path)?.1, begin, follow, Reuse::merge)?;
    let mut whole = whole.unwrap_or_default();
    let (points, error) = whole.curve(BLOCK);
    let footprint_bytes = whole.blocks().saturating_mul(BLOCK);
    let (schema, sampled) = (SCHEMA.to_owned(), whole.rate());
    Ok(HitRatios { schema, points, error, sampled, footprint_bytes })
}

fn follow(reuse: &mut Reuse, reader: &mut Reader) -> Result<()> {
    each_block(reader, |access| {
        reuse.access(access.number, access.block, access.direction, 0);
        Ok(())
    })
}

/// An access to a block of [`BLOCK`] bytes.
pub struct Access {
    /// The file, by its place among those of the trace.
    pub file: FileId,
    /// The block's number within it.
    pub block: u64,
    /// Whether it was read or written.
    pub direction: Direction,
    /// The file by its path, which all parts of a trace share.
    number: u64,
}

/// Hands each access of a trace to `each`, in the trace's order.
///
/// # Errors
/// The trace can't be read, or `each` fails.
pub fn each_access(path: &Path, each: impl FnMut(Access) -> Result<()>) -> Result<()> {
    each_block(&mut Reader::open(path)?, each)
}

fn each_block(reader: &mut Reader, mut each: impl FnMut(Access) -> Result<()>) -> Result<()> {
    let mut numbers = Vec::new();
    while let Some((places, files)) = reader.read_places()? {
        numbers.extend(files.paths()[numbers.len()..].iter().map(|path| number(path)));
        for place in places {
            let number = numbers[place.file.0 as usize];
            for block in blocks(place.offset, place.bytes) {
                each(Access { file: place.file, block, direction: place.direction, number })?;
            }
        }
    }
    Ok(())
}

/// Writes the accesses to blocks as libCacheSim's traces of type `oracleGeneral`, each block an object of one byte: a time, the object,
/// its size and the time of its next access, which is not told. Gives how many there are.
///
/// # Errors
/// The trace can't be read, or the accesses not be written.
pub fn write_accesses(path: &Path, sink: &mut impl Write) -> Result<u64> {
    let mut count = 0_u64;
    let failed = |error| Error::new("write the accesses of", path, error);
    each_access(path, |access| {
        let mut record = [0xff; 24];
        record[..4].copy_from_slice(&0_u32.to_le_bytes());
        record[4..12].copy_from_slice(&block_key(access.number, access.block).to_le_bytes());
        record[12..16].copy_from_slice(&1_u32.to_le_bytes());
        count += 1;
        sink.write_all(&record).map_err(failed)
    })?;
    sink.flush().map_err(failed)?;
    Ok(count)
}
