//! What a read that has to go to the device costs beyond one that need not.
//!
//! Each position is read once with the cache proven empty just before, and once more when it is
//! cached; the answer is the median difference. Past the page cache, with O_DIRECT, the same reads are
//! timed again where the file system can do that. Every run reads where none has read before. What
//! the device itself remembers is beyond any program's reach.

use std::time::{Duration, Instant};

use super::batches::Batches;
use super::prelude::*;
use super::readahead::FILE;
use super::sync_latency::spread;
use super::truth_in_memory;
use crate::inference::latency;
use fathom_run::witness::Counter;

/// Asks how long one small read of the device takes.
pub struct DeviceLatency;

const METHOD: &str = "cold_reads";
const WITNESS: &str = "device_read_time";
/// The passes: each read of a cold position, the same again, and reads with O_DIRECT.
const COLD: &str = "cold";
const CACHED: &str = "cached";
const PAST_CACHE: &str = "past the cache";
/// One read, and the file: that of the read-ahead questions, which is there in a whole survey.
const SIZE: u64 = 4096;
const BYTES: u64 = 16 << 20;
/// Reads of a run, each in a slot of its own; runs move within the slots.
const READS: u64 = 32;
const SLOT: u64 = BYTES / READS;
const MOST_RUNS: u32 = 24;
/// The slots are visited in strides of so many, so that no reader seems to go forward.
const STRIDE: u64 = 13;
/// A cold read that takes less than this many times a cached one did not reach a device.
const FEWEST_TIMES: f64 = 2.0;
/// The device's counters are in whole milliseconds: with this sum the rounding error is small.
const ENOUGH_MS: u64 = 40;
/// It is read no longer than this, however quick it is.
const LONGEST: Duration = Duration::from_millis(400);
/// The share of reads in the counters that may be others'.
const MOST_FOREIGN: f64 = 0.05;
/// Past this share of reads in the wrong cache state, nothing is concluded.
const MOST_WRONG: f64 = 0.1;

impl Experiment for DeviceLatency {
    fn about(&self) -> &'static About {
        &About {
            parameter: "device_latency",
            unit: "ns",
            question: "How much longer does a random 4 KiB read take if the data are not cached?",
            method: "Random reads of a file that is proven not to be cached, each repeated once it is cached. The answer is the median difference. The same with O_DIRECT, without the cache.",
            source: "paper B (cold reads), paper E (disk service time)",
            cost: Cost { seconds: 3, write_bytes: BYTES, read_bytes: 12 << 20 },
            figure: Figure::Spread,
            recipes: &["paper-b-read-cold"],
            not_applicable: "Files live in memory here.",
            inconclusive: "No read is known to have reached a device.",
            ..About::USUAL
        }
    }

    fn timing(&self, session: &mut Session<'_>) -> Result<Evidence, Fault> {
        let batches =
            Batches { fewest: 12, most: session.rounds(MOST_RUNS, 12), enough: Duration::from_millis(700) };
        let mut seen = Seen::default();
        batches.run(session, cold_reads, |samples| seen.add(samples))?;
        if let Some(silence) = seen.not_cold() {
            return Ok(silence);
        }
        let direct = direct_reads(session)?;
        Ok(seen.judged(direct))
    }

    fn witness(&self, witness: &mut dyn Witness) -> Result<Vec<Evidence>, Fault> {
        // The block layer counts a part of what a reader waits for: no answer to the same question, and
        // so no vote. It stands next to the answers in words.
        let evidence = counted(witness)?.map(|[waited, device]| {
            let text = format!(
                "of {waited} that reads in a row take each, the block layer counts {device} for the device"
            );
            Evidence::inconclusive(Kind::Witness, WITNESS, text)
        });
        Ok(evidence.into_iter().collect())
    }

    fn declared(&self, declared: &Declared) -> Vec<Evidence> {
        let reason = "files live in memory alone: there is no device below";
        let silent = || Evidence::not_applicable(Kind::Declared, "fs_type", reason);
        declared.is_memory_only().then(silent).into_iter().collect()
    }

    fn is_asked_in(&self, case: &Case) -> bool {
        case.is_usual() || case.conditions.read_rate.is_some()
    }

    fn truth(&self, case: &Case, _: &Kernel) -> Truth {
        // `blk_throtl` lets one of so few go in each slice of 100 ms, and looks at the clock every 4 to 10 ms.
        match case.conditions.read_rate.map(|rate| 1e9 / rate as f64) {
            Some(turn) => Truth::within([0.8 * turn, 1.3 * turn]),
            None => truth_in_memory(case),
        }
    }

    fn explain(&self, finding: &Finding) -> Option<String> {
        let counted = finding.by(WITNESS).and_then(|seen| seen.caveats.first());
        let counted = counted.map_or_else(String::new, |text| format!("; {text}"));
        let timed = Nanos(finding.number()?);
        Some(format!("A cold read of 4 KiB takes {timed} longer than a cached one{counted}."))
    }
}

/// Reads cold positions until the device has counted enough time for them: what a read takes, and how much of that the
/// block layer counts. `None` where no block device is known to be below, or where others read from it meanwhile.
fn counted(witness: &mut dyn Witness) -> Result<Option<[Nanos; 2]>, Fault> {
    const PLACES: u64 = READS * 16;
    let counters = |witness: &mut dyn Witness| {
        Some([witness.count(Counter::DeviceReads)?, witness.count(Counter::DeviceReadMs)?])
    };
    witness.provide(&ScratchFile::filled(FILE, BYTES))?;
    let Some(before) = counters(witness) else { return Ok(None) };
    let (mut reads, mut waited) = (0_u32, Duration::ZERO);
    let started = Instant::now();
    loop {
        witness.evict(FILE)?;
        for offset in (0..PLACES).map(|index| index * 27 % PLACES * (BYTES / PLACES)) {
            let asked = Instant::now();
            witness.read(FILE, offset..offset + SIZE)?;
            waited += asked.elapsed();
            reads += 1;
            if started.elapsed() > LONGEST {
                break;
            }
        }
        let Some(now) = counters(witness) else { return Ok(None) };
        let [counted, ms] = [0, 1].map(|at| now[at].saturating_sub(before[at]));
        if ms >= ENOUGH_MS || started.elapsed() > LONGEST {
            let foreign = (counted as f64 / f64::from(reads) - 1.0).abs();
            let each = [waited.as_nanos() as f64, ms as f64 * 1e6].map(|ns| Nanos(ns / f64::from(reads)));
            return Ok((foreign <= MOST_FOREIGN && ms > 0).then_some(each));
        }
    }
}

/// The latencies in ns: of cold reads and the cached ones of the same bytes, and the typical
/// difference of each run.
#[derive(Default)]
struct Seen {
    cold: Vec<f64>,
    cached: Vec<f64>,
    runs: Vec<f64>,
    wrong: usize,
    left_cached: usize,
}

impl Seen {
    fn add(&mut self, samples: &Samples) {
        let mut differences = Vec::new();
        for (cold, cached) in samples.labelled(COLD).zip(samples.labelled(CACHED)) {
            let of = |pass: usize| samples.readings.iter().find(move |one| one.pass as usize == pass);
            let (Some(first), Some(again)) = (of(cold), of(cached)) else { continue };
            if first.cache == Some(CacheState::Cached) {
                self.left_cached += 1;
            }
            // An invisible cache proves nothing; the comparison below must do, and a caveat tells.
            if first.cache != Some(CacheState::Cold) && first.cache != Some(CacheState::Unknown) {
                self.wrong += 1;
                continue;
            }
            let ns = |ticks: u64| samples.nanoseconds(ticks as f64);
            let (cold, cached) = (ns(first.latency.0), ns(again.latency.0));
            differences.push(cold - cached);
            self.cold.push(cold);
            self.cached.push(cached);
        }
        let count = differences.len().max(1);
        self.runs.extend(latency::round_medians(&differences, count));
    }

    fn not_cold(&self) -> Option<Evidence> {
        let all = self.wrong + self.cold.len();
        let silent = |status, reason: String| Some(Evidence::silent(Kind::Timing, METHOD, status, reason));
        if self.left_cached == all {
            let reason = "pages stay in the cache when they are to be dropped: files have no other copy";
            return silent(Status::NotApplicable, reason.to_owned());
        }
        if self.wrong as f64 > MOST_WRONG * all as f64 {
            let reason = format!("{} of {all} reads found the cache in the wrong state", self.wrong);
            return silent(Status::Inconclusive, reason);
        }
        None
    }

    fn judged(&self, direct: Result<Vec<f64>, String>) -> Evidence {
        let silent = |reason: String| Evidence::inconclusive(Kind::Timing, METHOD, reason);
        if !latency::is_slower(&self.cold, &self.cached, FEWEST_TIMES) {
            return silent(
                "a cold read takes hardly longer than a cached one: nothing shows that it reaches a device"
                    .to_owned(),
            );
        }
        let median = match latency::settled(&self.runs) {
            Ok(median) => median,
            Err(reason) => return silent(reason),
        };
        let past_cache = direct.as_deref().unwrap_or_default();
        let cases = [
            ("cold read", &self.cold[..]),
            ("cached read", &self.cached),
            ("read with O_DIRECT", past_cache),
        ];
        let spreads = cases.into_iter().filter_map(|(case, latencies)| spread(case, latencies)).collect();
        let evidence = Evidence::measured(Kind::Timing, METHOD, Value::Real(median.value))
            .within_real([median.interval.low, median.interval.high])
            .resting_on(median.level, self.cold.len() * 2)
            .spread(spreads);
        match direct {
            Ok(_) => evidence,
            Err(reason) => evidence.caveat(reason),
        }
    }
}

/// Latencies of reads past the page cache in ns, or why there are none.
fn direct_reads(session: &mut Session<'_>) -> Result<Result<Vec<f64>, String>, Fault> {
    let slots = Region { offset: SLOT - SIZE, size: SIZE, step: SLOT, count: READS };
    let workload = Workload::new(vec![ScratchFile::filled(FILE, BYTES)])
        .pass(Pass::untimed(0, &[CallKind::OpenDirect, CallKind::Evict]))
        .pass(Pass::timed(0, &[CallKind::Pread], slots).direction(Traversal::Random).label(PAST_CACHE))
        .pass(Pass::untimed(0, &[CallKind::Open]))
        .rounds(8);
    match session.observe(workload) {
        Ok(samples) => Ok(Ok(samples
            .latencies(PAST_CACHE, 0)
            .into_iter()
            .map(|ticks| samples.nanoseconds(ticks))
            .collect())),
        Err(Fault::System(_) | Fault::Short { .. }) => {
            Ok(Err("files can't be read past the page cache here: O_DIRECT was refused".to_owned()))
        }
        Err(Fault::OutOfTime) => Ok(Err("there was no time to read past the page cache".to_owned())),
        Err(fault) => Err(fault),
    }
}

/// Reads of slots in a scattered order, each proven cold and then done again.
fn cold_reads(run: u32) -> Workload {
    let within = u64::from(run) * 5 % 31 * 4 * SIZE;
    let mut workload = Workload::new(vec![ScratchFile::filled(FILE, BYTES)])
        .pass(Pass::untimed(0, &[CallKind::Open, CallKind::Evict]));
    for index in 0..READS {
        let offset = index * STRIDE % READS * SLOT + within;
        let here = Region { offset, size: SIZE, step: SIZE, count: 1 };
        workload = workload
            .pass(Pass::timed(0, &[CallKind::Pread], here).needs(CacheState::Cold).label(COLD))
            .pass(Pass::timed(0, &[CallKind::Pread], here).needs(CacheState::Cached).label(CACHED));
    }
    workload
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_run_reads_where_another_has_read() {
        let offsets = |run| {
            cold_reads(run)
                .passes
                .iter()
                .skip(1)
                .step_by(2)
                .map(|pass| pass.region.offset)
                .collect::<Vec<_>>()
        };
        let all: Vec<u64> = (0..MOST_RUNS).flat_map(offsets).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        assert!(all.iter().all(|offset| offset % SIZE == 0 && offset + SIZE <= BYTES));
    }
}
