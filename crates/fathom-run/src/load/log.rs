//! Logs of a job's transfers, in the files and the formats of fio 3.33's `write_bw_log`, `write_iops_log` and
//! `write_lat_log`: a line for each transfer, or with `log_avg_msec` for each stretch of time and direction. Those of
//! `write_hist_log` and `write_iolog` are in modules of their own.
//!
//! Lines are kept in memory and written once the jobs are done, so that no log is written to while anything is timed.

mod histograms;
pub(super) mod transfers;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

pub use self::transfers::Made;

use self::histograms::Histograms;
use fathom_program::job::{DIRECTIONS, Direction, Job};
use fathom_sys::clock;

/// Lines of one thread that are kept at most: 2^22, of 64 bytes each.
pub(super) const MOST: usize = 1 << 22;

/// What the log files of one thread will hold.
#[derive(Debug, Clone)]
pub struct Log {
    /// What the clock of `log_alternate_epoch` showed when the thread began; zero without one.
    epoch: Duration,
    /// How long a line goes on, in ticks; zero for one transfer.
    stretch: u64,
    /// The most instead of the mean.
    most: bool,
    began: u64,
    /// The submission of the transfer that is recorded next, in ticks.
    submission: u64,
    /// What is not in a line yet, by direction.
    open: [Line; DIRECTIONS],
    lines: Vec<Line>,
    /// Whether lines are kept at all.
    has_lines: bool,
    /// Of an engine of names the direction that fio writes into its lines: it logs their completion, and no blocks.
    names: Option<Direction>,
    histograms: Option<Histograms>,
    /// Whether there were more lines than are kept.
    pub(super) is_cut: bool,
}

/// One line: transfers of one direction. Times are in ticks; those of latencies are sums, or the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    side: Direction,
    /// Since the thread began.
    end: u64,
    /// How long the line went on.
    spent: u64,
    count: u64,
    bytes: u64,
    offset: u64,
    submission: u64,
    completion: u64,
    total: u64,
}

impl Line {
    const fn of(side: Direction) -> Self {
        Self { side, end: 0, spent: 0, count: 0, bytes: 0, offset: 0, submission: 0, completion: 0, total: 0 }
    }
}

impl Log {
    /// The log of a thread of a job; none where the job wants none.
    pub(super) fn of(job: &Job, ticks_per_second: f64) -> Option<Box<Self>> {
        let logs = &job.logs;
        let has_lines = logs.bandwidth.is_some() || logs.iops.is_some() || logs.latency.is_some();
        let histograms = Histograms::of(job, ticks_per_second);
        (has_lines || histograms.is_some()).then(|| {
            Box::new(Self {
                epoch: logs.epoch.and_then(clock::shown_by).unwrap_or_default(),
                stretch: (logs.average.as_secs_f64() * ticks_per_second) as u64,
                most: logs.most,
                began: 0,
                submission: 0,
                open: [Direction::Read, Direction::Write].map(Line::of),
                lines: Vec::with_capacity(1 << 10),
                has_lines,
                names: job.engine.on_names().and(job.directions().next()),
                histograms,
                is_cut: false,
            })
        })
    }

    /// What is recorded next took so long to hand over.
    pub(super) fn submitted(&mut self, ticks: u64) {
        self.submission = ticks;
    }

    /// A transfer is done; `start` and `stop` are readings of the clock.
    pub(super) fn transfer(&mut self, side: Direction, offset: u64, bytes: u64, window: [u64; 2]) {
        if self.names.is_none() {
            self.enter(side, offset, bytes, window);
        }
    }

    /// Something was done to a name, or a block was trimmed, which has no line.
    pub(super) fn name(&mut self, window: [u64; 2]) {
        if let Some(side) = self.names {
            self.enter(side, 0, 0, window);
        }
    }

    fn enter(&mut self, side: Direction, offset: u64, bytes: u64, [start, stop]: [u64; 2]) {
        if self.began == 0 {
            self.began = start;
        }
        let submission = std::mem::take(&mut self.submission);
        let completion = stop.saturating_sub(start);
        let total = completion + submission;
        let now = stop.saturating_sub(self.began);
        if let Some(histograms) = &mut self.histograms {
            self.is_cut |= histograms.transfer(side, bytes, completion, now);
        }
        if !self.has_lines {
            return;
        }
        if self.stretch == 0 {
            let spent = completion;
            let line = Line { side, end: now, spent, count: 1, bytes, offset, submission, completion, total };
            return self.push(line);
        }
        let line = &mut self.open[side as usize];
        line.count += 1;
        line.bytes += bytes;
        for (sum, one) in
            [(&mut line.submission, submission), (&mut line.completion, completion), (&mut line.total, total)]
        {
            *sum = if self.most { one.max(*sum) } else { *sum + one };
        }
        if now >= line.end + self.stretch {
            let done = Line { end: now, spent: now - line.end, ..*line };
            *line = Line { end: now, ..Line::of(side) };
            self.push(done);
        }
    }

    fn push(&mut self, line: Line) {
        if self.lines.len() < MOST {
            self.lines.push(line);
        } else {
            self.is_cut = true;
        }
    }
}

/// What a file of a log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bandwidth,
    Iops,
    Submission,
    Completion,
    Total,
    Histogram,
    Transfers,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Bandwidth => "bw",
            Self::Iops => "iops",
            Self::Submission => "slat",
            Self::Completion => "clat",
            Self::Total => "lat",
            Self::Histogram => "clat_hist",
            Self::Transfers => "iolog",
        }
    }

    /// The value of a line, in fio's units: KiB per second, or of a single transfer 1,000 bytes; transfers per second; ns.
    fn value(self, line: &Line, log: &Log, ns_per_tick: f64) -> u64 {
        let seconds = (line.spent.max(1) as f64 * ns_per_tick) / 1e9;
        let mean = |ticks: u64| {
            let of = if log.most { 1 } else { line.count.max(1) };
            (ticks as f64 * ns_per_tick / of as f64) as u64
        };
        match self {
            Self::Bandwidth if log.stretch == 0 => (line.bytes as f64 / seconds / 1000.0) as u64,
            Self::Bandwidth => (line.bytes as f64 / seconds / 1024.0) as u64,
            Self::Iops if log.stretch == 0 => 1,
            Self::Iops => (line.count as f64 / seconds) as u64,
            Self::Submission => mean(line.submission),
            Self::Completion => mean(line.completion),
            Self::Total => mean(line.total),
            Self::Histogram | Self::Transfers => 0,
        }
    }
}

/// The files that jobs log to: the job, the thread, both counted from zero, and what the file holds.
pub(super) fn files(jobs: &[Job]) -> Vec<(PathBuf, usize, usize, Kind)> {
    let (mut files, mut number) = (Vec::new(), 0);
    for (at, job) in jobs.iter().enumerate() {
        let logs = &job.logs;
        for thread in 0..job.numjobs as usize {
            number += 1;
            let [no_slat, no_clat, no_lat, _] = job.reporting.disabled;
            let wanted = [
                (&logs.bandwidth, Kind::Bandwidth, false),
                (&logs.iops, Kind::Iops, false),
                (&logs.latency, Kind::Submission, no_slat),
                (&logs.latency, Kind::Completion, no_clat),
                (&logs.latency, Kind::Total, no_lat),
                (&logs.histogram, Kind::Histogram, no_clat),
            ];
            for (prefix, kind, is_disabled) in wanted {
                let Some(prefix) = prefix.as_ref().filter(|_| !is_disabled) else { continue };
                let prefix = if prefix.is_empty() { &job.name } else { prefix };
                let own = if logs.shared { String::new() } else { format!(".{number}") };
                files.push((PathBuf::from(format!("{prefix}_{}{own}.log", kind.word())), at, thread, kind));
            }
            if let Some(path) = &job.course.iologs[1] {
                files.push((PathBuf::from(path), at, thread, Kind::Transfers));
            }
        }
    }
    files
}

/// Makes sure that the logs of jobs can be written: none of their files is there, and each has a directory.
///
/// # Errors
/// One sentence that names the file.
pub fn check(jobs: &[Job]) -> Result<(), String> {
    for (path, ..) in files(jobs) {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
            return Err(format!(
                "{}: the directory of the log does not exist: create {}",
                path.display(),
                directory.display()
            ));
        }
        if fs::symlink_metadata(&path).is_ok() {
            return Err(format!(
                "{}: the file exists, and a log never replaces one: move it away",
                path.display()
            ));
        }
    }
    Ok(())
}

impl Log {
    pub(super) fn text(&self, kind: Kind, job: &Job, ns_per_tick: f64) -> String {
        let mut text = String::new();
        // fio has none of an engine that waits for each call.
        let is_none_of_names = self.names.is_some() && kind != Kind::Completion;
        if is_none_of_names || kind == Kind::Submission && !job.is_queued() {
            return text;
        }
        let epoch = self.epoch.as_millis() as u64;
        if kind == Kind::Histogram {
            let histograms = self.histograms.as_ref();
            return histograms.map_or(text, |all| all.text(job.logs.coarseness, epoch, ns_per_tick));
        }
        for line in &self.lines {
            let at = epoch + (line.end as f64 * ns_per_tick / 1e6) as u64;
            let bytes = if self.stretch == 0 { line.bytes } else { 0 };
            let value = kind.value(line, self, ns_per_tick);
            let _ = write!(text, "{at}, {value}, {}, {bytes}, ", line.side as u8);
            if job.logs.offset {
                let _ = write!(text, "{}, ", if self.stretch == 0 { line.offset } else { 0 });
            }
            text.push_str(if job.logs.priority { "0x0000\n" } else { "0\n" });
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_program::job::Engine;

    fn job(average: u64) -> Job {
        let mut job = Job { size: Some(1 << 20), ..Job::named("x") };
        job.logs.bandwidth = Some(String::new());
        job.logs.latency = Some("lat".to_owned());
        job.logs.average = Duration::from_millis(average);
        job
    }

    #[test]
    fn a_line_is_a_transfer_or_a_stretch_of_one_direction() {
        let mut each = Log::of(&job(0), 1e9).unwrap();
        each.transfer(Direction::Read, 8192, 4096, [1_000_000, 1_047_760]);
        assert_eq!(each.text(Kind::Bandwidth, &job(0), 1.0), "0, 85762, 0, 4096, 0\n");
        assert_eq!(each.text(Kind::Completion, &job(0), 1.0), "0, 47760, 0, 4096, 0\n");
        assert_eq!(each.text(Kind::Submission, &job(0), 1.0), "");
        let mut with_offset = job(0);
        with_offset.logs.offset = true;
        assert_eq!(each.text(Kind::Total, &with_offset, 1.0), "0, 47760, 0, 4096, 8192, 0\n");

        let mut mean = Log::of(&job(10), 1e9).unwrap();
        for at in 0..25_u64 {
            let start = 1 + at * 1_000_000;
            let side = if at % 5 == 4 { Direction::Write } else { Direction::Read };
            mean.transfer(side, 0, 4096, [start, start + 500_000 + at]);
        }
        // Ten reads within 12.5 ms, then eight more; the writes of the second half are not complete.
        let text = mean.text(Kind::Bandwidth, &job(10), 1.0);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "10, 3428, 0, 0, 0", "{text}");
        assert_eq!(lines[1], "14, 827, 1, 0, 0", "{text}");
    }

    #[test]
    fn of_an_engine_of_names_completions_are_logged_and_no_blocks() {
        let names = Job { engine: Engine::Filestat, read_percent: 0, ..job(0) };
        let mut log = Log::of(&names, 1e9).unwrap();
        log.name([1_000, 6_518]);
        log.transfer(Direction::Write, 0, 4096, [7_000, 7_000]);
        let texts = [Kind::Completion, Kind::Total, Kind::Bandwidth].map(|kind| log.text(kind, &names, 1.0));
        assert_eq!(texts, ["0, 5518, 1, 0, 0\n", "", ""]);
    }

    #[test]
    fn names_are_fios_and_nothing_is_written_over() {
        let jobs = [job(0), Job { numjobs: 2, ..job(0) }];
        let names: Vec<String> =
            files(&jobs).into_iter().map(|(path, ..)| path.display().to_string()).collect();
        assert_eq!(names[..4], ["x_bw.1.log", "lat_slat.1.log", "lat_clat.1.log", "lat_lat.1.log"]);
        assert_eq!(names[8], "x_bw.3.log");
        let mut shared = job(0);
        shared.logs.shared = true;
        assert_eq!(files(&[shared])[0].0, PathBuf::from("x_bw.log"));
        assert_eq!(check(&jobs), Ok(()));
        let mut nowhere = job(0);
        nowhere.logs.bandwidth = Some("/no such/directory/x".to_owned());
        assert!(check(&[nowhere]).unwrap_err().contains("create /no such/directory"));
        let mut there = job(0);
        there.logs.bandwidth = Some("/proc/self/fd/../../../etc/hostname".to_owned());
        assert!(check(&[there]).is_ok(), "another name than that of a file that is there");
    }
}
