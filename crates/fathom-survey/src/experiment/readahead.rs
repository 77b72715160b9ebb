//! What the four read-ahead questions share: paced reads of a cold file, and probes behind a read.

use std::time::Duration;

use super::prelude::*;
use super::silence::{Answer, Silence, Unanswered, evidence, inconclusive};
use crate::inference::reach::{self, Edge, Probed, Reach};
use crate::inference::stalls::{self, Regularity, Waits};

/// The size of one read in bytes: small compared with every window, and what the papers used.
pub(super) const READ: u64 = 4096;
pub(super) const FILE: &str = "readahead";
/// The passes of a sequence: isolated reads of a cold file, which are known misses; the sequence; and reads of what
/// has just been read, which are known hits.
const MISSES: &str = "isolated reads";
const SEQUENCE: &str = "sequence";
const HITS: &str = "cached reads";
/// Reads of known hits and of known misses, in each round.
const REFERENCE_READS: u64 = 128;
const ISOLATED_READS: u64 = 24;
/// Past this share of readings in the wrong cache state, a run is not looked at.
const MOST_WRONG: f64 = 0.01;

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

/// How a sequence is read: how long it is, how slowly, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pace {
    bytes: u64,
    gap_ns: u64,
}

const SHORTEST_SEQUENCE: u64 = 2 << 20;
const SHORTEST_GAP_NS: u64 = 20_000;
const LONGEST_GAP_NS: u64 = 20_000_000;

/// One reading of a sequence and what it says.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) waits: Waits,
    pub(super) regularity: Regularity,
}

/// Reads cold files at one pace after another until the waits draw a window that probes confirm.
///
/// The gap must be long enough for the device to bring a window while the one before is read, and
/// the sequence long enough for the ramp to end; neither is known, so both are found by trying.
/// Regular waits alone are no proof: a reader that is faster than the device waits at the borders of
/// its transfers, and a host that backs memory in large pages makes one read in each of them slow.
pub(super) fn sequential(session: &mut Session<'_>) -> Answer<Sequential> {
    let mut pace = Pace { bytes: SHORTEST_SEQUENCE, gap_ns: SHORTEST_GAP_NS };
    let mut reason = "there was no time to read a sequence".to_owned();
    loop {
        match attempt(session, pace) {
            Ok(Attempt::Settled(found)) => return Ok(found),
            Ok(Attempt::Failed { why, next: Some(next) }) => (reason, pace) = (why, next),
            Ok(Attempt::Failed { why, next: None }) => return inconclusive(why),
            Err(Unanswered::Failed(Fault::OutOfTime | Fault::OverBudget { .. })) => {
                return inconclusive(reason);
            }
            Err(unanswered) => return Err(unanswered),
        }
    }
}

/// What one pace gave.
enum Attempt {
    Settled(Sequential),
    Failed { why: String, next: Option<Pace> },
}

fn attempt(session: &mut Session<'_>, pace: Pace) -> Answer<Attempt> {
    // Of three rounds two may be spoilt by chance at one read in 3,000: too many of a long sequence.
    let most = if pace.bytes > 16 << 20 { 5 } else { 7 };
    let seen = waits_of(session, pace.bytes, pace.gap_ns, session.rounds(most, 5))?;
    let samples = seen.waits.samples;
    Ok(match seen.regularity {
        Regularity::EveryRead => Attempt::Settled(Sequential::NoReadAhead { samples }),
        Regularity::Steady(candidates) => {
            let mut next = either(session, pace);
            for steady in candidates.iter().take(MOST_CANDIDATES) {
                let (window, onset) = (steady.period as u64 * READ, steady.onset as u64 * READ);
                match confirm(session, window, onset)? {
                    Ahead::Window(probes) => {
                        return Ok(Attempt::Settled(Sequential::Window {
                            window,
                            onset,
                            confidence: steady.confidence,
                            gap_ns: pace.gap_ns,
                            samples: samples + probes,
                        }));
                    }
                    Ahead::More => next = longer(session, pace, pace.bytes * 4).or(next),
                    Ahead::Less => {}
                }
            }
            let why =
                "reads wait regularly, but what lies ahead in the cache does not fit their period".to_owned();
            Attempt::Failed { why, next }
        }
        Regularity::TooShort { enough } => Attempt::Failed {
            why: format!("the ramp of windows has not ended after {}", Bytes(pace.bytes)),
            next: longer(session, pace, enough as u64 * READ),
        },
        Regularity::Unclear(why) => Attempt::Failed { why, next: either(session, pace) },
    })
}

/// Slower or longer in turns, so that neither is tried in vain for long.
fn either(session: &Session<'_>, pace: Pace) -> Option<Pace> {
    if pace.gap_ns / SHORTEST_GAP_NS > 2 * pace.bytes / SHORTEST_SEQUENCE {
        longer(session, pace, pace.bytes * 4).or_else(|| slower(pace))
    } else {
        slower(pace)
    }
}

/// What lies in the cache ahead of a reader that has just set off a window.
enum Ahead {
    /// What a window of the size in question leaves there; so many timed operations say so.
    Window(usize),
    /// More than that.
    More,
    /// Less than that, or the probes do not tell.
    Less,
}

/// Periods that are probed, at most.
const MOST_CANDIDATES: usize = 4;

/// How long the device is given to bring a window, one try after the other.
const SETTLE_NS: [u64; 3] = [5_000_000, 40_000_000, 300_000_000];

/// Probes what a reader finds ahead of the read that sets off a window of the size in question.
///
/// That read lies at the start of a window that is already there, and brings in the one behind it
/// (`page_cache_async_ra`: the mark stands at the start of a window). So two windows are there from
/// the read on, no byte more and no byte less.
fn confirm(session: &mut Session<'_>, window: u64, onset: u64) -> Result<Ahead, Fault> {
    let at = onset + 2 * window;
    let mut apart = READ;
    let mut patience = SETTLE_NS.iter();
    let mut settle_ns = SETTLE_NS[0];
    while 2 * apart <= window {
        let samples =
            session.observe(probe_edge(at, window, apart, settle_ns).rounds(session.rounds(7, 5)))?;
        match reach::edge(samples) {
            Edge::There => return Ok(Ahead::Window(4 * samples.rounds() as usize)),
            Edge::Beyond => return Ok(Ahead::More),
            // A miss brings in its neighbour: the pairs must stand further apart.
            Edge::NoMiss => apart *= 4,
            // The window may be under way still: wait longer.
            Edge::Before | Edge::Unclear => match patience.next() {
                Some(&longer) => settle_ns = longer,
                None => return Ok(Ahead::Less),
            },
        }
    }
    Ok(Ahead::Less)
}

/// A miss for comparison; then, in a cold file again, a reader who stops at `at`, and pairs of probes
/// `apart` bytes from each other on both sides of where two windows end.
///
/// The first of a pair may touch the mark of a window, which costs as much as a miss, but clears it for
/// the whole folio: the second one is fast where data is there, and slow where it is not. The outer
/// pair comes first, because an inner one may set off another window; and it leaves a hole before
/// itself, because a miss right behind cached pages passes for a sequential reader's.
fn probe_edge(at: u64, window: u64, apart: u64, settle_ns: u64) -> Workload {
    let edge = at + 2 * window;
    let read = |offset: u64| Region { offset, size: READ, step: READ, count: 1 };
    let one = |offset: u64| Pass::timed(0, &[CallKind::Pread], read(offset));
    let untimed = |offset: u64| Pass::priming(0, &[CallKind::Pread], read(offset));
    let outside = edge + 2 * apart;
    let run_up = Region { offset: 0, size: READ, step: READ, count: at / READ + 1 };
    let span = Region { offset: 0, size: outside + 2 * apart, step: 0, count: 1 };
    Workload::new(vec![ScratchFile::filled(FILE, outside + FAR)])
        .pass(Pass::untimed(0, &[CallKind::Open, CallKind::Evict]))
        .pass(untimed(outside))
        .pass(one(outside + apart).label(reach::MISS))
        .pass(Pass::untimed(0, &[CallKind::Open, CallKind::Evict]))
        .pass(Pass::timed(0, &[CallKind::Pause], span).needs(CacheState::Cold))
        .pass(Pass::priming(0, &[CallKind::Pread], run_up))
        .pass(Pass::pause(settle_ns))
        // Twice: the first call after a pause pays for that.
        .pass(untimed(at))
        .pass(one(at).label(reach::HIT))
        .pass(untimed(outside))
        .pass(one(outside + apart).label(reach::OUTSIDE))
        .pass(untimed(edge - READ - apart))
        .pass(one(edge - READ).label(reach::INSIDE))
}

fn slower(pace: Pace) -> Option<Pace> {
    (pace.gap_ns < LONGEST_GAP_NS).then_some(Pace { gap_ns: pace.gap_ns * 2, ..pace })
}

fn longer(session: &Session<'_>, pace: Pace, wanted: u64) -> Option<Pace> {
    // The file grows to the new length; what it has already is not written again.
    let most = pace.bytes + session.write_budget();
    let bytes = wanted.clamp(pace.bytes * 2, pace.bytes * 8).min(most) / (1 << 20) * (1 << 20);
    (bytes >= pace.bytes * 3 / 2).then_some(Pace { bytes, ..pace })
}

/// The waits of sequential reads over `bytes` of a cold file with `gap_ns` between reads.
pub(super) fn waits_of(session: &mut Session<'_>, bytes: u64, gap_ns: u64, rounds: u32) -> Answer<Seen> {
    let planned = Duration::from_nanos(gap_ns * (bytes / READ)) * rounds;
    if planned > session.time_left() {
        return Err(Fault::OutOfTime.into());
    }
    let all = Region { offset: 0, size: READ, step: READ, count: bytes / READ };
    let warm = Region { count: REFERENCE_READS.min(all.count), ..all };
    let apart = bytes / (ISOLATED_READS + 1) / READ * READ;
    let isolated = Region { offset: apart, size: READ, step: apart, count: ISOLATED_READS };
    let reads = |region, label| Pass::timed(0, &[CallKind::Pread], region).label(label);
    let misses = reads(isolated, MISSES);
    let workload = Workload::new(vec![ScratchFile::filled(FILE, bytes)])
        .pass(Pass::untimed(0, &[CallKind::Open, CallKind::Evict]))
        .pass(misses.direction(Traversal::Random).needs(CacheState::Cold))
        .pass(Pass::untimed(0, &[CallKind::Open, CallKind::Evict]))
        .pass(reads(all, SEQUENCE).gap(gap_ns).needs(CacheState::Cold))
        .pass(reads(warm, HITS).gap(gap_ns).needs(CacheState::Cached))
        .warmup(1)
        .rounds(rounds);
    let samples = session.observe(workload)?;
    was_cold(samples)?;
    let [sequence, hits, misses] = [SEQUENCE, HITS, MISSES].map(|label| samples.latencies(label, 0));
    let waits = stalls::find(&sequence, samples.positions(SEQUENCE), &hits, &misses)?;
    let regularity = stalls::regularity(&waits);
    Ok(Seen { waits, regularity })
}

/// That the samples' cache states do not rule out an answer.
fn was_cold(samples: &Samples) -> Result<(), Silence> {
    let wrong = samples.wrong_state();
    let checked = samples.readings.iter().filter(|reading| reading.cache.is_some()).count();
    let cold = samples.readings.iter().any(|reading| reading.cache == Some(CacheState::Cold));
    if wrong > 0 && !cold {
        let reason = "pages stay in the cache when they are to be dropped: files have no other copy to read ahead from";
        return Err(Silence::not_applicable(reason));
    }
    match wrong as f64 > checked as f64 * MOST_WRONG {
        true => Err(Silence::inconclusive(format!(
            "{wrong} of {checked} reads found the cache in the wrong state"
        ))),
        false => Ok(()),
    }
}

/// Pages beyond the read that are probed, and where the known miss is, at first.
const FIRST_PROBES: u64 = 24;
const MOST_PROBES: u64 = 512;
pub(super) const FAR: u64 = 1 << 20;

/// Finds how much one isolated read at `offset` of a cold file brings in, by probing after it.
///
/// Each distance is probed in a cold start of its own: a probe that misses may bring in its
/// neighbours, and one that hits a marked page may set off another window.
pub(super) fn brought_by_one_read(session: &mut Session<'_>, offset: u64) -> Answer<Brought> {
    let mut reason = "there was no time to probe".to_owned();
    let mut step = READ;
    let mut from = READ;
    let mut settle_ns = 2_000_000;
    for _ in 0..6 {
        let distances: Vec<u64> = (0..FIRST_PROBES).map(|index| from + index * step).collect();
        let samples = match probe(session, offset, &distances, settle_ns) {
            Err(Fault::OutOfTime | Fault::OverBudget { .. }) => break,
            samples => samples?,
        };
        was_cold(samples)?;
        match reach::find(samples) {
            Probed::Until(found) if step == READ => return Ok(brought(&found, &distances)),
            Probed::Until(found) => {
                // Between the last hit and the first stall of the coarse probes.
                from = if found.hits == 0 { READ } else { distances[found.hits - 1] };
                step = (step / FIRST_PROBES).max(READ);
            }
            Probed::AllHit if distances[distances.len() - 1] >= MOST_PROBES * READ => {
                return inconclusive("a single read brings in more than could be probed");
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
    inconclusive(reason)
}

/// What one read brings in, as evidence of timing.
pub(super) fn timed(answer: Answer<Brought>, method: &str) -> Result<Evidence, Fault> {
    let measured = |Brought { bytes, interval: [low, high], samples }| {
        let measured = Evidence::measured(Kind::Timing, method, Value::Whole(bytes));
        measured.within(low, high).resting_on(0.95, samples)
    };
    evidence(Kind::Timing, method, answer.map(measured))
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
    let probes = distances.iter().map(|&distance| (distance, reach::PROBE));
    for (distance, label) in [(0, reach::HIT), (miss, reach::MISS)].into_iter().chain(probes) {
        workload = workload
            .pass(Pass::untimed(0, &[CallKind::Open, CallKind::Evict]))
            .pass(Pass::timed(0, &[CallKind::Pause], span).needs(CacheState::Cold))
            .pass(Pass::priming(0, &[CallKind::Pread], read(offset)))
            .pass(Pass::pause(settle_ns))
            .pass(Pass::timed(0, &[CallKind::Pread], read(offset + distance)).label(label))
            // A window that the probe set off can't be dropped while it is on its way, and would be there
            // for the next probe.
            .pass(Pass::pause(settle_ns));
    }
    session.observe(workload)
}

/// Pages that a read of `request` pages at the start of a cold file brings in, where the read-ahead
/// limit is `max` pages.
///
/// Source: `get_init_ra_size` and `page_cache_sync_ra` of Linux `mm/readahead.c`. With n the request
/// rounded up to a power of two: n <= max/32 gives 4 n, n <= max/4 gives 2 n, else max. With a limit
/// of zero the request alone is read. It holds for files whose folios may be single pages.
pub fn first_read_pages(request: u64, max: u64) -> u64 {
    let size = request.next_power_of_two();
    match max {
        0 => request,
        _ if size <= max / 32 => size * 4,
        _ if size <= max / 4 => size * 2,
        _ => max,
    }
}

/// The kernels whose `mm/readahead.c` follows the rule for a read of one page: `ondemand_readahead`
/// of 4.4 and 5.13 and `page_cache_sync_ra` of 6.18 agree there. Of later ones the witness tells.
const RULE_HOLDS: std::ops::RangeInclusive<(u32, u32)> = (4, 4)..=(6, 18);

/// Whether [`first_read_pages`] holds in a case of the lab: larger blocks force larger folios, and then a read
/// brings in whole folios.
pub(super) fn rule_holds(case: &Case, kernel: &Kernel) -> bool {
    case.block_size.is_none_or(|block| block <= kernel.page_size)
        && kernel.version().is_some_and(|version| RULE_HOLDS.contains(&version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_window_follows_the_kernels_rule() {
        let limits = [0, 1, 4, 8, 16, 25, 32, 48, 64, 128, 256, 512];
        let pages = limits.map(|max| first_read_pages(1, max));
        assert_eq!(pages, [1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4]);
        assert_eq!(first_read_pages(3, 32), 8, "rounded up to four pages, doubled");
        assert_eq!(first_read_pages(16, 32), 32, "past a quarter it is the limit");
    }
}
