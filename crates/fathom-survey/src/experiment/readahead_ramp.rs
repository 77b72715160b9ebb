//! The ramp: the windows that lead from the first one to the steady one.

use std::time::Duration;

use super::brought_in::{INCREMENTS, windows_shown};
use super::prelude::*;
use super::readahead::{READ, Sequential, sequential, waits_of};
use super::readahead_first::first;
use super::silence::{Answer, Silence, Unanswered, evidence, inconclusive, recalled};
use crate::inference::ramp;
use crate::inference::stalls::Waits;

pub(super) struct ReadaheadRamp;

const METHOD: &str = "paced_read_stalls";
const NO_RAMP: &str = "nothing is read ahead, so there is no ramp";
/// How long the ramp may be read at one pace.
const TIME_FOR_A_PACE: Duration = Duration::from_secs(3);

impl Experiment for ReadaheadRamp {
    fn about(&self) -> &'static About {
        &About {
            parameter: "readahead_ramp",
            unit: "bytes",
            question: "By which steps does the read-ahead window grow to its full size?",
            method: "The first part of a file that is not cached is read in order, 4 KiB at a time, with pauses of two lengths. After the first window, each read that waits is the start of another window.",
            source: "papers A and D (as '14 or 15 blocks', '176 KB with doubt')",
            cost: Cost { seconds: 10, write_bytes: 0, read_bytes: 256 << 20 },
            nature: Nature::Fixed,
            recipes: &["paper-a-prefetch", "paper-c-prefetch"],
            not_applicable: "Nothing is read ahead here, so there is no ramp.",
            inconclusive: "The waits at the start of a sequential read do not form one ramp.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let measured = |(sizes, samples): Ramp| {
            Evidence::measured(Kind::Timing, METHOD, Value::List(sizes)).resting_on(0.95, samples)
        };
        evidence(Kind::Timing, METHOD, timed(session).map(measured))
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        let mut shown = Vec::new();
        for (sight, method) in INCREMENTS {
            let measured = |ramp: Vec<u64>| match ramp == [READ] {
                true => Evidence::not_applicable(Kind::Witness, method, NO_RAMP),
                false => Evidence::measured(Kind::Witness, method, Value::List(ramp)),
            };
            shown.push(evidence(
                Kind::Witness,
                method,
                windows_shown(witness, sight, until_steady).map(measured),
            )?);
        }
        Ok(shown)
    }

    fn truth(&self, case: &Case, kernel: &Kernel) -> Truth {
        match case.read_ahead_pages(kernel) {
            None => Truth::NotApplicable { basis: Basis::Memory },
            Some(0) => Truth::NotApplicable { basis: Basis::Set },
            Some(_) => Truth::Unknown,
        }
    }

    fn along(&self, value: &Value, _: &Finding, _: &Others<'_>) -> Option<Along> {
        let Value::List(windows) = value else { return None };
        let ends = windows.iter().scan(0, |end, window| {
            *end += window;
            Some(*end as f64)
        });
        Some(Along::Ends { what: "windows", at: ends.collect() })
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let Some(Value::List(sizes)) = &finding.value else { return None };
        let words: Vec<String> = sizes.iter().map(|&size| Bytes(size).to_string()).collect();
        Some(format!(
            "Windows of a sequential reader, from the first to the steady one: {}.",
            words.join(", ")
        ))
    }
}

type Ramp = (Vec<u64>, usize);

fn timed(session: &mut Session<'_>) -> Answer<Ramp> {
    let (window, onset, gap_ns) = match recalled(session, sequential)? {
        Sequential::Window { window, onset, gap_ns, .. } => (window, onset, gap_ns),
        Sequential::NoReadAhead { .. } => return Err(Silence::not_applicable(NO_RAMP).into()),
    };
    let first = match first(session)? {
        brought if brought.interval[0] == brought.interval[1] => brought.bytes,
        _ => return inconclusive("the first window is not known exactly"),
    };
    // The part of the file that the ramp and one steady window take.
    let bytes = (onset + 2 * window).next_multiple_of(1 << 20);
    let mut last: Option<Ramp> = None;
    let mut reason = "the ramp differs from one pace to another".to_owned();
    // The device must keep up with the small windows of the ramp too, so paces may have to be slower
    // than for the steady one; a single pace may also be spoilt by chance.
    for gap in (0..PACES).map(|doublings| gap_ns << doublings) {
        let round = Duration::from_nanos(gap * (bytes / READ));
        // As many rounds as fit into a few seconds: nothing forgives a missed wait here.
        let affordable = (TIME_FOR_A_PACE.as_nanos() / round.as_nanos().max(1)).clamp(3, 15) as u32;
        let seen = match waits_of(session, bytes, gap, session.rounds(affordable, 3)) {
            Err(Unanswered::Failed(Fault::OutOfTime)) if last.is_none() => {
                return inconclusive("there was no time to read the ramp twice");
            }
            Err(Unanswered::Failed(Fault::OutOfTime)) => break,
            seen => seen?,
        };
        let sizes = match drawn(&seen.waits, first, window) {
            Ok(sizes) => sizes,
            Err(why) => {
                reason = why;
                continue;
            }
        };
        match last {
            Some((before, samples)) if before == sizes => {
                return Ok((sizes, samples + seen.waits.samples));
            }
            _ => last = Some((sizes, seen.waits.samples)),
        }
    }
    inconclusive(reason)
}

/// How many paces are tried, each half as fast as the one before, until two give the same ramp.
const PACES: u32 = 5;
/// So many windows in a row are of the size at which they settle.
const STEADY: usize = 3;
/// At so many thresholds in a row the waits must draw the same ramp.
const FEWEST_LEVELS: usize = 3;

/// The ramp that the waits draw at the lowest threshold that draws one, and at the next ones.
///
/// Higher thresholds lose waits, and may draw a coarser ramp for that.
fn drawn(waits: &Waits, first: u64, window: u64) -> Result<Vec<u64>, String> {
    let (first, window) = ((first / READ) as usize, (window / READ) as usize);
    let drawn: Vec<Option<Vec<usize>>> =
        waits.levels.iter().map(|level| ramp::sizes(level, first, window).ok()).collect();
    let lowest = drawn.chunk_by(|one, next| one == next).find(|run| run[0].is_some());
    match lowest {
        Some(run) if run.len() >= FEWEST_LEVELS => {
            Ok(run[0].iter().flatten().map(|&reads| reads as u64 * READ).collect())
        }
        _ => Err("the waits at the start form no clear ramp".to_owned()),
    }
}

/// The windows up to the first of the size at which they settle.
///
/// A window that comes in two pieces later on is no part of the ramp.
fn until_steady(windows: &[u64]) -> Option<Vec<u64>> {
    let (_, whole) = windows.split_last()?;
    let last = *whole.last()?;
    let steady = |run: &[u64]| run.iter().all(|&window| window == last);
    let first = whole.windows(STEADY).position(steady)?;
    steady(&whole[whole.len() - STEADY..]).then(|| whole[..=first].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_ends_with_the_first_steady_window() {
        assert_eq!(until_steady(&[16, 32, 64, 128, 128, 128, 7]), Some(vec![16, 32, 64, 128]));
        assert_eq!(until_steady(&[4, 4, 4, 4]), Some(vec![4]));
        let in_pieces = [8, 16, 32, 32, 32, 32, 20, 12, 32, 32, 32, 5];
        assert_eq!(until_steady(&in_pieces), Some(vec![8, 16, 32]));
        assert_eq!(until_steady(&[8, 16, 32, 32, 32, 20, 12, 32, 5]), None);
        assert_eq!(until_steady(&[16, 32, 64]), None);
    }
}
