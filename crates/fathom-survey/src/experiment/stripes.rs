//! What two questions share: how a file is divided among the servers of its file system.
//!
//! Only what the mount declares tells. A read across the border of two parts is sent to both servers at once, so that it takes
//! hardly longer than any other.

use super::prelude::*;
use super::truth_of_served;
use fathom_fuse::Stripes as Planted;
use fathom_run::witness::Stripes;

/// One of the numbers that say how a file is divided.
pub(super) struct Question {
    pub(super) about: &'static About,
    pub(super) declared: fn(&Stripes) -> &Result<Option<u64>, String>,
    /// Why there is no such number on a mount that says how a file is divided.
    pub(super) none: &'static str,
    pub(super) planted: fn(Planted) -> u64,
    pub(super) explain: fn(u64) -> String,
}

impl Experiment for Question {
    fn about(&self) -> &'static About {
        self.about
    }

    fn timing(&self, _: &mut Session<'_>) -> Result<Evidence, Fault> {
        let reason =
            "times do not show it: a read across the border of two parts is sent to both servers at once";
        Ok(Evidence::inconclusive(Kind::Timing, "none", reason))
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        const METHOD: &str = "mount";
        let none = |method, reason| Evidence::not_applicable(Kind::Declared, method, reason);
        let Some(server) = &declared.server else {
            return vec![none(METHOD, "the files are on this machine: no servers share them")];
        };
        let Some(stripes) = &server.stripes else {
            return vec![none(
                METHOD,
                "the mount declares no stripes: a file is whole, as far as this machine can tell",
            )];
        };
        vec![match (self.declared)(stripes) {
            Ok(Some(number)) => Evidence::measured(Kind::Declared, &stripes.source, Value::Whole(*number)),
            Ok(None) => none(&stripes.source, self.none),
            Err(reason) => Evidence::inconclusive(Kind::Declared, &stripes.source, reason.as_str()),
        }]
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        truth_of_served(case, |served| match served.stripes {
            Some(stripes) => Truth::known((self.planted)(stripes), Basis::Set),
            None => Truth::NotApplicable { basis: Basis::Set },
        })
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        finding.whole().map(self.explain)
    }
}
