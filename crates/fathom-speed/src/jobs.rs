//! What jobs came to, as it is written: counts, rates, and the latencies of every call by their buckets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use fathom_program::job::{DIRECTIONS, Direction, Job};
use fathom_run::load::{Histogram, Outcome, quantile};
use fathom_run::provenance::Provenance;

/// The name of the schema that [`Ran`] is published under.
pub const SCHEMA: &str = "fathom.run/1";

/// What the jobs of a file came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.run/1")]
pub struct Ran {
    /// Always `fathom.run/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Where, when and by which clock; the seed is the first job's.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// One entry per job.
    pub jobs: Vec<RanJob>,
    /// How long it all took, in ns.
    pub duration_ns: u64,
    /// Bytes written, with those that laid the files out.
    pub bytes_written: u64,
}

/// One job, its threads together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RanJob {
    /// Its name.
    pub name: String,
    /// Threads.
    pub threads: u32,
    /// From the first transfer that counts to the end of the last, in ns; of the slowest thread.
    pub elapsed_ns: u64,
    /// The share of its region that was in the page cache just before; nothing where the kernel does not tell.
    pub cached_share: Option<f64>,
    /// Reads, writes and syncs, where there are any.
    pub sides: Vec<RanSide>,
}

/// Calls of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RanSide {
    /// `read`, `write` or `sync`.
    pub kind: String,
    /// How many.
    pub calls: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Their mean time, in ns.
    pub mean_ns: f64,
    /// The longest, in ns.
    pub max_ns: f64,
    /// The middle of each bucket in ns, none wider than 1/128 of it, and how many calls it holds; ascending.
    pub latencies_ns: Vec<(f64, u64)>,
}

impl RanJob {
    /// What the threads of a job came to; nothing of none.
    pub fn of(job: &Job, threads: &[Outcome]) -> Option<Self> {
        let sum = Outcome::together(threads)?;
        let side = |direction: Direction| {
            let transfers = &sum.transfers[direction as usize];
            let moving = (direction.name(), transfers.bytes);
            let (kind, bytes) = job.engine.on_names().map_or(moving, |on| (on.name(), 0));
            RanSide::of(kind, bytes, &transfers.latency, sum.ns_per_tick)
        };
        let sides = if job.engine.on_names().is_some() { 1 } else { DIRECTIONS };
        let syncs = (sum.syncs.count() > 0).then(|| RanSide::of("sync", 0, &sum.syncs, sum.ns_per_tick));
        Some(Self {
            name: job.name.clone(),
            threads: job.numjobs,
            elapsed_ns: sum.elapsed_ns,
            cached_share: sum.cached_before.map(|before| before.cached as f64 / before.pages.max(1) as f64),
            sides: job.directions().take(sides).map(side).chain(syncs).collect(),
        })
    }

    /// Calls per second of one kind.
    pub fn calls_per_second(&self, side: &RanSide) -> f64 {
        side.calls as f64 / (self.elapsed_ns.max(1) as f64 / 1e9)
    }

    /// Bytes per second of one kind.
    pub fn bytes_per_second(&self, side: &RanSide) -> f64 {
        side.bytes as f64 / (self.elapsed_ns.max(1) as f64 / 1e9)
    }
}

impl RanSide {
    fn of(kind: &str, bytes: u64, latencies: &Histogram, ns_per_tick: f64) -> Self {
        let (least, most) = (latencies.min(), latencies.max());
        let bins = latencies.bins();
        Self {
            kind: kind.to_owned(),
            calls: latencies.count(),
            bytes,
            mean_ns: latencies.mean() * ns_per_tick,
            max_ns: most as f64 * ns_per_tick,
            latencies_ns: bins
                .map(|(middle, count)| (middle.clamp(least, most) as f64 * ns_per_tick, count))
                .collect(),
        }
    }

    /// The time in ns that a share of 0 to 1 of the calls does not exceed, within a 128th of itself.
    pub fn quantile(&self, share: f64) -> f64 {
        quantile(self.latencies_ns.iter().copied(), self.calls, share).unwrap_or(self.max_ns)
    }
}
