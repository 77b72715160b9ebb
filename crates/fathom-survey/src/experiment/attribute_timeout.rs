//! For how long a kernel believes the attributes of files that the server of a file system has told it.

use super::remembered::{self, What};
use super::{About, Cost, Experiment, Figure, Nature, Session};
use crate::case::{Case, Kernel, Truth};
use crate::finding::{Evidence, Finding, Status, Value};
use fathom_program::units::Nanos;
use fathom_run::machine::Fault;
use fathom_run::witness::{Declared, Witness};

pub(super) struct AttributeTimeout;

pub(super) const PARAMETER: &str = "attribute_timeout";
const METHOD: &str = "stats_at_growing_ages";
const WITNESS: &str = "fuse_requests";
const DECLARED: &str = "mount_options";

impl Experiment for AttributeTimeout {
    fn about(&self) -> &'static About {
        &About {
            parameter: PARAMETER,
            unit: "ns",
            question: "For how long is what another machine changes in a file's size or times not seen here?",
            method: "Files are made, and their attributes are asked for at growing ages: as long as the kernel believes what it was told, a stat takes no round trip to the server. Twice, the second time close to the step.",
            source: "KERNEL: fuse_update_get_attr, nfs_attribute_timeout",
            privileges: "none; CAP_SYS_ADMIN for the kernel's trace of requests to a FUSE server",
            cost: Cost { seconds: 7, write_bytes: 0, read_bytes: 0 },
            nature: Nature::Drifting,
            figure: Figure::Spread,
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        remembered::timing(session, What::Attributes, METHOD)
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        remembered::witness(witness, What::Attributes, WITNESS)
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        remembered::declared(declared, DECLARED, |server| server.attributes.clone())
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        remembered::is_asked_in(case)
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        remembered::truth(case, What::Attributes)
    }

    fn explain(&self, finding: &Finding) -> String {
        match (&finding.value, finding.status) {
            (Some(Value::Whole(0)), _) => {
                "Every stat asks the server: what others change is seen at once.".to_owned()
            }
            (Some(Value::Whole(ns)), _) => format!(
                "The kernel believes a file's attributes for {}: for so long what others change may not be seen, and a stat costs no round trip.",
                Nanos(*ns as f64)
            ),
            (_, Status::NotApplicable) => {
                "The files are here: nothing has to be asked of a server.".to_owned()
            }
            _ => "For how long attributes are believed could not be told.".to_owned(),
        }
    }
}
