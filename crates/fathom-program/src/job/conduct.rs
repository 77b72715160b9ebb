//! How a job runs, what it writes and what is said of it, in groups; the default of each group is fio's.

use std::sync::Arc;
use std::time::Duration;

use super::{Each, IoLog, PatternPart};

/// How latencies steer the depth, and what is too long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyTarget {
    /// `latency_target`: zero for none.
    pub target: Duration,
    /// `latency_window`: how long it must hold.
    pub window: Duration,
    /// `latency_percentile`: the percentage of transfers that must hold it.
    pub percentile: f64,
    /// `latency_run`: go on adjusting.
    pub goes_on: bool,
    /// `max_latency`: a transfer that takes longer ends the job; zero for no bound.
    pub most: Each<Duration>,
}

impl Eq for LatencyTarget {}

/// `steadystate`: the job ends once its rate is steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyState {
    /// Bytes per second instead of transfers per second.
    pub bandwidth: bool,
    /// The slope instead of the greatest deviation from the mean.
    pub slope: bool,
    /// The bound: percent of the mean where `percent`, else transfers or bytes per second.
    pub limit: f64,
    /// Whether the bound is in percent.
    pub percent: bool,
    /// `steadystate_duration`: the window that must be steady.
    pub duration: Duration,
    /// `steadystate_ramp_time`: what is left out at first.
    pub ramp: Duration,
}

impl Eq for SteadyState {}

/// Where and how urgently threads run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// `cpus_allowed`, `cpumask`: the CPUs; none for all.
    pub cpus: Vec<u32>,
    /// `cpus_allowed_policy=split`: one CPU for each thread.
    pub split: bool,
    /// `nice`.
    pub nice: i8,
    /// `prio`, `prioclass`: the I/O priority.
    pub priority: Option<(u8, u8)>,
    /// `numa_cpu_nodes`, `numa_mem_policy`, as they are written.
    pub numa: [Option<String>; 2],
    /// `flow`, `flow_id`, `flow_sleep`: shares of jobs of one flow.
    pub flow: (u32, u32, Duration),
}

/// The jobs that end with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Others {
    /// Those of its group: up to the next `stonewall` or `new_group`.
    #[default]
    Group,
    /// Those that run at the same time.
    Running,
    /// Those too that have not begun.
    All,
}

/// When a job begins and ends, beyond size and runtime.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Course {
    /// `startdelay`: begin so much later; drawn where the two differ.
    pub start_delay: (Duration, Duration),
    /// `loops`: how often the whole is done.
    pub loops: u32,
    /// `number_ios`: end after so many transfers; zero for no bound.
    pub number_ios: u64,
    /// `wait_for`: begin when the job of this name has ended.
    pub wait_for: Option<String>,
    /// `exitall`: the end of any job ends others. Of one job it holds for all in the file.
    pub exitall: bool,
    /// `exit_what`: which others the end of this job ends.
    pub exit_what: Others,
    /// `exitall_on_error`.
    pub exitall_on_error: bool,
    /// `continue_on_error`: errors that do not end the job: reads, writes, mismatches.
    pub continues: Each<bool>,
    /// `ignore_error`: errors that are not even told, by number: reads, writes, mismatches.
    pub ignored: Each<Vec<u32>>,
    /// `new_group`: a new group of the report begins.
    pub new_group: bool,
    /// `read_iolog`, `write_iolog`: a log that is replayed, and one that is written.
    pub iologs: [Option<String>; 2],
}

impl Course {
    /// Whether the end of this job, of one group, ends one of another that runs at the same time.
    pub fn ends(&self, group: u32, of_other: u32) -> bool {
        self.exitall && (self.exit_what != Others::Group || group == of_other)
    }
}

/// How `read_iolog` is replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// `replay_no_stall`: as fast as possible.
    pub no_stall: bool,
    /// `replay_scale`: offsets are divided by it.
    pub scale: u32,
    /// `replay_align`: offsets are multiples of it.
    pub align: u32,
    /// `replay_time_scale`: percentage by which times are scaled.
    pub time_scale: u32,
    /// `replay_skip`: `read`, `write`, `trim`, `sync`.
    pub skip: Vec<String>,
    /// `replay_redirect`: all that is done to any file is done to this one.
    pub redirect: Option<String>,
    /// What the log says, where it could be read, and why it could not be.
    pub log: Option<Arc<IoLog>>,
    /// As said of `log`.
    pub trouble: Option<String>,
}

impl Default for Replay {
    fn default() -> Self {
        Self {
            no_stall: false,
            scale: 1,
            align: 0,
            time_scale: 100,
            skip: Vec::new(),
            redirect: None,
            log: None,
            trouble: None,
        }
    }
}

/// `write_*_log`: what is logged while a job runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Logs {
    /// `write_bw_log`: the beginning of the file's name; empty for the job's name.
    pub bandwidth: Option<String>,
    /// `write_lat_log`.
    pub latency: Option<String>,
    /// `write_iops_log`.
    pub iops: Option<String>,
    /// `write_hist_log`.
    pub histogram: Option<String>,
    /// `log_avg_msec`: one line for so long, averaged; zero for every transfer.
    pub average: Duration,
    /// `log_hist_msec`.
    pub histogram_every: Duration,
    /// `log_hist_coarseness`.
    pub coarseness: u32,
    /// `log_max_value`: the most instead of the average.
    pub most: bool,
    /// `log_offset`.
    pub offset: bool,
    /// `log_prio`.
    pub priority: bool,
    /// `log_unix_epoch`, `log_alternate_epoch`: times since 1970, or of this clock.
    pub epoch: Option<u32>,
    /// `per_job_logs=0`: no number in the names.
    pub shared: bool,
}

/// What is reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Reporting {
    /// `percentile_list`: empty for fio's own.
    pub percentiles: Vec<f64>,
    /// Digits behind the point of the percentages that stand there.
    pub percentile_digits: u8,
    /// `slat_percentiles`, `clat_percentiles`, `lat_percentiles`.
    pub percentiles_of: [bool; 3],
    /// `disable_slat`, `disable_clat`, `disable_lat`, `disable_bw`, `gtod_reduce`: what is not measured.
    pub disabled: [bool; 4],
    /// `unified_rw_reporting`: 0 none, 1 mixed, 2 both.
    pub unified: u8,
    /// `kb_base`: 1024 or 1000.
    pub kb_base: u32,
    /// `unit_base`: 1 for bits.
    pub unit_base: u8,
    /// `bwavgtime`, `iopsavgtime`: how long a sample of the rate goes on.
    pub sampled_every: [Duration; 2],
    /// `stats=0`: the job is not reported.
    pub silent: bool,
    /// `disk_util=0`.
    pub no_disk_util: bool,
    /// `significant_figures`.
    pub figures: u8,
}

impl Eq for Reporting {}

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffers {
    /// `refill_buffers`: new data for each write.
    pub refill: bool,
    /// `zero_buffers`: zeros.
    pub zero: bool,
    /// `scramble_buffers=0`: the same data again.
    pub same: bool,
    /// `buffer_pattern`.
    pub pattern: Vec<PatternPart>,
    /// `buffer_compress_percentage`, `buffer_compress_chunk`.
    pub compress: (u8, u32),
    /// `dedupe_percentage`.
    pub dedupe: u8,
    /// `dedupe_mode=working_set`: `dedupe_working_set_percentage`.
    pub dedupe_set: Option<u8>,
    /// `dedupe_global`.
    pub dedupe_global: bool,
    /// `write_hint`: how long the data will live, where that is said.
    pub life: Option<String>,
    /// `iomem`: where buffers lie, where not in ordinary memory.
    pub memory: Option<String>,
    /// `iomem_align`: the alignment of buffers; zero for a page.
    pub align: u32,
}

impl Default for LatencyTarget {
    fn default() -> Self {
        Self {
            target: Duration::ZERO,
            window: Duration::ZERO,
            percentile: 100.0,
            goes_on: false,
            most: [Duration::ZERO; 3],
        }
    }
}

impl Default for Reporting {
    fn default() -> Self {
        Self {
            percentiles: Vec::new(),
            percentile_digits: 2,
            percentiles_of: [false, true, false],
            disabled: [false; 4],
            unified: 0,
            kb_base: 1024,
            unit_base: 8,
            sampled_every: [Duration::from_millis(500); 2],
            silent: false,
            no_disk_util: false,
            figures: 4,
        }
    }
}

impl Default for Buffers {
    fn default() -> Self {
        Self {
            refill: false,
            zero: false,
            same: false,
            pattern: Vec::new(),
            compress: (0, 512),
            dedupe: 0,
            dedupe_set: None,
            dedupe_global: false,
            life: None,
            memory: None,
            align: 0,
        }
    }
}

impl super::Job {
    /// Whether its files are dropped from the cache before it begins.
    pub fn drops_caches(&self) -> bool {
        self.invalidate && !self.pre_read && self.engine.opens_files()
    }

    /// Whether its threads begin only once a delay is over, or another job.
    pub fn begins_late(&self) -> bool {
        let (low, high) = self.course.start_delay;
        !low.max(high).is_zero() || self.course.wait_for.is_some()
    }

    /// The most bytes per second in a direction, by its place; zero for no bound. Of `rate_iops` these are the least blocks.
    pub(crate) fn bound(&self, side: usize) -> u64 {
        match self.rate[side] {
            0 => u64::from(self.rates.iops[side]) * self.blocks[side].least,
            rate => rate,
        }
    }
}
