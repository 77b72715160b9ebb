//! What reads bring into the cache, as the kernel shows it: for the four read-ahead questions.

use std::time::{Duration, Instant};

use super::prelude::*;
use super::readahead::{FILE, READ};
use super::silence::{Answer, Silence, Unanswered, inconclusive};

/// Each way to see what a read brings in, and the name of what it shows of a sequential reader.
pub(super) const INCREMENTS: [(Sight, &str); 2] =
    [(Sight::Cache, "cachestat_increments"), (Sight::Tracepoint, "tracepoint_increments")];

/// How it is seen what is in the cache. The two share nothing: one counts the pages that a file has there,
/// the other is told of each page that is put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// `cachestat(2)` or `mincore(2)`, between reads.
    Cache,
    /// The kernel's tracepoint, while it reads.
    Tracepoint,
}

/// How long after a read its window may be on its way at least; twice the longest read where that is more.
const SHORTEST_PATIENCE: Duration = Duration::from_micros(300);

/// Reads pages at `offsets` of a file with none cached; how many bytes each read, and what it set off, has brought
/// into the cache.
pub(super) fn brought_in(
    witness: &mut dyn Witness,
    sight: Sight,
    file: &ScratchFile,
    offsets: &[u64],
) -> Answer<Vec<u64>> {
    let unseen = || Silence::not_applicable("the cache of this file can't be emptied or seen");
    let name = file.name.as_str();
    witness.provide(file)?;
    witness.evict(name)?;
    if sight == Sight::Tracepoint {
        let brought = witness.trace_reads(name, offsets, READ)??;
        return if shows(&brought) { Ok(brought) } else { Err(unseen().into()) };
    }
    if witness.cached(name, Duration::ZERO)? != Some(0) {
        return Err(unseen().into());
    }
    let (mut cached, mut patience) = (0, SHORTEST_PATIENCE);
    let mut brought = Vec::with_capacity(offsets.len());
    for &offset in offsets {
        let started = Instant::now();
        witness.read(name, offset..offset + READ)?;
        patience = patience.max(started.elapsed() * 2);
        let now = witness.cached(name, patience)?.ok_or_else(unseen)?;
        brought.push(now.saturating_sub(cached));
        cached = now;
    }
    if shows(&brought) { Ok(brought) } else { Err(unseen().into()) }
}

/// Whether what is seen tells something here: the first read of an empty cache brings in what it asks for.
fn shows(brought: &[u64]) -> bool {
    brought.first() >= Some(&READ)
}

/// What is seen of the windows of a sequential reader: what `settled` makes of their sizes, on
/// the shortest file that is long enough for it to make something of them.
pub(super) fn windows_shown<T>(
    witness: &mut dyn Witness,
    sight: Sight,
    settled: impl Fn(&[u64]) -> Option<T>,
) -> Answer<T> {
    for bytes in [8 << 20, 32 << 20, 128_u64 << 20] {
        let file = ScratchFile::filled(FILE, bytes);
        let offsets: Vec<u64> = (0..bytes / READ).map(|index| index * READ).collect();
        let brought = match brought_in(witness, sight, &file, &offsets) {
            Err(Unanswered::Failed(Fault::OverBudget { .. } | Fault::OutOfTime)) => break,
            brought => brought?,
        };
        let windows: Vec<u64> = brought.into_iter().filter(|&bytes| bytes > 0).collect();
        if let Some(found) = settled(&windows) {
            return Ok(found);
        }
    }
    inconclusive("the windows had not settled at the end of the longest file that the budget allows")
}
