//! What the reader understands and nothing runs yet. It shrinks as executors grow.

use super::*;

impl Job {
    /// The first thing of the job that can't be run yet, as one line; none where all of it can.
    pub fn unsupported(&self) -> Option<String> {
        let no_size = self.size.is_none() && self.filesize.is_none();
        let wanted = self.needs().into_iter().find(|(is_wanted, _)| *is_wanted);
        let wanted = wanted.map(|(_, option)| format!("{option} is understood, and can't be run yet"));
        let engine = !matches!(
            self.engine,
            Engine::Psync
                | Engine::Sync
                | Engine::Pvsync
                | Engine::Vsync
                | Engine::Pvsync2
                | Engine::Splice
                | Engine::Falloc
                | Engine::Ftruncate
                | Engine::Null
                | Engine::Mmap
                | Engine::Libaio
                | Engine::IoUring
        );
        engine
            .then(|| format!("ioengine={} is understood, and can't be run yet", self.engine.name()))
            .or(wanted)
            .or_else(|| no_size.then(|| "size= is missing: say how much of a file to transfer".to_owned()))
    }

    fn needs(&self) -> Vec<(bool, &'static str)> {
        let (files, order, course) = (&self.files, &self.order, &self.course);
        let (place, buffers) = (&self.placement, &self.buffers);
        let plain_files = Files {
            paths: files.paths.clone(),
            scratch: files.scratch.clone(),
            format: files.format.clone(),
            overwrite: files.overwrite,
            create_only: files.create_only,
            fallocate: files.fallocate.clone(),
            hint: files.hint.clone(),
            count: files.count,
            open: files.open,
            service: files.service,
            sizes: files.sizes,
            create_on_open: files.create_on_open,
            unlink_each_loop: files.unlink_each_loop,
            ..Files::default()
        };
        let reads = self.does(Direction::Read) || self.engine == Engine::Mmap;
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
            ..EngineOptions::default()
        };
        vec![
            (self.depth.most > 1 && self.depth.offload, "io_submit_mode=offload with iodepth= above 1"),
            (self.engine_options != rings, "an option of the engine"),
            (files.size_percent.is_some(), "size=N% without filesize="),
            (files.offset_percent.is_some(), "offset=N% without filesize="),
            (files.io_size_percent.is_some(), "io_size=N% of a size that is not known"),
            (
                (files.create_on_open || files.unlink_each_loop) && (reads || self.direct),
                "create_on_open=1 or unlink_each_loop=1 with reads, ioengine=mmap or direct=1",
            ),
            (files.opendir.is_some(), "opendir="),
            (files.lock.is_some(), "lockfile="),
            (
                Files { create_at_once: false, create_unsynced: false, ..files.clone() } != plain_files,
                "an option of files",
            ),
            (
                order.unaligned && self.pattern == Pattern::Random && self.random_map,
                "bs_unaligned= of random transfers without norandommap",
            ),
            (order.sizes_by_order, "bs_is_seq_rand="),
            (order.strides != [0; 3], "zonemode=strided"),
            (self.verify.as_ref().is_some_and(|verify| verify.load_state), "verify_state_load="),
            (self.verify.as_ref().is_some_and(|verify| verify.trims.0 > 0), "trim_percentage="),
            (self.verify.is_some() && course.continues[2], "continue_on_error=verify"),
            (place.flow.0 > 0, "flow="),
            (course.iologs[0].is_some(), "read_iolog="),
            (course.iologs[1].is_some(), "write_iolog="),
            (self.logs.compressed, "log_store_compressed=1"),
            (self.logs.epoch.is_some_and(|clock| clock != 0), "log_alternate_epoch_clock_id="),
            (self.logs.histogram.is_some(), "write_hist_log="),
            (buffers.align > 4096, "iomem_align= of more than 4096"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_run_is_named() {
        let job = Job { size: Some(1 << 20), ..Job::named("x") };
        assert_eq!(job.unsupported(), None);
        let cpu = Job { engine: Engine::Cpuio, ..job.clone() };
        assert!(cpu.unsupported().unwrap().starts_with("ioengine=cpuio is understood"));
        let depth = Depth { most: 4, offload: true, ..Depth::default() };
        let offloaded = Job { depth, ..job };
        assert!(offloaded.unsupported().unwrap().starts_with("io_submit_mode="));
        assert!(Job::named("x").unsupported().unwrap().starts_with("size= is missing"));
    }
}
