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
        let (place, report, buffers) = (&self.placement, &self.reporting, &self.buffers);
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
            userspace_reap: own.userspace_reap,
            ..EngineOptions::default()
        };
        let ordinary = Reporting {
            kb_base: report.kb_base,
            figures: report.figures,
            unit_base: report.unit_base,
            no_disk_util: report.no_disk_util,
            percentiles_of: report.percentiles_of,
            percentiles: report.percentiles.clone(),
            disabled: report.disabled,
            ..Reporting::default()
        };
        let plain_buffers =
            Buffers { life: None, memory: None, align: buffers.align.min(4096), ..buffers.clone() };
        let plain_order = Order {
            every: order.every,
            skip: order.skip,
            splits: order.splits.clone(),
            distribution: order.distribution,
            percentage_random: order.percentage_random,
            increment: order.increment,
            unrepeatable: order.unrepeatable,
            all_repeatable: order.all_repeatable,
            ..Order::default()
        };
        let plain_course = Course {
            loops: course.loops,
            number_ios: course.number_ios,
            start_delay: course.start_delay,
            new_group: course.new_group,
            exitall_on_error: course.exitall_on_error,
            ..Course::default()
        };
        vec![
            (self.engine.is_asynchronous() && self.depth.offload, "io_submit_mode=offload"),
            (self.engine.is_asynchronous() && self.depth.serialize_overlap, "serialize_overlap="),
            (self.engine_options != rings, "an option of the engine"),
            (order.trim.is_some(), "rw=trim"),
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
            (order.skip < 0, "rw= with a negative number behind a colon"),
            (
                matches!(order.distribution, Distribution::Zoned | Distribution::ZonedBytes),
                "random_distribution=zoned",
            ),
            (order.align.iter().any(|&align| align > 0), "blockalign="),
            (
                Order { generator: None, ..order.clone() } != plain_order,
                "an option of the order of transfers",
            ),
            (self.durability.open != OpenSync::No, "sync="),
            (
                Durability { on_close: false, ..self.durability } != Durability::default(),
                "write_barrier= or sync_file_range=",
            ),
            (
                Rates { iops: self.rates.iops, ..Rates::default() } != self.rates,
                "an option of rates besides rate= and rate_iops=",
            ),
            (self.thinking != Thinking::default(), "an option of thinktime"),
            (self.verify.is_some(), "verify="),
            (self.latency != LatencyTarget::default(), "latency_target= or max_latency="),
            (self.steady_state.is_some(), "steadystate="),
            (*place != Placement::default(), "a place or priority of threads (cpus_allowed=, nice=, prio=)"),
            (course.start_delay.1 > course.start_delay.0, "startdelay=LOW-HIGH"),
            (course.iologs[0].is_some(), "read_iolog="),
            (*course != plain_course, "an option of a job's course (wait_for=, exitall, continue_on_error=)"),
            (self.logs.bandwidth.is_some(), "write_bw_log="),
            (self.logs.latency.is_some(), "write_lat_log="),
            (self.logs.iops.is_some(), "write_iops_log="),
            (self.logs.histogram.is_some(), "write_hist_log="),
            (*report != ordinary, "an option of the report (unified_rw_reporting=, stats=0)"),
            (*buffers != plain_buffers, "an option of where buffers are (write_hint=, iomem=)"),
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
        let splice = Job { engine: Engine::Splice, ..job.clone() };
        assert!(splice.unsupported().unwrap().starts_with("ioengine=splice is understood"));
        let depth = Depth { most: 4, offload: true, ..Depth::default() };
        let offloaded = Job { engine: Engine::IoUring, depth, ..job };
        assert!(offloaded.unsupported().unwrap().starts_with("io_submit_mode="));
        assert!(Job::named("x").unsupported().unwrap().starts_with("size= is missing"));
    }
}
