//! What one isolated read in the middle of a file brings in.

use super::prelude::*;
use super::readahead::{READ, brought_by_one_read, rule_holds, timed};
use super::readahead_first::brought_in_by;

pub(super) struct ReadaheadRandom;

const METHOD: &str = "probes_after_random_read";
/// Where the isolated read is: away from the start, which kernels treat as a sequential reader's.
const OFFSET: u64 = 1 << 20;

impl Experiment for ReadaheadRandom {
    fn about(&self) -> &'static About {
        &About {
            parameter: "readahead_random",
            unit: "bytes",
            question: "How much does an isolated 4 KiB read in the middle of a file bring in?",
            method: "A page in the middle of a file that is not cached is read, then one page further on; this is repeated for other distances. The pages that come fast were brought in by the first read.",
            source: "KERNEL: page_cache_sync_ra",
            cost: Cost { seconds: 3, write_bytes: 4 << 20, read_bytes: 8 << 20 },
            nature: Nature::Fixed,
            figure: Figure::Probes,
            recipes: &["paper-d-prefetch", "paper-d-prefetch-sweep"],
            not_applicable: "Nothing is read ahead here: files live in memory, or are read past the page cache.",
            inconclusive: "Reads around an isolated one are not clearly fast or slow.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        timed(brought_by_one_read(session, OFFSET), METHOD)
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        brought_in_by(witness, OFFSET)
    }

    fn truth(&self, case: &Case, kernel: &Kernel) -> Truth {
        match case.read_ahead_kib {
            None => Truth::NotApplicable { basis: Basis::Memory },
            Some(_) if !rule_holds(case, kernel) => Truth::Unknown,
            Some(_) => Truth::known(READ.next_multiple_of(kernel.page_size), Basis::Rule),
        }
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        Some(match finding.whole()? {
            READ => "An isolated read brings in what it asks for and no more.".to_owned(),
            bytes => format!("An isolated read of {} brings in {}.", Bytes(READ), Bytes(bytes)),
        })
    }
}
