//! The same work done by Fathom, dd and fio, interleaved in one run: ratios with intervals.
//!
//! Each reads one scratch file from its beginning to its end by blocks of one size, or writes over it; the state of
//! the cache is brought about and proven before each start, and what was written is synced before the next one. Two times are taken of another program: inside, as it
//! tells itself of its reading, and outside, from its start to its end.

pub mod jobs;
mod programs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::curve::{Operation, Proof, Refusal, State};
use crate::measurement::Measurement;
use fathom_run::provenance::Provenance;

pub use self::programs::{Task, affordable, measure, programs};

/// The name of the schema that [`Versus`] is published under.
pub const SCHEMA: &str = "fathom.versus/1";

/// A comparison, as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.versus/1")]
pub struct Versus {
    /// Always `fathom.versus/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Where, when and by which clock.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// One entry per program, operation, block size and state.
    pub entries: Vec<Entry>,
    /// What was asked for and not measured, with the reason.
    pub refused: Vec<Refusal>,
    /// How long it took, in ns.
    pub duration_ns: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

/// One program doing one thing at one block size, from one state of the cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The program, with its version.
    pub program: String,
    /// What was run.
    pub command: String,
    /// What was done: `read`, or `overwrite`, which goes into the page cache and is not synced within the time.
    pub operation: Operation,
    /// Bytes per call.
    pub block_bytes: u64,
    /// What the cache held of the file before.
    pub state: State,
    /// Bytes per second by the time inside: the median.
    pub bytes_per_second: Option<f64>,
    /// The 95 % interval of that median.
    pub bytes_per_second_interval: Option<[f64; 2]>,
    /// This program's rate over Fathom's in the same round, by the time inside: above one, it is faster. The median
    /// and its 95 % interval.
    pub rate_over_fathoms: Option<[f64; 3]>,
    /// The same by the time within the calls alone, where the program tells that.
    pub call_rate_over_fathoms: Option<[f64; 3]>,
    /// Time outside that is not inside, in ns: starting, ending, setting up. The median.
    pub around_ns: Option<f64>,
    /// Whether the interval became narrower than what was asked for.
    pub is_settled: bool,
    /// The samples, in the order they were taken.
    pub samples: Vec<Sample>,
}

/// One pass over the file.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The round that it belongs to, from zero.
    pub round: u32,
    /// Bytes that were read or written.
    pub bytes: u64,
    /// What the program says that its pass took, in ns.
    pub inside_ns: f64,
    /// What its calls took, all together, in ns; nothing where it does not tell.
    pub calls_ns: Option<f64>,
    /// What passed from its start to its end, in ns; nothing for Fathom's own loop, which needs no process.
    pub outside_ns: Option<f64>,
    /// Whether the cache was seen to be in the state before.
    pub proof: Proof,
}

impl Entry {
    /// In the shape that every output format is written from: one call is one pass over the whole file.
    pub fn measurement(&self) -> Option<Measurement> {
        let counted: Vec<&Sample> =
            self.samples.iter().filter(|sample| sample.proof != Proof::Refuted).collect();
        let bytes = counted.first()?.bytes;
        let inside = counted.iter().map(|sample| sample.inside_ns).collect();
        let one = Measurement::new(self.program.split(' ').next().unwrap_or_default(), 1, bytes, inside)?;
        let state = if self.state == State::Cold { "cold" } else { "cached" };
        let one = one.with("operation", self.operation);
        Some(one.with("state", state).with("block_bytes", self.block_bytes))
    }
}
