//! What `fio --output-format=json` writes, key by key, so that what reads fio's results reads these.
//!
//! Not said: `disk_util`, which fio leaves out too where it is not asked for. The bandwidths and
//! rates that fio samples every half second (`bw_min`, `iops_samples` and their like) are zero, as
//! they are in fio for a run shorter than that. Where calls are made one after the other `lat_ns` is `clat_ns`: between the
//! making of a transfer and its call nothing is done here. Latencies in the tables of shares are within 1/128.

use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use fathom_program::job::{Job, JobFile};
use fathom_run::load::{Histogram, Outcome, Transfers, groups};
use fathom_speed::measurement::Measurement;

/// How much is written of each latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Percentiles: `json`.
    Percentiles,
    /// The buckets as well: `json+`.
    Bins,
}

/// A map whose keys stay in order.
struct Ordered<V>(Vec<(String, V)>);

impl<V: Serialize> Serialize for Ordered<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// The whole output.
#[derive(Serialize)]
pub struct Document {
    #[serde(rename = "fio version")]
    version: String,
    timestamp: i64,
    timestamp_ms: i64,
    time: String,
    #[serde(rename = "global options")]
    globals: Ordered<String>,
    jobs: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    jobname: String,
    groupid: usize,
    error: u32,
    eta: u32,
    elapsed: u64,
    #[serde(rename = "job options")]
    options: Ordered<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<Side>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write: Option<Side>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trim: Option<Side>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sync: Option<Syncs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mixed: Option<Side>,
    job_runtime: u64,
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: u64,
    majf: u64,
    minf: u64,
    iodepth_level: Ordered<f64>,
    iodepth_submit: Ordered<f64>,
    iodepth_complete: Ordered<f64>,
    latency_ns: Ordered<f64>,
    latency_us: Ordered<f64>,
    latency_ms: Ordered<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_err: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_error: Option<u32>,
    latency_depth: u32,
    latency_target: u64,
    latency_percentile: f64,
    latency_window: u64,
}

#[derive(Serialize, Default)]
struct Side {
    io_bytes: u64,
    io_kbytes: u64,
    bw_bytes: u64,
    bw: u64,
    iops: f64,
    runtime: u64,
    total_ios: u64,
    short_ios: u64,
    drop_ios: u64,
    slat_ns: Latency,
    clat_ns: Latency,
    lat_ns: Latency,
    bw_min: u64,
    bw_max: u64,
    bw_agg: f64,
    bw_mean: f64,
    bw_dev: f64,
    bw_samples: u64,
    iops_min: u64,
    iops_max: u64,
    iops_mean: f64,
    iops_stddev: f64,
    iops_samples: u64,
}

#[derive(Serialize, Default)]
struct Latency {
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentile: Option<Ordered<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bins: Option<Ordered<u64>>,
}

#[derive(Serialize)]
struct Syncs {
    total_ios: u64,
    lat_ns: Latency,
}

/// `unified_rw_reporting=mixed`.
const MIXED: u8 = 1;

/// fio's list of percentiles.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// The results of a job file's jobs: one entry per thread, or for several that report as one.
///
/// `elapsed` is the time that everything took.
pub fn document(
    file: &JobFile,
    outcomes: &[Vec<Outcome>],
    finished: jiff::Timestamp,
    elapsed: Duration,
    detail: Detail,
) -> Document {
    let mut entries: Vec<(&Job, usize, Outcome)> = Vec::new();
    let mut left = outcomes.iter();
    for (group, jobs) in groups(&file.jobs).enumerate() {
        for (job, threads) in jobs.iter().zip(left.by_ref()) {
            for thread in threads.iter().filter(|_| !job.reporting.silent) {
                match entries.last_mut() {
                    // As in fio: such a thread joins whatever of its group stands before it.
                    Some((_, last, sum)) if *last == group && job.group_reporting => sum.add(thread),
                    _ => entries.push((job, group, thread.clone())),
                }
            }
        }
    }
    let entry = |(job, group, outcome): &(&Job, usize, Outcome)| {
        Entry::of(job, *group, outcome, elapsed.as_secs(), detail)
    };
    let jobs = entries.iter().map(entry).collect();
    Document::new(finished, file.globals.clone(), jobs)
}

/// Measurements as results of jobs that ran one after the other: one each, its samples together. The options are
/// the measurement's settings. Where calls were not timed one by one, counts and rates alone are told; what moves no bytes stands
/// among the reads, with none.
pub fn measured(measurements: &[Measurement], finished: jiff::Timestamp) -> Document {
    let total_ns: f64 = measurements.iter().flat_map(|one| &one.samples_ns).sum();
    let entry = |(group, one): (usize, &Measurement)| Entry {
        options: Ordered(one.settings.clone().into_iter().collect()),
        ..Entry::measured(one, group, total_ns)
    };
    Document::new(finished, Vec::new(), measurements.iter().enumerate().map(entry).collect())
}

impl Document {
    fn new(finished: jiff::Timestamp, globals: Vec<(String, String)>, jobs: Vec<Entry>) -> Self {
        Self {
            version: format!("fathom-{}", env!("CARGO_PKG_VERSION")),
            timestamp: finished.as_second(),
            timestamp_ms: finished.as_millisecond(),
            time: finished.strftime("%a %b %e %H:%M:%S %Y").to_string(),
            globals: Ordered(globals),
            jobs,
        }
    }
}

impl Entry {
    fn measured(one: &Measurement, group: usize, total_ns: f64) -> Self {
        let elapsed_ns: f64 = one.samples_ns.iter().sum();
        let cpu = |kind: usize| one.cpu_ns.iter().map(|used| used[kind] as u64).sum();
        let [none, latencies] = [
            Histogram::default(),
            one.latencies.as_ref().map_or_else(Histogram::default, |all| all.histogram.clone()),
        ];
        let is_write = ["write", "overwrite", "append"]
            .iter()
            .any(|word| one.name == *word || one.settings.get("operation").is_some_and(|said| said == word));
        let bytes = one.bytes * one.samples_ns.len() as u64;
        let side = |latency| Transfers { bytes, latency, ..Transfers::default() };
        let nothing = Transfers { latency: none.clone(), ..Transfers::default() };
        let mut outcome = Outcome {
            transfers: if is_write { [nothing, side(latencies)] } else { [side(latencies), nothing] },
            syncs: none,
            elapsed_ns: elapsed_ns as u64,
            ..Outcome::nothing(one.latencies.as_ref().map_or(1.0, |all| all.ns_per_tick))
        };
        outcome.usage.user = Duration::from_nanos(cpu(0));
        outcome.usage.system = Duration::from_nanos(cpu(1));
        let job = Job::named(&one.label());
        let mut entry = Self::of(&job, group, &outcome, (total_ns / 1e9) as u64, Detail::Percentiles);
        let side = if is_write { &mut entry.write } else { &mut entry.read };
        let counted = side.get_or_insert_default();
        let calls = one.calls * one.samples_ns.len() as u64;
        let per_second = |count: u64| count as f64 / (elapsed_ns.max(1.0) / 1e9);
        *counted = Side {
            io_bytes: bytes,
            io_kbytes: bytes >> 10,
            bw_bytes: per_second(bytes) as u64,
            bw: per_second(bytes) as u64 >> 10,
            iops: per_second(calls),
            runtime: milliseconds(&outcome),
            total_ios: calls,
            ..std::mem::take(counted)
        };
        entry
    }

    fn of(job: &Job, group: usize, outcome: &Outcome, elapsed: u64, detail: Detail) -> Self {
        let of_time = |used: Duration| match outcome.elapsed_ns {
            0 => 0.0,
            elapsed => used.as_nanos() as f64 / elapsed as f64 * 100.0,
        };
        let shares = Shares::of(outcome);
        let side = |transfers: &Transfers| Side::of(outcome, transfers, detail);
        let [reads, writes] = &outcome.transfers;
        let mixed = || {
            let mut sum = reads.clone();
            sum.add(writes);
            side(&sum)
        };
        let is_parted = job.reporting.unified != MIXED;
        let counts_errors = job.course.continues != [false; 3];
        Self {
            jobname: job.name.clone(),
            groupid: group,
            error: outcome.errors.first,
            eta: 0,
            elapsed,
            options: Ordered(job.written.clone()),
            read: is_parted.then(|| side(reads)),
            write: is_parted.then(|| side(writes)),
            trim: is_parted.then(|| side(&outcome.trims)),
            sync: is_parted.then(|| Syncs {
                total_ios: outcome.syncs.count(),
                lat_ns: Latency::in_detail(&outcome.syncs, outcome.ns_per_tick, detail),
            }),
            mixed: (job.reporting.unified > 0).then(mixed),
            job_runtime: milliseconds(outcome),
            usr_cpu: of_time(outcome.usage.user),
            sys_cpu: of_time(outcome.usage.system),
            ctx: outcome.usage.context_switches,
            majf: outcome.usage.major_faults,
            minf: outcome.usage.minor_faults,
            // One transfer at a time, which fio counts under 1 where it is a depth, and under 4 where
            // it is a number of transfers per call.
            iodepth_level: one_of(&["1", "2", "4", "8", "16", "32", ">=64"], "1"),
            iodepth_submit: one_of(&["0", "4", "8", "16", "32", "64", ">=64"], "4"),
            iodepth_complete: one_of(&["0", "4", "8", "16", "32", "64", ">=64"], "4"),
            latency_ns: shares.between(0, 1, &BELOW_A_THOUSAND),
            latency_us: shares.between(1000, 1000, &BELOW_A_THOUSAND),
            latency_ms: shares.between(1_000_000, 1_000_000, &MILLISECONDS),
            total_err: counts_errors.then_some(outcome.errors.count),
            first_error: counts_errors.then_some(outcome.errors.first),
            latency_depth: outcome.depth.unwrap_or(job.depth.most),
            latency_target: job.latency.target.as_nanos() as u64,
            latency_percentile: job.latency.percentile,
            latency_window: job.latency.window.as_micros() as u64,
        }
    }
}

impl Side {
    fn of(outcome: &Outcome, transfers: &Transfers, detail: Detail) -> Self {
        if transfers.count() == 0 {
            return Self::default();
        }
        let ns_per_tick = outcome.ns_per_tick;
        let clat_ns = Latency::in_detail(&transfers.latency, ns_per_tick, detail);
        // Where calls are made one after the other nothing goes by before they are issued.
        let [slat_ns, lat_ns] = match transfers.submission.count() {
            // Nor does fio tell a whole latency of a call on a name.
            0 if transfers.blocks.is_some() => Default::default(),
            0 => [Latency::default(), Latency::of(&transfers.latency, ns_per_tick)],
            _ => [&transfers.submission, &transfers.total].map(|one| Latency::of(one, ns_per_tick)),
        };
        let bytes_per_second = outcome.per_second(transfers.bytes);
        Self {
            io_bytes: transfers.bytes,
            io_kbytes: transfers.bytes >> 10,
            bw_bytes: bytes_per_second as u64,
            bw: bytes_per_second as u64 >> 10,
            iops: outcome.per_second(transfers.count()),
            runtime: milliseconds(outcome),
            total_ios: transfers.count(),
            slat_ns,
            clat_ns,
            lat_ns,
            ..Self::default()
        }
    }
}

impl Latency {
    fn of(histogram: &Histogram, ns_per_tick: f64) -> Self {
        let ns = |ticks: u64| (ticks as f64 * ns_per_tick).round() as u64;
        Self {
            min: ns(histogram.min()),
            max: ns(histogram.max()),
            mean: histogram.mean() * ns_per_tick,
            stddev: histogram.deviation() * ns_per_tick,
            count: histogram.count(),
            percentile: None,
            bins: None,
        }
    }

    /// With percentiles, where there is anything to tell.
    fn in_detail(histogram: &Histogram, ns_per_tick: f64, detail: Detail) -> Self {
        let plain = Self::of(histogram, ns_per_tick);
        if plain.count == 0 {
            return plain;
        }
        let ns = |ticks: u64| (ticks as f64 * ns_per_tick).round() as u64;
        let percentile = |&percent: &f64| (format!("{percent:.6}"), ns(histogram.quantile(percent / 100.0)));
        let percentile = Some(Ordered(PERCENTILES.iter().map(percentile).collect()));
        let bins = (detail == Detail::Bins).then(|| bins(histogram, ns));
        Self { percentile, bins, ..plain }
    }
}

/// Bins by their middle in ns; two that fall on the same nanosecond are one.
fn bins(histogram: &Histogram, ns: impl Fn(u64) -> u64) -> Ordered<u64> {
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (middle, count) in histogram.bins() {
        match merged.last_mut() {
            Some((last, sum)) if *last == ns(middle) => *sum += count,
            _ => merged.push((ns(middle), count)),
        }
    }
    Ordered(merged.into_iter().map(|(middle, count)| (middle.to_string(), count)).collect())
}

/// A run that ended within the millisecond still took one.
fn milliseconds(outcome: &Outcome) -> u64 {
    (outcome.elapsed_ns as f64 / 1e6).round().max(1.0) as u64
}

fn one_of(keys: &[&str], hit: &str) -> Ordered<f64> {
    Ordered(keys.iter().map(|&key| (key.to_owned(), if key == hit { 100.0 } else { 0.0 })).collect())
}

/// The upper ends of the ranges of latencies; the last one of milliseconds has none.
const BELOW_A_THOUSAND: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
const MILLISECONDS: [u64; 12] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000, u64::MAX];

/// All latencies of reads and writes in ns, with how many there were of each.
struct Shares {
    latencies: Vec<(f64, u64)>,
    total: u64,
}

impl Shares {
    fn of(outcome: &Outcome) -> Self {
        let bins = outcome.transfers.iter().flat_map(|side| side.latency.bins());
        let latencies: Vec<(f64, u64)> =
            bins.map(|(middle, count)| (middle as f64 * outcome.ns_per_tick, count)).collect();
        let total = latencies.iter().map(|(_, count)| count).sum();
        Self { latencies, total }
    }

    /// The percentage in each range that ends at one of `ends`, counted in `unit` ns; the first begins at `from` ns.
    fn between(&self, from: u64, unit: u64, ends: &[u64]) -> Ordered<f64> {
        let mut low = from as f64;
        let share = |&end: &u64| {
            let high = end as f64 * unit as f64;
            let inside = self.latencies.iter().filter(|(ns, _)| *ns >= low && *ns < high);
            let count: u64 = inside.map(|(_, count)| count).sum();
            low = high;
            let name = if end == u64::MAX { ">=2000".to_owned() } else { end.to_string() };
            (name, if self.total == 0 { 0.0 } else { count as f64 / self.total as f64 * 100.0 })
        };
        Ordered(ends.iter().map(share).collect())
    }
}
