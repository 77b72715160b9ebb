//! Files below and past the limit of memory: each is read twice, and the second reading finds what the first left.

use std::path::PathBuf;
use std::time::Instant;

use fathom_stats::quantile;
use fathom_sys::{cgroup, facts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LEAST_BYTES, Plan, Rate};
use crate::rounds::{self, Bench, Settings};
use fathom_program::job::{Blocks, DIRECTIONS, Direction, Job};
use fathom_program::units::Bytes;
use fathom_run::fault::Fault;
use fathom_run::intrusion::Group;
use fathom_run::load::{self, Testbed};

/// Files read twice, in a memory that holds some of them and not the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastMemory {
    /// The limit of memory in bytes: a group's, or the machine's.
    pub limit_bytes: u64,
    /// The file that says so.
    pub limit_file: String,
    /// Bytes per call.
    pub block_bytes: u64,
    /// One per size of the file, smallest first.
    pub points: Vec<WorkingSet>,
    /// The last size that is read again from memory, and the first that is not; nothing where that is unknown.
    pub fall_bytes: Option<[u64; 2]>,
    /// The fall in words, with its reason; or why nothing is said.
    pub sentence: String,
}

/// A file of one size, read from end to end and then again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingSet {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// The first reading: nothing of it was in memory.
    pub first: Rate,
    /// The second one.
    pub again: Rate,
    /// The share of the file that was in memory before the second reading: the median; nothing where the kernel
    /// does not tell.
    pub cached_share: Option<f64>,
    /// All of them, in the order of the rounds.
    pub samples: Vec<Reading>,
}

/// A file that was read twice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// The round that it belongs to, from zero.
    pub round: u32,
    /// Bytes of the file.
    pub bytes: u64,
    /// What the calls of the first reading took, in ns.
    pub first_ns: f64,
    /// What those of the second took.
    pub again_ns: f64,
    /// The share of it that was in memory in between.
    pub cached_share: Option<f64>,
}

const BLOCK: u64 = 128 << 10;
/// Sizes of files, in sixteenths of the limit: close together where the fall must be.
const SIXTEENTHS: [u64; 9] = [4, 8, 12, 14, 15, 16, 18, 20, 32];
/// How narrow the interval of the second reading must be before a size is left alone.
const WIDTH: f64 = 0.05;
/// Memory is told from the device where the second reading is at least so many times as fast as the first.
const TELLING: f64 = 2.0;

/// The points, and what was done to the machine for them.
pub(super) fn measure(
    testbed: &mut Testbed,
    plan: &Plan,
    seed: u64,
    deadline: Instant,
) -> Result<(PastMemory, Vec<String>), Fault> {
    if plan.file_bytes < 2 * LEAST_BYTES {
        let (file, least) = (Bytes(plan.file_bytes), Bytes(2 * LEAST_BYTES));
        return Err(Fault::Unsupported(format!(
            "a memory limit of half of a file of {file} is too small for this process: raise --file-size to {least} or more"
        )));
    }
    let job = Job {
        filename: Some(plan.file_name()),
        blocks: [Blocks::fixed(BLOCK); DIRECTIONS],
        filesize: Some(plan.file_bytes),
        fadvise_hint: false,
        ..Job::named("limit")
    };
    // Before there is a limit, so that the dirty pages do not count towards it.
    testbed.lay_out(std::slice::from_ref(&job))?;
    let started = Instant::now();
    let limit = Limit::of(plan.file_bytes).map_err(Fault::Unsupported)?;
    let sizes: Vec<u64> = SIXTEENTHS
        .iter()
        .map(|part| limit.bytes / 16 * part / BLOCK * BLOCK)
        .filter(|&size| size <= plan.file_bytes)
        .collect();
    let count = sizes.len();
    let mut bench = Twice { testbed, job, file_bytes: plan.file_bytes, sizes };
    let settings = Settings { deadline, width: WIDTH, seed };
    let series = rounds::measure(&mut bench, count, settings, &mut |_| {})?;
    if let Some(refusal) = series.iter().find_map(|one| one.refusal.clone()) {
        return Err(Fault::Unsupported(refusal));
    }
    let points: Vec<WorkingSet> = series.into_iter().filter_map(|one| WorkingSet::of(one.samples)).collect();
    let effects = limit.group.as_ref().map(|group| {
        let seconds = started.elapsed().as_secs_f64();
        format!(
            "for {seconds:.1} s this process was in the control group {} of its own",
            group.directory().display()
        )
    });
    let fall = fall(&points);
    let past = PastMemory {
        limit_bytes: limit.bytes,
        limit_file: limit.file.display().to_string(),
        block_bytes: BLOCK,
        sentence: sentence(&fall, &points, &limit),
        fall_bytes: fall.ok(),
        points,
    };
    Ok((past, effects.into_iter().collect()))
}

/// A limit of memory, and the group that was made for it.
struct Limit {
    bytes: u64,
    file: PathBuf,
    group: Option<Group>,
}

impl Limit {
    /// The limit that is there, where the file goes past it; half of the file in a group of its own otherwise.
    fn of(file_bytes: u64) -> Result<Self, String> {
        let there = cgroup::memory_limit().map_or_else(
            || (facts::memory_bytes(), PathBuf::from("/proc/meminfo")),
            |limit| (limit.bytes, limit.file),
        );
        let (bytes, file) = there;
        if bytes > 0 && file_bytes / 5 * 4 >= bytes {
            return Ok(Self { bytes, file, group: None });
        }
        let half = file_bytes / 2;
        let group = Group::of_memory(half).map_err(|reason| {
            format!(
                "{reason}: run it as root where control groups are mounted, or with a file larger than the {} of {}",
                Bytes(bytes),
                file.display()
            )
        })?;
        Ok(Self { bytes: half, file: group.directory().to_owned(), group: Some(group) })
    }
}

/// Reads the end of one file, as much as the size says, twice: behind the end nothing is read ahead.
struct Twice<'a> {
    testbed: &'a mut Testbed,
    job: Job,
    file_bytes: u64,
    sizes: Vec<u64>,
}

impl Bench for Twice<'_> {
    type Sample = Reading;

    fn sample(&mut self, index: usize, round: u32) -> Result<Reading, Fault> {
        let bytes = self.sizes[index];
        let mut read = |invalidate: bool| {
            let offset = self.file_bytes - bytes;
            let outcome = load::run(&Job { offset, invalidate, ..self.job.clone() }, self.testbed)?.remove(0);
            let time = outcome.transfers[Direction::Read as usize].latency.sum() as f64 * outcome.ns_per_tick;
            let share = outcome.cached_before.map(|seen| seen.cached as f64 / seen.pages as f64);
            Ok::<(f64, Option<f64>), Fault>((time, share))
        };
        let (first_ns, _) = read(true)?;
        let (again_ns, cached_share) = read(false)?;
        Ok(Reading { round, bytes, first_ns, again_ns, cached_share })
    }

    fn rate(sample: &Reading) -> Option<f64> {
        Some(sample.bytes as f64 / sample.again_ns)
    }
}

impl WorkingSet {
    fn of(samples: Vec<Reading>) -> Option<Self> {
        let rate = |time: fn(&Reading) -> f64| {
            Rate::of(&samples.iter().map(|one| one.bytes as f64 / time(one) * 1e9).collect::<Vec<f64>>())
        };
        let shares: Vec<f64> = samples.iter().filter_map(|one| one.cached_share).collect();
        Some(Self {
            file_bytes: samples.first()?.bytes,
            first: rate(|one| one.first_ns)?,
            again: rate(|one| one.again_ns)?,
            cached_share: quantile::median(&shares),
            samples,
        })
    }

    /// How many times as fast the second reading was, in the even or in the odd rounds: the median.
    fn gain(&self, parity: u32) -> Option<f64> {
        let of = self.samples.iter().filter(|one| one.round % 2 == parity);
        quantile::median(&of.map(|one| one.first_ns / one.again_ns).collect::<Vec<f64>>())
    }
}

/// The last size that is read again from memory, and the first that is not: by the durations alone, once from the
/// even rounds and once from the odd ones, of which the wider span counts.
fn fall(points: &[WorkingSet]) -> Result<[u64; 2], String> {
    let in_half = |parity: u32| {
        let gains: Option<Vec<f64>> = points.iter().map(|point| point.gain(parity)).collect();
        let gains = gains.filter(|gains| gains.len() > 1).ok_or("time ran out: raise --max-time")?;
        if gains[0] < TELLING {
            return Err(
                "even the smallest file is read again no faster than at first: its device is as fast as memory, or reading it leaves nothing there",
            );
        }
        // The level between that of memory and one, the device's, on a scale of ratios.
        let middle = gains[0].sqrt();
        let kept = gains.iter().take_while(|&&gain| gain >= middle).count();
        match &gains[kept..] {
            [] => Err("every size is read again from memory"),
            past if past.iter().any(|&gain| gain >= middle) => {
                Err("larger files are read again from memory where smaller ones are not")
            }
            _ => Ok([points[kept - 1].file_bytes, points[kept].file_bytes]),
        }
    };
    let [even, odd] = [in_half(0)?, in_half(1)?];
    Ok([even[0].min(odd[0]), even[1].max(odd[1])])
}

fn sentence(fall: &Result<[u64; 2], String>, points: &[WorkingSet], limit: &Limit) -> String {
    let [low, high] = match fall {
        Ok(fall) => *fall,
        Err(reason) => return format!("where the rate falls is unknown: {reason}"),
    };
    let again = |size: u64| {
        let rate =
            points.iter().find(|point| point.file_bytes == size).map(|point| point.again.bytes_per_second);
        Bytes(rate.unwrap_or(0.0) as u64)
    };
    let last = points.last().map_or(high, |point| point.file_bytes);
    let why = match (low..=high).contains(&limit.bytes) {
        true => {
            "the limit of memory lies there: reading a file that is slightly larger drops each page before it is read again"
        }
        false if high < limit.bytes => "below the limit of memory: something else takes a part of it",
        false => "above the limit of memory",
    };
    format!(
        "a file of {} is read again at {}/s, from memory, one of {} at {}/s and one of {} at {}/s; the limit is {}: {why}",
        Bytes(low),
        again(low),
        Bytes(high),
        again(high),
        Bytes(last),
        again(last),
        Bytes(limit.bytes)
    )
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Files against a memory of `holds` bytes whose device takes `slower` times as long; durations have noise, and
    /// one in a hundred takes fifty times as long.
    fn planted(holds: u64, slower: f64, rounds: u32, seed: u64) -> Vec<WorkingSet> {
        let mut generator = Pcg64Mcg::seed_from_u64(seed);
        let mut noise = |round: u32| {
            let spread =
                (generator.random_range(0.0..1.0) + generator.random_range(0.0..1.0) - 1.0) * 0.3_f64;
            let stall = if generator.random_range(0..100) == 0 { 50.0 } else { 1.0 };
            spread.exp() * stall * (1.0 + f64::from(round) / 40.0)
        };
        let sizes = SIXTEENTHS.map(|part| 2 * part * MIB);
        let set = |size: u64| {
            let reading = |round| {
                let device = size as f64 * slower;
                let again = if size <= holds { size as f64 } else { device };
                let (first_ns, again_ns) = (device * noise(round), again * noise(round));
                Reading { round, bytes: size, first_ns, again_ns, cached_share: None }
            };
            let samples: Vec<Reading> = (0..rounds).map(reading).collect();
            samples
        };
        sizes.into_iter().map(set).collect::<Vec<_>>().into_iter().filter_map(WorkingSet::of).collect()
    }

    #[test]
    fn the_fall_is_where_the_memory_ends() {
        for (holds, span) in [(32, [32, 36]), (31, [30, 32]), (24, [24, 28])] {
            let found = (0..200).map(|seed| fall(&planted(holds * MIB, 8.0, 12, seed)));
            let right = found.filter(|found| *found == Ok(span.map(|size| size * MIB))).count();
            assert!(right >= 198, "{holds} MiB: {right} of 200");
        }
    }

    #[test]
    fn a_device_as_fast_as_memory_and_a_memory_that_holds_all_show_no_fall() {
        for (holds, slower) in [(32, 1.0), (64, 8.0), (1, 8.0)] {
            let found =
                (0..200).filter(|&seed| fall(&planted(holds * MIB, slower, 12, seed)).is_ok()).count();
            assert!(found <= 2, "{holds} MiB, {slower} times: {found} of 200");
        }
        assert!(fall(&planted(32 * MIB, 8.0, 1, 1)).is_err(), "one round has no odd half");
    }

    #[test]
    fn the_sentence_names_the_limit_and_both_sides() {
        let points = planted(32 * MIB, 8.0, 12, 1);
        let limit = Limit { bytes: 32 * MIB, file: PathBuf::new(), group: None };
        let said = sentence(&fall(&points), &points, &limit);
        assert!(
            said.starts_with("a file of 32 MiB is read again at") && said.contains("limit is 32 MiB"),
            "{said}"
        );
    }
}
