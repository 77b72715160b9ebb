//! What a workload does: its mix, sizes, order, working set, reuse, pauses and concurrency.
//!
//! Two passes over a trace: the first finds its extent, so that the second can lay windows of time over it. Each looks
//! at stretches of it on all CPUs. Memory grows with the number of files and of blocks that are followed, which is bounded.

mod curve;
mod histogram;
mod look;
mod picture;
pub mod reuse;
pub mod text;
mod timing;

use std::collections::VecDeque;
use std::num::NonZero;
use std::path::Path;
use std::{panic, thread};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::curve::{Access, HitRatios, each_access, hit_ratios, write_accesses};
pub use self::histogram::Histogram;
use self::look::Extent;
pub use self::look::{BLOCK, Look};
pub use self::picture::{Dot, Picture};
pub use self::reuse::{Point, Reuse};
pub use self::timing::Timing;
use crate::error::Result;
use crate::format::{Reader, Stretch, stretches};
use crate::operation::{CallKind, Origin};

/// What [`Shown`] is called where it is written.
pub const SCHEMA: &str = "fathom.trace-show/1";
/// Stretches that are read at once: each takes memory, and one thread merges them all.
const MOST_AT_ONCE: usize = 8;
/// Files that are named.
const FILES: usize = 10;

/// What a trace does.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.trace-show/1")]
pub struct Shown {
    /// Always `fathom.trace-show/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Where it came from.
    pub origin: Origin,
    /// Operations in all.
    pub operations: u64,
    /// From the first operation's start to the last one's end, in ns.
    pub span_ns: u64,
    /// Operations and failures per kind, in the kinds' order.
    pub mix: Vec<Mix>,
    /// Reads.
    pub reads: Moved,
    /// Writes.
    pub writes: Moved,
    /// How many files, and those that most bytes went to or came from.
    pub file_count: u64,
    /// The busiest first.
    pub files: Vec<FileUse>,
    /// Pauses, durations and concurrency.
    pub timing: Timing,
    /// Different blocks of 4096 bytes touched, per window of time.
    pub working_set: Vec<Window>,
    /// Bytes in all blocks that were touched.
    pub footprint_bytes: u64,
    /// The hit ratio of an LRU cache of every size, over accesses to blocks of 4096 bytes.
    pub hit_ratios: Vec<Point>,
    /// The largest standard error of the hit ratios, as parts of the sample differ; 0 where they are exact.
    #[serde(default)]
    pub hit_ratio_error: f64,
    /// The part of the blocks that working set and hit ratios were counted on; 1 where they are exact.
    pub sampled: f64,
    /// Reads and writes whose offset is not known; they count in mix and sizes alone.
    pub without_offset: u64,
    /// Offset against order.
    pub picture: Picture,
}

/// How often a kind of operation was asked for.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Mix {
    /// The kind, by its name in traces.
    #[serde(with = "by_name")]
    #[schemars(with = "String")]
    pub kind: CallKind,
    /// How often.
    pub count: u64,
    /// How often it failed.
    pub failed: u64,
}

/// Kinds by their names in traces, which differ from those in workloads for two of them.
mod by_name {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::CallKind;

    pub(super) fn serialize<S: Serializer>(kind: &CallKind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CallKind, D::Error> {
        let name = String::deserialize(deserializer)?;
        CallKind::named(name.as_bytes()).ok_or_else(|| D::Error::custom(format!("no kind of call: {name}")))
    }
}

/// Reads, or writes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    /// How many.
    pub count: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// What they asked for, in bytes.
    pub sizes: Histogram,
    /// The part that begins where the last one of the same file and way ended.
    pub sequential: f64,
    /// The part that begins further on.
    pub forward: f64,
    /// The part that begins before that.
    pub backward: f64,
    /// Bytes from the beginning of a sequential run to its end, on average.
    pub run_bytes: f64,
}

/// What went to a file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileUse {
    /// Its path; what is not UTF-8 is replaced.
    pub path: String,
    /// Operations on it.
    pub operations: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// A window of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Bytes in the blocks that were touched in it.
    pub touched_bytes: u64,
    /// Bytes in the blocks that were touched in it first.
    pub new_bytes: u64,
}

impl Moved {
    /// Adds what came next.
    fn merge(&mut self, next: &Self) {
        self.count += next.count;
        self.bytes = self.bytes.saturating_add(next.bytes);
        self.sizes.merge(&next.sizes);
        self.sequential += next.sequential;
        self.forward += next.forward;
        self.backward += next.backward;
    }
}

/// The blocks that a read or write of so many bytes touches.
fn blocks(offset: u64, bytes: u64) -> impl Iterator<Item = u64> {
    let (first, end) = (offset / BLOCK, offset.saturating_add(bytes).div_ceil(BLOCK));
    // No call moves more than 2 GiB; a line that says so does not keep this busy for ever.
    let end = if bytes > 0 { end.min(first + (1 << 19) + 1) } else { first };
    first..end
}

/// Looks at a trace.
///
/// # Errors
/// The trace can't be read.
pub fn show(path: &Path) -> Result<Shown> {
    let plan = Plan::new(path)?;
    let begin =
        |before: Option<&Look>, stretch: &Stretch| plan.begin(stretch, before.map_or(1.0, Look::rate));
    let whole = in_order(&plan.stretches, begin, Look::read, Look::merge)?;
    Ok(plan.end(whole))
}

/// The stretches of a trace, which any process may look at that has its files.
#[derive(Debug, Serialize, Deserialize)]
pub struct Plan {
    origin: Origin,
    extent: Extent,
    stretches: Vec<Stretch>,
}

impl Plan {
    /// How a trace is looked at.
    ///
    /// # Errors
    /// The trace can't be read.
    pub fn new(path: &Path) -> Result<Self> {
        let (origin, stretches) = stretches(path)?;
        let times = |_: Option<&Extent>, stretch: &Stretch| Extent { operations: stretch.rows, times: None };
        let extent = in_order(&stretches, times, Extent::read, Extent::merge)?.unwrap_or_default();
        Ok(Self { origin, extent, stretches })
    }

    /// How many stretches there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.stretches.len()
    }

    /// Looks at one of them.
    ///
    /// # Errors
    /// The trace can't be read.
    pub fn look(&self, at: usize) -> Result<Look> {
        let stretch = &self.stretches[at];
        let mut look = self.begin(stretch, 1.0);
        look.read(&mut stretch.open()?)?;
        Ok(look)
    }

    fn begin(&self, stretch: &Stretch, rate: f64) -> Look {
        Look::new(self.extent, stretch.first_row, rate)
    }

    /// What all stretches, merged in their order, come to; nothing if there is none.
    #[must_use]
    pub fn end(&self, whole: Option<Look>) -> Shown {
        whole.unwrap_or_else(|| Look::new(self.extent, 0, 1.0)).end(self.origin.clone())
    }
}

/// Reads all stretches, as many at once as there are CPUs, up to a bound, and merges what came of each with what came before it.
fn in_order<T: Send>(
    stretches: &[Stretch],
    begin: impl Fn(Option<&T>, &Stretch) -> T,
    read: impl Fn(&mut T, &mut Reader) -> Result<()> + Copy + Send,
    merge: impl Fn(&mut T, T),
) -> Result<Option<T>> {
    let at_once = thread::available_parallelism().map_or(1, NonZero::get).min(MOST_AT_ONCE);
    let add = |whole: &mut Option<T>, under_way: thread::ScopedJoinHandle<'_, Result<T>>| {
        let next = under_way.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))?;
        match whole {
            None => *whole = Some(next),
            Some(whole) => merge(whole, next),
        }
        Ok(())
    };
    thread::scope(|scope| {
        let (mut whole, mut under_way) = (None, VecDeque::new());
        for stretch in stretches {
            if under_way.len() == at_once {
                under_way.pop_front().map(|first| add(&mut whole, first)).transpose()?;
            }
            let mut part = begin(whole.as_ref(), stretch);
            under_way.push_back(scope.spawn(move || {
                read(&mut part, &mut stretch.open()?)?;
                Ok(part)
            }));
        }
        under_way.into_iter().try_for_each(|next| add(&mut whole, next))?;
        Ok(whole)
    })
}
