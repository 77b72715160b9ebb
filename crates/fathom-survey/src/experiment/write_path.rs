//! When what is written leaves this machine's memory: at each write, when the file is closed, or later.
//!
//! What is written has to be waited for somewhere: by the write, by the close, or by a sync of the file. Which call takes
//! longer than without writes, by a round trip to the server or by more than all others together, is the one.

use super::prelude::*;
use super::remembered::BARE_NS;
use super::silence::answer_or_silence;
use super::{dirty_data, in_memory, remembered, truth_in_memory};
use crate::inference::carrying::{RoundTimes, Waits};
use crate::inference::steps;
use fathom_fuse::Writes;
use fathom_stats::quantile;

/// Asks when written data leave this machine's memory.
pub struct WritePath;

impl WritePath {
    /// The answer where each write waits for the server.
    pub fn through() -> Value {
        Value::Word(THROUGH.to_owned())
    }
}

const METHOD: &str = "which_call_waits";
const WITNESS: &str = "dirty_pages_after_close";
const DECLARED: &str = "sync_option";
const THROUGH: &str = "through";
const CACHED: &str = "cached";
const FLUSHED: &str = "flushed_at_close";
/// What is written in a turn: a few pages, so that a cached write stays short next to a request.
const WRITES: u64 = 4;
const SIZE: u64 = 4096;
const TURNS: u32 = 36;
/// Turns before those that count.
const WARM: u32 = 2;
const FILE: &str = "write-path";
/// The passes of a turn.
const TRIPS: &str = "stats asked of the server";
const NAMES: &str = "look-ups of new names";
const IDLE_CLOSE: &str = "close with nothing written";
const IDLE_SYNC: &str = "sync with nothing written";
const WRITING: &str = "writes";
const BUSY_CLOSE: &str = "close after writes";
const BUSY_SYNC: &str = "sync after writes";

impl Experiment for WritePath {
    fn about(&self) -> &'static About {
        &About {
            parameter: "write_path",
            unit: "word",
            question: "Which call waits until written data have reached the server or the device: the write, the close of the file, or neither?",
            method: "A file is written, closed, opened again and synced, alternating with the same calls without the write. The call that waits takes a round trip to the server longer; without a server, longer than all others.",
            source: "KERNEL: fuse_flush, nfs_file_flush, generic_write_sync",
            cost: Cost { seconds: 1, write_bytes: 1 << 20, read_bytes: 0 },
            nature: Nature::Fixed,
            figure: Figure::Spread,
            asks_server: true,
            not_applicable: "Files live in memory alone: no write has to wait for anything.",
            inconclusive: "Which call waits for written data could not be determined. Mount options do not say it; on FUSE the server decides, by FUSE_WRITEBACK_CACHE.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let silent = |reason: String| Evidence::inconclusive(Kind::Timing, METHOD, reason);
        let server = match answer_or_silence(remembered::round_trip(session))? {
            Ok(trip) if trip.ends_on_the_way() => Server::Farther,
            Ok(_) => Server::Near,
            Err(silence) if silence.status == Status::NotApplicable => Server::None,
            Err(silence) => return Ok(silence.evidence(Kind::Timing, METHOD)),
        };
        let turns = (0..WARM + TURNS).fold(workload(server), |turns, at| turn(turns, server, at));
        let times = round_times(session.observe(turns)?, server);
        let count = times.write.len() * (2 * WRITES as usize + 4);
        Ok(match times.waiting() {
            Some(waits) => Evidence::measured(Kind::Timing, METHOD, Value::Word(word(waits).to_owned()))
                .resting_on(1.0 - steps::MOST_CHANCE, count),
            None => silent("no single call clearly waits for the written data".to_owned()),
        })
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        let silent = |reason: &str| Ok(vec![Evidence::inconclusive(Kind::Witness, WITNESS, reason)]);
        if witness.declared().is_memory_only() {
            return Ok(vec![in_memory(Kind::Witness, WITNESS)]);
        }
        match answer_or_silence(dirty_data::tried(witness))? {
            Err(silence) if silence.status == Status::NotApplicable => {
                return silent(
                    "nothing is dirty after a write, and whether it waits at a server is not seen",
                );
            }
            Err(silence) => return silent(&silence.reason),
            Ok(()) => {}
        }
        witness.provide(&ScratchFile::filled(FILE, WRITES * SIZE))?;
        witness.sync(FILE)?;
        witness.write(FILE, 0..SIZE)?;
        let close = Workload::new(vec![ScratchFile::filled(FILE, WRITES * SIZE)])
            .pass(Pass::untimed(0, &[CallKind::Close]));
        let before = witness.is_dirty(FILE)?;
        witness.perform(&close, 0)?;
        let word = match (before, witness.is_dirty(FILE)?) {
            (Some(true), Some(true)) => CACHED,
            (Some(true), Some(false)) => FLUSHED,
            _ => return silent("what was written did not stay dirty until the close"),
        };
        Ok(vec![Evidence::measured(Kind::Witness, WITNESS, Value::Word(word.to_owned()))])
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        match declared {
            _ if declared.is_memory_only() => vec![in_memory(Kind::Declared, DECLARED)],
            Declared { writes_through: true, .. } => {
                vec![Evidence::measured(Kind::Declared, DECLARED, Self::through())]
            }
            _ => Vec::new(),
        }
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        case.is_usual() || case.conditions.served.is_some()
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        let word =
            match case.conditions.served.map(|served| (served.writes, served.round_trip.as_nanos() as f64)) {
                Some((Writes::Through, _)) => THROUGH,
                // A server that has hardly anywhere to go takes as long whether it goes there at once or later.
                Some((Writes::Late, round_trip)) if round_trip < BARE_NS => return Truth::Unknown,
                Some((Writes::Cached | Writes::Late, _)) => FLUSHED,
                None if case.is_served() => THROUGH,
                None if case.fs_type == "tmpfs" => return truth_in_memory(case),
                None => CACHED,
            };
        Truth::word(word, Basis::Set)
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let words = match finding.word()? {
            THROUGH => {
                "Each write waits until what keeps the files has it: small writes cost a round trip each, and gathering them pays."
            }
            FLUSHED => {
                "Writes return at once, and closing the file waits for them: others see them then, and an error may come with the close."
            }
            _ => {
                "Writes return at once, and so does the close: what was written is in memory alone until the kernel writes it or a program syncs it."
            }
        };
        Some(words.to_owned())
    }
}

fn word(waits: Waits) -> &'static str {
    match waits {
        Waits::Write => THROUGH,
        Waits::Close => FLUSHED,
        Waits::Sync => CACHED,
    }
}

/// Where what is written has to go.
#[derive(Clone, Copy, PartialEq)]
enum Server {
    None,
    /// As far as a stat goes.
    Near,
    /// Farther than a stat, which is answered on the way.
    Farther,
}

fn workload(server: Server) -> Workload {
    let file = ScratchFile::filled(FILE, WRITES * SIZE);
    let names = (server == Server::Farther).then(|| ScratchFile::directory("write-path-names", 1));
    Workload::new([file].into_iter().chain(names).collect())
}

/// A turn without writes and one with them. Names are new in each.
fn turn(turns: Workload, server: Server, at: u32) -> Workload {
    let once = |op, label| {
        let place = Region { offset: 0, size: 0, step: 0, count: 1 };
        Pass::timed(0, &[op], place).label(label)
    };
    let open = || Pass::untimed(0, &[CallKind::Open]);
    let pages = Region { offset: 0, size: SIZE, step: SIZE, count: WRITES };
    let trips = Region { offset: 0, size: 0, step: 0, count: WRITES };
    let names = Region { offset: 1 + u64::from(at) * WRITES, size: 0, step: 1, count: WRITES };
    let turns = turns.pass(open()).pass(Pass::timed(0, &[CallKind::StatAnew], trips).label(TRIPS));
    let turns = match server {
        Server::Farther => turns.pass(Pass::timed(1, &[CallKind::LookUp], names).label(NAMES)),
        _ => turns,
    };
    turns
        .pass(once(CallKind::Close, IDLE_CLOSE))
        .pass(open())
        .pass(once(CallKind::Fsync, IDLE_SYNC))
        .pass(Pass::timed(0, &[CallKind::Pwrite], pages).label(WRITING))
        .pass(once(CallKind::Close, BUSY_CLOSE))
        .pass(open())
        .pass(once(CallKind::Fsync, BUSY_SYNC))
}

fn round_times(samples: &Samples, server: Server) -> RoundTimes {
    let of_turns = |label: &str, of: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
        samples.labelled(label).skip(WARM as usize).map(|pass| of(&samples.matrix(pass, 0))).collect()
    };
    let median = |some: &[f64]| quantile::median(some).unwrap_or(f64::NAN);
    let sum = |some: &[f64]| some.iter().sum();
    let typical = |label: &str| of_turns(label, &median);
    let longer = |long: &[f64], short: &[f64]| -> Vec<f64> {
        long.iter().zip(short).map(|(long, short)| long - short).collect()
    };
    let (stat, name, write) = (typical(TRIPS), typical(NAMES), typical(WRITING));
    let (trip, write) = match server {
        Server::None => (Vec::new(), write),
        Server::Near => (stat, write),
        // How far it is from where stats are answered.
        Server::Farther => (longer(&name, &stat), longer(&write, &stat)),
    };
    RoundTimes {
        trip,
        write,
        writes: of_turns(WRITING, &sum),
        close: longer(&typical(BUSY_CLOSE), &typical(IDLE_CLOSE)),
        sync: longer(&typical(BUSY_SYNC), &typical(IDLE_SYNC)),
    }
}
