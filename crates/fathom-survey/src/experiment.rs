//! One file per question. The registry drives the survey, the command line, the help and the tests.
//!
//! An experiment asks *a* machine by timing, looks at what a kernel shows and declares, and explains
//! how the three fit. The kinds never meet before the finding: `timing` is given a session that can
//! run workloads and nothing else.

mod allocation_scheme;
mod attribute_timeout;
mod batches;
mod block_size;
mod brought_in;
mod cached_reads;
mod call_cost;
mod commit_interval;
mod copy_knee;
mod device_latency;
mod direct_io_alignment;
mod direct_pointers;
mod dirty_data;
mod dirty_throttle_point;
mod entry_timeout;
mod extent_length;
mod figure;
mod inline_limit;
mod layouts;
mod metadata_cost;
mod negative_timeout;
mod page_cache_capacity;
mod page_cache_policy;
mod page_cost;
mod page_size;
mod pointers;
mod pointers_per_indirect;
mod prelude;
mod readahead;
mod readahead_first;
mod readahead_ramp;
mod readahead_random;
mod readahead_window;
mod remembered;
mod request_size_read;
mod request_size_write;
mod requests;
mod requests_in_flight;
mod round_trip;
mod server_readahead;
mod session;
mod silence;
mod stripe_count;
mod stripe_size;
mod stripes;
mod sync_latency;
mod working_set;
mod write_path;
mod writeback_delay;

use std::time::Duration;

use serde::Serialize;

pub use self::block_size::BlockSize;
pub use self::device_latency::DeviceLatency;
pub use self::figure::{Along, Figure, Others};
pub use self::readahead::first_read_pages;
pub use self::readahead_window::ReadaheadWindow;
pub use self::session::{Effort, Memory, Session};
pub use self::write_path::WritePath;
use crate::case::{Basis, Case, Conditions, Kernel, Served, Truth};
use crate::finding::{Evidence, Finding, Kind, Status, Value};
use fathom_program::units::Bytes;
use fathom_run::machine::Fault;
use fathom_run::witness::{Declared, Witness};

/// Every experiment, in the order in which a survey asks.
pub const REGISTRY: &[&dyn Experiment] = &[
    &page_size::PageSize,
    &BlockSize,
    &ReadaheadWindow,
    &readahead_first::ReadaheadFirst,
    &readahead_random::ReadaheadRandom,
    &readahead_ramp::ReadaheadRamp,
    &direct_pointers::DirectPointers,
    &pointers_per_indirect::PointersPerIndirect,
    &allocation_scheme::AllocationScheme,
    &extent_length::ExtentLength,
    &inline_limit::InlineLimit,
    &direct_io_alignment::DirectIoAlignment,
    &sync_latency::SyncLatency,
    &device_latency::DeviceLatency,
    &call_cost::CallCost,
    &page_cost::PageCost,
    &copy_knee::CopyKnee,
    &metadata_cost::MetadataCost,
    &round_trip::RoundTrip,
    &attribute_timeout::ATTRIBUTE_TIMEOUT,
    &entry_timeout::ENTRY_TIMEOUT,
    &negative_timeout::NEGATIVE_TIMEOUT,
    &request_size_read::REQUEST_SIZE_READ,
    &request_size_write::REQUEST_SIZE_WRITE,
    &requests_in_flight::RequestsInFlight,
    &stripe_size::STRIPE_SIZE,
    &stripe_count::STRIPE_COUNT,
    &write_path::WritePath,
    &server_readahead::ServerReadahead,
    &page_cache_capacity::PageCacheCapacity,
    &page_cache_policy::PageCachePolicy,
    &dirty_throttle_point::DirtyThrottlePoint,
    &writeback_delay::WritebackDelay,
    &commit_interval::CommitInterval,
];

/// What a reader should know of an experiment before it is run.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct About {
    /// The parameter that it finds: `block_size`.
    pub parameter: &'static str,
    /// The unit of the answer: `bytes`.
    pub unit: &'static str,
    /// The question, in words.
    pub question: &'static str,
    /// How it is answered, in a sentence or two.
    pub method: &'static str,
    /// The papers that asked it first.
    pub source: &'static str,
    /// The privileges that it needs, besides a directory to write in.
    pub privileges: &'static str,
    /// The most that it costs.
    pub cost: Cost,
    /// How its answers on two machines are compared.
    #[serde(skip)]
    pub nature: Nature,
    /// How a report draws its readings.
    #[serde(skip)]
    pub figure: Figure,
    /// The papers' experiments with the same question, by their names among the recipes.
    #[serde(skip)]
    pub recipes: &'static [&'static str],
    /// The parameter whose samples answer this question as well.
    #[serde(skip)]
    pub samples_of: Option<&'static str>,
    /// The explanation for the reader where the question makes no sense; if empty, the same as where there is no answer.
    #[serde(skip)]
    pub not_applicable: &'static str,
    /// The explanation for the reader where there is no answer.
    #[serde(skip)]
    pub inconclusive: &'static str,
    /// Whether it is about the server of a file system; then it is asked first on a mount with a server.
    #[serde(skip)]
    pub asks_server: bool,
}

impl About {
    /// The defaults of a question: no privileges, no cost, an answer that differs from run to run, the figure of its longest sweep,
    /// no paper.
    pub const USUAL: Self = Self {
        parameter: "",
        unit: "",
        question: "",
        method: "",
        source: "",
        privileges: "none",
        cost: Cost { seconds: 1, write_bytes: 0, read_bytes: 0 },
        nature: Nature::Moving,
        figure: Figure::Sweep { passes: &[] },
        recipes: &[],
        samples_of: None,
        not_applicable: "",
        inconclusive: "",
        asks_server: false,
    };

    /// The privileges of experiments that also use the kernel's trace of a FUSE server's requests.
    pub const KERNEL_TRACE: &str = "none; CAP_SYS_ADMIN for the kernel's trace of requests to a FUSE server";

    /// The privileges of experiments that fill the page cache.
    pub const WHOLE_CACHE: &str =
        "none in a memory cgroup; --intrusive elsewhere, because it takes the cache of all programs";
}

/// What decides how two answers to one question are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// A format or a setting decides the answer: two answers are equal or differ.
    Fixed,
    /// A setting and the memory that is free at the moment decide the answer.
    Drifting,
    /// The space that is free at the moment decides the answer: it does not distinguish kernels or mounts.
    Incidental,
    /// A device without a medium of its own decides the answer, such as a loop device in memory: it differs by a factor of seven
    /// from one run to the next.
    Unsteady,
    /// The answer is a time or a rate.
    Moving,
}

/// What an experiment costs at most with default settings.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Cost {
    /// Seconds on a device that answers within a millisecond.
    pub seconds: u32,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes read.
    pub read_bytes: u64,
}

/// What asking by timing would take of the machine at hand, besides a directory to write in and a few moments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demands {
    /// Why the only possible answer is that there is none, in one clause: `there is no journal`.
    pub pointless: Option<&'static str>,
    /// The effects on other programs, one clause each: `it fills the page cache`.
    pub effects: Vec<String>,
    /// The bytes that it would write.
    pub write_bytes: u64,
    /// How long it would take.
    pub time: Duration,
    /// Whether it is asked before others, because users of this kind of mount want to know the answer.
    pub comes_first: bool,
    /// Whether the witness needs none of this, so that it is asked where timing is refused.
    pub spares_witness: bool,
}

impl Demands {
    /// Why the question can't be asked, in a sentence that says what would allow it; none where it can be asked.
    pub fn refusal(&self, intrusive: bool, write_budget: u64, time_left: Duration) -> Option<String> {
        if let Some(why) = self.pointless {
            return Some(format!("{why}, as far as the kernel declares: there is nothing to ask"));
        }
        if let Some(effect) = self.effects.first().filter(|_| !intrusive) {
            return Some(format!("{effect}, which needs --intrusive"));
        }
        if self.write_bytes > write_budget {
            let (wanted, left) = (Bytes(self.write_bytes), Bytes(write_budget));
            return Some(format!(
                "it would write {wanted}, and {left} of the budget are left: raise --max-write"
            ));
        }
        (self.time > time_left).then(|| {
            let (wanted, left) = (self.time.as_secs(), time_left.as_secs());
            format!("it would take {wanted} s, and its share of the time is {left} s: raise --max-time")
        })
    }
}

/// A question with its methods.
pub trait Experiment: Sync {
    /// What a reader should know of it.
    fn about(&self) -> &'static About;

    /// What asking takes on a machine that declares this. It decides whether the question is asked, and
    /// nothing else: what is declared reaches no inference.
    fn demands(&self, declared: &Declared) -> Demands {
        Demands { comes_first: self.about().asks_server && declared.server.is_some(), ..Demands::default() }
    }

    /// Asks by durations alone.
    ///
    /// # Errors
    /// [`Fault`] where the machine failed; no answer from good samples is no error.
    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault>;

    /// Asks by what the kernel shows, where it shows something.
    ///
    /// # Errors
    /// [`Fault`] where a system call failed.
    fn witness(&self, _: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        Ok(Vec::new())
    }

    /// What the kernel declares, where it declares something.
    fn declared(&self, _: &Declared) -> Vec<Evidence> {
        Vec::new()
    }

    /// Whether a case of the lab is about this question: those in which nothing was set but the file system; of a server
    /// those that are served with numbers that are known, and those with none.
    fn is_asked_in(&self, case: &Case) -> bool {
        match self.about().asks_server {
            true => case.conditions.served.is_some() || (case.is_usual() && !case.is_served()),
            false => case.is_usual(),
        }
    }

    /// The right answer in a case of the lab on this kernel.
    fn truth(&self, _case: &Case, _: &Kernel) -> Truth {
        Truth::Unknown
    }

    /// Where an answer lies in a figure whose axis is the place in a file: the period of a comb again and again, other
    /// sizes at themselves, anything else at no place.
    fn along(&self, value: &Value, _finding: &Finding, _others: &Others<'_>) -> Option<Along> {
        let number = value.as_number()?;
        let is_comb = self.about().figure == Figure::Comb;
        (self.about().unit == "bytes").then_some(match is_comb {
            true => Along::Every { first: 0.0, period: number },
            false => Along::At(number),
        })
    }

    /// One or two sentences on what was found and, where evidence disagrees, why; none where there is no answer.
    fn explain(&self, finding: &Finding) -> Option<String>;

    /// One or two sentences on what was found, or that nothing was.
    fn explanation(&self, finding: &Finding) -> String {
        let About { not_applicable, inconclusive, .. } = *self.about();
        let does_not_apply = finding.status == Status::NotApplicable && !not_applicable.is_empty();
        self.explain(finding)
            .unwrap_or_else(|| if does_not_apply { not_applicable } else { inconclusive }.to_owned())
    }
}

/// The experiment of [`REGISTRY`] that finds the parameter.
pub fn by_name(parameter: &str) -> Option<&'static dyn Experiment> {
    find(REGISTRY, parameter)
}

/// The experiment in `registry` that finds the parameter.
pub fn find(registry: &[&'static dyn Experiment], parameter: &str) -> Option<&'static dyn Experiment> {
    registry.iter().copied().find(|experiment| experiment.about().parameter == parameter)
}

/// Whether a case of the lab is about a question that is declared, too, where no file can be made.
fn needs_no_file(case: &Case) -> bool {
    case.conditions == Conditions::default()
}

/// Evidence of a question that makes no sense here.
fn in_memory(kind: Kind, method: &str) -> Evidence {
    Evidence::not_applicable(kind, method, "files live in memory alone")
}

/// The right answer where a server is planted; with another server it is unknown, and without one there is none.
fn truth_of_served(case: &Case, planted: impl FnOnce(Served) -> Truth) -> Truth {
    match case.conditions.served {
        Some(served) => planted(served),
        None if case.is_served() => Truth::Unknown,
        None => Truth::NotApplicable { basis: Basis::Local },
    }
}

/// The right answer to a question that makes no sense where files live in memory alone.
fn truth_in_memory(case: &Case) -> Truth {
    match case.fs_type.as_str() {
        "tmpfs" => Truth::NotApplicable { basis: Basis::Memory },
        _ => Truth::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe;

    #[test]
    fn every_recipe_is_known_and_belongs_to_a_question() {
        let named: Vec<&str> = REGISTRY.iter().flat_map(|one| one.about().recipes).copied().collect();
        for name in &named {
            assert!(recipe::by_name(name).is_some(), "{name}");
        }
        for recipe in recipe::RECIPES {
            assert!(named.contains(&recipe.name), "{}", recipe.name);
        }
    }

    #[test]
    fn names_are_unique_and_every_question_is_put_in_words() {
        for experiment in REGISTRY {
            let about = experiment.about();
            let found = by_name(about.parameter).unwrap().about();
            assert_eq!((found.parameter, found.question), (about.parameter, about.question));
            assert!(about.question.ends_with('?') && about.method.ends_with('.'), "{}", about.parameter);
            assert!(about.inconclusive.ends_with('.'), "{}", about.parameter);
        }
    }
}
