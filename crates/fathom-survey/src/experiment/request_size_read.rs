//! How many bytes one request reads at most.

use super::{About, Cost, Experiment, Figure, Nature, Session, remembered, requests};
use crate::case::{Case, Kernel, Truth};
use crate::finding::{Evidence, Finding, Status, Value};
use fathom_program::call::Direction;
use fathom_program::units::Bytes;
use fathom_run::machine::Fault;
use fathom_run::witness::{Declared, Witness};

pub(super) struct RequestSizeRead;

const METHOD: &str = "steps_of_direct_reads";
const WITNESS: &str = "fuse_requests";

impl Experiment for RequestSizeRead {
    fn about(&self) -> &'static About {
        &About {
            parameter: "request_size_read",
            unit: "bytes",
            question: "How many bytes does one request to the file system's server read?",
            method: "Reads past the page cache of a power of two, of a page less and of a page more: the last takes a step longer where it needs another request. The same must be so at twice that size, and not between.",
            source: "KERNEL: fuse_direct_io, nfs_pageio_add_request",
            privileges: "none; CAP_SYS_ADMIN for the kernel's trace of requests to a FUSE server",
            cost: Cost { seconds: 3, write_bytes: 2 << 20, read_bytes: 256 << 20 },
            nature: Nature::Fixed,
            figure: Figure::Spread,
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        requests::timing(session, Direction::Read, METHOD)
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        requests::witness(witness, Direction::Read, WITNESS)
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        requests::declared(declared, |server| server.read_request.clone())
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        remembered::is_asked_in(case)
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        requests::truth(case, Direction::Read)
    }

    fn explain(&self, finding: &Finding) -> String {
        match (&finding.value, finding.status) {
            (Some(Value::Whole(bytes)), _) => {
                format!(
                    "One request reads {} at most: a larger read takes several, each with a round trip unless they overlap.",
                    Bytes(*bytes)
                )
            }
            (_, Status::NotApplicable) => "The files are here: no request goes to a server.".to_owned(),
            _ => "How much one request reads could not be told.".to_owned(),
        }
    }
}
