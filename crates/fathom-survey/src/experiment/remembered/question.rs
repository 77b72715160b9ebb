//! The three questions as one: what each asks, and how its answer is put in words.

use std::time::Duration;

use super::{TICKS, Watched, What, declared, watch, witness};
use crate::experiment::prelude::*;
use crate::experiment::truth_of_served;
use fathom_run::witness::Server;

/// For how long one thing is believed.
pub(in crate::experiment) struct Question {
    pub(in crate::experiment) about: &'static About,
    pub(in crate::experiment) what: What,
    pub(in crate::experiment) method: &'static str,
    /// What the options of the mount say, and which one.
    pub(in crate::experiment) declared: fn(&Server) -> Option<(Duration, String)>,
    /// The answer in words where it is never believed, and for a time.
    pub(in crate::experiment) never: &'static str,
    pub(in crate::experiment) believed: fn(Nanos) -> String,
}

impl Experiment for Question {
    fn about(&self) -> &'static About {
        self.about
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let Watched(all) = session.recall(watch)?;
        Ok(match &all[self.what as usize] {
            Ok(believed) => believed.evidence(Kind::Timing, self.method),
            Err(silence) => silence.evidence(Kind::Timing, self.method),
        })
    }

    fn witness(&self, seen: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        witness(seen, self.what, "fuse_requests")
    }

    fn declared(&self, kernel: &Declared) -> Vec<Evidence> {
        declared(kernel, "mount_options", self.declared)
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        truth_of_served(case, |served| {
            let ns = match self.what {
                What::Attributes => served.attributes,
                What::Names => served.names,
                What::Absences => served.absences,
            }
            .as_nanos() as f64;
            // Within a tenth, and a time that is over is seen at the clock's next tick.
            Truth::within([0.9 * ns, 1.1 * ns + TICKS.as_nanos() as f64])
        })
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        Some(match finding.whole()? {
            0 => self.never.to_owned(),
            ns => (self.believed)(Nanos(ns as f64)),
        })
    }
}
