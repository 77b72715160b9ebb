//! Who looks whether the server was asked: by the clock, or by the kernel's own trace.

use super::{ALIKE, Session, TELLING_TIMES, What};
use crate::inference::quiet::{self, Probe};
use fathom_program::workload::Workload;
use fathom_run::machine::Fault;
use fathom_run::witness::{Requests, Unseen, Witness};

/// Who looks: by the clock, or by the requests that are sent to the server.
pub(super) trait Observer {
    /// Runs a workload; of each pass when it ended in ns, and of those that are asked about how the calls fared.
    fn observe(&mut self, workload: Workload) -> Result<Result<Vec<Passed>, String>, Fault>;

    /// Whether each probe, in the order of their ages, was asked of the server; none where that can't be told of one.
    fn asked(&self, probes: &[Probe]) -> Option<Vec<Option<bool>>>;

    /// How many ages are asked about in one run.
    fn ages_at_once(&self) -> usize;

    /// Whether a single probe tells.
    fn is_certain(&self) -> bool;

    /// Files that must be alike at each age.
    fn alike(&self) -> u64 {
        if self.is_certain() { 1 } else { ALIKE }
    }

    /// Whether the time is over that an age of so many ns would take.
    fn is_late(&self, wait_ns: f64) -> bool;
}

/// A pass that was run: when it began and ended in ns, and of each of its steps the latencies.
pub(super) struct Passed {
    pub(super) began_ns: f64,
    pub(super) ended_ns: f64,
    pub(super) steps: Vec<Vec<f64>>,
}

pub(super) struct Timed<'a, 'b> {
    pub(super) session: &'a mut Session<'b>,
}

impl Observer for Timed<'_, '_> {
    fn observe(&mut self, workload: Workload) -> Result<Result<Vec<Passed>, String>, Fault> {
        let samples = match self.session.observe(workload) {
            Err(Fault::OutOfTime) => return Ok(Err("time ran out".to_owned())),
            samples => samples?,
        };
        let ns = |ticks: u64| samples.nanoseconds(ticks as f64);
        let of = |pass: usize| {
            let mut all = samples.readings.iter().filter(|reading| reading.pass as usize == pass);
            let [first, last] = [all.clone().next(), all.next_back()];
            let steps = (0..samples.workload.passes[pass].ops.len()).map(|step| samples.matrix(pass, step));
            Passed {
                began_ns: first.map_or(0.0, |one| ns(one.start.0)),
                ended_ns: last.map_or(0.0, |one| ns(one.start.0 + one.latency.0)),
                steps: steps.collect(),
            }
        };
        Ok(Ok((0..samples.workload.passes.len()).map(of).collect()))
    }

    fn asked(&self, probes: &[Probe]) -> Option<Vec<Option<bool>>> {
        let idle = quiet::told_apart(probes, TELLING_TIMES)?;
        Some(idle.into_iter().map(|idle| idle.map(|idle| !idle)).collect())
    }

    fn ages_at_once(&self) -> usize {
        1
    }

    fn is_certain(&self) -> bool {
        false
    }

    fn is_late(&self, wait_ns: f64) -> bool {
        self.session.time_left().as_nanos() as f64 <= wait_ns
    }
}

/// The kernel's own trace of what it asks the server.
pub(super) struct Traced<'a> {
    pub(super) witness: &'a mut dyn Witness,
    pub(super) what: What,
}

impl Observer for Traced<'_> {
    fn observe(&mut self, workload: Workload) -> Result<Result<Vec<Passed>, String>, Fault> {
        let requests = match self.witness.trace_requests(&workload)? {
            Ok(requests) => requests,
            Err(Unseen::Impossible(reason) | Unseen::Forbidden(reason) | Unseen::Lost(reason)) => {
                return Ok(Err(reason));
            }
        };
        let what = self.what;
        let of = |pass: &Requests| {
            let count = pass.names.iter().filter(|name| what.requests().contains(&name.as_str())).count();
            let steps = vec![vec![count as f64]];
            Passed { began_ns: pass.began_ns as f64, ended_ns: pass.ended_ns as f64, steps }
        };
        Ok(Ok(requests.iter().map(of).collect()))
    }

    fn asked(&self, probes: &[Probe]) -> Option<Vec<Option<bool>>> {
        Some(probes.iter().map(|probe| Some(probe.asked > 0.0)).collect())
    }

    /// Setting a trace up takes a while, in which nothing can be asked about.
    fn ages_at_once(&self) -> usize {
        28
    }

    fn is_certain(&self) -> bool {
        true
    }

    fn is_late(&self, _: f64) -> bool {
        false
    }
}

impl What {
    /// The requests by which a kernel asks for it.
    fn requests(self) -> &'static [&'static str] {
        match self {
            What::Attributes => &["FUSE_GETATTR", "FUSE_STATX"],
            What::Names | What::Absences => &["FUSE_LOOKUP"],
        }
    }
}
