//! The parts of the model, and which of them have been held against a kernel.
//!
//! ```
//! use fathom_model::components::{Standing, in_use};
//! use fathom_model::parameters::Parameters;
//!
//! let mut parameters = Parameters::assumed();
//! parameters.set("device", "disk_with_seeks")?;
//! let disk = in_use(&parameters).find(|part| part.name == "disk_with_seeks").unwrap();
//! assert_eq!(disk.standing.to_string(), "modelled, not validated");
//! # Ok::<(), String>(())
//! ```

use std::fmt;

use crate::kernel::Kernel;
use crate::parameters::{Allocation, Device, Journal, Parameters, Scalar, Scheduler};

/// A part of the model.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// Its name, as docs/model.md has it.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What was proven of it.
    pub standing: Standing,
    /// Whether a model of these parameters has it.
    is_in_use: fn(&Parameters) -> bool,
}

/// What was proven of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does event by event what the kernel's tracepoints tell.
    HeldAgainstTracepoints,
    /// It makes the system calls that strace tells.
    HeldAgainstStrace,
    /// It reads as much as the device counts.
    HeldAgainstCounts,
    /// It is made after the kernel's source, or after the device's description.
    Modelled,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HeldAgainstTracepoints => "held against tracepoints",
            Self::HeldAgainstStrace => "held against strace",
            Self::HeldAgainstCounts => "held against the device's counts",
            Self::Modelled => "modelled, not validated",
        })
    }
}

const fn part(
    name: &'static str,
    about: &'static str,
    standing: Standing,
    is_in_use: fn(&Parameters) -> bool,
) -> Component {
    Component { name, about, standing, is_in_use }
}

use Standing::{HeldAgainstCounts, HeldAgainstStrace, HeldAgainstTracepoints as Held, Modelled};

/// Every part there is.
pub const COMPONENTS: [Component; 20] = [
    part("stdio", "which system calls fread and fwrite become", HeldAgainstStrace, |of| {
        of[Scalar::StdioBuffer] > 0.0
    }),
    part("read_ahead", "which windows are read ahead", Held, |of| of.choices.kernel == Kernel::V6_18),
    part("read_ahead/other", "the same of another kernel", Modelled, |of| of.choices.kernel != Kernel::V6_18),
    part("file_read", "what a read touches and waits for", Held, |_| true),
    part("page_cache", "which folios are cached", Held, |_| true),
    part("file_write", "which folios a write makes", Held, |_| true),
    part("reclaim", "which folios go where memory is limited", Modelled, |of| of[Scalar::Cache] > 0.0),
    part("page_writeback", "how long writers pause", Held, |_| true),
    part("flusher", "when data are written that no program syncs", Modelled, |_| true),
    part("journal", "what a commit writes and who shares it", Modelled, |of| {
        of.choices.journal != Journal::Price || of[Scalar::LogBytes] > 0.0
    }),
    part("indirect", "which blocks of pointers a cold read reads", HeldAgainstCounts, |of| {
        of.choices.allocation == Allocation::Indirect
    }),
    part("extents", "which leaves of the tree of extents it reads", HeldAgainstCounts, |of| {
        matches!(of.choices.allocation, Allocation::Extents | Allocation::Delayed)
    }),
    part("layout", "where on the device a file lies", Modelled, |of| {
        of.choices.allocation != Allocation::None
    }),
    part("mq-deadline", "the order of requests, and their merging", Modelled, |of| {
        of.choices.scheduler != Scheduler::None
    }),
    part("writeback_throttle", "how many writes may slow reads down", Modelled, |of| {
        of[Scalar::WbtLat] > 0.0
    }),
    part("queue_and_bus", "latencies side by side, data one after the other", Modelled, |of| {
        of.choices.device == Device::QueueAndBus
    }),
    part("plain_queue", "one server, the same speed for all: the paper's", Modelled, |of| {
        of.choices.device == Device::PlainQueue
    }),
    part("token_bucket", "a volume sold by requests and bytes a second", Modelled, |of| {
        of.choices.device == Device::TokenBucket
    }),
    part("disk_with_seeks", "a disk with an arm", Modelled, |of| of.choices.device == Device::DiskWithSeeks),
    part("empirical", "times drawn from those that were measured", Modelled, |of| {
        of.choices.device == Device::Empirical
    }),
];

/// The parts that a model of these parameters has.
pub fn in_use(parameters: &Parameters) -> impl Iterator<Item = &'static Component> {
    COMPONENTS.iter().filter(|part| (part.is_in_use)(parameters))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::CHOICES;

    #[test]
    fn the_page_on_the_model_says_the_same() {
        let page = include_str!("../../../docs/model.md");
        for part in COMPONENTS {
            let name = format!("`{}`", part.name);
            let of = |line: &&str| line.starts_with('|') && line.contains(&name);
            let lines: Vec<&str> = page.lines().filter(of).collect();
            let says = lines.iter().any(|line| line.contains(&part.standing.to_string()));
            assert!(says, "docs/model.md does not say that {name} is {}: {lines:?}", part.standing);
        }
        let devices = CHOICES.iter().find(|choice| choice.name == "device").unwrap().words;
        assert!(devices.iter().all(|name| COMPONENTS.iter().any(|part| part.name == *name)));
    }
}
