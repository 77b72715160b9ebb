//! What two questions share: how many bytes one request to the server of a file system carries at most.
//!
//! A transfer past the page cache goes to the server at once, in as many requests as it needs. One byte more than fits
//! into a request takes another one: its time has a step there, and at each multiple.

use super::prelude::*;
use super::silence::{Answer, evidence, inconclusive};
use super::{remembered, truth_of_served};
use crate::case::Served;
use crate::inference::steps::{self, Sizes};
use fathom_program::call::Direction;
use fathom_run::witness::{Server, Unseen};

/// Requests are whole pages.
const PAGE: u64 = 4096;
/// The largest request that is looked for.
const LARGEST: u64 = 2 << 20;
/// Transfers of each size, in turns.
const TURNS: u32 = 24;
/// Another request takes this part of a round trip at least.
const LEAST_TRIPS: f64 = 0.7;
/// A server that copies data does so in pieces, each with a step of its own of up to some tens of microseconds, in ns.
const LEAST_NS: f64 = 70e3;
/// Looks at the same sizes, where a disturbance hides the step; together they tell more.
const LOOKS: usize = 5;
/// What is written may take this share of what is left to write.
const SHARE_OF_BUDGET: u64 = 3;
const TRANSFERS: [&str; 5] =
    ["transfers of the first size", "the second", "the third", "the fourth", "the fifth"];

/// How many bytes one request moves in one direction.
pub(super) struct Question {
    pub(super) about: &'static About,
    pub(super) direction: Direction,
    pub(super) method: &'static str,
    /// What the options of the mount say, and which one.
    pub(super) declared: fn(&Server) -> Option<(u64, String)>,
}

impl Experiment for Question {
    fn about(&self) -> &'static About {
        self.about
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let measured = |(bytes, samples)| {
            Evidence::measured(Kind::Timing, self.method, Value::Whole(bytes))
                .resting_on(1.0 - steps::MOST_CHANCE, samples)
        };
        evidence(Kind::Timing, self.method, timing(session, self.direction).map(measured))
    }

    fn witness(&self, seen: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        if seen.declared().server.is_none() {
            return Ok(Vec::new());
        }
        const METHOD: &str = "fuse_requests";
        let measured = |bytes| Evidence::measured(Kind::Witness, METHOD, Value::Whole(bytes));
        Ok(vec![evidence(Kind::Witness, METHOD, witness(seen, self.direction).map(measured))?])
    }

    fn declared(&self, kernel: &Declared) -> Vec<Evidence> {
        let Some(server) = &kernel.server else {
            let reason = "the files are on this machine: no request goes to a server";
            return vec![Evidence::not_applicable(Kind::Declared, "mount_options", reason)];
        };
        let known =
            |(bytes, name): (u64, String)| Evidence::measured(Kind::Declared, &name, Value::Whole(bytes));
        (self.declared)(server).map(known).into_iter().collect()
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        let sides = |served: Served| [served.read_request, served.write_request];
        truth_of_served(case, |served| Truth::known(sides(served)[self.direction as usize], Basis::Set))
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let (verb, most) = (self.direction.name(), Bytes(finding.whole()?));
        Some(format!(
            "One request {verb}s {most} at most: a larger {verb} takes several, each with a round trip unless they overlap."
        ))
    }
}

/// The size at which a step is, among powers of two, and the transfers that it rests on.
fn timing(session: &mut Session<'_>, direction: Direction) -> Answer<(u64, usize)> {
    let round_trip = remembered::round_trip(session)?.median;
    let round_trip = round_trip.map_err(|reason| format!("a round trip: {reason}"))?;
    // Whatever a server does in pieces itself takes no round trip.
    let least_ns = LEAST_TRIPS * round_trip.value;
    if least_ns < LEAST_NS {
        return inconclusive(
            "a round trip is too short to tell another request from what a server does in pieces itself",
        );
    }
    let mut samples = 0;
    let powers = std::iter::successors(Some(PAGE), |bytes| Some(bytes * 2));
    for bytes in powers.take_while(|&bytes| bytes <= LARGEST) {
        let sizes = [PAGE, bytes - PAGE, bytes, bytes + PAGE];
        // Nothing is smaller than a page.
        let than = (bytes > PAGE).then_some((1, 2));
        let step = |seen: &Sizes| (seen.has_step([0, 2, 3], than), seen.may_have_step([0, 2, 3]));
        if !watched(session, direction, least_ns, &sizes, &mut samples, step)? {
            continue;
        }
        // Beyond one request there is a step at each multiple, and none between them.
        let between = if bytes > PAGE { bytes * 3 / 2 } else { bytes * 2 };
        let sizes = [PAGE, between, between + PAGE, 2 * bytes, 2 * bytes + PAGE];
        let step = |seen: &Sizes| {
            let is_even = bytes == PAGE || seen.has_step([0, 3, 4], Some((1, 2)));
            (is_even && seen.has_step([0, 3, 4], None), seen.may_have_step([0, 3, 4]))
        };
        if watched(session, direction, least_ns, &sizes, &mut samples, step)? {
            return Ok((bytes, samples));
        }
    }
    inconclusive(format!("no step at any power of two up to {}", Bytes(LARGEST)))
}

/// Looks at transfers of these sizes until `step` says that there is a step, or that there can't be one, or often enough.
fn watched(
    session: &mut Session<'_>,
    direction: Direction,
    least_ns: f64,
    sizes: &[u64],
    samples: &mut usize,
    step: impl Fn(&Sizes) -> (bool, bool),
) -> Answer<bool> {
    let mut seen: Option<Sizes> = None;
    for _ in 0..LOOKS {
        let looked = looked_at(session, direction, least_ns, sizes)?;
        *samples += looked.transfers();
        match &mut seen {
            Some(seen) => seen.add(looked),
            None => seen = Some(looked),
        }
        match seen.as_ref().map(&step) {
            Some((true, _)) => return Ok(true),
            Some((false, false)) => break,
            _ => {}
        }
    }
    Ok(false)
}

/// Transfers of these sizes in turns, or why they can't be made.
fn looked_at(session: &mut Session<'_>, direction: Direction, least_ns: f64, sizes: &[u64]) -> Answer<Sizes> {
    let wanted = sizes.iter().sum::<u64>() * u64::from(TURNS);
    if direction == Direction::Write && wanted > session.write_budget() / SHARE_OF_BUDGET {
        return inconclusive("larger requests can't be looked for: raise --max-write");
    }
    let turns = transfers(direction, CallKind::OpenDirect, sizes).rounds(TURNS).warmup(1);
    let samples = match session.observe(turns) {
        Err(Fault::System(error)) if !error.is_full() && !error.is_read_only() => {
            return inconclusive(format!("transfers past the page cache fail here: {error}"));
        }
        Err(Fault::OutOfTime) => return inconclusive("time ran out"),
        samples => samples?,
    };
    let of = |(at, &bytes): (usize, &u64)| match bytes {
        0 => Vec::new(),
        _ => {
            samples.latencies(TRANSFERS[at], 0).into_iter().map(|ticks| samples.nanoseconds(ticks)).collect()
        }
    };
    Ok(Sizes::of(sizes.iter().enumerate().map(of).collect(), least_ns))
}

/// One transfer of each size from the start of a file that is long enough.
fn transfers(direction: Direction, opening: CallKind, sizes: &[u64]) -> Workload {
    let call = if direction == Direction::Read { CallKind::Pread } else { CallKind::Pwrite };
    let most = sizes.iter().copied().fold(PAGE, u64::max);
    let file = ScratchFile::filled("requests", most.next_power_of_two());
    let workload = Workload::new(vec![file]).pass(Pass::untimed(0, &[opening]));
    let sizes = sizes.iter().zip(TRANSFERS).filter(|(size, _)| **size > 0);
    let timed = sizes.fold(workload, |workload, (&size, label)| {
        let region = Region { offset: 0, size, step: 0, count: 1 };
        workload.pass(Pass::timed(0, &[call], region).label(label))
    });
    timed.pass(Pass::untimed(0, &[CallKind::Open]))
}

/// The size by the requests that the kernel sends.
fn witness(witness: &mut dyn Witness, direction: Direction) -> Answer<u64> {
    let (mut fits, mut too_much) = (0, 2 * LARGEST);
    let mut next = PAGE;
    while too_much - fits > PAGE {
        match requests(witness, direction, next)? {
            0 => return inconclusive("the kernel's trace shows no such request here"),
            1 => fits = next,
            _ => too_much = next,
        }
        let is_bounded = too_much <= LARGEST;
        next = if is_bounded { (fits + (too_much - fits) / 2) / PAGE * PAGE } else { 2 * next };
        if next > LARGEST {
            return inconclusive(format!(
                "{} go to the server in one request: no end was found",
                Bytes(LARGEST)
            ));
        }
    }
    match fits {
        0 => inconclusive("a page goes to the server in several requests"),
        bytes => Ok(bytes),
    }
}

/// How many requests one transfer of so many bytes takes.
fn requests(witness: &mut dyn Witness, direction: Direction, bytes: u64) -> Answer<usize> {
    let name = match direction {
        Direction::Read => "FUSE_READ",
        Direction::Write => "FUSE_WRITE",
    };
    let mut sent_by = |opening| witness.trace_requests(&transfers(direction, opening, &[bytes]));
    let sent = match sent_by(CallKind::OpenDirect) {
        // A server may refuse what its own files don't take. Writes through the cache are cut into requests in the same way.
        Err(Fault::System(error)) if !error.is_full() && direction == Direction::Write => {
            sent_by(CallKind::Open)
        }
        sent => sent,
    };
    match sent {
        Ok(Ok(passes)) => Ok(passes.iter().flat_map(|pass| &pass.names).filter(|sent| *sent == name).count()),
        Ok(Err(Unseen::Impossible(why) | Unseen::Forbidden(why) | Unseen::Lost(why))) => inconclusive(why),
        Err(Fault::System(error)) if !error.is_full() => {
            inconclusive(format!("transfers past the page cache fail here: {error}"))
        }
        Err(fault) => Err(fault.into()),
    }
}
