//! How many blocks the inode itself points to.

use super::{About, Cost, Experiment, Session, pointers};
use crate::finding::{Evidence, Finding, Kind, Status, Value};
use fathom_run::machine::Fault;
use fathom_run::witness::Witness;

pub(super) struct DirectPointers;

impl Experiment for DirectPointers {
    fn about(&self) -> &'static About {
        &About {
            parameter: "direct_pointers",
            unit: "count",
            question: "How many blocks of a file does its inode point to directly?",
            method: "Single blocks of new files are written; the first that needs a block of pointers is dearer than those around it, and more follow at one distance.",
            source: "papers C and D",
            privileges: "none",
            cost: Cost { seconds: 1, write_bytes: 26 << 20, read_bytes: 0 },
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        pointers::timed(session, |pointers| pointers.direct)
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        pointers::witnessed(witness, |[direct, _]| direct)
    }

    fn explain(&self, finding: &Finding) -> String {
        let Some(Value::Whole(direct)) = finding.value else {
            return match finding.status {
                Status::NotApplicable => "No blocks of pointers belong to a file here.".to_owned(),
                _ => "No blocks of pointers show in the cost of writes.".to_owned(),
            };
        };
        let timed = finding.answer(Kind::Timing).is_some();
        let dearer =
            if timed { "the one after them is dearer to write, for it" } else { "the one after them" };
        format!("The inode points to {direct} blocks; {dearer} needs a block of pointers as well.")
    }
}
