//! What the reader understands and nothing runs yet. It shrinks as executors grow.

use super::*;

impl Job {
    /// The first thing of the job that can't be run yet, as one line; none where all of it can.
    pub fn unsupported(&self) -> Option<String> {
        let no_size = self.size.is_none() && self.filesize.is_none();
        let wanted = self.needs().into_iter().find(|(is_wanted, _)| *is_wanted);
        let wanted = wanted.map(|(_, option)| format!("{option} is understood, and can't be run yet"));
        wanted
            .or_else(|| self.impossible())
            .or_else(|| no_size.then(|| "size= is missing: say how much of a file to transfer".to_owned()))
    }

    fn needs(&self) -> Vec<(bool, &'static str)> {
        let files = &self.files;
        let offloads = matches!(self.engine, Engine::Psync | Engine::Sync | Engine::Pvsync | Engine::Vsync);
        let own = &self.engine_options;
        let rings = EngineOptions {
            hipri: own.hipri,
            fixedbufs: own.fixedbufs,
            registerfiles: own.registerfiles,
            sqthread_poll: own.sqthread_poll,
            sqthread_poll_cpu: own.sqthread_poll_cpu,
            vectored: own.vectored,
            uncached: own.uncached && self.engine == Engine::Pvsync2,
            nowait: own.nowait && self.engine == Engine::Pvsync2,
            hipri_percentage: own.hipri_percentage,
            userspace_reap: own.userspace_reap,
            stat_type: own.stat_type.clone(),
            cpu: own.cpu,
            ..EngineOptions::default()
        };
        vec![
            (
                self.is_offloaded() && !offloads,
                "io_submit_mode=offload with this engine and iodepth= above 1",
            ),
            (self.engine_options != rings, "an option of the engine"),
            (files.opendir.is_some(), "opendir="),
            (
                self.verify.as_ref().is_some_and(|verify| verify.trims.0 > 0 && verify.trims.1 > 0),
                "trim_percentage= with trim_backlog=",
            ),
            (self.logs.compressed, "log_store_compressed=1"),
            (self.logs.epoch.is_some_and(|clock| clock != 0), "log_alternate_epoch_clock_id="),
        ]
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
            let logs = [&logs.bandwidth, &logs.iops, &logs.latency, &logs.histogram, &self.course.iologs[1]];
            let logs = logs.into_iter().any(Option::is_some);
            let options = [
                (self.verify.is_some(), "verify="),
                (self.order.trim.is_some(), "rw=trim"),
                (logs, "a log of transfers"),
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let reason = "a log of transfers with ioengine=filestat, which moves no data";
        assert_eq!(names.unsupported().unwrap(), reason);
        let offloaded = Job { depth, engine: Engine::Splice, ..job };
        assert!(offloaded.unsupported().unwrap().starts_with("io_submit_mode="));
        assert!(Job::named("x").unsupported().unwrap().starts_with("size= is missing"));
    }
}
