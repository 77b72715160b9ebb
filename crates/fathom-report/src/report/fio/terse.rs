//! fio's terse lines: the fields of a job between semicolons, in the order of fio's HOWTO.

use std::fmt::Write as _;

use super::disk::DiskUse;
use super::latency::{Latency, wanted};
use super::{Document, Entry, MIXED, Side};

/// As many percentiles as fio has room for.
const PERCENTILES: usize = 20;

impl Document {
    /// One line for each job, in version 2, 3, 4 or 5 of fio's terse format.
    pub fn terse(&self, version: u8) -> String {
        self.jobs.iter().map(|job| job.terse(self, version)).collect()
    }

    fn terse_disks(&self) -> String {
        let mut text = String::new();
        for disk in &self.disks {
            let DiskUse { name, own, below } = disk;
            let _ = write!(text, ";{name}{};{:.2}%", fields(own.counts), own.util);
            if let Some(below) = below {
                let _ = write!(text, ";slaves{};{:.2}%", fields(below.counts), below.util);
            }
        }
        text
    }
}

fn fields<const N: usize>(figures: [u64; N]) -> String {
    figures.iter().map(|figure| format!(";{figure}")).collect()
}

impl Entry {
    fn terse(&self, document: &Document, version: u8) -> String {
        let (name, group, error) = (&self.jobname, self.groupid, self.error);
        let mut text = match version {
            2 => format!("2;{name};{group};{error}"),
            _ => format!("{version};{};{name};{group};{error}", document.version),
        };
        let unified = self.about.reporting.unified;
        let sides = match (unified, version) {
            (MIXED, _) => 1,
            (_, 3) => 2,
            _ => 3,
        };
        let both = self.mixed.as_ref().filter(|_| unified > MIXED);
        for side in self.sides().into_iter().take(sides).flatten().chain(both) {
            self.terse_side(&mut text, side, version);
        }
        let (user, system) = (self.usr_cpu, self.sys_cpu);
        let _ = write!(text, ";{user:.6}%;{system:.6}%{}", fields([self.ctx, self.majf, self.minf]));
        self.iodepth_level.0.iter().for_each(|(_, percent)| {
            let _ = write!(text, ";{percent:.1}%");
        });
        // All nanoseconds stand with the first microseconds.
        let nanoseconds: f64 = self.latency_ns.0.iter().map(|(_, percent)| percent).sum();
        let ranges = self.latency_us.0.iter().chain(&self.latency_ms.0);
        for (at, (_, percent)) in ranges.enumerate() {
            let percent = percent + if at == 0 { nanoseconds } else { 0.0 };
            let _ = write!(text, ";{percent:.2}%");
        }
        if version >= 3 {
            text += &document.terse_disks();
        }
        if let (Some(errors), Some(first)) = (self.total_err, self.first_error) {
            let _ = write!(text, ";{errors};{first}");
        }
        if let Some(description) = &self.about.description {
            text += if version == 2 { "\n" } else { "" };
            let _ = write!(text, ";{description}");
        }
        text + "\n"
    }

    fn terse_side(&self, text: &mut String, side: &Side, version: u8) {
        *text += &fields([side.io_kbytes, side.bw, side.iops as u64, side.runtime]);
        terse_latency(text, &side.slat_ns);
        terse_latency(text, &side.clat_ns);
        let reporting = &self.about.reporting;
        let [_, of_completions, of_all] = reporting.percentiles_of;
        let latency = if of_all { &side.lat_ns } else { &side.clat_ns };
        let list = if of_all || of_completions { wanted(reporting) } else { Vec::new() };
        for at in 0..PERCENTILES {
            let ns = latency.percentiles.0.get(at).map_or(0, |(_, ns)| *ns);
            let _ = match list.get(at) {
                Some(percent) => write!(text, ";{percent:.6}%={}", ns / 1000),
                None => write!(text, ";0%=0"),
            };
        }
        terse_latency(text, &side.lat_ns);
        let (share, mean, deviation) = (side.bw_agg, side.bw_mean, side.bw_dev);
        let _ = write!(text, "{};{share:.6}%;{mean:.6};{deviation:.6}", fields([side.bw_min, side.bw_max]));
        if version == 5 {
            let (mean, deviation, samples) = (side.iops_mean, side.iops_stddev, side.iops_samples);
            let whole = fields([side.bw_samples, side.iops_min, side.iops_max]);
            let _ = write!(text, "{whole};{mean:.6};{deviation:.6};{samples}");
        }
    }
}

/// In microseconds.
fn terse_latency(text: &mut String, latency: &Latency) {
    let (mean, deviation) = (latency.mean / 1000.0, latency.deviation / 1000.0);
    let _ = write!(text, "{};{mean:.6};{deviation:.6}", fields([latency.min / 1000, latency.max / 1000]));
}
