//! What is changed on the machine for some jobs, and the same change of the model: what-ifs that are checked.

use std::path::Path;

use fathom_sys::tracing::{Event, Trace};
use fathom_sys::{dirty, facts};

use super::{again, held_out};
use crate::model::Model;
use crate::trial::Settled;
use fathom_program::job::Job;
use fathom_run::fault::Fault;
use fathom_run::intrusion::{self, Change, Group, Settings};
use fathom_run::load::{self, Testbed};

/// The condition of the machine under which jobs are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The machine as it is.
    Usual,
    /// The limit of dirty data, in bytes; the flusher begins at half of it.
    DirtyBytes(u64),
    /// The mount's read-ahead window, in bytes.
    ReadAhead(u64),
    /// A control group with this limit of memory, in bytes.
    Memory(u64),
}

const MIB: u64 = 1 << 20;
/// A tracepoint that tells the limit that follows the threshold down slowly.
const STATE: &str = "writeback/global_dirty_state";

/// What was changed; dropping it puts back what stood there.
#[derive(Debug)]
pub(super) struct Changed {
    _settings: Option<Settings>,
    _group: Option<Group>,
}

impl Condition {
    /// The conditions that change something for all processes, in the order in which to try them: the kernel raises a limit of
    /// dirty data at once and lowers it slowly.
    pub const INTRUSIVE: [Self; 6] = [
        Self::ReadAhead(32 << 10),
        Self::ReadAhead(512 << 10),
        Self::Memory(64 * MIB),
        Self::DirtyBytes(12 * MIB),
        Self::DirtyBytes(24 * MIB),
        Self::DirtyBytes(48 * MIB),
    ];

    /// The jobs that are compared with the model under the condition.
    pub fn jobs(self) -> Vec<Job> {
        match self {
            Self::Usual => held_out::jobs(),
            Self::DirtyBytes(limit) => held_out::throttled(limit),
            Self::ReadAhead(_) => held_out::read_ahead(),
            Self::Memory(limit) => held_out::past_cache(limit),
        }
    }

    /// The jobs that tell whether the machine still is what the model was made of: only as the machine is can they.
    pub(super) fn again(self, model: &Model) -> Vec<Job> {
        if self == Self::Usual { again::jobs(model) } else { Vec::new() }
    }

    /// How each run finds the state in which its prediction begins: what may be dirty depends on what was, and what
    /// a full cache holds on what was read.
    pub(super) fn state(self) -> Settled {
        match self {
            Self::Usual | Self::ReadAhead(_) => Settled::ByPasses,
            Self::DirtyBytes(_) => Settled::AsLeft,
            Self::Memory(_) => Settled::ByDropping,
        }
    }

    /// The condition in a word; none for the machine as it is.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Usual => None,
            Self::DirtyBytes(_) => Some("dirty_bytes"),
            Self::ReadAhead(_) => Some("readahead"),
            Self::Memory(_) => Some("cache"),
        }
    }

    /// The change of the model, as `--set` takes it.
    pub(super) fn setting(self) -> Option<String> {
        let value = match self {
            Self::Usual => return None,
            Self::DirtyBytes(value) | Self::ReadAhead(value) | Self::Memory(value) => value,
        };
        Some(format!("{}={value}", self.word()?))
    }

    /// What it does to the machine.
    pub(super) fn effect(self) -> Option<String> {
        Some(match self {
            Self::Usual => return None,
            Self::DirtyBytes(limit) => {
                format!("vm.dirty_bytes was {limit} for a while: writers of the whole machine waited earlier")
            }
            Self::ReadAhead(bytes) => format!("the mount's read-ahead window was {bytes} bytes for a while"),
            Self::Memory(bytes) => format!("jobs ran in a control group of {bytes} bytes of memory"),
        })
    }

    /// Changes the model, and the machine alike.
    ///
    /// # Errors
    /// What may not be changed here, and why; what ends the runs.
    pub(super) fn make(
        self,
        model: &mut Model,
        path: &Path,
        testbed: &mut Testbed,
    ) -> Result<Changed, Fault> {
        let (mut settings, mut group) = (None, None);
        match self {
            Self::Usual => {}
            Self::DirtyBytes(limit) => {
                dirty::sync();
                settings = Some(intrusion::limit_dirty_data(limit / 2, limit).map_err(Fault::Unsupported)?);
                set(model, &format!("dirty_background_bytes={}", limit / 2))?;
                set(model, &format!("dirty_limit={}", limit_in_force(testbed)?))?;
            }
            Self::ReadAhead(bytes) => settings = Some(set_read_ahead(path, bytes)?),
            Self::Memory(bytes) => group = Some(Group::of_memory(bytes).map_err(Fault::Unsupported)?),
        }
        if let Some(setting) = self.setting() {
            set(model, &setting)?;
        }
        Ok(Changed { _settings: settings, _group: group })
    }
}

fn set(model: &mut Model, setting: &str) -> Result<(), Fault> {
    model.set(setting).map_err(Fault::Unsupported)
}

fn set_read_ahead(path: &Path, bytes: u64) -> Result<Settings, Fault> {
    let none = || Fault::Unsupported(format!("{} has no read-ahead setting", path.display()));
    let mount = facts::mount_of(path)?;
    let (before, file) = facts::declared_read_ahead(&mount).ok_or_else(none)?;
    let change = |bytes: u64| [Change::new(&file, (bytes / 1024).to_string())];
    Settings::change("validation-readahead", &change(bytes), &change(before)).map_err(Fault::Unsupported)
}

/// The limit of dirty data that the kernel goes by at present, in bytes: it follows a lower threshold down by a
/// thirty-second each 200 ms in which somebody waits (`domain_update_dirty_limit`), so that what was set a moment
/// ago says little.
fn limit_in_force(testbed: &mut Testbed) -> Result<u64, Fault> {
    let trace = Trace::start(&[STATE], None)?;
    // Somebody has to write for the kernel to look.
    let job = Job { read_percent: 0, size: Some(MIB), ..Job::named("look") };
    load::run(&job, testbed)?;
    testbed.remove(&job);
    let records = trace.finish()?.records;
    let limit = records.iter().rev().find_map(|record| match &record.event {
        Event::Other(_, text) => {
            text.split_whitespace().find_map(|word| word.strip_prefix("limit=")?.parse::<u64>().ok())
        }
        _ => None,
    });
    let unseen = || Fault::Unsupported(format!("the tracepoint {STATE} does not show the limit in force"));
    Ok(limit.ok_or_else(unseen)? * facts::page_size())
}
