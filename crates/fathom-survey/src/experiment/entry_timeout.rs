//! For how long a kernel believes what a name stands for, as the server of a file system has told it.

use super::remembered::{self, What};
use super::{About, Cost, Experiment, Figure, Nature, Session};
use crate::case::{Case, Kernel, Truth};
use crate::finding::{Evidence, Finding, Status, Value};
use fathom_program::units::Nanos;
use fathom_run::machine::Fault;
use fathom_run::witness::{Declared, Witness};

pub(super) struct EntryTimeout;

const METHOD: &str = "look_ups_at_growing_ages";
const WITNESS: &str = "fuse_requests";
const DECLARED: &str = "mount_options";

impl Experiment for EntryTimeout {
    fn about(&self) -> &'static About {
        &About {
            parameter: "entry_timeout",
            unit: "ns",
            question: "For how long is it not seen here that another machine has removed or replaced a file?",
            method: "Files are made, and their names are looked up at growing ages: as long as the kernel believes what it was told, that takes no round trip to the server. Twice, the second time close to the step.",
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
        remembered::timing(session, What::Names, METHOD)
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        remembered::witness(witness, What::Names, WITNESS)
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        remembered::declared(declared, DECLARED, |server| server.names.clone())
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        remembered::is_asked_in(case)
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        remembered::truth(case, What::Names)
    }

    fn explain(&self, finding: &Finding) -> String {
        match (&finding.value, finding.status) {
            (Some(Value::Whole(0)), _) => {
                "Every look-up of a name asks the server: each path costs a round trip for each of its parts."
                    .to_owned()
            }
            (Some(Value::Whole(ns)), _) => format!(
                "The kernel believes for {} what a name stands for: for so long a path costs no round trip.",
                Nanos(*ns as f64)
            ),
            (_, Status::NotApplicable) => {
                "The files are here: nothing has to be asked of a server.".to_owned()
            }
            _ => "For how long names are believed could not be told.".to_owned(),
        }
    }
}
