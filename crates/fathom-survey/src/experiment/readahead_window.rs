//! The steady read-ahead window: how much the kernel fetches at once for a sequential reader.
//!
//! A reader that leaves the device time to work waits only where it sets off the next window, once
//! per window. Papers A, C and D looked for those spikes by eye.

use super::brought_in::{INCREMENTS, windows_shown};
use super::needs_no_file;
use super::prelude::*;
use super::readahead::{READ, Sequential, sequential};
use super::silence::{evidence, recalled};

/// The experiment.
pub struct ReadaheadWindow;

const METHOD: &str = "paced_read_stalls";

impl Experiment for ReadaheadWindow {
    fn about(&self) -> &'static About {
        &About {
            parameter: "readahead_window",
            unit: "bytes",
            question: "How much does the kernel read ahead of a sequential reader?",
            method: "A file that is not cached is read in order, 4 KiB at a time with pauses. Once read-ahead has reached its full size, one read per window waits for the device.",
            source: "papers A, C and D",
            cost: Cost { seconds: 20, write_bytes: 128 << 20, read_bytes: 1 << 30 },
            nature: Nature::Fixed,
            recipes: &["paper-a-prefetch", "paper-a-prefetch-cached", "paper-c-prefetch"],
            not_applicable: "Nothing is read ahead here: files live in memory, or are read past the page cache.",
            inconclusive: "The waits of a sequential reader keep to no period that could be relied on.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let measured = |found| match found {
            Sequential::Window { window, onset, confidence, gap_ns, samples } => {
                Evidence::measured(Kind::Timing, METHOD, Value::Whole(window))
                    .within(window, window)
                    .resting_on(confidence, samples)
                    .caveat(format!(
                        "the period is steady from {} on, with {} between reads",
                        Bytes(onset),
                        Nanos(gap_ns as f64)
                    ))
            }
            Sequential::NoReadAhead { samples } => Evidence::measured(Kind::Timing, METHOD, Value::Whole(0))
                .within(0, READ)
                .resting_on(0.999, samples)
                .caveat(format!(
                    "every read waits: a window of up to {} can't be distinguished from none",
                    Bytes(READ)
                )),
        };
        evidence(Kind::Timing, METHOD, recalled(session, sequential).map(measured))
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        let mut shown = Vec::new();
        for (sight, method) in INCREMENTS {
            let measured = |window| match window {
                // A window of one read is what a kernel does that reads nothing ahead.
                READ => Evidence::measured(Kind::Witness, method, Value::Whole(0)).within(0, READ),
                window => Evidence::measured(Kind::Witness, method, Value::Whole(window)),
            };
            let window = windows_shown(witness, sight, steady_window);
            shown.push(evidence(Kind::Witness, method, window.map(measured))?);
        }
        Ok(shown)
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        if !declared.caches_files {
            let reason = "what is read here is not seen in the page cache: no setting of read-ahead is known to be in force";
            return vec![Evidence::inconclusive(Kind::Declared, "bdi_read_ahead_kb", reason)];
        }
        vec![match &declared.read_ahead {
            Some((bytes, _)) => Evidence::measured(Kind::Declared, "bdi_read_ahead_kb", Value::Whole(*bytes)),
            None if declared.is_memory_only() => Evidence::not_applicable(
                Kind::Declared,
                "bdi_read_ahead_kb",
                "there is no device below to read ahead from",
            ),
            None => Evidence::inconclusive(
                Kind::Declared,
                "bdi_read_ahead_kb",
                "sysfs declares no read-ahead for this mount",
            ),
        }]
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        needs_no_file(case)
    }

    fn truth(&self, case: &Case, kernel: &Kernel) -> Truth {
        match case.read_ahead_pages(kernel) {
            None => Truth::NotApplicable { basis: Basis::Memory },
            // It unpacks whole blocks, whatever the window that its device is set to.
            Some(_) if case.fs_type == "squashfs" => Truth::Unknown,
            Some(pages) => Truth::known(pages * kernel.page_size, Basis::Set),
        }
    }

    fn along(&self, value: &Value, _: &Finding, _: &Others<'_>) -> Option<Along> {
        let period = value.as_number()?;
        Some(if period > 0.0 { Along::EveryWait { period } } else { Along::At(period) })
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let window = finding.whole()?;
        if window == 0 {
            return Some(
                "Every read of the cold file waits for the device: nothing is read ahead.".to_owned(),
            );
        }
        let seen =
            format!("A sequential reader sets off a new read-ahead of {} once per window.", Bytes(window));
        let dissents = |value| {
            finding.evidence.iter().any(|piece| piece.status == Status::Measured && !piece.allows(value))
        };
        Some(match finding.answer(Kind::Declared).filter(|value| dissents(value)) {
            Some(Value::Whole(declared)) => format!(
                "{seen} The device's setting is {}, which does not govern this mount or was changed for the device alone.",
                Bytes(*declared)
            ),
            _ => seen,
        })
    }
}

/// The window that the last ones, but for one cut short by the end of the file, all have.
fn steady_window(windows: &[u64]) -> Option<u64> {
    const EQUAL: usize = 3;
    let (_, whole) = windows.split_last()?;
    let last = *whole.last()?;
    (whole.len() >= EQUAL && whole.iter().rev().take(EQUAL).all(|&window| window == last)).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steady_window_is_the_one_that_lasts_to_the_end() {
        assert_eq!(steady_window(&[16, 32, 64, 128, 128, 128, 20]), Some(128));
        assert_eq!(steady_window(&[16, 32, 64, 128, 128, 20]), None);
        assert_eq!(steady_window(&[4, 4, 4, 4, 4]), Some(4));
        assert_eq!(steady_window(&[]), None);
    }
}
