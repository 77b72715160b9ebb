//! What fio 3.33 writes of its results, so that what reads them reads these: JSON key by key, terse lines field by field
//! ([`terse`](Document::terse)) and the normal text line by line ([`normal`](Document::normal)).
//!
//! Where calls are made one after the other `lat_ns` is `clat_ns`: between the making of a transfer and its call nothing is
//! done here. Latencies in the tables of shares are within 1/128.

mod disk;
mod group;
mod latency;
mod normal;
mod number;
mod steady;
mod terse;

use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use self::disk::DiskUse;
use self::group::fill_shares;
use self::latency::{BELOW_A_THOUSAND, Latency, MILLISECONDS, OfPriority, Shares, wanted};
use self::steady::SteadyState;
use fathom_program::job::{Job, JobFile, Reporting};
use fathom_run::load::{
    Disk, Histogram, Latencies, Outcome, Sampled, SampledRates, Steadiness, Transfers, per_second,
};
use fathom_speed::measurement::Measurement;

/// How much of each latency is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Percentiles: `json`.
    Percentiles,
    /// Percentiles and buckets: `json+`.
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

/// fio's whole output.
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
    #[serde(rename = "disk_util", skip_serializing_if = "Vec::is_empty")]
    disks: Vec<DiskUse>,
    /// The lines that the normal text begins with.
    #[serde(skip)]
    heads: Vec<String>,
    /// How many groups there are.
    #[serde(skip)]
    groups: usize,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    steadystate: Option<SteadyState>,
    #[serde(skip)]
    about: About,
}

/// What the other formats need of a job.
struct About {
    /// Threads.
    members: u32,
    description: Option<String>,
    reporting: Reporting,
    /// Syncs, which JSON leaves out where all is told together.
    syncs: Syncs,
    steadiness: Option<Steadiness>,
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
    /// Where at least two priorities have latencies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    prios: Vec<OfPriority>,
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

#[derive(Serialize)]
struct Syncs {
    total_ios: u64,
    lat_ns: Latency,
}

/// `unified_rw_reporting=mixed`.
const MIXED: u8 = 1;

/// Threads that are reported as one.
struct Reported<'a> {
    job: &'a Job,
    group: usize,
    members: u32,
    outcome: Outcome,
    /// How long they ran, added up.
    ran_ns: u64,
}

/// The results of a job file's jobs: one entry per thread, or one for several threads that report as one. `disks` is what the disks
/// below did, as far as known; `elapsed` is the time that everything took.
///
/// `disks` is what the disks below did, as far as that is known; `elapsed` is the time that everything took.
pub fn document(
    file: &JobFile,
    outcomes: &[Vec<Outcome>],
    disks: &[Disk],
    finished: SystemTime,
    elapsed: Duration,
    detail: Detail,
) -> Document {
    let mut entries: Vec<Reported<'_>> = Vec::new();
    let mut group = 0;
    for (at, (job, threads)) in file.jobs.iter().zip(outcomes).enumerate() {
        group += usize::from(at > 0 && (job.stonewall || job.course.new_group));
        for thread in threads.iter().filter(|_| !job.reporting.silent) {
            match entries.last_mut() {
                // As in fio: such a thread joins whatever of its group stands before it.
                Some(sum) if sum.group == group && job.group_reporting => sum.add(thread),
                _ => entries.push(Reported::new(job, group, thread)),
            }
        }
    }
    let entry = |one: &Reported<'_>| {
        let said = |options: &[(String, String)]| {
            options.iter().rev().find(|(key, _)| key == "description").map(|(_, text)| text.clone())
        };
        let mut entry = Entry::of(one, elapsed.as_secs(), detail);
        entry.about.description = said(&one.job.written).or_else(|| said(&file.globals));
        entry
    };
    let mut jobs: Vec<Entry> = entries.iter().map(entry).collect();
    fill_shares(&mut jobs, group + 1);
    let is_watched = file.jobs.iter().any(|job| job.engine.opens_files() && !job.reporting.no_disk_util);
    Document {
        disks: DiskUse::of(if is_watched { disks } else { &[] }),
        heads: normal::heads(file),
        groups: group + 1,
        ..Document::new(finished, file.globals.clone(), jobs)
    }
}

/// Measurements as results of jobs that ran one after the other, with one entry each. The options are the measurement's settings.
/// Where calls were not timed one by one there are only counts and rates. A measurement that moves no bytes counts as reads of no
/// bytes.
pub fn measured(measurements: &[Measurement], finished: SystemTime) -> Document {
    let total_ns: f64 = measurements.iter().flat_map(|one| &one.samples_ns).sum();
    let entry = |(group, one): (usize, &Measurement)| Entry {
        options: Ordered(one.settings.clone().into_iter().collect()),
        ..Entry::measured(one, group, total_ns)
    };
    Document::new(finished, Vec::new(), measurements.iter().enumerate().map(entry).collect())
}

impl<'a> Reported<'a> {
    fn new(job: &'a Job, group: usize, thread: &Outcome) -> Self {
        Self { job, group, members: 1, outcome: thread.clone(), ran_ns: thread.elapsed_ns }
    }

    fn add(&mut self, thread: &Outcome) {
        self.outcome.add(thread);
        self.members += 1;
        self.ran_ns += thread.elapsed_ns;
    }
}

impl Document {
    fn new(finished: SystemTime, globals: Vec<(String, String)>, jobs: Vec<Entry>) -> Self {
        let finished = DateTime::<Utc>::from(finished);
        Self {
            version: format!("fathom-{}", env!("CARGO_PKG_VERSION")),
            timestamp: finished.timestamp(),
            timestamp_ms: finished.timestamp_millis(),
            time: finished.format("%a %b %e %H:%M:%S %Y").to_string(),
            globals: Ordered(globals),
            groups: jobs.last().map_or(0, |last| last.groupid + 1),
            jobs,
            disks: Vec::new(),
            heads: Vec::new(),
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
        let reported = Reported::new(&job, group, &outcome);
        let mut entry = Self::of(&reported, (total_ns / 1e9) as u64, Detail::Percentiles);
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
            runtime: milliseconds(outcome.elapsed_ns),
            total_ios: calls,
            ..std::mem::take(counted)
        };
        entry
    }

    fn of(reported: &Reported<'_>, elapsed: u64, detail: Detail) -> Self {
        let Reported { job, group, members, outcome, ran_ns } = reported;
        let of_time = |used: Duration| match ran_ns {
            0 => 0.0,
            ran_ns => used.as_nanos() as f64 / *ran_ns as f64 * 100.0,
        };
        let reporting = &job.reporting;
        let shares = if reporting.disabled[1] { Shares::none() } else { Shares::of(outcome) };
        let [reads, writes] = &outcome.transfers;
        let SampledRates { bandwidth, iops } = &outcome.sampled;
        let side =
            |transfers: &Transfers, rates: [Sampled; 2]| Side::of(outcome, transfers, rates, job, detail);
        let mixed = || {
            let (mut sum, mut rates) = (reads.clone(), [bandwidth[0], iops[0]]);
            for (at, other) in [writes, &outcome.trims].into_iter().enumerate() {
                sum.add(other);
                rates[0].add(&bandwidth[at + 1]);
                rates[1].add(&iops[at + 1]);
            }
            side(&sum, rates)
        };
        let is_parted = reporting.unified != MIXED;
        let syncs = || {
            let has_percentiles = reporting.percentiles_of[1] || reporting.percentiles_of[2];
            let list = if has_percentiles { wanted(reporting) } else { Vec::new() };
            let lat_ns = match reporting.disabled[1] {
                true => Latency::default(),
                false => Latency::in_detail(&outcome.syncs, outcome.ns_per_tick, &list, detail),
            };
            Syncs { total_ios: outcome.syncs.count(), lat_ns }
        };
        let counts_errors = job.course.continues != [false; 3];
        let levels = outcome.levels();
        Self {
            jobname: job.name.clone(),
            groupid: *group,
            error: outcome.errors.first,
            eta: 0,
            elapsed,
            options: Ordered(job.written.clone()),
            read: is_parted.then(|| side(reads, [bandwidth[0], iops[0]])),
            write: is_parted.then(|| side(writes, [bandwidth[1], iops[1]])),
            trim: is_parted.then(|| side(&outcome.trims, [bandwidth[2], iops[2]])),
            sync: is_parted.then(syncs),
            mixed: (reporting.unified > 0).then(mixed),
            job_runtime: milliseconds(*ran_ns),
            usr_cpu: of_time(outcome.usage.user),
            sys_cpu: of_time(outcome.usage.system),
            ctx: outcome.usage.sleeps + outcome.usage.preemptions,
            majf: outcome.usage.major_faults,
            minf: outcome.usage.minor_faults,
            iodepth_level: classes(["1", "2", "4", "8", "16", "32", ">=64"], levels.under_way),
            iodepth_submit: classes(["0", "4", "8", "16", "32", "64", ">=64"], levels.submitted),
            iodepth_complete: classes(["0", "4", "8", "16", "32", "64", ">=64"], levels.completed),
            latency_ns: shares.between(0, 1, &BELOW_A_THOUSAND),
            latency_us: shares.between(1000, 1000, &BELOW_A_THOUSAND),
            latency_ms: shares.between(1_000_000, 1_000_000, &MILLISECONDS),
            total_err: counts_errors.then_some(outcome.errors.count),
            first_error: counts_errors.then_some(outcome.errors.first),
            latency_depth: outcome.depth.unwrap_or(job.depth.most),
            latency_target: job.latency.target.as_nanos() as u64,
            latency_percentile: job.latency.percentile,
            latency_window: job.latency.window.as_micros() as u64,
            steadystate: outcome.steadiness.as_ref().map(SteadyState::of),
            about: About {
                members: *members,
                description: None,
                reporting: reporting.clone(),
                syncs: syncs(),
                steadiness: outcome.steadiness.clone(),
            },
        }
    }

    /// Reads, or all together where they are told together, writes and trims.
    fn sides(&self) -> [Option<&Side>; 3] {
        let first = if self.about.reporting.unified == MIXED { &self.mixed } else { &self.read };
        [first, &self.write, &self.trim].map(Option::as_ref)
    }
}

impl Side {
    fn of(
        outcome: &Outcome,
        transfers: &Transfers,
        [bandwidth, iops]: [Sampled; 2],
        job: &Job,
        detail: Detail,
    ) -> Self {
        if transfers.count() == 0 {
            return Self::default();
        }
        let list = wanted(&job.reporting);
        let latency = |histogram: &Histogram, kind: usize| {
            let percentages = if job.reporting.percentiles_of[kind] { list.as_slice() } else { &[] };
            match job.reporting.disabled[kind] {
                true => Latency::default(),
                false => Latency::in_detail(histogram, outcome.ns_per_tick, percentages, detail),
            }
        };
        // Where calls are made one after the other nothing goes by before they are issued.
        let [slat_ns, lat_ns] = match transfers.submission.count() {
            // Nor does fio tell a whole latency of a call on a name.
            0 if transfers.blocks.is_some() => Default::default(),
            0 => [Latency::default(), latency(&transfers.latency, 2)],
            _ => [latency(&transfers.submission, 0), latency(&transfers.total, 2)],
        };
        // As in fio: whole latencies where their percentiles are told.
        let is_whole = job.reporting.percentiles_of[2];
        let priorities = transfers.by_priority.iter().filter(|(_, all)| all.latency.count() > 0);
        let of_priority = |(priority, all): &(u16, Latencies)| match is_whole {
            true => OfPriority::new(*priority, None, Some(latency(&all.total, 2))),
            false => OfPriority::new(*priority, Some(latency(&all.latency, 1)), None),
        };
        let mut prios: Vec<OfPriority> = priorities.map(of_priority).collect();
        if prios.len() < 2 {
            prios.clear();
        }
        let ran_ns = transfers.ran_ns.unwrap_or(outcome.elapsed_ns);
        let bytes_per_second = per_second(transfers.bytes, ran_ns);
        Self {
            io_bytes: transfers.bytes,
            io_kbytes: transfers.bytes >> 10,
            bw_bytes: bytes_per_second as u64,
            bw: bytes_per_second as u64 >> 10,
            iops: per_second(transfers.count(), ran_ns),
            runtime: milliseconds(ran_ns),
            total_ios: transfers.count(),
            slat_ns,
            clat_ns: latency(&transfers.latency, 1),
            lat_ns,
            prios,
            bw_min: bandwidth.min,
            bw_max: bandwidth.max,
            bw_mean: bandwidth.mean,
            bw_dev: bandwidth.deviation(),
            bw_samples: bandwidth.count,
            iops_min: iops.min,
            iops_max: iops.max,
            iops_mean: iops.mean,
            iops_stddev: iops.deviation(),
            iops_samples: iops.count,
            ..Self::default()
        }
    }
}

/// A run that ended within the millisecond still took one.
fn milliseconds(ns: u64) -> u64 {
    (ns as f64 / 1e6).round().max(1.0) as u64
}

/// The shares of fio's classes in percent; what there is at all is told as a tenth of a percent at least.
fn classes(names: [&str; 7], counts: [u64; 7]) -> Ordered<f64> {
    let total = counts.iter().sum();
    Ordered(
        names
            .iter()
            .zip(counts)
            .map(|(name, count)| ((*name).to_owned(), percent(count, total, 0.1)))
            .collect(),
    )
}

/// A part of a whole in percent; of what there is at all `least` is told at least.
fn percent(part: u64, whole: u64, least: f64) -> f64 {
    match part {
        0 => 0.0,
        part => (part as f64 / whole as f64 * 100.0).max(least),
    }
}
