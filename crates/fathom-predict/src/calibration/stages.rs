//! Which jobs a calibration runs, and what each stage of it finds.

use std::time::Duration;

use crate::model::{Curve, Fits, Found, Journal, Model, Number, Opening, PAGE, Parameters, Scalar, Syncs};
use crate::trial::is_short;
use fathom_program::job::{Blocks, DIRECTIONS, Depth, Direction, Engine, Files, Job, Pattern};

/// One group of parameters and the jobs that identify it.
pub(super) struct Stage {
    /// The numbers that it fits are those whose rows name this.
    pub(super) fits: Fits,
    pub(super) jobs: Vec<Job>,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// A file that any CPU's caches hold with the reader's buffer.
const NEAR: u64 = MIB / 2;
/// One that it does not.
const FAR: u64 = 64 * MIB;
/// One that is written over: more than caches hold, and less than would be written back meanwhile.
const MIXED: u64 = 26 * MIB;
/// How much of it a run moves.
const MIXED_MOVED: u64 = 13 * MIB;

/// A slow device answers in seconds what a fast one answers in milliseconds.
const LONGEST: Duration = Duration::from_millis(400);
/// Where a scheduler puts threads and what serves them it decides anew as they work.
const LASTING: Duration = Duration::from_millis(200);
/// Jobs with many requests need no longer.
const BRIEF: Duration = Duration::from_millis(100);

/// The most that a sync writes of a log, in bytes: as was measured on btrfs, which writes each of its blocks twice.
const LARGEST_LOG: u64 = 160 * KIB;

/// And of jbd2's journal: its ends, inode, bitmap, group and blocks of extents.
const LARGEST_TRANSACTION: u64 = 8 * PAGE;

/// In as many writes, each of which counts for a device that is held to a number of them.
const LOG_REQUESTS: u64 = 8;

/// How much of what a slice lets through a job may move: the rest is for what is read ahead, and for the journal.
const OF_SLICE: f64 = 0.75;

impl Stage {
    /// The parameter of what is done between calls, if these jobs show it, and the direction that does.
    pub(super) fn caller(&self) -> Option<(Scalar, Direction)> {
        match self.fits {
            Fits::NearData => Some((Scalar::Caller, Direction::Read)),
            Fits::Writes => Some((Scalar::CallerWrittenByte, Direction::Write)),
            _ => None,
        }
    }

    /// The numbers that it fits, each with the least value that the search begins at.
    pub(super) fn free(&self, model: &Model) -> Vec<(Number, f64)> {
        let stays_in_memory = !model.parameters.writes_wait_for_server();
        let of_server = [Scalar::AskedFirst, Scalar::SyncedByte].map(Number::Scalar);
        let is_own =
            |number| matches!(number, Number::Point(Curve::New, _) | Number::Scalar(Scalar::WriteCall));
        let has_log = !model.parameters.choices.journal.is_jbd2() && model.parameters[Scalar::LogBytes] > 0.0;
        let fitted = |number: Number| match number.row().found {
            // Nothing is asked first then, and what a sync still has to write is dirty.
            Found::Fitted(..) if stays_in_memory && of_server.contains(&number) => None,
            // Both take a small part of such a write, and what the server takes longer than fitted would count as theirs.
            Found::Fitted(..) if !stays_in_memory && is_own(number) => None,
            // Its flush and its writes are all that a sync does then.
            Found::Fitted(..) if has_log && number == Number::Scalar(Scalar::JournalCommit) => None,
            Found::Fitted(..) if super::is_measured(model, number) => None,
            Found::Fitted(stage, least) if stage == self.fits => Some((number, least)),
            _ => None,
        };
        Number::all().filter_map(fitted).collect()
    }

    /// The same stage on a device that may be held to a rate: its jobs move no more than the block layer hands out at
    /// once, so that they show how fast the device itself is. What it is held to is declared.
    pub(super) fn before_limits(mut self, model: &Model) -> Self {
        let parameters = &model.parameters;
        for job in self.jobs.iter_mut().filter(|job| !is_short(job)) {
            let side = if job.does(Direction::Read) { Direction::Read } else { Direction::Write };
            let block = job.blocks[side as usize].most;
            let [rate, calls] = match side {
                Direction::Read => [Scalar::LimitReadRate, Scalar::LimitReadIops],
                Direction::Write => [Scalar::LimitWriteRate, Scalar::LimitWriteIops],
            };
            let at_once = |limit| match parameters[limit] * parameters[Scalar::LimitSlice] / 1e9 {
                0.0 => f64::INFINITY,
                all => all * OF_SLICE,
            };
            let [bytes, requests] = moves(job, side, parameters);
            let times = (at_once(rate) / bytes).min(at_once(calls) / requests) / f64::from(job.numjobs);
            let most = (times as u64).max(1).saturating_mul(block);
            job.size = job.size.map(|size| size.min(most));
        }
        self
    }
}

/// What each call of a job has the device move at most: bytes, and requests.
fn moves(job: &Job, side: Direction, parameters: &Parameters) -> [f64; 2] {
    let block = job.blocks[side as usize].most as f64;
    let mut moves = [block, (block / parameters[Scalar::LargestIo]).ceil()];
    let journal = parameters.choices.journal;
    if side == Direction::Write && journal == Journal::Data {
        // They are written there first, each block by itself.
        moves = [2.0 * block, moves[1] + (block / PAGE as f64).ceil()];
    }
    if job.fsync > 0 {
        let log = if journal.is_jbd2() { LARGEST_TRANSACTION } else { LARGEST_LOG };
        let each = [log, LOG_REQUESTS].map(|of_sync| of_sync as f64 / f64::from(job.fsync));
        moves = [moves[0] + each[0], moves[1] + each[1]];
    }
    moves
}

/// The stages, in order.
pub(super) fn stages(model: &Model) -> Vec<Stage> {
    let near = |bytes| cached(Pattern::Sequential, bytes, NEAR, 64 * MIB);
    let far = |bytes| cached(Pattern::Sequential, bytes, FAR, FAR);
    // How much is moved of so many KiB for most of it to be settled, where large ones need more.
    let often = |kib: u64| (8 * kib * KIB).clamp(64 * MIB, 256 * MIB);
    // The end of a file, several times over.
    let comes_round = |bytes, kib, moved| Job {
        offset: FAR - kib * KIB,
        io_size: Some(moved),
        name: format!("cached in order by {bytes} of the last {}, {moved} in all", kib * KIB),
        ..far(bytes)
    };
    let far_random = |bytes| cached(Pattern::Random, bytes, FAR, 32 * MIB);
    let comes_back = |bytes: u64, mib: u64| Job {
        pattern: Pattern::Random,
        name: format!("cached at random by {bytes} of the last {} many times", mib * MIB),
        ..comes_round(bytes, mib * 1024, (8 * mib * MIB).min(bytes * 128 * KIB))
    };
    let cold = |bytes| cold(Pattern::Sequential, bytes);
    let cold_random = |bytes| self::cold(Pattern::Random, bytes);
    let mut stages = vec![
        Stage {
            fits: Fits::NearData,
            jobs: [512, 3_000, 4 * KIB, 8 * KIB, 12 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 256 * KIB]
                .map(near)
                .to_vec(),
        },
        Stage {
            fits: Fits::FarData,
            // The CPU fetches ahead within a page: two reads of each are another thing than four, or one.
            jobs: [1, 2, 4, 6, 8, 16, 64, 256].map(|kib| far(kib * KIB)).to_vec(),
        },
        Stage {
            fits: Fits::Distances,
            jobs: [1024, 1536, 2048, 4096, 8192, 12_288, 16_384, 32_768, 49_152, 65_536]
                .map(|kib| comes_round(64 * KIB, kib, often(kib)))
                .into_iter()
                .chain(
                    [(8, 4), (16, 8), (8, 16), (16, 32)]
                        .map(|(kib, mib)| comes_round(kib * KIB, mib * 1024, often(mib * 1024))),
                )
                // Twice, and a few times.
                .chain(
                    [(4, 2), (8, 2), (16, 2), (48, 2), (8, 4), (24, 4)]
                        .map(|(mib, times)| comes_round(64 * KIB, mib * 1024, times * mib * MIB)),
                )
                // Buffers larger than a CPU's caches, besides smaller ones and data that are far.
                .chain([1024, 2048, 3072].map(|kib| comes_round(kib * KIB, 9 * 1024, 252 * MIB)))
                .chain([1024, 2048, 4096].map(|kib| far(kib * KIB)))
                .collect(),
        },
        Stage {
            fits: Fits::Jumps,
            jobs: [512, 1_000, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 64 * KIB]
                .map(far_random)
                .into_iter()
                .chain(
                    [(4 * KIB, 4), (4 * KIB, 16), (8 * KIB, 16), (512, 16)]
                        .map(|(bytes, mib)| comes_back(bytes, mib)),
                )
                .collect(),
        },
        Stage {
            fits: Fits::ColdReads,
            jobs: [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB]
                .map(direct)
                .into_iter()
                .chain([4 * KIB, 64 * KIB, MIB].map(cold))
                .chain([4 * KIB, 32 * KIB, 256 * KIB].map(cold_random))
                .chain(
                    [(4 * KIB, 1), (4 * KIB, 4), (4 * KIB, 32), (16 * KIB, 32), (128 * KIB, 8)].map(queued),
                )
                // As many threads as many machines have CPUs, and more.
                .chain([(2, "two"), (4, "four")].map(|(numjobs, many)| Job {
                    numjobs,
                    name: format!("direct at random by 4096, {many} threads"),
                    ..lasting(direct(4 * KIB))
                }))
                // Two that share the device and nothing else.
                .chain([twice(queued((4 * KIB, 16)))])
                .collect(),
        },
        Stage {
            fits: Fits::Writes,
            // What is written by 12 KiB lies in folios of 8 KiB and single pages, and by 24 KiB in those of 8 and 16 KiB.
            jobs: [512, 4 * KIB, 12 * KIB, 16 * KIB, 24 * KIB, 64 * KIB, 256 * KIB, MIB, 3 * MIB]
                .map(|bytes| written(Pattern::Sequential, bytes))
                .into_iter()
                .chain([4 * KIB, 64 * KIB].map(|bytes| written(Pattern::Random, bytes)))
                .chain([4 * KIB, 16 * KIB, 64 * KIB].map(|bytes| mixed(Pattern::Sequential, bytes, MIXED)))
                .chain(
                    [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB]
                        .map(|bytes| mixed(Pattern::Random, bytes, MIXED)),
                )
                // Whose folios' buffers the CPU's caches lose between two writes.
                .chain([4 * KIB, 16 * KIB].map(|bytes| mixed(Pattern::Random, bytes, FAR)))
                .collect(),
        },
        Stage {
            fits: Fits::Syncs,
            jobs: [(4 * KIB, 1), (4 * KIB, 8), (4 * KIB, 2_048), (64 * KIB, 1), (MIB, 1), (MIB, 8)]
                .map(|(bytes, every)| synced(Pattern::Sequential, bytes, every))
                .into_iter()
                // As many requests as writes.
                .chain(
                    [(4 * KIB, 1), (4 * KIB, 16), (32 * KIB, 4)]
                        .map(|(bytes, every)| synced(Pattern::Random, bytes, every)),
                )
                // Syncs that need no commit show what a flush takes.
                .chain([if model.parameters.choices.journal.is_jbd2() {
                    rewritten(4 * KIB)
                } else {
                    hardly_written(4 * KIB)
                }])
                .chain([4 * KIB, 128 * KIB].map(written_directly))
                .chain([0, 50].map(|read_percent| mixed_directly((4 * KIB, 16), read_percent)))
                // Whether what takes long is the device or a server, which both use, or the CPU of a thread. Not in one file, whose lock
                // may have them take turns.
                .chain([Job { filename: None, filesize: None, ..twice(mixed_directly((4 * KIB, 16), 0)) }])
                // What a byte takes when as many move as the device can.
                .chain([mixed_directly((MIB, 8), 0)])
                .chain([(4 * KIB, 16), (256 * KIB, 16)].map(new_directly))
                .collect(),
        },
    ];
    let waits = model.parameters.writes_wait_for_server() || model.parameters.choices.syncs == Syncs::Always;
    if waits {
        // A write costs mainly what the server or a sync takes, which the stage of the syncs finds.
        let last = stages.len() - 1;
        stages.swap(last - 1, last);
    }
    match model.parameters.choices.opening {
        Opening::Keeps => {}
        // fio finds nothing cached to write over.
        Opening::Drops => {
            let writes = stages.iter_mut().filter(|stage| stage.fits == Fits::Writes);
            writes.for_each(|stage| stage.jobs.retain(Job::is_new));
        }
        // There are no cached data.
        Opening::Bypasses => stages.retain(|stage| matches!(stage.fits, Fits::ColdReads | Fits::Syncs)),
    }
    stages
}

fn blocks(bytes: u64) -> [Blocks; DIRECTIONS] {
    [Blocks::fixed(bytes); DIRECTIONS]
}

fn order(pattern: Pattern) -> &'static str {
    if pattern == Pattern::Sequential { "in order" } else { "at random" }
}

/// Reads from a file of its own that stays in the cache as it was laid out.
fn cached(pattern: Pattern, bytes: u64, file: u64, moved: u64) -> Job {
    let name = format!("cached {} by {bytes} of {file}", order(pattern));
    // Few enough calls for a run to be short, many enough for it to be more than its ends.
    let moved = moved.min(bytes * 20_000).max(bytes);
    Job {
        filename: Some(format!("cached-{file}")),
        pattern,
        blocks: blocks(bytes),
        size: Some(moved.min(file)),
        filesize: Some(file),
        io_size: Some(moved),
        pre_read: true,
        ..Job::named(&name)
    }
}

/// Reads from a file that is dropped from the cache before.
fn cold(pattern: Pattern, bytes: u64) -> Job {
    // A random order reads ahead nothing, and waits for each block.
    let most = if pattern == Pattern::Random { bytes * 1_000 } else { FAR };
    Job {
        filename: Some("cold".to_owned()),
        pattern,
        blocks: blocks(bytes),
        size: Some(most.min(FAR)),
        filesize: Some(FAR),
        runtime: LONGEST,
        ..Job::named(&format!("cold {} by {bytes}", order(pattern)))
    }
}

/// Reads past the cache.
fn direct(bytes: u64) -> Job {
    let cold = cold(Pattern::Random, bytes);
    Job {
        direct: true,
        size: Some((bytes * 500).min(FAR)),
        name: format!("direct at random by {bytes}"),
        ..cold
    }
}

/// Reads past the cache, so many of them under way at once.
fn queued((bytes, depth): (u64, u32)) -> Job {
    Job {
        engine: Engine::Libaio,
        depth: Depth { most: depth, ..Depth::default() },
        size: Some((bytes * 4_000).min(FAR)),
        runtime: BRIEF,
        name: format!("direct at random by {bytes}, {depth} at once"),
        ..direct(bytes)
    }
}

/// Writes past the cache over data that are there. The first thousand are slower than those after them.
fn written_directly(bytes: u64) -> Job {
    let plain = direct(bytes);
    Job {
        files: Files { overwrite: true, ..plain.files.clone() },
        read_percent: 0,
        size: Some((bytes * 4_000).min(FAR)),
        runtime: BRIEF,
        name: format!("written directly at random by {bytes}"),
        ..plain
    }
}

/// Reads and writes past the cache, so many of them under way at once.
fn mixed_directly((bytes, depth): (u64, u32), read_percent: u8) -> Job {
    let (plain, queue) = (written_directly(bytes), queued((bytes, depth)));
    let kind = if read_percent == 0 { "written" } else { "mixed" };
    Job {
        engine: queue.engine,
        depth: queue.depth,
        size: queue.size,
        read_percent,
        name: format!("{kind} directly at random by {bytes}, {depth} at once"),
        ..plain
    }
}

/// Writes past the cache into a file that is made anew for each run, so many of them under way at once.
fn new_directly((bytes, depth): (u64, u32)) -> Job {
    let plain = mixed_directly((bytes, depth), 0);
    Job {
        pattern: Pattern::Sequential,
        files: Files::default(),
        filename: None,
        filesize: None,
        name: format!("written directly in order by {bytes} into a new file, {depth} at once"),
        ..plain
    }
}

/// A job of two threads that each do so.
fn twice(job: Job) -> Job {
    Job { numjobs: 2, name: format!("{}, twice", job.name), ..lasting(job) }
}

/// A job that goes on until each of its threads has found its CPU; what writes has a budget.
fn lasting(job: Job) -> Job {
    let size = if job.does(Direction::Write) { job.size } else { Some(FAR) };
    Job { size, runtime: LASTING, ..job }
}

/// Writes into a file that is made anew for each run, and goes before the device sees much of it.
fn written(pattern: Pattern, bytes: u64) -> Job {
    Job {
        pattern,
        blocks: blocks(bytes),
        size: Some((bytes * 8_000).min((5 * MIB).max(2 * bytes))),
        read_percent: 0,
        ..Job::named(&format!("written {} by {bytes}", order(pattern)))
    }
}

/// As many reads as writes in a file that is cached and clean.
fn mixed(pattern: Pattern, bytes: u64, file: u64) -> Job {
    let moved = MIXED_MOVED.min(bytes * 8_000);
    Job {
        filename: Some(format!("mixed-{file}")),
        filesize: Some(file),
        io_size: Some(moved),
        read_percent: 50,
        name: format!("mixed {} by {bytes} of {file}", order(pattern)),
        ..cached(pattern, bytes, file, moved)
    }
}

/// Writes into a new file, which is synced after every so many.
fn synced(pattern: Pattern, bytes: u64, every: u32) -> Job {
    Job {
        size: Some((bytes * u64::from(every.max(100))).min(8 * MIB)),
        fsync: every,
        end_fsync: true,
        runtime: LONGEST,
        name: format!("written {} by {bytes}, synced after {every}", order(pattern)),
        ..written(pattern, bytes)
    }
}

/// Writes over blocks that are there, each of which is made durable: nothing of it goes into a journal of metadata.
fn rewritten(bytes: u64) -> Job {
    Job {
        filename: Some("rewritten".to_owned()),
        files: Files { overwrite: true, ..Files::default() },
        size: Some(bytes * 100),
        fdatasync: 1,
        runtime: LONGEST,
        name: format!("rewritten in order by {bytes}, synced after 1"),
        ..written(Pattern::Sequential, bytes)
    }
}

/// Reads past the cache and a few writes, with a sync before each: most of these have nothing to write.
fn hardly_written(bytes: u64) -> Job {
    Job {
        read_percent: 90,
        size: Some(bytes * 500),
        fsync: 1,
        name: format!("a tenth written directly at random by {bytes}, synced after 1"),
        ..written_directly(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The jobs of all stages on a device that limits reads and writes to `rate` bytes a second, or requests for `iops`.
    fn held(limit: &str, most: f64, journal: &str) -> Vec<Job> {
        let mut model = Model::assumed();
        let most = most.to_string();
        let of = |side: &str| format!("limit_{side}_{limit}");
        let [read, write] = ["read", "write"].map(of);
        let settings = [(&*read, &*most), (&write, &most), ("limit_slice", "1e8"), ("journal", journal)];
        settings.into_iter().for_each(|(name, value)| model.parameters.set(name, value).unwrap());
        stages(&model).into_iter().flat_map(|stage| stage.before_limits(&model).jobs).collect()
    }

    fn moved(jobs: &[Job]) -> Vec<(String, u64)> {
        jobs.iter().map(|job| (job.name.clone(), job.transfer().unwrap().unwrap())).collect()
    }

    #[test]
    fn jobs_of_a_device_that_is_held_fit_into_what_it_lets_through_at_once() {
        let free = moved(&held("rate", 0.0, "ordered"));
        let memory =
            |name: &str| !name.contains("cold") && !name.contains("direct") && !name.contains("sync");
        for rate in [10e6, 100e6, 1e9] {
            for ((name, held), (_, whole)) in moved(&held("rate", rate, "ordered")).into_iter().zip(&free) {
                assert!(held == *whole || !memory(&name), "{name} at {rate}: {held} of {whole}");
                let is_one = held == MIB && rate < 20e6;
                assert!(
                    memory(&name) || held as f64 <= rate / 10.0 * OF_SLICE || is_one,
                    "{name} at {rate}: {held}"
                );
            }
        }
    }

    #[test]
    fn own_work_of_writes_and_waits_for_a_server_are_not_fitted_on_the_same_mount() {
        let fitted = |write_through: &str| {
            let mut model = Model::assumed();
            model.parameters.set("write_through", write_through).unwrap();
            let numbers = stages(&model).into_iter().flat_map(|stage| stage.free(&model));
            numbers.map(|(number, _)| number.name()).collect::<Vec<_>>()
        };
        let [in_memory, at_a_server] = ["0", "4096"].map(fitted);
        for own in ["write_call", "new_page", "new_256k"] {
            assert!(in_memory.iter().any(|name| name == own), "{in_memory:?}");
            assert!(!at_a_server.iter().any(|name| name == own), "{at_a_server:?}");
        }
        for of_server in ["asked_first", "synced_byte"] {
            assert!(!in_memory.iter().any(|name| name == of_server), "{in_memory:?}");
            assert!(at_a_server.iter().any(|name| name == of_server), "{at_a_server:?}");
        }
    }

    /// How often a job syncs, and how many bytes and requests of data it writes.
    fn synced(job: &Job) -> [u64; 3] {
        let written = job.transfer().unwrap().unwrap();
        let block = job.blocks[Direction::Write as usize].most;
        let writes = written / block;
        [writes.div_ceil(u64::from(job.fsync)), written, writes]
    }

    #[test]
    fn what_each_sync_writes_of_a_log_fits_in_as_well() {
        for (journal, log) in [("price", 160 * KIB), ("ordered", 32 * KIB)] {
            for rate in [10e6, 100e6, 1e9] {
                for job in held("rate", rate, journal).into_iter().filter(|job| job.fsync > 0) {
                    let [syncs, written, writes] = synced(&job);
                    let all = (written + (syncs - 1) * log) as f64;
                    assert!(all <= rate / 10.0 * OF_SLICE || writes == 1, "{} at {rate}: {all}", job.name);
                }
            }
            for rate in [300.0, 1_500.0, 20_000.0] {
                for job in held("iops", rate, journal).into_iter().filter(|job| job.fsync > 0) {
                    let [syncs, _, writes] = synced(&job);
                    let all = (writes + (syncs - 1) * 8) as f64;
                    assert!(all <= rate / 10.0 * OF_SLICE || writes == 1, "{} at {rate}: {all}", job.name);
                }
            }
        }
        let data = held("iops", 1_500.0, "journal");
        let large = data.iter().find(|job| job.name == "written in order by 65536, synced after 1").unwrap();
        assert_eq!(synced(large)[2], 4, "each of its blocks is a request");
    }
}
