//! Past the limits: files larger than the memory that may hold them, and more dirty data than the kernel allows.
//!
//! Both limits are brought down to the size of the files that a curve has anyway, because the machine's own would
//! take all of its memory: a memory group for this process, and lower thresholds of dirty data for everybody. So
//! both need `--intrusive`, both are put back on every way out, and the result lists them.

mod dirty;
mod memory;

use std::path::Path;
use std::time::{Duration, Instant};

use fathom_stats::interval::median_interval;
use fathom_stats::quantile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::curve::{Choice, Operation, Refusal, State};
use crate::measurement::LEVEL;
use fathom_run::fault::Fault;
use fathom_run::load::Testbed;

pub use self::dirty::{PastDirty, Written};
pub use self::memory::{PastMemory, Reading, WorkingSet};

/// A rate and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// Bytes per second: the median.
    pub bytes_per_second: f64,
    /// Its 95 % interval; nothing where there are fewer than 6 samples.
    pub interval: Option<[f64; 2]>,
}

/// What was seen past the limits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// Past the memory.
    pub memory: Option<PastMemory>,
    /// Past the dirty threshold.
    pub dirty: Option<PastDirty>,
    /// What was asked for and could not be measured.
    pub refused: Vec<Refusal>,
    /// What was changed on the machine meanwhile.
    pub effects: Vec<String>,
}

/// What is to be measured past the limits, and where.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// The file: the largest of the curve's.
    file_bytes: u64,
    /// Which of the curve's files it is.
    state: State,
    reads: bool,
    writes: bool,
    /// Bytes of one burst of writes.
    burst_bytes: u64,
    /// Bytes that must be written for the file itself.
    layout_bytes: u64,
}

/// How many bursts of writes: four in which nothing holds the writer up must agree.
const BURSTS: u32 = 8;
/// Less than that is drowned by what other programs make dirty, and by what a group holds besides files.
const LEAST_BYTES: u64 = 4 << 20;
/// Of what may be written, the part that bursts may take, in eighths.
const EIGHTHS: u64 = 3;

impl Plan {
    /// What a choice of points and a budget allow.
    pub fn of(choice: &Choice, max_write: u64) -> Self {
        let does = |operation| choice.operations.contains(&operation);
        let file_bytes = choice.file_bytes.iter().copied().max().unwrap_or(0);
        let is_cached = choice.states.contains(&State::Cached);
        let has_file = does(Operation::Read) || does(Operation::Overwrite);
        Self {
            file_bytes,
            state: if is_cached { State::Cached } else { State::Cold },
            reads: does(Operation::Read),
            writes: does(Operation::Overwrite) || does(Operation::Append),
            burst_bytes: (max_write / 8 * EIGHTHS / u64::from(BURSTS)).min(file_bytes) >> 20 << 20,
            layout_bytes: if has_file { 0 } else { file_bytes },
        }
    }

    /// Bytes that it writes besides the curve's own.
    pub fn writes_bytes(&self) -> u64 {
        let bursts = if self.writes { u64::from(BURSTS) * self.burst_bytes } else { 0 };
        bursts + self.layout_bytes
    }

    fn file_name(&self) -> String {
        super::linux::file_name(self.state, self.file_bytes)
    }
}

/// Measures past the limits of the mount at `path`, for at most `time`. What can't be done becomes a refusal.
///
/// # Errors
/// [`Fault::Interrupted`].
pub fn measure(
    testbed: &mut Testbed,
    path: &Path,
    plan: &Plan,
    seed: u64,
    time: Duration,
) -> Result<Limits, Fault> {
    let mut limits = Limits::default();
    let lives_in_memory = fathom_sys::facts::mount_of(path)
        .is_ok_and(|mount| matches!(mount.fs_type.as_str(), "tmpfs" | "ramfs" | "devtmpfs"));
    let there_is_a_device = || match lives_in_memory {
        true => Err(Fault::Unsupported("files live in memory alone here: there is no device".to_owned())),
        false => Ok(()),
    };
    let half = || Instant::now() + time / 2;
    if plan.reads {
        match there_is_a_device().and_then(|()| memory::measure(testbed, plan, seed, half())) {
            Ok((past, effects)) => {
                limits.effects.extend(effects);
                limits.memory = Some(past);
            }
            Err(fault) => limits.refuse("files larger than the memory", fault)?,
        }
    }
    if plan.writes {
        match there_is_a_device().and_then(|()| dirty::measure(testbed, plan, half())) {
            Ok((past, effects)) => {
                limits.effects.extend(effects);
                limits.dirty = Some(past);
            }
            Err(fault) => limits.refuse("writes past the dirty threshold", fault)?,
        }
    }
    Ok(limits)
}

impl Limits {
    fn refuse(&mut self, what: &str, fault: Fault) -> Result<(), Fault> {
        if fault == Fault::Interrupted {
            return Err(fault);
        }
        self.refused.push(Refusal { what: what.to_owned(), reason: fault.to_string() });
        Ok(())
    }
}

impl Rate {
    /// The rate of these numbers of bytes per second; nothing of none.
    fn of(rates: &[f64]) -> Option<Self> {
        let interval = median_interval(rates, LEVEL).map(|one| [one.interval.low, one.interval.high]);
        quantile::median(rates).map(|bytes_per_second| Self { bytes_per_second, interval })
    }
}
