//! What the model can't express: named, and refused.

use std::collections::HashMap;
use std::time::Duration;

use fathom_program::job::{Direction, Engine, Job, OpenSync, Others, Pattern, Priorities, Rates, Trim};
use fathom_run::load::groups;

use crate::model::{Parameters, Queued, Syncs};

/// Checks that the model can express the jobs of a file.
///
/// # Errors
/// One sentence with the job's name and the option that the model has no part for.
pub fn check(jobs: &[Job]) -> Result<(), String> {
    let ends_all = |job: &Job| job.course.exitall && job.course.exit_what == Others::All;
    if groups(jobs).count() > 1
        && let Some(job) = jobs.iter().find(|job| ends_all(job))
    {
        return Err(format!(
            "[{}]: can't be predicted: exitall with exit_what=all: in the model jobs after a stonewall always begin",
            job.name
        ));
    }
    groups(jobs).try_for_each(together)
}

/// Checks jobs that run at the same time.
fn together(jobs: &[Job]) -> Result<(), String> {
    let mut files: HashMap<String, bool> = HashMap::new();
    let flows: u32 = jobs.iter().filter(|job| job.placement.flow.0 > 0).map(|job| job.numjobs).sum();
    let share_cpus = allowed_cpus(jobs).is_some();
    for job in jobs {
        let named = |reason: String| format!("[{}]: {reason}", job.name);
        job.check().map_err(named)?;
        if let Some(reason) = refusal(job) {
            return Err(named(format!("can't be predicted: {reason}")));
        }
        let cpus = job.placement.cpus.len() as u64;
        if cpus > 0 && cpus < u64::from(job.numjobs) && !share_cpus {
            return Err(named(
                "can't be predicted: cpus_allowed= with fewer CPUs than threads: in the model all jobs then have the same CPUs"
                    .to_owned(),
            ));
        }
        // A thread that is alone waits for no other.
        let threads: u32 = jobs.iter().map(|job| job.numjobs).sum();
        let waits = [
            (job.placement.flow.0 > 0 && flows > 1, "flow="),
            (job.files.lock.is_some() && threads > 1, "lockfile="),
        ];
        if let Some((_, option)) = waits.iter().find(|(waits, _)| *waits) {
            return Err(named(format!(
                "can't be predicted: {option}: in the model threads do not wait for each other"
            )));
        }
        let mut names = (0..job.numjobs).flat_map(|thread| job.file_names(thread));
        let mut differs = |name: &String| {
            files.insert(name.clone(), job.direct).is_some_and(|is_direct| is_direct != job.direct)
        };
        if let Some(name) = names.find(|name| differs(name)) {
            let name = name.split_once('.').map_or(name.as_str(), |(_, name)| name);
            return Err(named(format!(
                "can't be predicted: some threads open '{name}' with direct=1, others without it at the same time"
            )));
        }
    }
    Ok(())
}

/// How many CPUs all jobs share by `cpus_allowed`; none where some may run elsewhere.
pub(super) fn allowed_cpus(jobs: &[Job]) -> Option<usize> {
    let cpus = &jobs.first()?.placement.cpus;
    let share = !cpus.is_empty() && jobs.iter().all(|job| job.placement.cpus == *cpus);
    share.then_some(cpus.len())
}

/// What the model leaves out of a job that it predicts all the same.
pub(super) fn left_out(job: &Job, parameters: &Parameters) -> Vec<String> {
    let Rates { least, least_iops, .. } = &job.rates;
    let has_bound = *least != [0; 3] || *least_iops != [0; 3] || job.latency.most != [Duration::ZERO; 3];
    let own = &job.engine_options;
    let overlaps = job.direct && job.is_queued() && job.depth.most > 1 && job.does(Direction::Write);
    let shares_server = parameters.choices.queued == Queued::InTurn && job.numjobs > 1;
    let said = [
        (
            shares_server,
            "several threads on a mount whose server does one thing at a time: how they wait for each other there is known in part; such jobs were off by 22 % in the median where this was tried, and up to four times too fast",
        ),
        (
            overlaps && parameters.choices.syncs == Syncs::Always,
            "a mount with sync: what its syncs cost while several direct writes are under way is known only as far as the model was calibrated on such a mount",
        ),
        (
            own.hipri,
            "hipri: the model wakes no thread for a request that is polled for, and takes no CPU for the polling",
        ),
        (
            own.force_async > 0 || own.sqthread_poll,
            "force_async= and sqthread_poll: the model hands requests over without another thread",
        ),
        (own.priorities != Priorities::default(), "cmdprio*: the model's device has no priorities"),
        (has_bound, "rate_min=, rate_iops_min= and max_latency=: the model ends no job because of them"),
        (job.depth.offload, "io_submit_mode=offload: the model hands requests over without another thread"),
        (job.steady_state.is_some(), "steadystate=: the model's rate is steady from the start"),
        (job.order.trim.is_some(), "rw=trimwrite: trims take their time, but have no line"),
        (job.verify.is_some(), "verify=: the time of checksums is assumed, not measured ('checked_byte')"),
    ];
    said.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what.to_owned()).collect()
}

/// Whether the transfers of a job wait for the device.
fn waits(job: &Job) -> bool {
    job.direct || (!job.does(Direction::Write) && job.drops_caches())
}

fn refusal(job: &Job) -> Option<String> {
    let because = |what: &str| Some(what.to_owned());
    let own = &job.engine_options;
    match job.engine {
        Engine::Psync | Engine::Sync | Engine::Pvsync | Engine::Vsync | Engine::Libaio => {}
        Engine::Null => {}
        Engine::Posixaio if !waits(job) => {
            return because(
                "ioengine=posixaio with cached data: the model does not know when a thread notices that such a request is done",
            );
        }
        Engine::Posixaio if job.depth.most > 1 && job.file_names(0).len() > 1 => {
            return because(
                "ioengine=posixaio with iodepth= and several files: in the model one thread serves all files",
            );
        }
        Engine::Posixaio => {}
        Engine::Pvsync2 => {}
        // Reads that wait for the device go on meanwhile. What memory serves is there at once.
        Engine::IoUring
            if job.direct || job.depth.most <= 1 || job.pre_read || job.directions().count() == 1 => {}
        Engine::IoUring => {
            return because(
                "ioengine=io_uring with iodepth= and both reads and writes through the page cache: the model knows either of them alone",
            );
        }
        Engine::Mmap
            if job.does(Direction::Write) && job.pattern == Pattern::Sequential && job.drops_caches() =>
        {
            return because(
                "ioengine=mmap with writes in order to a file that is not cached: the model does not know how many pages each fault maps",
            );
        }
        Engine::Mmap if job.does(Direction::Write) && job.direct => {
            return because(
                "ioengine=mmap with writes and direct=1: fio has each write wait until it is on the device, which the model does not know",
            );
        }
        Engine::Mmap => {}
        Engine::Falloc if !job.allocate => {
            return because(
                "ioengine=falloc with fallocate=none: no calibration measures what it takes to allocate new blocks",
            );
        }
        Engine::Cpuio | Engine::Falloc | Engine::Ftruncate => {}
        other => {
            return Some(format!("ioengine={}: the model knows only plain reads and writes", other.name()));
        }
    }
    if own.nowait || own.uncached {
        return because("nowait= or uncached=: in the model all requests are of one kind");
    }
    match job.order.trim {
        Some((Trim::BeforeWrite, _)) if job.engine == Engine::Null => {}
        Some(_) => {
            return because(
                "rw=trim of a file: fio trims devices only, so there is nothing to compare a prediction with",
            );
        }
        None => {}
    }
    let syncs = job.durability.open != OpenSync::No && job.does(Direction::Write);
    if syncs && job.direct && job.is_queued() && job.depth.most > 1 {
        return because("sync= with several requests under way: in the model there is one sync at a time");
    }
    if job.direct && job.directions().any(|side| !job.blocks[side as usize].least.is_multiple_of(512)) {
        return because("direct=1 with a block size that is not a multiple of 512 bytes: devices refuse it");
    }
    if job.is_offloaded() {
        return because(
            "io_submit_mode=offload with an engine that has one request at a time: in the model no thread makes calls for another",
        );
    }
    if job.replay.log.is_some() {
        return because("read_iolog=: import the log by 'fathom trace import' and predict the trace");
    }
    if !job.latency.target.is_zero() {
        return because("latency_target=: the model does not change a job's depth while it runs");
    }
    if job.may_read_less() && job.directions().count() == 2 {
        return because(
            "create_on_open=1 of a mix: in the model a read of what was not written yet takes as long as any",
        );
    }
    if job.files.unlink_each_loop {
        return because("unlink_each_loop=1: the model does not know what it takes to remove a file's data");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::predict;
    use super::super::tests::{QUICK, job, silent};
    use super::*;
    use crate::model::{Model, Scalar};

    fn elapsed(jobs: &[Job], model: &Model) -> u64 {
        predict(jobs, model, QUICK).unwrap().outcomes[0][0].elapsed_ns
    }

    fn with(change: impl Fn(&mut Job)) -> Job {
        let mut job = job("a");
        change(&mut job);
        job
    }

    #[test]
    fn who_polls_is_not_woken() {
        let mut model = silent();
        model.parameters.put_value(Scalar::QueuedWake, 5_000.0);
        let polled = |is: bool| {
            with(|job| {
                (job.engine, job.direct, job.engine_options.hipri) = (Engine::IoUring, true, is);
            })
        };
        assert_eq!(elapsed(&[polled(false)], &model) - elapsed(&[polled(true)], &model), 256 * 5_000);
    }

    #[test]
    fn threads_that_share_no_lock_and_no_flow_do_not_wait() {
        let model = silent();
        let plain = elapsed(&[job("a")], &model);
        assert_eq!(elapsed(&[with(|job| job.files.lock = Some("exclusive".to_owned()))], &model), plain);
        assert_eq!(elapsed(&[with(|job| job.placement.flow.0 = 3)], &model), plain);
    }

    #[test]
    fn what_sync_file_range_begins_is_waited_for_where_it_says_so() {
        let model = silent();
        let writes = |range| with(|job| (job.read_percent, job.durability.range) = (0, range));
        let synced = |flags| elapsed(&[writes(Some((flags, 16)))], &model);
        let plain = elapsed(&[writes(None)], &model);
        let [begun, waited] = [[false, true, false], [false, true, true]].map(synced);
        // 16 calls but the last find pages to write, and none waits for a device that takes 90 us.
        assert!(begun > plain && begun < plain + 15 * 20_000, "{plain} {begun}");
        assert!(waited > plain + 15 * 90_000, "{plain} {waited}");
        assert_eq!(synced([true; 3]), waited);
    }

    #[test]
    fn cpuio_takes_a_cpu_from_those_that_have_no_other() {
        let mut model = silent();
        let cached = |name| Job { pre_read: true, pattern: Pattern::Random, ..job(name) };
        let mut busy = Job { engine: Engine::Cpuio, ..job("busy") };
        busy.engine_options.cpu = (100, Duration::from_micros(50), true);
        (busy.runtime, busy.time_based) = (Duration::from_millis(2), true);
        let mut predicted = |cpus: f64| {
            model.parameters.put_value(Scalar::Cpus, cpus);
            elapsed(&[cached("reads"), busy.clone()], &model)
        };
        let (two, one) = (predicted(2.0), predicted(1.0));
        assert!(one > 2 * two, "{one} {two}");
    }
}
