//! How fast a file system is against the size of a call: throughput and latency over a grid of settings.
//!
//! Each point of the grid is measured in rounds; within a round the points stand in a random order, so
//! that a machine that changes its pace does so for all of them. A point is left alone once the interval
//! of its median is narrow, and the state of the cache is proven before every sample.

mod bends;
mod grid;
pub mod limits;
mod linux;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measurement::{Latencies, Measurement};
use crate::rounds::Series;
use fathom_program::job::Direction;
use fathom_run::load::Cached;
use fathom_run::provenance::Provenance;

pub use self::bends::{Declared, Family, Price, Ratio, Worth, families, worth_of_read_ahead};
pub use self::grid::{Choice, Grid, Planned};
pub use self::limits::{PastDirty, PastMemory};
pub use self::linux::{Run, measure};

/// The name of the schema that [`Curve`] is published under.
pub const SCHEMA: &str = "fathom.curve/1";

/// Curves of one mount, as they are written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.curve/1")]
pub struct Curve {
    /// Always `fathom.curve/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Where, when and by which clock.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// The points, in the order of the grid.
    pub points: Vec<Point>,
    /// One per curve: points that differ in nothing but the size of a call.
    pub families: Vec<Family>,
    /// What read-ahead is worth, where sequential and random cold reads were both measured.
    pub read_ahead: Vec<Worth>,
    /// Files larger than the memory, where `--intrusive` allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past_memory: Option<PastMemory>,
    /// Writes past the dirty threshold, where `--intrusive` allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past_dirty: Option<PastDirty>,
    /// What was changed on the machine meanwhile, and put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// What was asked for and not measured, with the reason.
    pub refused: Vec<Refusal>,
    /// How long it took, in ns.
    pub duration_ns: u64,
    /// Bytes written, with those that filled the files.
    pub bytes_written: u64,
}

/// What is done at one point of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// What the calls do.
    pub operation: Operation,
    /// Where they do it.
    pub order: Order,
    /// What the cache holds before.
    pub state: State,
    /// Threads that do so at once, each with a part of the file of its own, or all over it in random order.
    pub threads: u32,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes that one call moves.
    pub block_bytes: u64,
}

/// What calls do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum Operation {
    /// `pread(2)`.
    Read,
    /// `pwrite(2)` of what is there already.
    Overwrite,
    /// `pwrite(2)` at the end of a file that was empty.
    Append,
}

/// Where calls go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum Order {
    /// One block after the other.
    Sequential,
    /// All blocks in a random order.
    Random,
}

/// What the page cache holds of the file before the first call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// All of it.
    Cached,
    /// Nothing of it.
    Cold,
    /// Nothing of it, and it is passed by: O_DIRECT.
    Direct,
    /// There is nothing: the file is empty.
    Empty,
}

/// One point of the grid and all that was seen there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// What was done.
    pub setting: Setting,
    /// Bytes per second: the median of the samples; nothing where there are none.
    pub bytes_per_second: Option<f64>,
    /// The 95 % interval of that median.
    pub bytes_per_second_interval: Option<[f64; 2]>,
    /// The latencies of all calls, the clock's own cost taken out.
    pub latency: Latency,
    /// The same, each call of them; in no JSON but fio's.
    #[serde(skip)]
    pub latencies: Option<Latencies>,
    /// Whether the interval became narrower than what was asked for.
    pub is_settled: bool,
    /// The samples, in the order they were taken.
    pub samples: Vec<Sample>,
    /// What a reader must know.
    pub caveats: Vec<String>,
}

/// A distribution of latencies in ns; each within a 128th of itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// How many calls.
    pub calls: u64,
    /// The shortest.
    pub min_ns: f64,
    /// The median.
    pub p50_ns: f64,
    /// Nine of ten took no longer.
    pub p90_ns: f64,
    /// All but one in a hundred.
    pub p99_ns: f64,
    /// All but one in a thousand.
    pub p999_ns: f64,
    /// The longest.
    pub max_ns: f64,
}

/// One run of some calls in a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The round that it belongs to, from zero.
    pub round: u32,
    /// Calls of all threads.
    pub calls: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// What the calls took, the clock's own cost taken out, in ns: the bytes over the sum of the threads' rates.
    pub elapsed_ns: f64,
    /// What one call took on average, in ns.
    pub call_ns: f64,
    /// Processor time in the program, in ns.
    pub user_ns: f64,
    /// Processor time in the kernel, in ns.
    pub system_ns: f64,
    /// What the fsync after the last write took, in ns; it is no part of `elapsed_ns`.
    pub sync_ns: Option<f64>,
    /// Whether the cache was seen to be in the state that the setting names.
    pub proof: Proof,
}

// The worst comes last.
/// Whether the cache was in the wanted state before a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// It was.
    Proven,
    /// The kernel did not tell.
    Unknown,
    /// It was not; the sample counts for nothing.
    Refuted,
}

/// Something that was asked for and not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// What.
    pub what: String,
    /// Why, and what would help.
    pub reason: String,
}

impl Setting {
    /// The same for all sizes of calls: the name of the curve that the point is on.
    pub fn family(&self) -> Setting {
        Setting { block_bytes: 0, ..*self }
    }

    /// The curve's name, for people: `sequential read, cached`; the number of threads
    /// follows where there are several.
    pub fn name(&self) -> String {
        let Setting { operation, order, state, .. } = self;
        let threads = if self.threads == 1 { String::new() } else { format!(", {} threads", self.threads) };
        match self.operation {
            Operation::Append => format!("{operation}{threads}"),
            _ => format!("{order} {operation}, {state}{threads}"),
        }
    }
}

impl Operation {
    /// Where it moves bytes.
    pub(crate) fn direction(self) -> Direction {
        if self == Operation::Read { Direction::Read } else { Direction::Write }
    }
}

impl Point {
    /// The point of a series of samples.
    fn of(setting: Setting, series: Series<Sample>, latency: Latency, latencies: Latencies) -> Self {
        let mut caveats = Vec::new();
        let of = |proof: Proof| series.samples.iter().filter(|sample| sample.proof == proof).count();
        if of(Proof::Refuted) > 0 {
            caveats.push(format!(
                "{} samples began in another state of the cache and do not count",
                of(Proof::Refuted)
            ));
        }
        if of(Proof::Unknown) > 0 {
            caveats.push("the kernel does not show here what is cached: the state is not proven".to_owned());
        }
        match &series.refusal {
            Some(reason) => caveats.push(format!("ended early: {reason}")),
            None if !series.is_settled => caveats.push("the interval is wider than was asked for".to_owned()),
            None => {}
        }
        Self {
            setting,
            bytes_per_second: series.median,
            bytes_per_second_interval: series.interval,
            latency,
            latencies: Some(latencies),
            is_settled: series.is_settled,
            samples: series.samples,
            caveats,
        }
    }

    /// Time per call of the samples that count, in ns, in the order of the rounds.
    pub fn call_times(&self) -> Vec<f64> {
        self.counted().map(|sample| sample.call_ns).collect()
    }

    /// The samples whose cache state was not refuted.
    pub fn counted(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(|sample| sample.proof != Proof::Refuted)
    }

    /// In the shape that every output format is written from.
    pub fn measurement(&self) -> Option<Measurement> {
        let first = self.counted().next()?;
        let elapsed = self.counted().map(|sample| sample.elapsed_ns).collect();
        let cpu = self.counted().map(|sample| [sample.user_ns, sample.system_ns]).collect();
        let setting = &self.setting;
        let one = Measurement::new(&setting.operation.to_string(), first.calls, first.bytes, elapsed)?;
        Some(
            one.with("order", setting.order)
                .with("state", setting.state)
                .with("file_bytes", setting.file_bytes)
                .with("block_bytes", setting.block_bytes)
                .threads(setting.threads)
                .cpu_ns(cpu)
                .latencies(self.latencies.clone()),
        )
    }
}

impl Proof {
    /// What the pages that were seen in the cache say of a state; nothing seen says nothing, except of an empty file.
    pub(crate) fn of(state: State, seen: Option<Cached>) -> Self {
        let holds = match (state, seen) {
            (State::Empty, _) => true,
            (_, None) => return Self::Unknown,
            (State::Cached, Some(seen)) => seen.cached == seen.pages,
            (State::Cold | State::Direct, Some(seen)) => seen.cached == 0,
        };
        if holds { Self::Proven } else { Self::Refuted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_state_that_was_asked_for_is_proven() {
        let of = |state| [0, 3, 8].map(|cached| Proof::of(state, Some(Cached { cached, pages: 8 })));
        for state in [State::Cold, State::Direct] {
            assert_eq!(of(state), [Proof::Proven, Proof::Refuted, Proof::Refuted]);
        }
        assert_eq!(of(State::Cached), [Proof::Refuted, Proof::Refuted, Proof::Proven]);
        assert_eq!(Proof::of(State::Cold, None), Proof::Unknown);
    }
}
