//! Jobs by Fathom and by fio, in turns: how many transfers a second, and how long the slowest in a hundred took.

use fathom_stats::quantile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::programs::median_of_ratios;
use crate::curve::Refusal;
use crate::measurement::Measurement;
use crate::rounds::{self, Bench, Progress, Series, Settings};
use fathom_program::job::{Direction, Job, JobFile, words_of};
use fathom_run::fault::Fault;
use fathom_run::load::program::{run_as_written, version};
use fathom_run::load::{self, Outcome, Testbed};
use fathom_run::provenance::Provenance;

/// The name of the schema that [`JobsVersus`] is published under.
pub const SCHEMA: &str = "fathom.versus-jobs/1";

/// A comparison of jobs, as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.versus-jobs/1")]
pub struct JobsVersus {
    /// Always `fathom.versus-jobs/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Where, when and by which clock.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// fio's version.
    pub fio: String,
    /// One entry per job.
    pub jobs: Vec<Contest>,
    /// Jobs that were not compared, with the reason.
    pub refused: Vec<Refusal>,
    /// How long it took, in ns.
    pub duration_ns: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

/// A job by both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contest {
    /// The job's name.
    pub job: String,
    /// What fio was called with, without where the files lie.
    pub words: Vec<String>,
    /// Fathom's side.
    pub fathom: Side,
    /// fio's side.
    pub fio: Side,
    /// Fathom's transfers per second over fio's in the same round: the median and its 95 % interval; nothing from fewer
    /// than 6 rounds.
    pub rate_over_fios: Option<[f64; 3]>,
    /// The same of the 99th percentiles of the latencies.
    pub p99_over_fios: Option<[f64; 3]>,
}

/// What one program came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// Transfers per second in both directions: the median of the runs.
    pub per_second: Option<f64>,
    /// The 95 % interval of that median.
    pub per_second_interval: Option<[f64; 2]>,
    /// The 99th percentile of the completion latencies in ns: the median of the runs.
    pub p99_ns: Option<f64>,
    /// The runs, in their order.
    pub samples: Vec<Sample>,
}

/// One run of a job.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The round that it belongs to, from zero.
    pub round: u32,
    /// Transfers per second, as the program prints it.
    pub per_second: f64,
    /// The 99th percentile of the completion latencies, of the direction that has more of them, in ns.
    pub p99_ns: Option<f64>,
}

impl Contest {
    /// Both sides in the shape that every output format is written from: one call is one transfer.
    pub fn measurements(&self) -> impl Iterator<Item = Measurement> {
        let of = |(program, side): (&str, &Side)| {
            let ns = side.samples.iter().map(|sample| 1e9 / sample.per_second).collect();
            Some(Measurement::new(program, 1, 0, ns)?.with("job", &self.job))
        };
        [("fathom", &self.fathom), ("fio", &self.fio)].into_iter().filter_map(of)
    }
}

/// Runs each job of a file by itself, by Fathom and by fio, in rounds until the interval of every median is narrow enough
/// or the deadline has come. Gives fio's version, the contests and the jobs that are none.
///
/// # Errors
/// [`Fault::Interrupted`]; that fio is not installed.
pub fn measure(
    testbed: &mut Testbed,
    file: &JobFile,
    settings: Settings,
    progress: &mut dyn FnMut(Progress),
) -> Result<(String, Vec<Contest>, Vec<Refusal>), Fault> {
    let fio = version("fio").ok_or_else(|| Fault::Unsupported("fio is not installed".to_owned()))?;
    let words = (0..file.jobs.len()).map(|job| words_of(file, job).unwrap_or_default()).collect();
    let mut bench = Both { testbed, jobs: &file.jobs, words };
    let tasks = 2 * file.jobs.len();
    let series = rounds::measure(&mut bench, tasks, settings, progress)?;
    let (mut contests, mut refused) = (Vec::new(), Vec::new());
    for ((job, words), sides) in file.jobs.iter().zip(bench.words).zip(series.chunks(2)) {
        let [fathom, fio] = sides else { continue };
        let refusal =
            [("Fathom", fathom), ("fio", fio)].into_iter().find(|(_, side)| side.samples.is_empty());
        if let Some((program, side)) = refusal {
            let reason = side.refusal.as_deref().unwrap_or("the time was over: raise --max-time");
            refused.push(Refusal { what: job.name.clone(), reason: format!("{program}: {reason}") });
            continue;
        }
        let against = |of: &dyn Fn(&Sample) -> Option<f64>| {
            median_of_ratios(&fathom.samples, &fio.samples, |sample| sample.round, of)
        };
        contests.push(Contest {
            job: job.name.clone(),
            words,
            rate_over_fios: against(&Both::rate),
            p99_over_fios: against(&|sample| sample.p99_ns),
            fathom: Side::of(fathom),
            fio: Side::of(fio),
        });
    }
    Ok((fio, contests, refused))
}

/// Each job twice: an even index is Fathom's, the odd one after it fio's.
struct Both<'a> {
    testbed: &'a mut Testbed,
    jobs: &'a [Job],
    words: Vec<Vec<String>>,
}

impl Bench for Both<'_> {
    type Sample = Sample;

    fn sample(&mut self, index: usize, round: u32) -> Result<Sample, Fault> {
        let job = &self.jobs[index / 2];
        // What only writes begins with new files.
        if job.is_new() {
            self.testbed.remove(job);
        }
        let (per_second, p99_ns) = if index.is_multiple_of(2) {
            let threads = load::run(job, self.testbed)?;
            let sum =
                Outcome::together(&threads).ok_or_else(|| Fault::Unsupported("no thread ran".to_owned()))?;
            (
                sum.iops(Direction::Read) + sum.iops(Direction::Write),
                Some(sum.latency_of_most_ns(0.99).unwrap_or(0.0)),
            )
        } else {
            let report = run_as_written(&self.words[index / 2], job, self.testbed)?;
            (report.iops(), report.p99_ns())
        };
        if per_second <= 0.0 {
            return Err(Fault::Unsupported("it transfers nothing".to_owned()));
        }
        Ok(Sample { round, per_second, p99_ns })
    }

    fn rate(sample: &Sample) -> Option<f64> {
        Some(sample.per_second)
    }
}

impl Side {
    fn of(series: &Series<Sample>) -> Self {
        let p99: Vec<f64> = series.samples.iter().filter_map(|sample| sample.p99_ns).collect();
        Self {
            per_second: series.median,
            per_second_interval: series.interval,
            p99_ns: quantile::median(&p99),
            samples: series.samples.clone(),
        }
    }
}
