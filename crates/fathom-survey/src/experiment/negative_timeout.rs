//! For how long a kernel believes that there is nothing of a name, as the server of a file system has told it.

use super::remembered::{self, What};
use super::{About, Cost, Experiment, Figure, Nature, Session};
use crate::case::{Case, Kernel, Truth};
use crate::finding::{Evidence, Finding, Status, Value};
use fathom_program::units::Nanos;
use fathom_run::machine::Fault;
use fathom_run::witness::{Declared, Witness};

pub(super) struct NegativeTimeout;

const METHOD: &str = "look_ups_of_nothing";
const WITNESS: &str = "fuse_requests";
const DECLARED: &str = "mount_options";

impl Experiment for NegativeTimeout {
    fn about(&self) -> &'static About {
        &About {
            parameter: "negative_timeout",
            unit: "ns",
            question: "For how long is it not seen here that another machine has made a file that was looked for?",
            method: "Names that are not there are looked up, and again at growing ages: as long as the kernel believes that there is nothing, that takes no round trip to the server. Twice, the second time close to the step.",
            source: "KERNEL: fuse_dentry_revalidate, nfs_lookup_revalidate",
            privileges: "none; CAP_SYS_ADMIN for the kernel's trace of requests to a FUSE server",
            cost: Cost { seconds: 1, write_bytes: 0, read_bytes: 0 },
            nature: Nature::Drifting,
            figure: Figure::Spread,
            samples_of: Some(super::attribute_timeout::PARAMETER),
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        remembered::timing(session, What::Absences, METHOD)
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        remembered::witness(witness, What::Absences, WITNESS)
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        remembered::declared(declared, DECLARED, |_| None)
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        remembered::is_asked_in(case)
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        remembered::truth(case, What::Absences)
    }

    fn explain(&self, finding: &Finding) -> String {
        match (&finding.value, finding.status) {
            (Some(Value::Whole(0)), _) => "The server is asked every time for a file that is not there: a search along a path of directories costs a round trip for each.".to_owned(),
            (Some(Value::Whole(ns)), _) => format!("The kernel believes for {} that a file is not there: a file that others make may be seen that late.", Nanos(*ns as f64)),
            (_, Status::NotApplicable) => "The files are here: nothing has to be asked of a server.".to_owned(),
            _ => "For how long a file is believed not to be there could not be told.".to_owned(),
        }
    }
}
