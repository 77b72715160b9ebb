//! How many bytes one request writes at most.

use super::{About, Cost, Experiment, Figure, Nature, Session, remembered, requests};
use crate::case::{Case, Kernel, Truth};
use crate::finding::{Evidence, Finding, Status, Value};
use fathom_program::call::Direction;
use fathom_program::units::Bytes;
use fathom_run::machine::Fault;
use fathom_run::witness::{Declared, Witness};

pub(super) struct RequestSizeWrite;

const METHOD: &str = "steps_of_direct_writes";
const WITNESS: &str = "fuse_requests";

impl Experiment for RequestSizeWrite {
    fn about(&self) -> &'static About {
        &About {
            parameter: "request_size_write",
            unit: "bytes",
            question: "How many bytes does one request to the file system's server write?",
            method: "Writes past the page cache of a power of two, of a page less and of a page more: the last takes a step longer where it needs another request. The same must be so at twice that size, and not between.",
            source: "KERNEL: fuse_direct_io, nfs_pageio_add_request",
            privileges: "none; CAP_SYS_ADMIN for the kernel's trace of requests to a FUSE server",
            cost: Cost { seconds: 3, write_bytes: 64 << 20, read_bytes: 0 },
            nature: Nature::Fixed,
            figure: Figure::Spread,
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        requests::timing(session, Direction::Write, METHOD)
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        requests::witness(witness, Direction::Write, WITNESS)
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        requests::declared(declared, |server| server.write_request.clone())
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        remembered::is_asked_in(case)
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        requests::truth(case, Direction::Write)
    }

    fn explain(&self, finding: &Finding) -> String {
        match (&finding.value, finding.status) {
            (Some(Value::Whole(bytes)), _) => {
                format!(
                    "One request writes {} at most: a larger write takes several, each with a round trip unless they overlap.",
                    Bytes(*bytes)
                )
            }
            (_, Status::NotApplicable) => "The files are here: no request goes to a server.".to_owned(),
            _ => "How much one request writes could not be told.".to_owned(),
        }
    }
}
