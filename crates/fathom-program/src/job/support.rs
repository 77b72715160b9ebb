//! What the reader understands and nothing runs.

use std::collections::HashSet;

use super::*;

/// Linux's clocks by number, without those that wake somebody.
const CLOCKS: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

impl Job {
    /// Why the job can't be run, as one line; none where it can.
    pub fn unsupported(&self) -> Option<String> {
        let no_size = self.size.is_none() && self.filesize.is_none();
        self.impossible_options()
            .or_else(|| self.impossible())
            .or_else(|| no_size.then(|| "size= is missing: say how much of a file to transfer".to_owned()))
    }

    /// What options of the engine, of files and of logs ask for and can't have.
    fn impossible_options(&self) -> Option<String> {
        let offloads = matches!(self.engine, Engine::Psync | Engine::Sync | Engine::Pvsync | Engine::Vsync);
        if self.is_offloaded() && !offloads {
            return Some(format!(
                "io_submit_mode=offload with iodepth= above 1 and ioengine={}: threads carry out the requests of psync, \
                 sync, pvsync and vsync alone",
                self.engine.name()
            ));
        }
        if self.verify.as_ref().is_some_and(|verify| verify.trims.0 > 0 && verify.trims.1 > 0) {
            return Some("trim_percentage= with trim_backlog=: fio ends with a failed assertion".to_owned());
        }
        if self.files.opendir.is_some() {
            return Some(
                "opendir= reads files that are there: --on-files DIR allows it below DIR".to_owned(),
            );
        }
        let priorities = &self.engine_options.priorities;
        if let Some(trouble) = &priorities.trouble {
            return Some(format!("cmdprio_bssplit: {trouble}"));
        }
        if priorities.percent != [0; 2] && priorities.splits.iter().any(|splits| !splits.is_empty()) {
            return Some("cmdprio_percentage= and cmdprio_bssplit= exclude each other".to_owned());
        }
        let clock = self.logs.epoch.filter(|clock| !CLOCKS.contains(clock))?;
        Some(format!("log_alternate_epoch_clock_id={clock}: Linux has no such clock to look at"))
    }

    /// What can't be done by anybody, as one sentence.
    fn impossible(&self) -> Option<String> {
        if let Some(trouble) = &self.replay.trouble {
            return Some(trouble.clone());
        }
        if self.engine == Engine::Cpuio {
            let (load, _, ends_with_others) = self.engine_options.cpu;
            let is_endless = self.runtime.is_zero() && !ends_with_others;
            let missing = [(load == 0, "cpuload="), (is_endless, "runtime= or exit_on_io_done=1")];
            let missing = missing.into_iter().find_map(|(is_missing, option)| is_missing.then_some(option));
            if let Some(option) = missing {
                return Some(format!("ioengine=cpuio needs {option}"));
            }
        }
        if self.engine.on_names().is_some() {
            let logs = &self.logs;
            let logs = logs.histogram.is_some() || self.course.iologs[1].is_some();
            let options = [
                (self.verify.is_some(), "verify="),
                (self.order.trim.is_some(), "rw=trim"),
                (logs, "write_hist_log= or write_iolog="),
            ];
            let option = options.into_iter().find_map(|(is_wanted, option)| is_wanted.then_some(option));
            if let Some(option) = option {
                return Some(format!("{option} with ioengine={}, which moves no data", self.engine.name()));
            }
        }
        let files = &self.files;
        let renews = files.unlink_each_loop && (self.course.loops > 1 || self.io_size > self.size);
        if self.engine == Engine::Mmap && (files.create_on_open || renews) {
            let option = if renews { "unlink_each_loop=1" } else { "create_on_open=1" };
            return Some(format!("{option} with ioengine=mmap: a new file is empty, and has nothing to map"));
        }
        let shares = [
            (files.size_percent, "size"),
            (files.offset_percent, "offset"),
            (files.io_size_percent, "io_size"),
        ];
        let (percent, name) = shares.iter().find_map(|(share, name)| Some(((*share)?, name)))?;
        Some(format!("{name}={percent}% of a file of unknown length: give filesize="))
    }
}

impl JobFile {
    /// The same jobs, where all of them can be run.
    ///
    /// # Errors
    /// One line with the first job that can't, and why.
    pub fn supported(self) -> Result<Self, String> {
        let unsupported = |(at, job): (usize, &Job)| {
            let reason = job.unsupported().or_else(|| self.reads_nothing(at))?;
            Some(format!("[{}]: {reason}", job.name))
        };
        let reason = self.jobs.iter().enumerate().find_map(unsupported);
        reason.map_or(Ok(self), Err)
    }

    /// Why a job would find nothing to read: it creates its files when it opens them, and no job has put anything there.
    fn reads_nothing(&self, at: usize) -> Option<String> {
        let job = &self.jobs[at];
        if job.may_read_less() && job.does(Direction::Write) {
            return None;
        }
        let reads = match &job.replay.log {
            Some(log) => log.bytes(Direction::Read) > 0,
            None => job.does(Direction::Read) && job.order.trim.is_none() && job.engine.opens_files(),
        };
        if !job.files.create_on_open || !reads || job.files.existing.is_some() {
            return None;
        }
        let names =
            |job: &Job| (0..job.numjobs).flat_map(|thread| job.file_names(thread)).collect::<Vec<_>>();
        let (before, after) = (&self.jobs[..at], &self.jobs[at + 1..]);
        let others = before.iter().chain(after.iter().take_while(|other| !other.stonewall));
        let fills = |other: &&Job| {
            other.engine.opens_files() && (other.layout() != Layout::Empty || other.does(Direction::Write))
        };
        let filled: HashSet<String> = others.filter(fills).flat_map(names).collect();
        let is_empty = names(job).iter().any(|name| !filled.contains(name));
        is_empty.then(|| {
            "create_on_open=1 of a job that reads: its files are empty, as no job has written them: leave it out"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_reads_the_empty_files_that_it_creates_is_refused() {
        let read = |stonewall| {
            let mut job = Job { size: Some(4096), filename: Some("f".to_owned()), ..Job::named("r") };
            (job.files.create_on_open, job.stonewall) = (true, stonewall);
            job
        };
        let write = |stonewall| Job { name: "w".to_owned(), read_percent: 0, ..read(stonewall) };
        let refused = |jobs: Vec<Job>| JobFile { jobs, ..JobFile::default() }.supported().err();
        let reason = refused(vec![read(false)]).unwrap();
        assert!(reason.starts_with("[r]: create_on_open=1") && reason.lines().count() == 1, "{reason}");
        assert_eq!(refused(vec![read(false), write(true)]), Some(reason.clone()), "who writes comes later");
        assert_eq!(refused(vec![read(false), read(true)]), Some(reason.clone()), "no job writes");
        let other = Job { filename: None, ..write(false) };
        assert_eq!(refused(vec![other, read(true)]), Some(reason), "another file");
        for jobs in [vec![write(false), read(true)], vec![read(false), write(false)], vec![write(false)]] {
            assert_eq!(refused(jobs), None);
        }
        assert_eq!(refused(vec![Job { engine: Engine::Filecreate, ..read(false) }]), None);
        // A request that reads where the file has not grown to moves nothing.
        let mixed = |engine| Job { engine, read_percent: 50, ..read(false) };
        assert!(refused(vec![mixed(Engine::Psync)]).is_some());
        assert_eq!(refused(vec![mixed(Engine::Libaio)]), None);
    }

    #[test]
    fn what_cannot_be_run_is_named() {
        let job = Job { size: Some(1 << 20), ..Job::named("x") };
        assert_eq!(job.unsupported(), None);
        let mut cpu = Job { engine: Engine::Cpuio, runtime: Duration::from_secs(1), ..job.clone() };
        assert_eq!(cpu.unsupported().unwrap(), "ioengine=cpuio needs cpuload=");
        cpu.engine_options.cpu.0 = 50;
        assert_eq!(cpu.unsupported(), None);
        let depth = Depth { most: 4, offload: true, ..Depth::default() };
        assert_eq!(Job { depth, ..job.clone() }.unsupported(), None);
        let mut names = Job { engine: Engine::Filestat, ..job.clone() };
        names.engine_options.stat_type = Some("statx".to_owned());
        assert_eq!(names.unsupported(), None);
        names.logs.latency = Some(String::new());
        assert_eq!(names.unsupported(), None);
        names.logs.histogram = Some(String::new());
        let reason = "write_hist_log= or write_iolog= with ioengine=filestat, which moves no data";
        assert_eq!(names.unsupported().unwrap(), reason);
        let offloaded = Job { depth, engine: Engine::Splice, ..job };
        assert!(offloaded.unsupported().unwrap().starts_with("io_submit_mode="));
        assert!(Job::named("x").unsupported().unwrap().starts_with("size= is missing"));
        let mut both = Job { engine: Engine::Libaio, size: Some(4096), ..Job::named("x") };
        both.logs.epoch = Some(8);
        assert!(both.unsupported().unwrap().starts_with("log_alternate_epoch_clock_id=8: Linux has no"));
        both.logs.epoch = Some(1);
        both.engine_options.priorities.percent = [10, 0];
        assert_eq!(both.unsupported(), None);
        both.engine_options.priorities.splits[1] = vec![(4096, 5, None)];
        assert!(both.unsupported().unwrap().contains("exclude each other"));
        both.engine_options.priorities.trouble = Some("'x' is no size".to_owned());
        assert_eq!(both.unsupported().unwrap(), "cmdprio_bssplit: 'x' is no size");
        both.files.opendir = Some("data".to_owned());
        assert!(both.unsupported().unwrap().contains("--on-files DIR"));
    }
}
