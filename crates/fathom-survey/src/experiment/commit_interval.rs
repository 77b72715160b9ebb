//! How long a change of metadata may wait in an open transaction before the file system commits it by itself.
//!
//! A file is made, and after a while synced: that takes long as long as the transaction is open, because the
//! sync has to commit it, and is quick once the journal has done so by its own timer. One sync commits
//! everything, so that each wait gives one bit; [`crate::inference::commits`] decides which wait is next.
//!
//! jbd2 commits a transaction `commit` seconds after its first change, rounded up to a whole second
//! (`jbd2_get_transaction`): the answer is the interval that was set, and a change may wait a second longer.
//!
//! On btrfs the lab has no case. Its thread (`transaction_kthread`) looks when it last chose to, which no change
//! moves, and counts in whole seconds: a change waits for anything from a second less than the interval to two
//! more, and the next one for something else. Now and then enough trials agree on an interval with the true one in
//! it; otherwise they contradict one another, and the answer is silence.

use std::time::{Duration, Instant};

use super::prelude::*;
use super::silence::{Answer, evidence, inconclusive};
use crate::inference::commits::{Belief, LEVEL, Next, Trial};
use crate::inference::quiet::{self, Probe};
use fathom_run::witness::{Commits, Counter};

pub(super) struct CommitInterval;

const NO_JOURNAL: &str = "there is no journal and nothing like it";
const METHOD: &str = "sync_after_a_quiet_while";
const WITNESS: &str = "jbd2_transactions";
const DECLARED: &str = "commit_option";
/// The file with nothing to commit, the one that is asked about, and the one with something.
const IDLE: usize = 0;
const ASKED: usize = 1;
const BUSY: usize = 2;
/// Syncs of known files for each file that is asked about; the first of them warm up.
const KNOWN: u64 = 7;
const WARM: usize = 2;
const CHANGING: &str = "a sync after the same wait is now fast and now slow";
/// The passes of a trial.
const CHANGE: &str = "change";
const IDLE_SYNC: &str = "syncs of nothing";
const ASKED_SYNC: &str = "sync asked about";
const BUSY_SYNC: &str = "syncs of something";
/// More trials than this do not settle what so many have left open.
const MOST_TRIALS: usize = 40;
/// Fewest trials after which it is said that nothing can be told.
const FEWEST_JUDGED: usize = 8;
/// One trial in so many may be mistaken: a stall makes a sync slow that has nothing to do.
const PER_MISTAKE: usize = 10;
/// Changes that are looked at just before they are committed, and as many just after: an independent proof.
/// Where others commit now and then, and nothing by itself, each pair of them looks like this once in four times.
const PROOFS: usize = 6;
/// Proofs that a disturbance may spoil.
const MOST_SPOILT: usize = 1;
/// No file system commits more often than this, and others may.
const SHORTEST_S: f64 = 0.5;
/// Whole seconds that a timer waits for.
const ROUNDING_S: f64 = 1.0;

impl Experiment for CommitInterval {
    fn about(&self) -> &'static About {
        &About {
            parameter: "commit_interval",
            unit: "ns",
            question: "How long may a new file wait before the file system commits it by itself?",
            method: "A file is created, left alone and synced. The sync takes long until the journal's own timer has committed the file. Each wait is chosen by the results before it, and more of them check the answer. An interval of 5 s takes 178 s to find, and --max-time must allow it.",
            source: "KERNEL: jbd2_get_transaction",
            privileges: "none; other writers on the file system disturb it",
            cost: Cost { seconds: 2, write_bytes: 0, read_bytes: 0 },
            figure: Figure::Ages,
            not_applicable: "Nothing is committed here: without a journal each change is written when it has expired.",
            inconclusive: "When a new file is committed could not be determined.",
            ..About::USUAL
        }
    }

    fn demands(&self, declared: &Declared) -> Demands {
        let interval = match declared.commits {
            _ if declared.is_memory_only() => return Demands::default(),
            Commits::Every(interval) | Commits::About(interval) | Commits::Within(interval) => interval,
            Commits::Never => return Demands { pointless: Some(NO_JOURNAL), ..Demands::default() },
            Commits::Unknown => Duration::from_secs(30),
        };
        // A dozen waits, most of them shorter; as many proofs; and those of the witness.
        let time = (interval + Duration::from_secs(1)) * 28 + Duration::from_secs(10);
        Demands { time, ..Demands::default() }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let mut seen = Seen::default();
        let found = seen.search(session).and_then(|()| seen.prove(session));
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let samples = seen.probes.iter().map(|probe| probe.idle.len() + probe.busy.len() + 1).sum();
        let measured = |[low, high]: [f64; 2]| {
            Evidence::measured(Kind::Timing, METHOD, Value::Whole(ns(low.midpoint(high))))
                .within(ns(low), ns(high))
                .resting_on(LEVEL, samples)
        };
        evidence(Kind::Timing, METHOD, found.map(measured))
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        let delays = committed(witness).map(|delays| delays_seen(&delays));
        Ok(vec![evidence(Kind::Witness, WITNESS, delays)?])
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        let not_applicable = |reason: &str| Evidence::not_applicable(Kind::Declared, DECLARED, reason);
        let ns = |time: Duration| time.as_nanos() as u64;
        let value = |time| Evidence::measured(Kind::Declared, DECLARED, Value::Whole(ns(time)));
        const SECOND: Duration = Duration::from_secs(1);
        let known = match declared.commits {
            _ if declared.is_memory_only() => Some(not_applicable("files live in memory alone")),
            Commits::Every(time) => Some(value(time)),
            Commits::About(time) => {
                Some(value(time).within(ns(time.saturating_sub(SECOND)), ns(time + SECOND)))
            }
            Commits::Within(time) => Some(value(time).within(0, ns(time))),
            Commits::Never => Some(not_applicable(NO_JOURNAL)),
            Commits::Unknown => None,
        };
        known.into_iter().collect()
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        case.conditions.commit.is_some()
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        match case.conditions.commit {
            Some(0) => Truth::NotApplicable { basis: Basis::Format },
            Some(seconds) => Truth::known(seconds * 1_000_000_000, Basis::Set),
            None => Truth::Unknown,
        }
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        Some(format!(
            "A new file that no program syncs is committed after {}, or at the next whole second of the kernel's clock; where the mount names no interval it is the default of its type. xfs looks every so often instead, and btrfs counts whole seconds.",
            Nanos(finding.whole()? as f64)
        ))
    }
}

/// What was tried.
#[derive(Default)]
struct Seen {
    probes: Vec<Probe>,
    /// When each change was made and asked about, in seconds.
    times: Vec<[f64; 2]>,
    /// When the last trial ended.
    now: f64,
    committed: Vec<Option<bool>>,
}

impl Seen {
    /// Makes a trial; a reason where there can't be one or it tells nothing.
    fn try_one(&mut self, session: &mut Session<'_>, next: Next) -> Answer<()> {
        let takes = next.pause + next.wait;
        let too_long =
            || inconclusive(format!("a wait of {} is more than is left of the time", Nanos(takes * 1e9)));
        if session.time_left().as_secs_f64() <= takes {
            return too_long();
        }
        let samples = match session.observe(trial(next)) {
            Err(Fault::OutOfTime) => return too_long(),
            samples => samples?,
        };
        let Some((probe, times, now)) = observed(samples) else {
            return inconclusive("a trial was not completed");
        };
        self.probes.push(probe);
        self.times.push(times);
        self.now = now;
        match quiet::found_done(&self.probes) {
            Ok(committed) => self.committed = committed,
            // A disturbance at the beginning weighs less once there are more.
            Err(_) if self.probes.len() < FEWEST_JUDGED => self.committed = vec![None; self.probes.len()],
            Err(reason) => return inconclusive(reason),
        }
        Ok(())
    }

    fn trials(&self) -> Vec<Trial> {
        let clear = self.times.iter().zip(&self.committed).filter_map(|(times, &done)| Some((times, done?)));
        clear.map(|(&[changed, asked], committed)| Trial { changed, asked, committed }).collect()
    }

    /// Tries until the interval is known.
    fn search(&mut self, session: &mut Session<'_>) -> Answer<()> {
        // Without a wait it shows at once where nothing can be told.
        for _ in 0..FEWEST_JUDGED {
            self.try_one(session, Next { pause: 0.0, wait: 0.0 })?;
        }
        loop {
            let belief = Belief::after(&self.trials());
            if belief.settled().is_some() {
                return Ok(());
            }
            if self.probes.len() >= MOST_TRIALS {
                return inconclusive(CHANGING);
            }
            self.try_one(session, belief.next(self.now))?;
        }
    }

    /// Looks at changes just before and just after they should be committed, and returns the interval if they are.
    fn prove(&mut self, session: &mut Session<'_>) -> Answer<[f64; 2]> {
        let (mut proven, mut spoilt) = (0, 0);
        while proven < 2 * PROOFS {
            let after = proven % 2 == 1;
            // Any moments of a second will do, as long as they differ.
            let pause = 0.37 * self.probes.len() as f64 % ROUNDING_S;
            let proof = Belief::after(&self.trials()).proof(self.now, pause, after);
            self.try_one(session, proof)?;
            match self.committed.last().copied().flatten() {
                Some(committed) if committed == after => proven += 1,
                Some(true) => {
                    let wait = Nanos(proof.wait * 1e9);
                    return inconclusive(format!("a change was committed within {wait}, which others deny"));
                }
                _ => spoilt += 1,
            }
            if spoilt > MOST_SPOILT {
                return inconclusive(CHANGING);
            }
        }
        let (trials, belief) = (self.trials(), Belief::after(&self.trials()));
        match belief.settled() {
            Some([low, _]) if low < SHORTEST_S => {
                inconclusive("changes are committed at once, or at moments of their own")
            }
            Some(bounds) if belief.mistaken(&trials) <= trials.len() / PER_MISTAKE => Ok(bounds),
            _ => inconclusive(CHANGING),
        }
    }
}

/// One change, a wait, and its sync between others.
fn trial(next: Next) -> Workload {
    let ns = |seconds: f64| (seconds.max(0.0) * 1e9) as u64;
    let times = |count| Region { offset: 0, size: 0, step: 0, count };
    let files = ["commit-idle", "commit-asked", "commit-busy"];
    Workload::new(files.into_iter().map(ScratchFile::empty).collect())
        .pass(Pass::pause(ns(next.pause)))
        // Whatever others have begun is over.
        .pass(Pass::untimed(IDLE, &[CallKind::Syncfs]))
        .pass(Pass::timed(ASKED, &[CallKind::Create], times(1)).label(CHANGE))
        .pass(Pass::pause(ns(next.wait)))
        .pass(Pass::timed(IDLE, &[CallKind::Fsync], times(KNOWN)).label(IDLE_SYNC))
        .pass(Pass::timed(ASKED, &[CallKind::Fsync], times(1)).label(ASKED_SYNC))
        .pass(Pass::timed(BUSY, &[CallKind::Create, CallKind::Fsync], times(KNOWN)).label(BUSY_SYNC))
}

/// The probe, when its change was made and asked about, and when all was over, in seconds.
fn observed(samples: &Samples) -> Option<(Probe, [f64; 2], f64)> {
    let seconds = |ticks: u64| samples.nanoseconds(ticks as f64) / 1e9;
    let start = |label: &str| {
        let pass = samples.labelled(label).next()?;
        samples.readings.iter().find(|one| one.pass as usize == pass).map(|reading| seconds(reading.start.0))
    };
    let warm = |label: &str, step: usize| samples.latencies(label, step).into_iter().skip(WARM).collect();
    let times = [start(CHANGE)?, start(ASKED_SYNC)?];
    let last = samples.readings.last()?;
    let probe = Probe {
        age_ns: (times[1] - times[0]) * 1e9,
        idle: warm(IDLE_SYNC, 0),
        busy: warm(BUSY_SYNC, 1),
        asked: samples.latencies(ASKED_SYNC, 0).first().copied()?,
    };
    Some((probe, times, seconds(last.start.0 + last.latency.0)))
}

/// Where in the whole seconds after a commit the next change is made: jbd2's timer waits for such a second,
/// so that one just before it waits least and one just after it most. A commit is seen when it is over, a little late.
const MOMENTS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(850), Duration::from_millis(150)];
/// No journal waits longer.
const LONGEST_COMMIT: Duration = Duration::from_secs(100);
/// How often the journal's count is looked at.
const TICK: Duration = Duration::from_millis(5);
/// The file that is made anew.
const CHANGED: &str = "witness-commit";

/// After how long the file system itself has committed a new file that no program syncs, several times over, as the
/// journal's own count of transactions tells; a reason where it does not.
fn committed(witness: &mut dyn Witness) -> Answer<Vec<Duration>> {
    witness.create(CHANGED)?;
    let Some(before) = witness.count(Counter::JournalTransactions) else {
        return inconclusive("no journal counts its transactions here");
    };
    witness.sync_file_system(CHANGED)?;
    if witness.count(Counter::JournalTransactions) == Some(before) {
        return inconclusive("the journal counts no transaction when a new file is synced");
    }
    // The timer of a transaction goes off a little earlier or later on each CPU.
    let _pinned = witness.pin();
    let mut last = Instant::now();
    let mut delays = Vec::new();
    for moment in MOMENTS {
        let second = (last.elapsed() + Duration::from_millis(100)).as_secs() + 1;
        witness.wait((Duration::from_secs(second) + moment).saturating_sub(last.elapsed()))?;
        let Some(delay) = one_commit(witness)? else {
            return inconclusive(format!("nothing was committed for {} s", LONGEST_COMMIT.as_secs()));
        };
        last = Instant::now();
        delays.push(delay);
    }
    Ok(delays)
}

/// How long the journal takes to commit a new file.
fn one_commit(witness: &mut dyn Witness) -> Result<Option<Duration>, Fault> {
    witness.sync_file_system(CHANGED)?;
    let before = witness.count(Counter::JournalTransactions);
    let changed = Instant::now();
    witness.create(CHANGED)?;
    while changed.elapsed() < LONGEST_COMMIT {
        if witness.count(Counter::JournalTransactions) != before {
            return Ok(Some(changed.elapsed()));
        }
        witness.wait(TICK)?;
    }
    Ok(None)
}

/// A change waits for the interval and up to a second more: the shortest delay is the most that the interval
/// can be, and the longest less that second the least.
fn delays_seen(delays: &[Duration]) -> Evidence {
    let seconds: Vec<f64> = delays.iter().map(Duration::as_secs_f64).collect();
    let most = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let least = seconds.iter().copied().fold(0.0, f64::max) - ROUNDING_S;
    let ns = |seconds: f64| (seconds.max(0.0) * 1e9) as u64;
    match least <= most && !delays.is_empty() {
        true => Evidence::measured(Kind::Witness, WITNESS, Value::Whole(ns(least.midpoint(most))))
            .within(ns(least), ns(most)),
        false => Evidence::inconclusive(
            Kind::Witness,
            WITNESS,
            "others committed meanwhile: the delays differ by more than a second",
        ),
    }
}
