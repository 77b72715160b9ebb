//! What to do, as a plain value: passes of operations over regions of scratch files, round after round.
//!
//! It can say every recipe of the fsdisco paper (Table of options, section 2) and more: operation,
//! size, step, offset, direction, priming, delay, rounds and a command between rounds. It does
//! nothing by itself; a machine of `fathom-run` runs it.
//!
//! ```
//! use fathom_program::workload::{CallKind, Pass, Region, ScratchFile, Workload};
//!
//! // The first 64 blocks of a new file, appended one by one, a hundred times over.
//! let region = Region { offset: 0, size: 1024, step: 1024, count: 64 };
//! let workload = Workload::new(vec![ScratchFile::empty("append")])
//!     .pass(Pass::untimed(0, &[CallKind::Create]))
//!     .pass(Pass::timed(0, &[CallKind::Write], region))
//!     .rounds(100);
//! assert_eq!(workload.bytes_written(), 64 * 1024 * 100);
//! ```

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::call::CallKind;
use crate::shuffle::shuffle;

/// A whole run: which scratch files it needs, and what happens in each round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// The scratch files that the passes name by their place in this list.
    pub files: Vec<ScratchFile>,
    /// What one round does, in order.
    pub passes: Vec<Pass>,
    /// How often the passes are repeated and kept.
    pub rounds: u32,
    /// How often they are repeated before that and forgotten.
    pub warmup_rounds: u32,
    /// A command, as a list of words, run after each round; no shell is involved.
    pub between_rounds: Option<Vec<String>>,
    /// Decides the order of random directions.
    pub seed: u64,
}

/// A file in the private scratch directory. It outlives the workload, for the next one to use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScratchFile {
    /// A plain file name.
    pub name: String,
    /// The file is filled with data up to this many bytes before the first round.
    pub size: u64,
    /// Behind the data the file is lengthened to this many bytes in all, by a hole that takes no space.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hole: u64,
    /// Where this is given it is a directory with so many empty files, numbered from zero. A position of a pass is then
    /// the number of an entry; passes may make entries of higher numbers, and leave none of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
}

/// An entry that is renamed has a number this much higher, and one whose number is that high gets its old one back.
pub const RENAMED: u64 = 1 << 32;

/// Operations at each position of a region, in one direction. Passes that do the same are equal, whatever their labels.
#[derive(Debug, Clone, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pass {
    /// Which file, by its place in the workload's list.
    pub file: usize,
    /// What is done at each position, in order.
    pub ops: Vec<CallKind>,
    /// The positions.
    pub region: Region,
    /// The order in which they are visited.
    pub direction: Traversal,
    /// How long to wait after each position, in nanoseconds.
    pub gap_ns: u64,
    /// Whether the operations are timed and kept, or only prepare what comes after.
    pub timed: bool,
    /// The cache state on which the meaning of the samples depends; it is checked just before the pass.
    pub needs: Option<CacheState>,
    /// The memory that data is read into.
    pub buffer: Buffer,
    /// What inference asks for the pass's readings by. No machine reads it, and no file holds it.
    #[serde(skip)]
    pub label: &'static str,
}

/// Positions `offset + i * step` for `i` in `0..count`, each of `size` bytes. All in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Region {
    /// Where the first position is.
    pub offset: u64,
    /// How much each operation reads or writes.
    pub size: u64,
    /// How far apart positions are.
    pub step: u64,
    /// How many positions there are.
    pub count: u64,
}

/// The order in which positions are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Traversal {
    /// From the first to the last.
    Forward,
    /// From the last to the first.
    Backward,
    /// A permutation drawn anew in each round from the workload's seed.
    Random,
}

/// Whether the pages of a position were in the page cache just before a pass began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// None of them.
    Cold,
    /// All of them.
    Cached,
    /// Some of them, or the kernel did not tell.
    Unknown,
}

/// The memory that reads copy into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Buffer {
    /// One buffer, mapped beforehand, for all operations.
    Reused,
    /// Memory that was never touched; operation `i` reads to its byte `i * step`.
    Fresh {
        /// Bytes between the addresses of one operation and the next.
        step: u64,
    },
}

/// The most positions that a pass may have: what it keeps of each must fit into memory.
const MOST_POSITIONS: u64 = 1 << 26;

impl Workload {
    /// One round of nothing over `files`; add passes to it.
    pub fn new(files: Vec<ScratchFile>) -> Self {
        Self { files, passes: Vec::new(), rounds: 1, warmup_rounds: 0, between_rounds: None, seed: 0 }
    }

    /// The same with another pass at the end of each round.
    #[must_use]
    pub fn pass(mut self, pass: Pass) -> Self {
        self.passes.push(pass);
        self
    }

    /// The same with so many rounds kept.
    #[must_use]
    pub fn rounds(mut self, rounds: u32) -> Self {
        self.rounds = rounds;
        self
    }

    /// The same with so many rounds before those that are kept.
    #[must_use]
    pub fn warmup(mut self, rounds: u32) -> Self {
        self.warmup_rounds = rounds;
        self
    }

    /// The same with another seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Checks what every machine relies on.
    ///
    /// # Errors
    /// One sentence that names the first thing that is wrong.
    pub fn check(&self) -> Result<(), String> {
        if self.rounds == 0 {
            return Err("a workload needs at least one round".to_owned());
        }
        for file in &self.files {
            let plain =
                !file.name.is_empty() && !file.name.starts_with('.') && !file.name.contains(['/', '\0']);
            if !plain {
                return Err(format!("'{}' is not a plain file name", file.name));
            }
        }
        for (index, pass) in self.passes.iter().enumerate() {
            pass.check(&self.files).map_err(|reason| format!("pass {index}: {reason}"))?;
        }
        Ok(())
    }

    /// Bytes that the passes write, in all rounds together; filling the scratch files comes on top.
    pub fn bytes_written(&self) -> u64 {
        let of_pass = |pass: &Pass| {
            let writes = pass.ops.iter().filter(|op| op.is_write()).count() as u64;
            writes.saturating_mul(pass.region.size).saturating_mul(pass.region.count)
        };
        let round = self.passes.iter().map(of_pass).fold(0, u64::saturating_add);
        round.saturating_mul(u64::from(self.rounds) + u64::from(self.warmup_rounds))
    }

    /// The indices of the positions that a pass visits, in order, in one round; warm-up rounds count from zero too.
    pub fn order(&self, pass: usize, round: u32) -> Vec<u32> {
        let plan = &self.passes[pass];
        let mut order: Vec<u32> = (0..plan.region.count as u32).collect();
        match plan.direction {
            Traversal::Forward => {}
            Traversal::Backward => order.reverse(),
            Traversal::Random => {
                let stream = self.seed ^ ((pass as u64) << 40) ^ (u64::from(round) << 8);
                let mut generator = Pcg64Mcg::seed_from_u64(stream);
                shuffle(&mut order, &mut generator);
            }
        }
        order
    }
}

impl ScratchFile {
    /// A file that is empty at first.
    pub fn empty(name: &str) -> Self {
        Self::filled(name, 0)
    }

    /// A file of at least `size` bytes of data.
    pub fn filled(name: &str, size: u64) -> Self {
        Self { name: name.to_owned(), size, hole: 0, entries: None }
    }

    /// A directory with so many empty files.
    pub fn directory(name: &str, entries: u64) -> Self {
        Self { entries: Some(entries), ..Self::empty(name) }
    }

    /// A file of `length` bytes that are all hole: reading them fills the cache and nothing is written.
    pub fn sparse(name: &str, length: u64) -> Self {
        Self { hole: length, ..Self::empty(name) }
    }
}

/// Files without a hole are written as they were before there were any.
fn is_zero(hole: &u64) -> bool {
    *hole == 0
}

impl PartialEq for Pass {
    fn eq(&self, other: &Self) -> bool {
        let Self { file, ops, region, direction, gap_ns, timed, needs, buffer, label: _ } = self;
        (*file, ops, region, *direction, *gap_ns)
            == (other.file, &other.ops, &other.region, other.direction, other.gap_ns)
            && (*timed, *needs, *buffer) == (other.timed, other.needs, other.buffer)
    }
}

impl Pass {
    /// Timed operations over a region, forward and without gaps.
    pub fn timed(file: usize, ops: &[CallKind], region: Region) -> Self {
        Self {
            file,
            ops: ops.to_vec(),
            region,
            direction: Traversal::Forward,
            gap_ns: 0,
            timed: true,
            needs: None,
            buffer: Buffer::Reused,
            label: "",
        }
    }

    /// Operations that are done once, untimed, at the start of the file.
    pub fn untimed(file: usize, ops: &[CallKind]) -> Self {
        let once = Region { offset: 0, size: 0, step: 0, count: 1 };
        Self { timed: false, ..Self::timed(file, ops, once) }
    }

    /// Operations over a region that only prepare what comes after.
    pub fn priming(file: usize, ops: &[CallKind], region: Region) -> Self {
        Self { timed: false, ..Self::timed(file, ops, region) }
    }

    /// A wait of `gap_ns` nanoseconds.
    pub fn pause(gap_ns: u64) -> Self {
        Self { gap_ns, ..Self::untimed(0, &[CallKind::Pause]) }
    }

    /// The same with a label; several passes that are alike may share one.
    #[must_use]
    pub fn label(mut self, label: &'static str) -> Self {
        self.label = label;
        self
    }

    /// The same in another direction.
    #[must_use]
    pub fn direction(mut self, direction: Traversal) -> Self {
        self.direction = direction;
        self
    }

    /// The same with a wait after each position, in nanoseconds.
    #[must_use]
    pub fn gap(mut self, gap_ns: u64) -> Self {
        self.gap_ns = gap_ns;
        self
    }

    /// The same, of use only where the cache is in `state` before the pass.
    #[must_use]
    pub fn needs(mut self, state: CacheState) -> Self {
        self.needs = Some(state);
        self
    }

    /// The same, reading to memory that was never touched, `step` bytes further each time.
    #[must_use]
    pub fn fresh_buffer(mut self, step: u64) -> Self {
        self.buffer = Buffer::Fresh { step };
        self
    }

    fn check(&self, files: &[ScratchFile]) -> Result<(), String> {
        let Some(file) = files.get(self.file) else {
            return Err(format!("there is no file {}, only {}", self.file, files.len()));
        };
        if self.region.count == 0 || self.region.count > MOST_POSITIONS {
            return Err(format!("{} positions: there must be 1 to {MOST_POSITIONS}", self.region.count));
        }
        let (is_allowed, of): (fn(CallKind) -> bool, _) = match file.entries {
            Some(_) => (CallKind::is_of_entry, "a directory's entry"),
            None => (CallKind::is_of_pass, "a file"),
        };
        if let Some(op) = self.ops.iter().find(|&&op| !is_allowed(op)) {
            return Err(format!("a pass makes no call of the kind '{}' of {of}", op.name()));
        }
        let moves = self.ops.iter().any(|op| op.direction().is_some());
        if moves && self.region.size == 0 {
            return Err("reads and writes need a size above zero".to_owned());
        }
        if self.region.size > 1 << 30 {
            return Err("one operation moves at most 1 GiB".to_owned());
        }
        let span = self
            .region
            .step
            .checked_mul(self.region.count)
            .and_then(|span| span.checked_add(self.region.size));
        let end = span.and_then(|span| span.checked_add(self.region.offset));
        if end.is_none_or(|end| end > i64::MAX as u64) {
            return Err("the region ends beyond the largest file".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(count: u64) -> Region {
        Region { offset: 4096, size: 512, step: 1024, count }
    }

    #[test]
    fn directions_visit_every_position_once() {
        for direction in [Traversal::Forward, Traversal::Backward, Traversal::Random] {
            let workload = Workload::new(vec![ScratchFile::empty("a")])
                .pass(Pass::timed(0, &[CallKind::Pread], region(50)).direction(direction))
                .seed(7);
            let mut order = workload.order(0, 3);
            assert_eq!(order, workload.order(0, 3), "the same seed gives the same order");
            order.sort_unstable();
            assert_eq!(order, (0..50).collect::<Vec<_>>());
        }
    }

    #[test]
    fn random_rounds_differ() {
        let workload = Workload::new(vec![ScratchFile::empty("a")])
            .pass(Pass::timed(0, &[CallKind::Pread], region(50)).direction(Traversal::Random));
        assert_ne!(workload.order(0, 0), workload.order(0, 1));
    }

    #[test]
    fn nonsense_is_refused_with_its_place() {
        let bad = |pass: Pass| Workload::new(vec![ScratchFile::empty("a")]).pass(pass).check().unwrap_err();
        assert_eq!(bad(Pass::timed(1, &[CallKind::Read], region(1))), "pass 0: there is no file 1, only 1");
        assert!(bad(Pass::timed(0, &[CallKind::Read], region(0))).contains("0 positions"));
        assert!(
            bad(Pass::timed(0, &[CallKind::Read], Region { size: 0, ..region(1) }))
                .contains("size above zero")
        );
        assert!(
            bad(Pass::timed(0, &[CallKind::Read], Region { step: u64::MAX, ..region(2) }))
                .contains("largest file")
        );
        let named = Workload::new(vec![ScratchFile::empty("../etc/passwd")]);
        assert!(named.check().unwrap_err().contains("plain file name"));
    }

    #[test]
    fn entries_are_created_and_files_are_read() {
        let pass = |op| Pass::timed(0, &[op], Region { size: 0, ..region(1) });
        let check = |file: ScratchFile, op| Workload::new(vec![file]).pass(pass(op)).check();
        assert_eq!(check(ScratchFile::directory("d", 9), CallKind::Unlink), Ok(()));
        assert_eq!(check(ScratchFile::empty("a"), CallKind::Stat), Ok(()));
        let refused = check(ScratchFile::directory("d", 9), CallKind::Fsync).unwrap_err();
        assert_eq!(refused, "pass 0: a pass makes no call of the kind 'fsync' of a directory's entry");
        assert!(check(ScratchFile::empty("a"), CallKind::List).unwrap_err().ends_with("'list' of a file"));
    }

    #[test]
    fn a_workload_survives_json() {
        let workload = Workload::new(vec![ScratchFile::filled("a", 1 << 20)]).pass(
            Pass::timed(0, &[CallKind::Pread, CallKind::Fsync], region(5))
                .needs(CacheState::Cold)
                .fresh_buffer(64),
        );
        let text = serde_json::to_string(&workload).unwrap();
        assert_eq!(serde_json::from_str::<Workload>(&text).unwrap(), workload);
    }
}
