//! Before anything is waited for: whether there is a server at all, and whether anything is believed.

use super::workloads::{CLOCK, KNOWN_FILE, Numbers, SEEK, files, known, same};
use super::{ALL, Believed, KNOWN, Silence, TELLING_TIMES};
use crate::experiment::Session;
use crate::finding::Status;
use crate::inference::latency;
use fathom_program::units::Nanos;
use fathom_program::workload::{CallKind, Pass, Workload};
use fathom_run::machine::Fault;
use fathom_run::samples::Samples;

/// A stat or look-up with a round trip takes so many empty calls at the least.
const ROUND_TRIP_TIMES: f64 = 10.0;
/// A stat takes longer than an empty call by this factor at the least, or nothing is told of either.
const STAT_TIMES: f64 = 1.2;
/// Looks at each kind of call before anything is waited for.
const FIRST_LOOKS: u64 = 16;

/// Of each the answer, where calls at once tell it: that nothing is believed for any time at all. None where it must be
/// waited for.
pub(super) type First = [Option<Result<Believed, Silence>>; 3];

/// Whether asking the server takes long, and whether it is asked at once again.
pub(super) fn first_looks(
    session: &mut Session<'_>,
    numbers: &mut Numbers,
) -> Result<Result<First, Silence>, Fault> {
    let mut seen = Looks::default();
    for _ in 0..FIRST_LOOKS {
        let workload = Workload::new(files(0))
            .pass(Pass::timed(KNOWN_FILE, &[CallKind::Pause], same(KNOWN)).label(CLOCK))
            .pass(Pass::timed(KNOWN_FILE, &[CallKind::Seek], same(KNOWN)).label(SEEK));
        let workload = ALL.into_iter().fold(workload, |workload, what| known(workload, what, numbers));
        seen.add(session.observe(workload)?);
    }
    Ok(seen.judged())
}

/// Latencies in ns without the clock's own cost, by rounds: of empty calls; of each kind the calls that ask the server
/// and those that need not; and how long the latter came after what they might believe.
#[derive(Default)]
struct Looks {
    seek: Vec<f64>,
    asking: [Vec<f64>; 3],
    again: [Vec<f64>; 3],
    apart_ns: f64,
}

impl Looks {
    fn add(&mut self, samples: &Samples) {
        let typical = |label, step| {
            let ticks = samples.latencies(label, step);
            fathom_stats::quantile::median(&ticks).map_or(f64::NAN, |ticks| samples.nanoseconds(ticks))
        };
        let clock = typical(CLOCK, 0);
        let of = |label, step| (typical(label, step) - clock).max(1.0);
        self.seek.push(of(SEEK, 0));
        for (at, what) in ALL.into_iter().enumerate() {
            let [(asks, first), (again, second)] = what.known_calls();
            self.asking[at].push(of(asks, first));
            self.again[at].push(of(again, second));
            self.apart_ns = self.apart_ns.max(of(again, second));
        }
    }

    fn judged(&self) -> Result<First, Silence> {
        let [stats, ..] = &self.asking;
        if !latency::is_slower(stats, &self.seek, ROUND_TRIP_TIMES) {
            return Err(self.without_server());
        }
        let samples = FIRST_LOOKS as usize * KNOWN as usize * 2;
        let mut answers: First = [None, None, None];
        for (answer, (asking, again)) in answers.iter_mut().zip(self.asking.iter().zip(&self.again)) {
            let is_asked = latency::is_slower(again, &self.seek, ROUND_TRIP_TIMES);
            if is_asked && !latency::is_slower(asking, again, TELLING_TIMES) {
                let (low, high, confidence) = (0.0, self.apart_ns, latency::LEVEL);
                *answer = Some(Ok(Believed { low, high, confidence, samples }));
            }
        }
        Ok(answers)
    }

    /// Why nothing is to be found; that there is no server only where the calls are told well enough to say so.
    fn without_server(&self) -> Silence {
        let unclear = || Silence::inconclusive("whether a stat asks a server could not be told");
        let [stats, ..] = &self.asking;
        let (Ok(seek), Ok(stat)) = (latency::settled(&self.seek), latency::settled(stats)) else {
            return unclear();
        };
        let (least, most) = (stat.interval.low / seek.interval.high, stat.interval.high / seek.interval.low);
        if least < STAT_TIMES || most > ROUND_TRIP_TIMES {
            return unclear();
        }
        let reason = format!(
            "a stat that must be asked of the file system's server takes {}: there is no round trip to it, and nothing to find",
            Nanos(stat.value)
        );
        Silence { status: Status::NotApplicable, reason }
    }
}
