//! Writes below and past the dirty threshold: bursts that each begin with nothing dirty on the whole machine.

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BURSTS, LEAST_BYTES, Plan, Rate};
use fathom_program::job::{Blocks, DIRECTIONS, Job};
use fathom_program::units::{Bytes, Nanos};
use fathom_run::fault::Fault;
use fathom_run::intrusion;
use fathom_run::load::{self, Burst, Testbed};
use fathom_survey::inference::throttle::{self, Waiting};

/// Bursts of writes over a file in memory, from a state in which nothing is dirty to past the threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastDirty {
    /// Dirty bytes from which on the kernel writes them by itself.
    pub background_bytes: u64,
    /// The most bytes that may be dirty.
    pub limit_bytes: u64,
    /// Bytes per call.
    pub block_bytes: u64,
    /// Longer and longer beginnings of a burst.
    pub points: Vec<Written>,
    /// Dirty bytes from which on writers wait, and the span that the bursts allow; nothing where that is unknown.
    pub waits_from_bytes: Option<[f64; 3]>,
    /// The same in words, with its reason; or why nothing is said.
    pub sentence: String,
    /// What each write of each burst took, in ns.
    pub writes_ns: Vec<Vec<f64>>,
    /// What the fsync behind each burst took, in ns.
    pub syncs_ns: Vec<f64>,
}

/// The beginning of a burst, as if the file ended there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// Bytes that were written.
    pub written_bytes: u64,
    /// At which rate, from the beginning of the burst.
    pub rate: Rate,
}

/// How many beginnings of a burst are shown.
const SHOWN: usize = 16;
/// Writes per burst, at least.
const WRITES: u64 = 128;
/// One call, at least and at most.
const BLOCKS: [u64; 2] = [4096, 1 << 20];

/// The bursts, and what was done to the machine for them.
pub(super) fn measure(
    testbed: &mut Testbed,
    plan: &Plan,
    deadline: Instant,
) -> Result<(PastDirty, Vec<String>), Fault> {
    let length = plan.burst_bytes;
    if length < LEAST_BYTES {
        let needed = LEAST_BYTES * u64::from(BURSTS) * 8 / super::EIGHTHS;
        return Err(Fault::Unsupported(format!(
            "{BURSTS} bursts of {} are the fewest that give an answer: raise --max-write to {}MiB and --file-size to {} or more",
            Bytes(LEAST_BYTES),
            needed.div_ceil(1 << 20),
            Bytes(LEAST_BYTES)
        )));
    }
    let block = (1 << (length / WRITES).ilog2()).clamp(BLOCKS[0], BLOCKS[1]);
    let job = Job {
        filename: Some(plan.file_name()),
        read_percent: 0,
        blocks: [Blocks::fixed(block); DIRECTIONS],
        filesize: Some(plan.file_bytes),
        ..Job::named("limit")
    };
    // Waiting starts halfway between the two, in the middle of a burst.
    let limit = length / 3 * 2;
    let background = limit / 2;
    let started = Instant::now();
    let settings = intrusion::limit_dirty_data(background, limit).map_err(|reason| {
        Fault::Unsupported(format!("{reason}: it takes root, and a system whose vm.dirty_bytes may be set"))
    })?;
    let mut bursts = Vec::new();
    for _ in 0..BURSTS {
        if Instant::now() >= deadline {
            return Err(Fault::OutOfTime);
        }
        bursts.push(load::burst(&job, length / block, testbed)?);
    }
    drop(settings);
    let effects = vec![
        format!(
            "for {} vm.dirty_background_bytes was {background} and vm.dirty_bytes {limit}: writers of the whole machine waited earlier",
            Nanos(started.elapsed().as_nanos() as f64)
        ),
        format!("before each of {BURSTS} bursts everything dirty on the machine was written: sync(2)"),
    ];
    Ok((PastDirty::of([background, limit], block, bursts), effects))
}

impl PastDirty {
    fn of(thresholds: [u64; 2], block: u64, bursts: Vec<Burst>) -> Self {
        let [background_bytes, limit_bytes] = thresholds;
        let onsets: Vec<Waiting> = bursts
            .iter()
            .map(|burst| throttle::waiting(&burst.writes_ns, burst.sync_ns, block as f64))
            .collect();
        let point = throttle::agreed(&onsets);
        let (writes_ns, syncs_ns): (Vec<_>, Vec<_>) =
            bursts.into_iter().map(|burst| (burst.writes_ns, burst.sync_ns)).unzip();
        let points = beginnings(&writes_ns, block);
        Self {
            background_bytes,
            limit_bytes,
            block_bytes: block,
            sentence: sentence(&point, thresholds, &points),
            waits_from_bytes: point.ok().map(|point| [point.bytes, point.interval[0], point.interval[1]]),
            points,
            writes_ns,
            syncs_ns,
        }
    }
}

fn beginnings(bursts: &[Vec<f64>], block: u64) -> Vec<Written> {
    let writes = bursts.first().map_or(0, Vec::len);
    let beginning = |part: usize| {
        let count = writes * part / SHOWN;
        let written_bytes = count as u64 * block;
        let rate = |burst: &Vec<f64>| written_bytes as f64 / burst[..count].iter().sum::<f64>() * 1e9;
        let rate = Rate::of(&bursts.iter().map(rate).collect::<Vec<f64>>())?;
        Some(Written { written_bytes, rate })
    };
    (1..=SHOWN).filter_map(beginning).collect()
}

fn sentence(
    point: &Result<throttle::Point, String>,
    [background, limit]: [u64; 2],
    points: &[Written],
) -> String {
    let rule = background.midpoint(limit);
    let by_rule = format!(
        "the kernel lets writers go up to the mean of the background threshold, {}, and the limit, {}: {}",
        Bytes(background),
        Bytes(limit),
        Bytes(rule)
    );
    let rate = |at: Option<&Written>| {
        let (rate, bytes) = at.map_or((0.0, 0), |at| (at.rate.bytes_per_second, at.written_bytes));
        format!("{}/s over the first {}", Bytes(rate as u64), Bytes(bytes))
    };
    let rates = format!("{}, {}", rate(points.get(points.len() / 4)), rate(points.last()));
    match point {
        Err(reason) => format!("it is not known where writers begin to wait ({rates}): {reason}; {by_rule}"),
        Ok(point) => {
            let [low, high] = point.interval;
            let verdict = match rule as f64 {
                rule if rule < low => "they wait later than that",
                rule if rule > high => {
                    "they wait earlier than that, as where other programs make data dirty or a group has a smaller share"
                }
                _ => "as it is here",
            };
            format!(
                "writers wait once {} ({} to {}) are dirty: {rates}; {by_rule}; {verdict}",
                Bytes(point.bytes as u64),
                Bytes(low as u64),
                Bytes(high as u64)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = (1 << 20) as f64;

    /// A burst of writes that take a unit of time until `from` bytes are written, and then as long as the device.
    fn planted(from: f64, device: f64, seed: usize) -> Burst {
        let at = |index: usize| if index as f64 * 65536.0 < from { 1e5 } else { device };
        // A little spread, and in every second burst a stall long before: that one does not count.
        let spread = |index: usize| 1.0 + ((index * 7919 + seed * 104_729) % 97) as f64 / 400.0;
        let stall = |index: usize| if seed % 2 == 1 && index == 9 + seed { 20.0 } else { 1.0 };
        let writes_ns = (0..192).map(|index| at(index) * spread(index) * stall(index)).collect();
        Burst { writes_ns, sync_ns: 96.0 * device }
    }

    #[test]
    fn the_point_is_told_and_held_against_the_rule() {
        let past = |from: f64| {
            let bursts = (0..8).map(|seed| planted(from * MIB, 4e6, seed)).collect();
            PastDirty::of([4 << 20, 8 << 20], 65536, bursts)
        };
        let at_rule = past(6.0);
        let [bytes, low, high] = at_rule.waits_from_bytes.unwrap();
        assert!(
            (5.5..=6.5).contains(&(bytes / MIB)) && low <= 6.0 * MIB && high >= 6.0 * MIB,
            "{bytes} {low} {high}"
        );
        assert!(at_rule.sentence.ends_with("as it is here"), "{}", at_rule.sentence);
        let earlier = past(3.0);
        assert!(earlier.sentence.contains("they wait earlier than that"), "{}", earlier.sentence);
        let [first, .., last] = at_rule.points[..] else { panic!("no beginnings") };
        assert_eq!((at_rule.points.len(), last.written_bytes), (16, 12 << 20));
        assert!(first.rate.bytes_per_second > 10.0 * last.rate.bytes_per_second);
        assert!(first.rate.interval.is_some() && last.rate.interval.is_some());
    }

    #[test]
    fn bursts_whose_writer_is_held_up_show_no_point() {
        let bursts = (0..8).map(|seed| planted(6.0 * MIB, 4e6, 2 * seed + 1)).collect();
        let past = PastDirty::of([4 << 20, 8 << 20], 65536, bursts);
        assert_eq!(past.waits_from_bytes, None);
        assert!(past.sentence.contains("held up"), "{}", past.sentence);
    }

    #[test]
    fn a_device_that_keeps_up_shows_no_point() {
        let bursts = (0..8).map(|seed| planted(6.0 * MIB, 3e5, seed)).collect();
        let past = PastDirty::of([4 << 20, 8 << 20], 65536, bursts);
        assert_eq!(past.waits_from_bytes, None);
        assert!(past.sentence.contains("it is not known"), "{}", past.sentence);
    }
}
