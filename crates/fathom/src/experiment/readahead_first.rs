//! The first window: what the first small read of a file brings in.

use super::readahead::{READ, brought_by_one_read};
use super::{About, Cost, Experiment, Session};
use crate::finding::{Evidence, Finding, Kind, Status, Value};
use crate::machine::Fault;
use crate::units::Bytes;
use crate::witness::{Declared, Witness};
use crate::workload::ScratchFile;

pub(super) struct ReadaheadFirst;

/// What the first read of a file leaves in the cache, remembered apart from that of a random read.
#[derive(Debug, Clone)]
pub(super) struct First(pub(super) super::readahead::Answer<super::readahead::Brought>);

pub(super) fn first(session: &mut Session<'_>) -> Result<First, Fault> {
    session.recall(|session| brought_by_one_read(session, 0).map(First))
}

const METHOD: &str = "probes_after_first_read";

impl Experiment for ReadaheadFirst {
    fn about(&self) -> &'static About {
        &About {
            parameter: "readahead_first",
            unit: "bytes",
            question: "How much does the first 4 KiB read of a file bring in?",
            method: "The first page of a cold file is read, then one page further on, in ever new cold starts; the pages that come fast were brought in.",
            source: "papers A and D (by a backward read after a priming read)",
            privileges: "none",
            cost: Cost { seconds: 3, write_bytes: 4 << 20, read_bytes: 8 << 20 },
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        Ok(match first(session)?.0 {
            Ok(brought) => Evidence::measured(Kind::Timing, METHOD, Value::Whole(brought.bytes))
                .within(brought.interval[0], brought.interval[1])
                .resting_on(0.95, brought.samples),
            Err(silence) => silence.evidence(METHOD),
        })
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        brought_in_by(witness, 0)
    }

    fn declared(&self, _: &Declared) -> Vec<Evidence> {
        Vec::new()
    }

    fn explain(&self, finding: &Finding) -> String {
        match finding.value {
            Some(Value::Whole(READ)) => "The first read brings in what it asks for and no more.".to_owned(),
            Some(Value::Whole(bytes)) => format!(
                "The first {} of a file bring in {}: the kernel expects a sequential reader there.",
                Bytes(READ),
                Bytes(bytes)
            ),
            _ if finding.status == Status::NotApplicable => {
                "Files live in memory here, so nothing is read ahead.".to_owned()
            }
            _ => "Reads after the first one are not clearly fast or slow.".to_owned(),
        }
    }
}

/// What `cachestat` shows after one read at `offset` of a cold file.
pub(super) fn brought_in_by(witness: &mut dyn Witness, offset: u64) -> Result<Vec<Evidence>, Fault> {
    const METHOD: &str = "cachestat_after_read";
    let file = ScratchFile::filled("readahead", offset + (4 << 20));
    Ok(vec![match witness.brought_in(&file, &[offset], READ)?.as_deref() {
        Some([bytes]) => Evidence::measured(Kind::Witness, METHOD, Value::Whole(*bytes)),
        _ => Evidence::silent(
            Kind::Witness,
            METHOD,
            Status::NotApplicable,
            "the cache of this file can't be emptied or seen",
        ),
    }])
}
