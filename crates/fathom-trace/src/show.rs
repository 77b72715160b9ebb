//! What a workload does: its mix, sizes, order, working set, reuse, pauses and concurrency.
//!
//! Two passes over a trace: the first finds its extent, so that the second can lay windows of time and a
//! picture over it. Memory grows with the number of files and of blocks that are followed, which is bounded.

mod histogram;
mod picture;
pub mod reuse;
pub mod text;
mod timing;

use std::path::Path;
use std::sync::mpsc;
use std::{panic, thread};

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::histogram::Histogram;
pub use self::picture::{Dot, Picture};
pub use self::reuse::{Point, Reuse};
use self::timing::Clocks;
pub use self::timing::Timing;
use crate::error::Result;
use crate::format::Reader;
use crate::operation::{CallKind, Direction, FileId, Operation, Origin};

/// What [`Shown`] is called where it is written.
pub const SCHEMA: &str = "fathom.trace-show/1";
/// The blocks that working set and reuse are counted in: a page of the cache.
pub const BLOCK: u64 = 4096;
/// Windows of time.
const WINDOWS: usize = 60;
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

/// Looks at a trace.
///
/// # Errors
/// The trace can't be read.
pub fn show(path: &Path) -> Result<Shown> {
    let mut extent = Extent::default();
    each(path, |operation| extent.add(operation))?;
    let mut look = Look::new(&extent);
    let reader = each(path, |operation| look.add(operation))?;
    Ok(look.end(&reader, &extent))
}

/// Looks at each operation in order, while another thread reads the next ones; gives the reader, which is at the end.
fn each(path: &Path, mut look: impl FnMut(&Operation)) -> Result<Reader> {
    let mut reader = Reader::open(path)?;
    let (filled, batches) = mpsc::sync_channel(1);
    let (spent, empty) = mpsc::channel();
    thread::scope(|scope| {
        let reading = scope.spawn(move || {
            while reader.read()?.is_some() {
                let _ = filled.send(reader.exchange(empty.try_recv().unwrap_or_default()));
            }
            Ok(reader)
        });
        for batch in batches {
            batch.iter().for_each(&mut look);
            let _ = spent.send(batch);
        }
        reading.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    })
}

/// What the first pass finds.
#[derive(Debug, Default)]
struct Extent {
    operations: u64,
    first_ns: Option<i64>,
    last_ns: i64,
    /// How far each file was touched.
    ends: Vec<u64>,
}

impl Extent {
    fn add(&mut self, operation: &Operation) {
        let start = operation.start_ns;
        let end = start.saturating_add_unsigned(operation.duration_ns.unwrap_or(0));
        self.last_ns = if self.operations == 0 { end } else { self.last_ns.max(end) };
        self.first_ns = Some(self.first_ns.map_or(start, |first| first.min(start)));
        self.operations += 1;
        if operation.kind.direction().is_some()
            && let Some(offset) = operation.offset
        {
            let file = operation.file.0 as usize;
            if self.ends.len() <= file {
                self.ends.resize(file + 1, 0);
            }
            self.ends[file] = self.ends[file].max(offset.saturating_add(operation.length));
        }
    }

    fn span_ns(&self) -> u64 {
        self.first_ns.map_or(0, |first| self.last_ns.abs_diff(first))
    }
}

/// The second pass.
struct Look {
    first_ns: i64,
    window_ns: u64,
    mix: Vec<(u64, u64)>,
    moved: [Moved; 2],
    places: FxHashMap<(FileId, Direction), u64>,
    runs: [u64; 2],
    uses: Vec<FileUse>,
    clocks: Clocks,
    reuse: Reuse,
    windows: Vec<Window>,
    without_offset: u64,
    picture: Picture,
    order: u64,
}

impl Look {
    fn new(extent: &Extent) -> Self {
        Self {
            first_ns: extent.first_ns.unwrap_or(0),
            window_ns: extent.span_ns() / WINDOWS as u64 + 1,
            mix: vec![(0, 0); CallKind::ALL.len()],
            moved: [Moved::default(), Moved::default()],
            places: FxHashMap::default(),
            runs: [0; 2],
            uses: Vec::new(),
            clocks: Clocks::default(),
            reuse: Reuse::default(),
            windows: vec![Window::default(); WINDOWS],
            without_offset: 0,
            picture: Picture::new(extent.operations, &extent.ends),
            order: 0,
        }
    }

    fn add(&mut self, operation: &Operation) {
        let mix = &mut self.mix[operation.kind as usize];
        mix.0 += 1;
        mix.1 += u64::from(operation.result.is_some_and(|result| result < 0));
        self.clocks.add(operation);
        let file = operation.file.0 as usize;
        if self.uses.len() <= file {
            let none = FileUse { path: String::new(), operations: 0, read_bytes: 0, written_bytes: 0 };
            self.uses.resize(file + 1, none);
        }
        self.uses[file].operations += 1;
        if let Some(access) = operation.kind.direction() {
            self.access(operation, access);
        }
        self.order += 1;
    }

    fn access(&mut self, operation: &Operation, access: Direction) {
        let bytes = operation.moved_bytes();
        let moved = &mut self.moved[access as usize];
        moved.count += 1;
        moved.bytes = moved.bytes.saturating_add(bytes);
        moved.sizes.add(operation.length);
        let used = &mut self.uses[operation.file.0 as usize];
        match access {
            Direction::Read => used.read_bytes = used.read_bytes.saturating_add(bytes),
            Direction::Write => used.written_bytes = used.written_bytes.saturating_add(bytes),
        }
        let Some(offset) = operation.offset else {
            self.without_offset += 1;
            return;
        };
        let end = offset.saturating_add(bytes);
        let place = self.places.insert((operation.file, access), end);
        // Summed here, made parts at the end.
        match place.map(|place| offset.cmp(&place)) {
            Some(std::cmp::Ordering::Equal) => moved.sequential += 1.0,
            Some(std::cmp::Ordering::Greater) => moved.forward += 1.0,
            Some(std::cmp::Ordering::Less) => moved.backward += 1.0,
            None => {}
        }
        self.runs[access as usize] += u64::from(place != Some(offset));
        self.picture.add(self.order, operation.file, offset, operation.length, access);
        if bytes > 0 {
            self.touch(operation, access, offset / BLOCK, (end - 1) / BLOCK);
        }
    }

    fn touch(&mut self, operation: &Operation, access: Direction, first: u64, last: u64) {
        let since = operation.start_ns.abs_diff(self.first_ns);
        let window = usize::try_from(since / self.window_ns).unwrap_or(0).min(WINDOWS - 1);
        // No call moves more than 2 GiB; a line that says so does not keep this busy for ever.
        for block in first..=last.min(first + (1 << 19)) {
            let touched = self.reuse.access(operation.file, block, access, window as u8);
            let bytes = (touched.weight * BLOCK as f64) as u64;
            let shown = &mut self.windows[window];
            shown.touched_bytes += if touched.is_first_in_window { bytes } else { 0 };
            shown.new_bytes += if touched.is_first { bytes } else { 0 };
        }
    }

    fn end(mut self, reader: &Reader, extent: &Extent) -> Shown {
        for (moved, runs) in self.moved.iter_mut().zip(self.runs) {
            let all = (moved.count.max(1)) as f64;
            for part in [&mut moved.sequential, &mut moved.forward, &mut moved.backward] {
                *part /= all;
            }
            moved.run_bytes = moved.bytes as f64 / runs.max(1) as f64;
        }
        let file_count = self.uses.iter().filter(|used| used.operations > 0).count() as u64;
        let mut files: Vec<(usize, FileUse)> = self.uses.into_iter().enumerate().collect();
        files.retain(|(_, used)| used.operations > 0);
        files.sort_by_key(|(_, used)| {
            std::cmp::Reverse((used.read_bytes.saturating_add(used.written_bytes), used.operations))
        });
        files.truncate(FILES);
        let path = |at: usize| String::from_utf8_lossy(&reader.files().paths()[at]).into_owned();
        let files = files.into_iter().map(|(at, used)| FileUse { path: path(at), ..used }).collect();
        let mix = CallKind::ALL.into_iter().zip(self.mix).filter(|(_, mix)| mix.0 > 0);
        let [reads, writes] = self.moved;
        Shown {
            schema: SCHEMA.to_owned(),
            origin: reader.origin().clone(),
            operations: extent.operations,
            span_ns: extent.span_ns(),
            mix: mix.map(|(kind, (count, failed))| Mix { kind, count, failed }).collect(),
            reads,
            writes,
            file_count,
            files,
            timing: self.clocks.end(extent.span_ns()),
            working_set: self.windows,
            footprint_bytes: self.reuse.blocks().saturating_mul(BLOCK),
            hit_ratios: self.reuse.curve(BLOCK),
            sampled: self.reuse.rate(),
            without_offset: self.without_offset,
            picture: self.picture,
        }
    }
}
