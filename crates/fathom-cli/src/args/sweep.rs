//! The options of `fathom sweep`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fathom::sweep::{Axis, By, Of, Shard};

use crate::keep::Destination;

#[derive(Debug, Args)]
pub(crate) struct SweepOptions {
    /// The model to predict with (a file that 'fathom calibrate' wrote); 'assumed' is a built-in example. Here it is the first
    /// argument; 'fathom predict' takes it as --on MODEL.json.
    #[arg(value_name = "MODEL.json", required_unless_present = "merge")]
    pub(crate) model: Option<PathBuf>,
    /// A job file in fio's format ('fathom run --dry-run' says whether its options are supported; '-' is standard input).
    #[arg(value_name = "JOB.fio", required_unless_present = "merge")]
    pub(crate) jobs: Option<PathBuf>,
    /// Values of a parameter of the model, such as readahead=128K,1M. Values that have commas of their own are separated by
    /// semicolons.
    #[arg(long = "set", value_name = "NAME=VALUES", value_parser = |typed: &str| Axis::read(Of::Model, typed))]
    pub(crate) set: Vec<Axis>,
    /// Values of an option of every job in the file, such as bs=4k,64k or iodepth=1,4,16; as if they stood at the end of the
    /// job's section.
    #[arg(long = "job", value_name = "OPTION=VALUES", value_parser = |typed: &str| Axis::read(Of::Job, typed))]
    pub(crate) job: Vec<Axis>,
    /// Find the best combination instead of predicting them all: with the largest 'bandwidth' or 'iops', or the shortest 'mean',
    /// 'p99' or 'p999' latency. Combinations that are surely worse are not simulated to their end.
    #[arg(long, value_name = "FIGURE", value_parser = By::read, conflicts_with_all = ["shard", "out", "merge"])]
    pub(crate) best: Option<By>,
    /// Predict only the I-th of N parts of the combinations, from 1/N to N/N: N processes or machines share the work.
    #[arg(long, value_name = "I/N", value_parser = Shard::read)]
    pub(crate) shard: Option<Shard>,
    /// Keep each combination's prediction in this folder as soon as it is made, and predict only those that are not there yet.
    /// Parts (--shard) may share a folder; the result and its page are written there with the last one.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Predict nothing: put together what parts (--shard) have left in this folder.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["model", "jobs", "set", "job", "shard", "out", "draws", "seed"])]
    pub(crate) merge: Option<PathBuf>,
    /// Keep neither the result nor its page.
    #[arg(long, conflicts_with = "out")]
    no_report: bool,
    /// Format of the result.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: SweepFormat,
    /// How many simulations to make for the intervals of each combination, each with every parameter drawn from its own
    /// interval.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) draws: u32,
    /// Seed of the simulations' random numbers, for all combinations.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

impl SweepOptions {
    /// Where the result goes that is in no folder of a sweep.
    pub(crate) fn destination(&self) -> Destination<'_> {
        let prints_text = self.format == SweepFormat::Text && !self.no_report;
        Destination::of(None, prints_text && self.out.is_none() && self.shard.is_none())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SweepFormat {
    /// A table.
    Text,
    /// Every figure with its interval, by the schema fathom.sweep/1, or fathom.best/1.
    Json,
    /// One line per combination, job and direction under a header with the units; not with --best.
    Csv,
}
