//! What the four read-ahead questions share: paced reads of a cold file, and probes behind a read.

use crate::finding::{Evidence, Kind, Status};
use crate::inference::reach::{self, Probed, Reach};
use crate::inference::stalls::{self, Regularity, Stalls};
use crate::machine::Fault;
use crate::samples::Samples;
use crate::units::{Bytes, Nanos};
use crate::workload::{CacheState, Op, Pass, Region, ScratchFile, Workload};

use super::Session;

/// The size of one read in bytes: small beside every window, and what the papers used.
pub(super) const READ: u64 = 4096;
const FILE: &str = "readahead";
const REFERENCE_READS: u64 = 128;
/// Past this share of readings in the wrong cache state, a run is not looked at.
const MOST_WRONG: f64 = 0.01;

/// Why a read-ahead question has no answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Silence {
    pub(super) status: Status,
    pub(super) reason: String,
}

/// The steady state of sequential reads.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sequential {
    /// Stalls in a steady period.
    Window {
        /// The period in bytes.
        window: u64,
        /// Where it sets in, in bytes from the start of the file.
        onset: u64,
        /// The probability that chance did not make it.
        confidence: f64,
        /// The gap at which the answer had settled.
        gap_ns: u64,
        /// Timed operations behind it.
        samples: usize,
    },
    /// Every read waited for the device.
    NoReadAhead {
        /// Timed operations behind it.
        samples: usize,
    },
}

/// What one isolated read leaves in the cache.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Brought {
    /// Bytes from the start of the read on.
    pub(super) bytes: u64,
    /// The fewest and the most that the samples allow.
    pub(super) interval: [u64; 2],
    /// Timed operations behind it.
    pub(super) samples: usize,
}

pub(super) type Answer<T> = Result<T, Silence>;

impl Silence {
    pub(super) fn inconclusive(reason: impl Into<String>) -> Self {
        Self { status: Status::Inconclusive, reason: reason.into() }
    }

    pub(super) fn evidence(&self, method: &str) -> Evidence {
        Evidence::silent(Kind::Timing, method, self.status, self.reason.clone())
    }
}

/// How a sequence is read: how long it is, how slowly, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pace {
    bytes: u64,
    gap_ns: u64,
}

const SHORTEST_SEQUENCE: u64 = 2 << 20;
const SHORTEST_GAP_NS: u64 = 20_000;
const LONGEST_GAP_NS: u64 = 20_000_000;

/// Reads cold files at one pace after another until two paces in a row give the same answer.
///
/// The gap must be long enough for the device to bring a window while the one before is read, and
/// the sequence long enough for the ramp to end; neither is known, so both are found by trying.
pub(super) fn sequential(session: &mut Session<'_>) -> Result<Answer<Sequential>, Fault> {
    let mut pace = Pace { bytes: SHORTEST_SEQUENCE, gap_ns: SHORTEST_GAP_NS };
    let mut last: Option<u64> = None;
    let mut reason = "the sequence could not be read often enough".to_owned();
    loop {
        let seen = match paced(session, pace) {
            Ok(seen) => seen,
            Err(Fault::OutOfTime | Fault::OverBudget { .. }) => {
                return Ok(Err(Silence::inconclusive(reason)));
            }
            Err(fault) => return Err(fault),
        };
        let stalls = match seen {
            Ok(stalls) => stalls,
            Err(silence) if silence.status == Status::NotApplicable => return Ok(Err(silence)),
            Err(silence) => {
                reason = silence.reason;
                last = None;
                match slower(pace) {
                    Some(next) => pace = next,
                    None => return Ok(Err(Silence::inconclusive(reason))),
                }
                continue;
            }
        };
        let regularity = stalls::regularity(&stalls);
        let window = match &regularity {
            Regularity::Steady(steady) => Some(steady.period as u64 * READ),
            Regularity::EveryRead => Some(0),
            _ => None,
        };
        if window.is_some() && window == last {
            return Ok(Ok(settled(&regularity, pace, stalls.samples)));
        }
        last = window;
        let next = match &regularity {
            Regularity::Steady(_) | Regularity::EveryRead => slower(pace),
            Regularity::TooFast => {
                reason =
                    format!("the device does not keep up with a read every {}", Nanos(pace.gap_ns as f64));
                slower(pace)
            }
            Regularity::TooShort => {
                reason = format!("the ramp of windows has not ended after {}", Bytes(pace.bytes));
                longer(session, pace)
            }
            Regularity::Unclear(why) => {
                reason.clone_from(why);
                // It may be either: alternate, so that neither is tried in vain for long.
                if pace.gap_ns > SHORTEST_GAP_NS * (pace.bytes / SHORTEST_SEQUENCE) {
                    longer(session, pace).or_else(|| slower(pace))
                } else {
                    slower(pace)
                }
            }
        };
        match next {
            Some(next) => pace = next,
            None => return Ok(Err(Silence::inconclusive(reason))),
        }
    }
}

fn settled(regularity: &Regularity, pace: Pace, samples: usize) -> Sequential {
    match regularity {
        Regularity::Steady(steady) => Sequential::Window {
            window: steady.period as u64 * READ,
            onset: steady.onset as u64 * READ,
            confidence: steady.confidence,
            gap_ns: pace.gap_ns,
            samples,
        },
        _ => Sequential::NoReadAhead { samples },
    }
}

fn slower(pace: Pace) -> Option<Pace> {
    (pace.gap_ns < LONGEST_GAP_NS).then_some(Pace { gap_ns: pace.gap_ns * 3, ..pace })
}

fn longer(session: &Session<'_>, pace: Pace) -> Option<Pace> {
    // The file grows to the new length; what it has already is not written again.
    let most = pace.bytes + session.write_budget();
    let bytes = (pace.bytes * 4).min(most) / (1 << 20) * (1 << 20);
    (bytes >= pace.bytes * 3 / 2).then_some(Pace { bytes, ..pace })
}

/// Reads a cold file of `pace.bytes` from its start, several rounds, and tells stalls from hits.
fn paced(session: &mut Session<'_>, pace: Pace) -> Result<Answer<Stalls>, Fault> {
    let rounds = if pace.bytes <= 8 << 20 { 7 } else { 5 };
    let rounds = session.rounds(rounds, 5);
    let planned = Nanos(pace.gap_ns as f64 * (pace.bytes / READ) as f64 * f64::from(rounds));
    if planned.0 > session.time_left().as_nanos() as f64 {
        return Err(Fault::OutOfTime);
    }
    stalls_of(session, pace.bytes, pace.gap_ns, rounds)
}

/// The stalls of sequential reads over `bytes` of a cold file with `gap_ns` between reads.
pub(super) fn stalls_of(
    session: &mut Session<'_>,
    bytes: u64,
    gap_ns: u64,
    rounds: u32,
) -> Result<Answer<Stalls>, Fault> {
    let all = Region { offset: 0, size: READ, step: READ, count: bytes / READ };
    let warm = Region { count: REFERENCE_READS.min(all.count), ..all };
    let workload = Workload::new(vec![ScratchFile::filled(FILE, bytes)])
        .pass(Pass::untimed(0, &[Op::Open, Op::Evict]))
        .pass(Pass::timed(0, &[Op::Pread], all).gap(gap_ns).needs(CacheState::Cold))
        .pass(Pass::timed(0, &[Op::Pread], warm).gap(gap_ns).needs(CacheState::Cached))
        .rounds(rounds);
    let samples = session.observe(workload)?;
    if let Some(silence) = not_cold(samples) {
        return Ok(Err(silence));
    }
    Ok(stalls::find(samples, 1, 2).map_err(Silence::inconclusive))
}

/// Whether the samples' cache states rule out an answer.
fn not_cold(samples: &Samples) -> Option<Silence> {
    let wrong = samples.wrong_state();
    let checked = samples.readings.iter().filter(|reading| reading.cache.is_some()).count();
    let cold = samples.readings.iter().any(|reading| reading.cache == Some(CacheState::Cold));
    if wrong > 0 && !cold {
        let reason = "pages stay in the cache when they are to be dropped: files have no other copy to read ahead from";
        return Some(Silence { status: Status::NotApplicable, reason: reason.to_owned() });
    }
    (wrong as f64 > checked as f64 * MOST_WRONG).then(|| {
        Silence::inconclusive(format!("{wrong} of {checked} reads found the cache in the wrong state"))
    })
}

/// Pages beyond the read that are probed, and where the known miss is, at first.
const FIRST_PROBES: u64 = 24;
const MOST_PROBES: u64 = 512;
const FAR: u64 = 1 << 20;

/// Finds how much one isolated read at `offset` of a cold file brings in, by probing after it.
///
/// Each distance is probed in a cold start of its own: a probe that misses may bring in its
/// neighbours, and one that hits a marked page may set off another window.
pub(super) fn brought_by_one_read(session: &mut Session<'_>, offset: u64) -> Result<Answer<Brought>, Fault> {
    let mut reason = String::new();
    let mut step = READ;
    let mut from = READ;
    let mut settle_ns = 2_000_000;
    for _ in 0..6 {
        let distances: Vec<u64> = (0..FIRST_PROBES).map(|index| from + index * step).collect();
        let samples = match probe(session, offset, &distances, settle_ns) {
            Ok(samples) => samples,
            Err(Fault::OutOfTime | Fault::OverBudget { .. }) => break,
            Err(fault) => return Err(fault),
        };
        if let Some(silence) = not_cold(samples) {
            return Ok(Err(silence));
        }
        let passes = PROBE_PASSES;
        let probes: Vec<usize> =
            (0..distances.len()).map(|index| (index + 2) * passes + passes - 1).collect();
        match reach::find(samples, &probes, passes - 1, 2 * passes - 1) {
            Probed::Until(found) if step == READ => return Ok(Ok(brought(&found, &distances))),
            Probed::Until(found) => {
                // Between the last hit and the first stall of the coarse probes.
                from = if found.hits == 0 { READ } else { distances[found.hits - 1] };
                step = (step / FIRST_PROBES).max(READ);
            }
            Probed::AllHit if distances[distances.len() - 1] >= MOST_PROBES * READ => {
                return Ok(Err(Silence::inconclusive("a single read brings in more than could be probed")));
            }
            Probed::AllHit => {
                from = distances[distances.len() - 1];
                step *= FIRST_PROBES;
            }
            Probed::Unclear(why) => {
                reason = why;
                settle_ns *= 5;
            }
        }
    }
    Ok(Err(Silence::inconclusive(reason)))
}

fn brought(found: &Reach, distances: &[u64]) -> Brought {
    // With no hit the read brought in itself alone, which ends where the first probe begins.
    let end = |hits: usize| distances.get(hits).copied().unwrap_or(distances[distances.len() - 1] + READ);
    Brought {
        bytes: end(found.hits),
        interval: [end(found.interval[0]), end(found.interval[1])],
        samples: found.samples,
    }
}

/// Passes of one probe: forget, prove it, prime, wait, probe.
const PROBE_PASSES: usize = 5;

/// One round probes a known hit, a known miss, and then each distance, all in a cold file.
fn probe<'s>(
    session: &'s mut Session<'_>,
    offset: u64,
    distances: &[u64],
    settle_ns: u64,
) -> Result<&'s Samples, Fault> {
    let reach = distances.iter().max().copied().unwrap_or(READ);
    let miss = reach + FAR;
    let size = offset + miss + FAR;
    let rounds = session.rounds(9, 7);
    let read = |at: u64| Region { offset: at, size: READ, step: READ, count: 1 };
    let span = Region { offset, size: miss + READ, step: 0, count: 1 };
    let mut workload = Workload::new(vec![ScratchFile::filled(FILE, size)]).rounds(rounds);
    for distance in [0, miss].iter().chain(distances) {
        workload = workload
            .pass(Pass::untimed(0, &[Op::Open, Op::Evict]))
            .pass(Pass::timed(0, &[Op::Pause], span).needs(CacheState::Cold))
            .pass(Pass::priming(0, &[Op::Pread], read(offset)))
            .pass(Pass::pause(settle_ns))
            .pass(Pass::timed(0, &[Op::Pread], read(offset + distance)));
    }
    session.observe(workload)
}

/// Windows set off one after the other by reads of `READ` bytes, from what each read brought in.
pub(super) fn windows_seen(brought_in: &[u64]) -> Vec<u64> {
    brought_in.iter().copied().filter(|&bytes| bytes > 0).collect()
}
