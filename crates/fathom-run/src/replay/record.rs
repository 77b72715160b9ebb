//! What a replay came to.

use std::time::Duration;

use fathom_program::call::{Call, DIRECTIONS, Direction};
use fathom_trace::replay::{Plan, Step};
use fathom_trace::show::Histogram;
use serde::{Deserialize, Serialize};

use super::How;
use crate::executor::{Recorder, Window};
use crate::load::{Histogram as Latencies, quantile};

/// The schema of a written [`Replayed`].
pub const SCHEMA: &str = "fathom.replay/1";

/// The result of a replay.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replayed {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The settings of the replay.
    #[serde(flatten)]
    pub how: How,
    /// The number of threads.
    pub threads: u64,
    /// The time from the first operation to the end of the last.
    #[serde(rename = "elapsed_ns", with = "nanos")]
    pub elapsed: Duration,
    /// Reads.
    pub reads: Moved,
    /// Writes.
    pub writes: Moved,
    /// Operations of the trace that are not replayed: forks, maps, failed ones, and those that lack details.
    pub left_out: u64,
    /// Bytes written to lay the files out.
    pub laid_out_bytes: u64,
}

/// Reads, or writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The number of operations.
    pub operations: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// The time that they took, all threads together.
    #[serde(rename = "time_ns", with = "nanos")]
    pub time: Duration,
    /// How long each took, in ns, by powers of two.
    pub took_ns: Histogram,
    /// The same times at the resolution of a job's histogram: the middle of each bucket in ns, and how many lie in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies_ns: Vec<(u64, u64)>,
    /// How long the same operations took in the trace, if the trace says so.
    pub recorded_ns: Histogram,
    /// Operations that moved another number of bytes than in the trace.
    pub different: u64,
}

/// A duration as whole nanoseconds.
mod nanos {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}

/// What one thread did, in ticks.
pub(super) struct Record<'a> {
    steps: &'a [Step],
    ways: [Way; DIRECTIONS],
    elapsed: u64,
    /// Every call, where somebody compares machines.
    pub(super) calls: Option<Vec<Call>>,
}

/// Reads, or writes.
#[derive(Default)]
struct Way {
    bytes: u64,
    latency: Latencies,
    recorded_ns: Histogram,
    different: u64,
}

impl<'a> Record<'a> {
    pub(super) fn new(steps: &'a [Step], lists: bool) -> Self {
        Self { steps, ways: Default::default(), elapsed: 0, calls: lists.then(Vec::new) }
    }

    /// The same of a thread that took so long.
    pub(super) fn of(self, elapsed: u64) -> Self {
        Self { elapsed, ..self }
    }
}

impl Recorder<u32> for Record<'_> {
    fn record(&mut self, call: &Call, step: u32, window: Window, moved: u64) {
        if let Some(calls) = &mut self.calls {
            calls.push(*call);
        }
        let Some(direction) = call.kind.direction() else { return };
        let operation = &self.steps[step as usize].operation;
        let way = &mut self.ways[direction as usize];
        way.bytes += moved;
        way.latency.record(window.ticks());
        operation.duration_ns.iter().for_each(|&ns| way.recorded_ns.add(ns));
        way.different += u64::from(moved != operation.moved_bytes());
    }
}

impl Replayed {
    /// The latency that a share of all reads and writes does not exceed, in ns; none without operations.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let mut all = [self.reads.latencies_ns.as_slice(), &self.writes.latencies_ns].concat();
        all.sort_unstable();
        let count = all.iter().map(|(_, count)| count).sum();
        quantile(all, count, share)
    }

    pub(super) fn of(plan: &Plan, how: How, records: &[Record<'_>], ticks_per_second: f64) -> Self {
        let ns = |ticks: u64| (ticks as f64 * 1e9 / ticks_per_second) as u64;
        let moved = |direction: Direction| {
            let mut sum = Moved::default();
            let mut latency = Latencies::default();
            for way in records.iter().map(|record| &record.ways[direction as usize]) {
                sum.bytes += way.bytes;
                sum.recorded_ns.merge(&way.recorded_ns);
                sum.different += way.different;
                latency.merge(&way.latency);
            }
            for (middle, count) in latency.bins() {
                sum.took_ns.add_times(ns(middle), count);
                sum.latencies_ns.push((ns(middle), count));
            }
            Moved { operations: latency.count(), time: Duration::from_nanos(ns(latency.sum())), ..sum }
        };
        Self {
            schema: SCHEMA.to_owned(),
            how,
            threads: plan.threads.len() as u64,
            elapsed: Duration::from_nanos(ns(records.iter().map(|one| one.elapsed).max().unwrap_or(0))),
            reads: moved(Direction::Read),
            writes: moved(Direction::Write),
            left_out: plan.left_out,
            laid_out_bytes: plan.laid_out(),
        }
    }
}
