//! fio's normal text: the lines that people read and that scripts search.

use std::fmt::Write as _;

use super::group::{Sum, sums};
use super::latency::{Latency, OfPriority, Percentiles};
use super::number::Shortened;
use super::{Document, Entry, MIXED, Ordered, Side};
use fathom_program::job::{Direction, Engine, Job, JobFile, Pattern, Trim};
use fathom_run::fault::plain;

/// How fio shortens whole numbers of latencies.
const LATENCY: Shortened = Shortened { digits: 6, binary: false };

/// The lines that the text begins with: what each job does, and how many threads there are.
pub(super) fn heads(file: &JobFile) -> Vec<String> {
    let (mut lines, mut group) = (Vec::new(), 0);
    for (at, job) in file.jobs.iter().enumerate() {
        group += usize::from(at > 0 && (job.stonewall || job.course.new_group));
        lines.extend((job.engine != Engine::Cpuio).then(|| head(job, group)));
        lines.extend((job.numjobs > 1).then(|| "...".to_owned()));
    }
    let threads: u32 = file.jobs.iter().map(|job| job.numjobs).sum();
    lines.push(format!("fathom-{}", env!("CARGO_PKG_VERSION")));
    lines.push(format!("Starting {threads} thread{}", if threads > 1 { "s" } else { "" }));
    let busy = file.jobs.iter().filter(|job| job.engine == Engine::Cpuio);
    lines.extend(busy.flat_map(|job| std::iter::repeat_n(busy_head(job), job.numjobs as usize)));
    lines
}

/// What keeps a CPU busy is told by each thread when it begins.
fn busy_head(job: &Job) -> String {
    let options = &job.engine_options;
    let (load, cycle) = (options.cpu.0, options.burst().as_micros());
    let mode = if options.sorts { "qsort" } else { "noop" };
    format!("{} ({mode}): ioengine=cpuio, cpuload={load}, cpucycle={cycle}", job.name)
}

fn head(job: &Job, group: usize) -> String {
    let binary = job.reporting.kb_base == 1024;
    let bytes = |bytes| Shortened { digits: job.reporting.figures.into(), binary }.text(bytes, "B");
    let [reads, writes] = job.blocks;
    let trims = job.order.trim.map_or(writes, |(_, blocks)| blocks);
    let block = |letter: char, blocks: fathom_program::job::Blocks| {
        format!("({letter}) {}-{}", bytes(blocks.least), bytes(blocks.most))
    };
    let sizes = match job.order.sizes_by_order {
        true => format!("{}, {}, bs_is_seq_rand", block('R', reads), block('W', writes)),
        false => format!("{}, {}, {}", block('R', reads), block('W', writes), block('T', trims)),
    };
    let (name, engine, depth) = (&job.name, job.engine.name(), job.depth.most);
    format!("{name}: (g={group}): rw={}, bs={sizes}, ioengine={engine}, iodepth={depth}", order(job))
}

/// fio's word for the order and the directions.
fn order(job: &Job) -> String {
    let is_random = job.pattern == Pattern::Random;
    let directions = match (job.order.trim, job.does(Direction::Read), job.does(Direction::Write)) {
        (Some((Trim::Only, _)), ..) => "trim",
        (Some((Trim::BeforeWrite, _)), ..) => "trimwrite",
        (None, true, true) => "rw",
        (None, true, false) => "read",
        (None, ..) => "write",
    };
    format!("{}{directions}", if is_random { "rand" } else { "" })
}

impl Document {
    /// The text that fio writes by default.
    pub fn normal(&self) -> String {
        let mut text: String = self.heads.iter().map(|line| format!("{line}\n")).collect();
        text.push('\n');
        self.jobs.iter().for_each(|job| job.normal(&mut text, &self.time));
        for group in 0..self.groups {
            self.normal_group(&mut text, group);
        }
        self.normal_disks(&mut text);
        text
    }

    fn normal_group(&self, text: &mut String, group: usize) {
        let _ = writeln!(text, "\nRun status group {group} (all jobs):");
        let Some(job) = self.jobs.iter().rfind(|job| job.groupid == group) else { return };
        let sums = sums(&self.jobs, group);
        let unified = job.about.reporting.unified;
        let mut say = |name: &str, sum: &Sum| {
            if sum.times[1] == 0 {
                return;
            }
            let ([rate, other], [bytes, other_bytes]) = (job.rate(sum.rate), job.bytes(sum.bytes));
            let [[low, other_low], [high, other_high]] = sum.rates.map(|rate| job.rate(rate));
            let [least, most] = sum.times;
            let _ = writeln!(
                text,
                "{name:>7}: bw={rate} ({other}), {low}-{high} ({other_low}-{other_high}), io={bytes} ({other_bytes}), \
                 run={least}-{most}msec"
            );
        };
        let names = if unified == MIXED { ["MIXED"; 3] } else { ["READ", "WRITE", "TRIM"] };
        names.iter().zip(&sums).for_each(|(name, sum)| say(name, sum));
        if unified > MIXED {
            say("MIXED", &Sum::together(&sums));
        }
    }

    fn normal_disks(&self, text: &mut String) {
        if !self.disks.is_empty() {
            text.push_str("\nDisk stats (read/write):\n");
        }
        for disk in &self.disks {
            let indent = if disk.below.is_some() { "    " } else { "  " };
            let below = disk.below.map_or_else(String::new, |below| format!(", {}", below.text("aggr")));
            let _ = writeln!(text, "{indent}{}: {}{below}", disk.name, disk.own.text(""));
        }
    }
}

impl Entry {
    /// Bytes in the job's units, and in the others.
    fn bytes(&self, bytes: u64) -> [String; 2] {
        self.both(bytes, "B")
    }

    /// Bytes per second, or bits where the job wants them.
    pub(super) fn rate(&self, rate: u64) -> [String; 2] {
        let is_bits = self.about.reporting.unit_base == 1;
        if is_bits { self.both(rate * 8, "bit/s") } else { self.both(rate, "B/s") }
    }

    fn both(&self, value: u64, unit: &str) -> [String; 2] {
        let is_binary = self.about.reporting.kb_base == 1024;
        [is_binary, !is_binary].map(|binary| Shortened { binary, ..self.shortened() }.text(value, unit))
    }

    pub(super) fn shortened(&self) -> Shortened {
        Shortened { digits: self.about.reporting.figures.into(), binary: false }
    }

    fn normal(&self, text: &mut String, time: &str) {
        let transfers = self.sides().into_iter().flatten();
        if transfers.map(|side| side.io_bytes + side.total_ios).sum::<u64>() == 0 {
            return;
        }
        let (name, group, members) = (&self.jobname, self.groupid, self.about.members);
        let error = match self.error {
            0 => " 0".to_owned(),
            number => {
                let error = std::io::Error::from_raw_os_error(number.cast_signed());
                format!("{number:2} ({})", plain(&error))
            }
        };
        let pid = std::process::id();
        let _ = writeln!(text, "{name}: (groupid={group}, jobs={members}): err={error}: pid={pid}: {time}");
        if let Some(description) = &self.about.description {
            let _ = writeln!(text, "  Description  : [{description}]");
        }
        let unified = self.about.reporting.unified;
        let names = if unified == MIXED { ["mixed"; 3] } else { ["read", "write", "trim"] };
        for (at, (name, side)) in names.iter().zip(self.sides()).enumerate() {
            if let Some(side) = side.filter(|side| side.io_bytes > 0) {
                self.normal_side(text, name, side, if at == 1 { "; 0 zone resets" } else { "" });
            }
        }
        if let Some(mixed) = self.mixed.as_ref().filter(|_| unified > MIXED) {
            self.normal_side(text, "mixed", mixed, "");
        }
        normal_shares(text, "nsec", &self.latency_ns);
        normal_shares(text, "usec", &self.latency_us);
        normal_shares(text, "msec", &self.latency_ms);
        let syncs = &self.about.syncs.lat_ns;
        if syncs.count > 0 {
            text.push_str("  fsync/fdatasync/sync_file_range:\n");
            normal_latency(text, "sync", syncs);
            self.normal_percentiles(text, "sync", &syncs.percentiles);
        }
        self.normal_counts(text);
    }

    fn normal_side(&self, text: &mut String, name: &str, side: &Side, end: &str) {
        let iops = self.shortened().text(side.iops as u64, "");
        let ([rate, other], [bytes, _]) = (self.rate(side.bw_bytes), self.bytes(side.io_bytes));
        let time = side.runtime;
        let _ = writeln!(text, "  {name}: IOPS={iops}, BW={rate} ({other})({bytes}/{time}msec){end}");
        let latencies = [("slat", &side.slat_ns), ("clat", &side.clat_ns), (" lat", &side.lat_ns)];
        for (name, latency) in latencies.iter().filter(|(_, latency)| latency.count > 0) {
            normal_latency(text, name, latency);
        }
        let priorities: Vec<_> = side.prios.iter().filter_map(OfPriority::named).collect();
        priorities.iter().for_each(|(name, latency)| normal_latency(text, name, latency));
        for (name, latency) in latencies {
            self.normal_percentiles(text, name.trim_start(), &latency.percentiles);
        }
        for (name, latency) in priorities {
            let share = latency.count as f64 / side.total_ios as f64 * 100.0;
            self.normal_percentiles(text, &format!("{name} ({share:.2}% of IOs)"), &latency.percentiles);
        }
        if side.bw_samples > 0 {
            self.normal_bandwidth(text, side);
        }
        if side.iops_samples > 0 {
            let (min, max, mean) = (side.iops_min, side.iops_max, side.iops_mean);
            let (deviation, samples) = (side.iops_stddev, side.iops_samples);
            let _ = writeln!(
                text,
                "   iops        : min={min:5}, max={max:5}, avg={mean:5.2}, stdev={deviation:5.2}, samples={samples}"
            );
        }
    }

    /// The samples of the bandwidth: in KiB per second, in MiB above a million of them.
    fn normal_bandwidth(&self, text: &mut String, side: &Side) {
        let (base, is_bits) = (self.about.reporting.kb_base, self.about.reporting.unit_base == 1);
        let bits: u32 = if is_bits { 8 } else { 1 };
        let is_large = side.bw_mean * f64::from(bits) > f64::from(base).powi(2);
        let unit = match (is_bits, base == 1024) {
            (true, _) if is_large => "Mibit",
            (false, _) if is_large => "MiB",
            (true, true) => "Kibit",
            (true, false) => "kbit",
            (false, true) => "KiB",
            (false, false) => "kB",
        };
        let by = if is_large { base } else { 1 };
        let [min, max] = [side.bw_min, side.bw_max].map(|rate| rate * u64::from(bits) / u64::from(by));
        let [mean, deviation] =
            [side.bw_mean, side.bw_dev].map(|rate| rate * f64::from(bits) / f64::from(by));
        let (share, samples) = (side.bw_agg, side.bw_samples);
        let _ = writeln!(
            text,
            "   bw ({unit:>5}/s): min={min:5}, max={max:5}, per={share:.2}%, avg={mean:5.2}, \
             stdev={deviation:5.2}, samples={samples}"
        );
    }

    fn normal_percentiles(&self, text: &mut String, name: &str, percentiles: &Percentiles) {
        let Some((&(_, most), (_, least))) = percentiles.0.last().zip(percentiles.0.first()) else { return };
        let (unit, thousands) = match (*least, most) {
            (2_000_001.., 100_000_000..) => ("msec", 2),
            (2001.., 100_000..) => ("usec", 1),
            _ => ("nsec", 0),
        };
        let _ = write!(text, "    {name} percentiles ({unit}):");
        let digits = usize::from(self.about.reporting.percentile_digits);
        let width = 5.max((most / 1000_u64.pow(thousands)).to_string().len());
        let in_line = (73 / (digits + 10 + width)).max(1);
        for (at, (percent, ns)) in percentiles.0.iter().enumerate() {
            text.push_str(match (at, at % in_line) {
                (0, _) => "\n     |",
                (_, 0) => ",\n     |",
                _ => ",",
            });
            // Each step is rounded up.
            let value = (0..thousands).fold(*ns, |value, _| value.div_ceil(1000));
            let _ = write!(text, " {percent:0$.digits$}th=[{value:width$}]", digits + 3);
        }
        text.push('\n');
    }

    fn normal_counts(&self, text: &mut String) {
        let (user, system) = (self.usr_cpu, self.sys_cpu);
        let (switches, major, minor) = (self.ctx, self.majf, self.minf);
        let _ = writeln!(
            text,
            "  cpu          : usr={user:.2}%, sys={system:.2}%, ctx={switches}, majf={major}, minf={minor}"
        );
        let classes = |map: &Ordered<f64>| {
            map.0.iter().map(|(name, percent)| format!("{name}={percent:.1}%")).collect::<Vec<_>>().join(", ")
        };
        let _ = writeln!(text, "  IO depths    : {}", classes(&self.iodepth_level));
        let _ = writeln!(text, "     submit    : {}", classes(&self.iodepth_submit));
        let _ = writeln!(text, "     complete  : {}", classes(&self.iodepth_complete));
        let sides = self.sides();
        let three = |of: fn(&Side) -> u64| sides.map(|side| side.map_or(0, of).to_string()).join(",");
        let (total, short, dropped) =
            (three(|side| side.total_ios), three(|side| side.short_ios), three(|side| side.drop_ios));
        let _ = writeln!(
            text,
            "     issued rwts: total={total},{} short={short},0 dropped={dropped},0",
            self.about.syncs.total_ios
        );
        if let (Some(errors), Some(first)) = (self.total_err, self.first_error) {
            let name = match first {
                0 => "Success".to_owned(),
                number => plain(&std::io::Error::from_raw_os_error(number.cast_signed())),
            };
            let _ = writeln!(text, "     errors    : total={errors}, first_error={first}/<{name}>");
        }
        let (target, window) = (self.latency_target, self.latency_window);
        let (percent, depth) = (self.latency_percentile, self.latency_depth);
        let _ = writeln!(
            text,
            "     latency   : target={target}, window={window}, percentile={percent:.2}%, depth={depth}"
        );
        self.normal_steady_state(text);
    }
}

/// In the unit that fio picks by the least, the most and the deviation.
fn normal_latency(text: &mut String, name: &str, latency: &Latency) {
    let (unit, by) = match (latency.min, latency.max, latency.deviation) {
        (2_000_001.., 100_000_000.., off) if off > 1e6 => ("msec", 1_000_000),
        (2001.., 100_000.., off) if off > 1e3 => ("usec", 1000),
        _ => ("nsec", 1),
    };
    let [min, max] = [latency.min, latency.max].map(|ns| LATENCY.text(ns / by, ""));
    let [mean, deviation] = [latency.mean, latency.deviation].map(|ns| ns / by as f64);
    let _ =
        writeln!(text, "    {name} ({unit}): min={min}, max={max}, avg={mean:5.2}, stdev={deviation:5.2}");
}

/// The shares of the ranges that hold any latency, five in a line.
fn normal_shares(text: &mut String, unit: &str, shares: &Ordered<f64>) {
    let shown: Vec<String> = shares
        .0
        .iter()
        .filter(|(_, percent)| *percent > 0.0)
        .map(|(name, percent)| format!("{name}={percent:.2}%"))
        .collect();
    for line in shown.chunks(5) {
        let _ = writeln!(text, "  lat ({unit})   : {}", line.join(", "));
    }
}
