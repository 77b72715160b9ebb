//! How long data stay in memory before the kernel writes them without being asked.
//!
//! Many files are made dirty at once, and each is synced once, at an age of its own. As long as its page is
//! only in memory the sync takes as long as the device; once the flusher has been there it finds nothing to
//! do. The sync is one of data alone (`sync_file_range`), so that no file brings others along.
//!
//! Linux looks for old data every `dirty_writeback_centisecs` and then writes what has been dirty for
//! `dirty_expire_centisecs` (`wb_check_old_data_flush`, `move_expired_inodes`): the delay of a file is
//! anything from the second to the sum of both.

use std::time::{Duration, Instant};

use super::prelude::*;
use super::silence::{Answer, answer_or_silence, evidence, inconclusive};
use super::{dirty_data, in_memory, truth_in_memory};
use crate::inference::quiet::{self, FEWEST_PER_SIDE, Probe, Step};

pub(super) struct WritebackDelay;

const METHOD: &str = "sync_after_a_quiet_while";
const WITNESS: &str = "cachestat_dirty_pages";
const DECLARED: &str = "vm_dirty_centisecs";
/// Each file has one block of this many bytes that becomes dirty.
const SIZE: u64 = 4096;
/// The first age at which a file is synced, how much older each next one is, and how many there are: up to 63 s.
const FIRST_NS: f64 = 0.25e9;
const GROWTH: f64 = 1.1;
const AGES: usize = 59;
/// Files of each age.
const ALIKE: usize = 2;
/// Ages that are asked about in one run.
const STRIDE: usize = 2;
/// Files with nothing to sync and with something, by their place; the others follow.
const IDLE: usize = 0;
const BUSY: usize = 1;
const FIRST_FILE: usize = 2;
/// The passes of syncs: of the two known files, and of those that are asked about.
const KNOWN_IDLE: &str = "syncs of nothing";
const KNOWN_BUSY: &str = "syncs of something";
const ASKED: &str = "syncs asked about";
/// Syncs of known files before each that is asked about, of which the first warm up.
const KNOWN: u64 = 7;
const WARM: usize = 2;
/// Fewest ages after which it is said that nothing can be told.
const FEWEST_JUDGED: usize = 12;
/// Files that the witness looks at, spread over one period of the flusher.
const WITNESSED: u32 = 8;
/// When Linux looks at data, and how often, unless it is told otherwise.
const USUAL: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(5)];
/// Two delays that differ by more are no two views of one.
const MOST_APART: f64 = 2.0;
/// The probability of a step by chance, both of them together, above which nothing is said.
const MOST_CHANCE: f64 = 1e-3;

impl Experiment for WritebackDelay {
    fn about(&self) -> &'static About {
        &About {
            parameter: "writeback_delay",
            unit: "ns",
            question: "How long do written data stay in memory before the kernel writes them to the device by itself?",
            method: "Files are written at the same time and synced at growing ages. A sync takes long until the kernel has written the data by itself. Measured twice, at different moments. With the usual settings this takes 145 s, and --max-time must allow it.",
            source: "KERNEL: wb_check_old_data_flush",
            privileges: "none; what others have dirty on the file system is written first",
            cost: Cost { seconds: 2, write_bytes: 2 << 20, read_bytes: 0 },
            figure: Figure::Ages,
            not_applicable: "No data wait here to be written to a device.",
            inconclusive: "When the kernel writes data that no program syncs could not be determined.",
            ..About::USUAL
        }
    }

    fn demands(&self, declared: &Declared) -> Demands {
        if declared.is_memory_only() {
            return Demands::default();
        }
        // Two waits with what comes behind the step, and the witness's.
        let [expiry, wakeup] = declared.flusher.unwrap_or(USUAL);
        Demands { time: (expiry + wakeup) * 3 + expiry + 2 * wakeup, ..Demands::default() }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        evidence(Kind::Timing, METHOD, watched_twice(session))
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        let declared = witness.declared();
        if declared.is_memory_only() {
            return Ok(vec![in_memory(Kind::Witness, WITNESS)]);
        }
        let [expiry, wakeup] = declared.flusher.unwrap_or(USUAL);
        let starts: Vec<Duration> = (0..WITNESSED).map(|file| wakeup * file / WITNESSED).collect();
        let patience = 2 * (expiry + 2 * wakeup) + Duration::from_secs(1);
        match answer_or_silence(written_back(witness, &starts, patience))? {
            Ok(delays) => Ok(delays_seen(&delays)),
            Err(silence) => Ok(vec![silence.evidence(Kind::Witness, WITNESS)]),
        }
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        if declared.is_memory_only() {
            return vec![in_memory(Kind::Declared, DECLARED)];
        }
        if declared.is_fuse() {
            let reason = "whether data wait in memory here is up to the FUSE server, and is declared nowhere";
            return vec![Evidence::inconclusive(Kind::Declared, DECLARED, reason)];
        }
        let ns = |time: Duration| time.as_nanos() as u64;
        let known = declared.flusher.map(|[expiry, wakeup]| {
            Evidence::measured(Kind::Declared, DECLARED, Value::Whole(ns(expiry + wakeup / 2)))
                .within(ns(expiry), ns(expiry + wakeup))
        });
        let never = "vm.dirty_writeback_centisecs is 0: the kernel looks for no old data";
        vec![known.unwrap_or_else(|| Evidence::inconclusive(Kind::Declared, DECLARED, never))]
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        case.conditions.flusher.is_some()
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        match case.conditions.flusher {
            // Data are written at the first look after they have expired: any time from the one to the other,
            // and the ages that are tried are a tenth apart.
            Some([expiry, wakeup]) if case.fs_type != "tmpfs" => {
                let ns = |time: Duration| time.as_nanos() as f64;
                Truth::within([0.95 * ns(expiry), 1.05 * ns(expiry + wakeup)])
            }
            _ => truth_in_memory(case),
        }
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let delay = Nanos(finding.whole()? as f64);
        Some(match finding.by(DECLARED).and_then(|declared| declared.interval) {
            Some([expiry, longest]) => format!(
                "Data that no program syncs reach the device after about {delay}: they are due after {}, and the kernel looks for such every {}.",
                Nanos(expiry),
                Nanos(longest - expiry)
            ),
            None => format!("Data that no program syncs reach the device after about {delay}."),
        })
    }
}

/// What one wait has shown.
struct Watched {
    step: Step,
    samples: usize,
}

/// The delay that two waits agree on.
fn watched_twice(session: &mut Session<'_>) -> Answer<Evidence> {
    let first = watch(session)?;
    let second = match answer_or_silence(watch(session))? {
        Ok(seen) => seen,
        Err(silence) => return inconclusive(format!("the second time {}", silence.reason)),
    };
    let chance = first.step.chance * second.step.chance;
    let (low, high) = (first.step.low.min(second.step.low), first.step.high.max(second.step.high));
    if chance > MOST_CHANCE || high > MOST_APART * low {
        let [one, other] = [first.step.high, second.step.high].map(Nanos);
        return inconclusive(format!(
            "data were written after {one} and after {other}: that is no one delay"
        ));
    }
    Ok(Evidence::measured(Kind::Timing, METHOD, Value::Whole(low.midpoint(high) as u64))
        .within(low as u64, high as u64)
        .resting_on(1.0 - chance, first.samples + second.samples))
}

/// Makes all files dirty and syncs them at growing ages, until some were found written.
fn watch(session: &mut Session<'_>) -> Answer<Watched> {
    let dirtied = starts(session.observe(dirtying())?);
    let mut probes = Vec::new();
    let mut waited = 0.0;
    for place in (0..AGES).step_by(STRIDE) {
        let places = place..(place + STRIDE).min(AGES);
        let nothing = || inconclusive(format!("nothing was written within {}", Nanos(waited)));
        if session.time_left().as_nanos() as f64 <= age(places.end - 1) - waited {
            return nothing();
        }
        let samples = match session.observe(asking(places.clone(), waited)) {
            Err(Fault::OutOfTime) => return nothing(),
            samples => samples?,
        };
        probes.extend(probed(samples, places.clone(), &dirtied));
        waited = age(places.end - 1);
        let judged = match quiet::found_done(&probes) {
            // A disturbance at the beginning weighs less once there are more.
            Err(_) if probes.len() < FEWEST_JUDGED => continue,
            judged => judged?,
        };
        let clear = probes.iter().zip(judged).filter_map(|(probe, done)| Some((probe.age_ns, done?)));
        let (ages, done): (Vec<f64>, Vec<bool>) = clear.unzip();
        if done.len() > FEWEST_PER_SIDE && done[..FEWEST_PER_SIDE].iter().all(|&done| done) {
            return inconclusive(format!("data were written before {}", Nanos(ages[0])));
        }
        if done.iter().rev().take_while(|&&done| done).count() < FEWEST_PER_SIDE {
            continue;
        }
        let Some(step) = quiet::step(&ages, &done) else { continue };
        let samples = probes.iter().map(|probe| probe.idle.len() + probe.busy.len() + ALIKE).sum();
        return Ok(Watched { step, samples });
    }
    inconclusive(format!("nothing was written within {}", Nanos(waited)))
}

/// The age in ns at which the files of a place are synced.
fn age(place: usize) -> f64 {
    FIRST_NS * GROWTH.powi(i32::try_from(place).unwrap_or(i32::MAX))
}

fn files_of(place: usize) -> std::ops::Range<usize> {
    let first = FIRST_FILE + place * ALIKE;
    first..first + ALIKE
}

fn files() -> Vec<ScratchFile> {
    (0..files_of(AGES).start).map(|file| ScratchFile::filled(&format!("quiet-{file}"), SIZE)).collect()
}

/// Everything is clean, and then one block of each file is dirty.
fn dirtying() -> Workload {
    // An inode that is dirty already, if only for its times, is written when that has expired.
    let clean = Workload::new(files()).pass(Pass::untimed(IDLE, &[CallKind::Syncfs]));
    (FIRST_FILE..files_of(AGES).start)
        .fold(clean, |workload, file| workload.pass(Pass::timed(file, &[CallKind::Pwrite], block(1))))
}

/// When each file became dirty, in ticks.
fn starts(samples: &Samples) -> Vec<u64> {
    samples.readings.iter().map(|reading| reading.start.0 + reading.latency.0).collect()
}

/// Syncs of the files of these places, each at its age, where `waited` ns have passed.
fn asking(places: std::ops::Range<usize>, waited: f64) -> Workload {
    let mut now = waited;
    places.fold(Workload::new(files()), |mut workload, place| {
        workload = workload
            .pass(Pass::pause((age(place) - now) as u64))
            .pass(Pass::timed(IDLE, &[CallKind::SyncRange], block(KNOWN)).label(KNOWN_IDLE))
            .pass(
                Pass::timed(BUSY, &[CallKind::Pwrite, CallKind::SyncRange], block(KNOWN)).label(KNOWN_BUSY),
            );
        now = age(place);
        files_of(place).fold(workload, |workload, file| {
            workload.pass(Pass::timed(file, &[CallKind::SyncRange], block(1)).label(ASKED))
        })
    })
}

/// The same block so many times.
fn block(times: u64) -> Region {
    Region { offset: 0, size: SIZE, step: 0, count: times }
}

fn probed(samples: &Samples, places: std::ops::Range<usize>, dirtied: &[u64]) -> Vec<Probe> {
    let warm = |pass: usize, step: usize| samples.matrix(pass, step).into_iter().skip(WARM).collect();
    let [idle, busy, asked] =
        [KNOWN_IDLE, KNOWN_BUSY, ASKED].map(|label| samples.labelled(label).collect::<Vec<_>>());
    let passes = idle.into_iter().zip(busy).zip(asked.chunks(ALIKE));
    places
        .zip(passes)
        .filter_map(|(place, ((idle, busy), passes))| {
            let asked: Vec<f64> = passes.iter().flat_map(|&pass| samples.matrix(pass, 0)).collect();
            let reading = samples.readings.iter().find(|reading| reading.pass as usize == passes[0])?;
            let since = dirtied.get(files_of(place).start - FIRST_FILE)?;
            Some(Probe {
                age_ns: samples.nanoseconds(reading.start.0.saturating_sub(*since) as f64),
                idle: warm(idle, 0),
                busy: warm(busy, 1),
                asked: asked.into_iter().reduce(f64::min)?,
            })
        })
        .collect()
}

/// How often it is looked whether a file is still dirty.
const TICK: Duration = Duration::from_millis(5);

/// After how long the kernel itself has written a page of each of several files, which become dirty after `starts`;
/// a reason where that can't be seen. Nothing else of the file system is dirty then.
fn written_back(witness: &mut dyn Witness, starts: &[Duration], patience: Duration) -> Answer<Vec<Duration>> {
    dirty_data::tried(witness)?;
    let page = witness.declared().page_size;
    let names: Vec<String> = (0..starts.len()).map(|number| format!("witness-quiet-{number}")).collect();
    for name in &names {
        witness.provide(&ScratchFile::filled(name, page))?;
    }
    // An inode that is dirty already, if only for its times, is written when that has expired.
    witness.sync_file_system(&names[0])?;
    let started = Instant::now();
    let mut dirtied: Vec<Option<Instant>> = vec![None; names.len()];
    let mut delays: Vec<Option<Duration>> = vec![None; names.len()];
    while delays.contains(&None) {
        if started.elapsed() > patience {
            return inconclusive(format!("nothing was written for {} s", patience.as_secs()));
        }
        for (at, name) in names.iter().enumerate() {
            match dirtied[at] {
                None if started.elapsed() >= starts[at] => {
                    witness.write(name, 0..1)?;
                    dirtied[at] = Some(Instant::now());
                }
                Some(since) if delays[at].is_none() && witness.is_dirty(name)? == Some(false) => {
                    delays[at] = Some(since.elapsed());
                }
                _ => {}
            }
        }
        witness.wait(TICK)?;
    }
    Ok(delays.into_iter().flatten().collect())
}

fn delays_seen(delays: &[Duration]) -> Vec<Evidence> {
    let mut ns: Vec<u64> = delays.iter().map(|delay| delay.as_nanos() as u64).collect();
    ns.sort_unstable();
    let [Some(low), Some(median), Some(high)] =
        [0, ns.len() / 2, ns.len().saturating_sub(1)].map(|at| ns.get(at).copied())
    else {
        return Vec::new();
    };
    vec![Evidence::measured(Kind::Witness, WITNESS, Value::Whole(median)).within(low, high)]
}
