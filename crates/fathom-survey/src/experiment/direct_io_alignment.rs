//! What offsets and lengths a read past the page cache may have.

use std::time::Duration;

use super::layouts::{COPY_ON_WRITE, MEMORY, scheme_of};
use super::prelude::*;
use crate::finding::Trial;

pub(super) struct DirectIoAlignment;

const TRIALS: &str = "trial_reads";
/// What becomes of a read: done, done by way of the cache, or not done.
const DIRECT: &str = "direct";
const BUFFERED: &str = "through the page cache";
const REFUSED: &str = "refused";
const FILE: &str = "direct";
const BYTES: u64 = 256 << 10;
/// Where the trials read, and how much; also the coarsest alignment that is tried.
const COARSEST: u64 = 64 << 10;

impl Experiment for DirectIoAlignment {
    fn about(&self) -> &'static About {
        &About {
            parameter: "direct_io_alignment",
            unit: "bytes",
            question: "How must the offset and the length of a read with O_DIRECT be aligned?",
            method: "Reads with O_DIRECT are tried at ever finer offsets, lengths and addresses. A read counts if it succeeds and leaves nothing in the page cache.",
            source: "open(2), statx(2)",
            cost: Cost { seconds: 1, write_bytes: 256 << 10, read_bytes: 4 << 20 },
            nature: Nature::Fixed,
            inconclusive: "Direct reads are not possible, or were not tried.",
            ..About::USUAL
        }
    }

    fn timing(&self, _: &mut Session<'_>) -> Result<Evidence, Fault> {
        let reason = "a read is accepted or not: durations have no say in that";
        Ok(Evidence::inconclusive(Kind::Timing, "none", reason))
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        let not = |reason| Evidence::not_applicable(Kind::Witness, TRIALS, reason);
        match direct_read(witness, COARSEST, COARSEST, COARSEST)? {
            REFUSED => return Ok(vec![not("files can't be read with O_DIRECT here")]),
            BUFFERED => {
                return Ok(vec![not("O_DIRECT is accepted, but reads go through the page cache")]);
            }
            _ => {}
        }
        let mut trials = Vec::new();
        let mut tried = |case: &str, bytes: u64, outcome: &'static str| {
            trials.push(Trial::new(case, bytes, outcome));
            outcome
        };
        let offset = finest(|step| {
            Ok(tried("offset", step, direct_read(witness, COARSEST + step, COARSEST, COARSEST)?))
        })?;
        let length =
            finest(|step| Ok(tried("length", step, direct_read(witness, COARSEST, step, COARSEST)?)))?;
        let memory =
            finest(|step| Ok(tried("memory", step, direct_read(witness, COARSEST, COARSEST, step)?)))?;
        Ok(vec![
            Evidence::measured(Kind::Witness, TRIALS, Value::Whole(offset.max(length)))
                .tried(trials)
                .caveat(format!("memory must be aligned to {}", Bytes(memory))),
        ])
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        let method = "statx_dioalign";
        match declared.direct_alignment {
            Some((0, _) | (_, 0)) => {
                let reason = "the kernel declares that files can't be read directly here";
                vec![Evidence::not_applicable(Kind::Declared, method, reason)]
            }
            Some((memory, offset)) => vec![
                Evidence::measured(Kind::Declared, method, Value::Whole(offset))
                    .caveat(format!("memory must be aligned to {}", Bytes(memory))),
            ],
            None => Vec::new(),
        }
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        match (scheme_of(case), case.block_size) {
            (None, _) | (Some(COPY_ON_WRITE), None) => Truth::Unknown,
            (Some(MEMORY), _) => Truth::NotApplicable { basis: Basis::Memory },
            (Some(COPY_ON_WRITE), Some(block)) => Truth::known(block, Basis::Made),
            _ => Truth::known(u64::from(case.sector_size), Basis::Made),
        }
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let bytes = Bytes(finding.whole()?);
        let mut memory = finding.evidence.iter().flat_map(|piece| &piece.caveats);
        let memory = memory.find(|caveat| caveat.starts_with("memory"));
        let memory = memory.map_or(String::new(), |caveat| format!("; {caveat}"));
        Some(format!("Direct reads must begin at multiples of {bytes} and be multiples of it long{memory}."))
    }
}

/// Tries to read `length` bytes at `offset` past the page cache, to memory that is aligned to `memory` bytes.
fn direct_read(
    witness: &mut dyn Witness,
    offset: u64,
    length: u64,
    memory: u64,
) -> Result<&'static str, Fault> {
    witness.provide(&ScratchFile::filled(FILE, BYTES))?;
    witness.evict(FILE)?;
    if !witness.read_directly(FILE, offset..offset + length, memory)? {
        return Ok(REFUSED);
    }
    // Where the cache can't be seen, a read that was accepted is taken at its word.
    Ok(match witness.cached(FILE, Duration::ZERO)? {
        None | Some(0) => DIRECT,
        Some(_) => BUFFERED,
    })
}

/// The smallest power of two for which a trial is a direct read, where the largest is known to be one.
fn finest(mut trial: impl FnMut(u64) -> Result<&'static str, Fault>) -> Result<u64, Fault> {
    let mut step = COARSEST;
    while step > 1 && trial(step / 2)? == DIRECT {
        step /= 2;
    }
    Ok(step)
}
