//! What three questions share: for how long a kernel believes what the server of a file system has told it.
//!
//! Many files are made at once. At growing ages one after the other is asked about for the first time: as long as the
//! kernel believes what it was told, that takes no round trip to the server. Each probe is compared with calls that are
//! known to take a round trip and calls that are known not to. One wait serves all three questions; a second one looks
//! closely at where the first has seen the step, at another moment, and must see it there again.

mod first_looks;
mod observer;
mod question;
mod sweep;
mod workloads;

use std::time::Duration;

pub(super) use self::first_looks::{BARE_NS, RoundTrip};
use self::first_looks::{Looked, first_looks};
use self::observer::{Observer, Timed, Traced};
pub(super) use self::question::Question;
use self::sweep::sweeps;
use self::workloads::{KNOWN_FILE, Numbers, files, known, same};
use super::Effort;
use super::prelude::*;
use super::silence::{Answer, Silence, answer_or_silence, recalled};
use fathom_run::witness::Server;

/// What is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// The attributes of a file.
    Attributes,
    /// What a name stands for.
    Names,
    /// That there is nothing of a name.
    Absences,
}

const ALL: [What; 3] = [What::Attributes, What::Names, What::Absences];

/// For how long.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Believed {
    /// The last age at which nothing was asked of the server, and the first one at which something was, in ns.
    low: f64,
    high: f64,
    confidence: f64,
    samples: usize,
}

/// What timing says of each, for the questions that come after the first one.
#[derive(Clone)]
struct Watched([Result<Believed, Silence>; 3]);

/// Calls with and without the round trip must differ by at least this factor: looking up a name may take another round trip.
const TELLING_TIMES: f64 = 1.5;
/// Known calls per probe, and files that must give the same answer at each age.
const KNOWN: u64 = 4;
const ALIKE: u64 = 3;
/// The first age in ns, and how many round trips it is at least.
const FIRST_NS: f64 = 1e6;
const FIRST_TRIPS: f64 = 10.0;
/// It is waited no longer than this, and no longer than there is time: NFS believes attributes for 60 s at most.
const PATIENCE: Duration = Duration::from_secs(140);
const QUICK_PATIENCE: Duration = Duration::from_secs(3);
/// The longest that is waited for by a witness, which has no time of its own.
const WITNESS_PATIENCE: Duration = Duration::from_secs(3);

/// Names of these numbers stand for nothing, and none is looked up before its time.
const NOTHING: u64 = 1 << 40;
const NOTHING_OF_WITNESS: u64 = 1 << 41;
/// Files of these numbers are made and removed.
const NEW: u64 = 1 << 20;

impl Believed {
    fn evidence(&self, kind: Kind, method: &str) -> Evidence {
        let (low, high) = (self.low as u64, self.high as u64);
        let value = if low == 0 { 0 } else { low.midpoint(high) };
        // The kernel counts in ticks, and what it was told it may have known a tick before.
        let ticks = if low == 0 { 0 } else { TICKS.as_nanos() as u64 };
        let evidence = Evidence::measured(kind, method, Value::Whole(value))
            .within(low.saturating_sub(ticks), high + ticks);
        match kind {
            Kind::Timing => evidence.resting_on(self.confidence, self.samples),
            _ => evidence,
        }
    }
}

/// What a round trip to the server takes, or why there is none to be told.
pub(super) fn round_trip(session: &mut Session<'_>) -> Answer<RoundTrip> {
    at_once(session).map(|looked| looked.round_trip)
}

/// What calls at once tell.
fn at_once(session: &mut Session<'_>) -> Answer<Looked> {
    recalled(session, |session| first_looks(session, &mut Numbers { nothing: NOTHING, new: NEW }))
}

fn watch(session: &mut Session<'_>) -> Result<Watched, Fault> {
    let mut numbers = Numbers { nothing: NOTHING + NEW, new: NEW };
    let (mut answers, first_ns) = match answer_or_silence(at_once(session))? {
        Ok(looked) => {
            let round_trip_ns = looked.round_trip.median.as_ref().map_or(0.0, |median| median.value);
            (looked.first, FIRST_NS.max(FIRST_TRIPS * round_trip_ns))
        }
        Err(silence) => return Ok(Watched([0, 1, 2].map(|_| Err(silence.clone())))),
    };
    let wanted = answers.each_ref().map(Option::is_none);
    if wanted.contains(&true) {
        let longest_ns = match session.effort() {
            Effort::Quick => QUICK_PATIENCE,
            Effort::Full => PATIENCE,
        };
        let ages = [first_ns, longest_ns.as_nanos() as f64];
        let seen = sweeps(&mut Timed { session }, &mut numbers, wanted, ages)?;
        for (answer, seen) in answers.iter_mut().zip(seen) {
            answer.get_or_insert(seen.map_err(Silence::inconclusive));
        }
    }
    let nothing = || Err(Silence::inconclusive("it was not looked at"));
    Ok(Watched(answers.map(|answer| answer.unwrap_or_else(nothing))))
}

/// The answer to one question by the requests that the kernel sends.
fn witness(witness: &mut dyn Witness, what: What, method: &str) -> Result<Vec<Evidence>, Fault> {
    if witness.declared().server.is_none() {
        return Ok(Vec::new());
    }
    let mut numbers = Numbers { nothing: NOTHING_OF_WITNESS + ((what as u64) << 36), new: NEW << 1 };
    let wanted = ALL.map(|one| one == what);
    let mut traced = Traced { witness, what };
    // Whether requests are seen here at all: one that is certain to be sent.
    let certain = known(Workload::new(files(0)), What::Absences, KNOWN, &mut numbers);
    let certain = certain.pass(Pass::timed(KNOWN_FILE, &[CallKind::StatAnew], same(1)));
    let silent = |reason: String| Ok(vec![Evidence::inconclusive(Kind::Witness, method, reason)]);
    match traced.observe(certain)? {
        Err(reason) => return silent(reason),
        Ok(passes) if passes.iter().all(|pass| pass.steps.iter().flatten().all(|&count| count == 0.0)) => {
            return silent("the kernel's trace shows no request here".to_owned());
        }
        Ok(_) => {}
    }
    let ages = [FIRST_NS, WITNESS_PATIENCE.as_nanos() as f64];
    let seen = sweeps(&mut traced, &mut numbers, wanted, ages)?;
    let [attributes, names, absences] = seen;
    let seen = match what {
        What::Attributes => attributes,
        What::Names => names,
        What::Absences => absences,
    };
    match seen {
        Ok(believed) => Ok(vec![believed.evidence(Kind::Witness, method)]),
        Err(reason) => silent(reason),
    }
}

/// What the options of the mount say.
pub(super) fn declared(
    declared: &Declared,
    method: &str,
    option: impl FnOnce(&Server) -> Option<(Duration, String)>,
) -> Vec<Evidence> {
    let Some(server) = &declared.server else {
        let reason = "the files are on this machine: there is no server to ask";
        return vec![Evidence::not_applicable(Kind::Declared, method, reason)];
    };
    let known = |(time, _): (Duration, String)| {
        // Clocks of the kernel tick a hundred to a thousand times a second.
        let ns = time.as_nanos() as u64;
        let value = Evidence::measured(Kind::Declared, method, Value::Whole(ns));
        value.within(ns, ns + TICKS.as_nanos() as u64)
    };
    option(server).map(known).into_iter().collect()
}

/// Two ticks of a kernel's slowest clock.
const TICKS: Duration = Duration::from_millis(20);
