//! Before anything is waited for: whether there is a server at all, and whether anything is believed.

use super::workloads::{ATTRIBUTES, CLOCK, KNOWN_FILE, Numbers, SEEK, files, known, same};
use super::{ALL, Answer, Believed, Silence, TELLING_TIMES, What};
use crate::experiment::prelude::*;
use crate::inference::latency;
use fathom_stats::interval::{Estimate, Interval, median_interval};

/// A stat or look-up with a round trip takes so many empty calls at the least.
const ROUND_TRIP_TIMES: f64 = 10.0;
/// A stat takes longer than an empty call by this factor at the least, or nothing is told of either.
const STAT_TIMES: f64 = 1.2;
/// Calls that both take a round trip differ by no more than this factor; and how sure that must be.
const MOST_ALIKE: f64 = 1.3;
const SURE: f64 = 0.999;
/// Looks at each kind of call before anything is waited for.
const FIRST_LOOKS: u64 = 16;
/// Calls of each kind in a look, of which one in so many warms up; no more than a moment allows.
const FEWEST_CALLS: u64 = 2;
const MOST_CALLS: u64 = 48;
const WARM_SHARE: u64 = 4;
const MOMENT_NS: f64 = 4e6;

/// What calls at once tell where there is a server.
#[derive(Debug, Clone)]
pub(super) struct Looked {
    pub(super) first: First,
    pub(super) round_trip: RoundTrip,
}

/// What a request takes at most that has nothing planted, from one process to another and back.
pub(in crate::experiment) const BARE_NS: f64 = 300e3;
/// A look-up of a new name that takes so many times as long goes farther than the stat.
const FARTHER_TIMES: f64 = 2.5;

/// What a stat takes that is asked of the server, in ns.
#[derive(Debug, Clone)]
pub(in crate::experiment) struct RoundTrip {
    pub(in crate::experiment) median: Result<Estimate, String>,
    pub(in crate::experiment) all: Vec<f64>,
    /// What a look-up of a name takes that was never looked up, in ns.
    pub(in crate::experiment) name: f64,
}

impl RoundTrip {
    /// Whether stats are answered on the way, as sshfs does from what it remembers, and the server is farther.
    pub(in crate::experiment) fn ends_on_the_way(&self) -> bool {
        self.median.as_ref().is_ok_and(|median| self.name > FARTHER_TIMES * median.value)
    }
}

/// Of each the answer, where calls at once tell it: that nothing is believed for any time at all. None where it must be
/// waited for.
pub(super) type First = [Option<Result<Believed, Silence>>; 3];

/// Whether asking the server takes long, and whether it is asked at once again.
pub(super) fn first_looks(session: &mut Session<'_>, numbers: &mut Numbers) -> Answer<Looked> {
    let mut seen = Looks::default();
    let mut count = FEWEST_CALLS;
    for _ in 0..FIRST_LOOKS {
        let workload = Workload::new(files(0))
            .pass(Pass::timed(KNOWN_FILE, &[CallKind::Pause], same(count)).label(CLOCK))
            .pass(Pass::timed(KNOWN_FILE, &[CallKind::Seek], same(count)).label(SEEK));
        let workload = ALL.into_iter().fold(workload, |workload, what| known(workload, what, count, numbers));
        seen.add(session.observe(workload)?, count);
        count = seen.calls_that_fit();
    }
    seen.judged()
}

/// Latencies in ns without the clock's own cost, by rounds: of empty calls; of each kind the calls that ask the server
/// and those that need not; and how long the latter came after what they might believe.
#[derive(Default)]
struct Looks {
    seek: Vec<f64>,
    asking: [Vec<f64>; 3],
    again: [Vec<f64>; 3],
    /// Of each kind how many times as long the former took as the latter, pair by pair.
    ratios: [Vec<f64>; 3],
    apart_ns: f64,
    /// Every stat that was asked of the server.
    stats: Vec<f64>,
    calls: usize,
}

impl Looks {
    fn add(&mut self, samples: &Samples, count: u64) {
        self.calls += count as usize;
        let typical = |label, step| {
            let ticks = samples.latencies(label, step);
            fathom_stats::quantile::median(&ticks).map_or(f64::NAN, |ticks| samples.nanoseconds(ticks))
        };
        let clock = typical(CLOCK, 0);
        let of = |label, step| (typical(label, step) - clock).max(1.0);
        self.seek.push(of(SEEK, 0));
        let stats = samples.latencies(ATTRIBUTES, 0).into_iter();
        self.stats.extend(stats.map(|ticks| samples.nanoseconds(ticks) - clock));
        for (at, what) in ALL.into_iter().enumerate() {
            let [(asks, first), (again, second)] = what.known_calls();
            self.asking[at].push(of(asks, first));
            self.again[at].push(of(again, second));
            let pairs = samples.latencies(asks, first).into_iter().zip(samples.latencies(again, second));
            // A server that has slept is slower at first.
            let warm = (count / WARM_SHARE) as usize;
            self.ratios[at].extend(pairs.skip(warm).map(|(asking, again)| asking / again.max(1.0)));
            self.apart_ns = self.apart_ns.max(of(again, second));
        }
    }

    /// Calls of a kind in the next look: as many as are made within a moment.
    fn calls_that_fit(&self) -> u64 {
        // A server may answer what it has just said itself, as sshfs does, and have to ask for the rest.
        let slowest = self.asking.iter().filter_map(|asking| asking.last()).copied().fold(0.0, f64::max);
        ((MOMENT_NS / slowest) as u64).clamp(FEWEST_CALLS, MOST_CALLS)
    }

    fn judged(&self) -> Answer<Looked> {
        let [stats, ..] = &self.asking;
        if !latency::is_slower(stats, &self.seek, ROUND_TRIP_TIMES) {
            return Err(self.without_server().into());
        }
        let samples = 2 * self.calls;
        let mut answers: First = [None, None, None];
        for (what, answer) in answers.iter_mut().enumerate() {
            if !latency::is_slower(&self.again[what], &self.seek, ROUND_TRIP_TIMES) {
                continue;
            }
            let Some(ratio) = median_interval(&self.ratios[what], SURE) else { continue };
            *answer = match ratio.interval {
                // Another round trip, which both have, may be on the way to a name.
                Interval { low, .. } if low >= TELLING_TIMES => None,
                Interval { low, high } if low >= 1.0 / MOST_ALIKE && high <= MOST_ALIKE => {
                    let (low, high, confidence) = (0.0, self.apart_ns, SURE);
                    Some(Ok(Believed { low, high, confidence, samples }))
                }
                _ => Some(Err(Silence::inconclusive(
                    "whether a call that has just been made asks the server again could not be determined",
                ))),
            };
        }
        let name = fathom_stats::quantile::median(&self.asking[What::Absences as usize]).unwrap_or(0.0);
        // A server that is near has two speeds, by whether it works on its caller's CPU.
        let median = latency::settled_above(BARE_NS, stats);
        let round_trip = RoundTrip { median, all: self.stats.clone(), name };
        Ok(Looked { first: answers, round_trip })
    }

    /// Why nothing is to be found; that there is no server only where the calls are told well enough to say so.
    fn without_server(&self) -> Silence {
        let unclear = || Silence::inconclusive("whether a stat asks a server could not be determined");
        let [stats, ..] = &self.asking;
        let (Ok(seek), Ok(stat)) = (latency::settled(&self.seek), latency::settled(stats)) else {
            return unclear();
        };
        let (least, most) = (stat.interval.low / seek.interval.high, stat.interval.high / seek.interval.low);
        if least < STAT_TIMES || most > ROUND_TRIP_TIMES {
            return unclear();
        }
        let reason = format!(
            "a stat that must go to the file system's server takes only {}: there is no round trip, and nothing to measure",
            Nanos(stat.value)
        );
        Silence::not_applicable(reason)
    }
}
