//! What the model can't express: named, and refused.

use std::collections::HashMap;
use std::time::Duration;

use fathom_program::job::{Direction, Engine, Job, OpenSync, Others, Priorities, Rates};
use fathom_run::load::groups;

/// Checks the jobs of a file.
///
/// # Errors
/// One sentence with the job's name and the option that the model has no part for.
pub fn check(jobs: &[Job]) -> Result<(), String> {
    let ends_all = |job: &Job| job.course.exitall && job.course.exit_what == Others::All;
    if groups(jobs).count() > 1
        && let Some(job) = jobs.iter().find(|job| ends_all(job))
    {
        return Err(format!(
            "[{}]: exitall with exit_what=all, and jobs after a stonewall always begin there: the model can't predict that",
            job.name
        ));
    }
    groups(jobs).try_for_each(together)
}

/// Checks jobs that run at the same time.
fn together(jobs: &[Job]) -> Result<(), String> {
    let mut files: HashMap<String, bool> = HashMap::new();
    let share_cpus = allowed_cpus(jobs).is_some();
    for job in jobs {
        let named = |reason: String| format!("[{}]: {reason}", job.name);
        job.check().map_err(named)?;
        if let Some(reason) = refusal(job) {
            return Err(named(format!("{reason}: the model can't predict that")));
        }
        let cpus = job.placement.cpus.len() as u64;
        if cpus > 0 && cpus < u64::from(job.numjobs) && !share_cpus {
            return Err(named(
                "cpus_allowed= of fewer CPUs than threads, and other jobs have other CPUs: the model can't predict that"
                    .to_owned(),
            ));
        }
        let mut names = (0..job.numjobs).flat_map(|thread| job.file_names(thread));
        let mut differs = |name: &String| {
            files.insert(name.clone(), job.direct).is_some_and(|is_direct| is_direct != job.direct)
        };
        if let Some(name) = names.find(|name| differs(name)) {
            let name = name.split_once('.').map_or(name.as_str(), |(_, name)| name);
            return Err(named(format!(
                "some threads open '{name}' with direct=1 and some without at once: the model can't predict that"
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
pub(super) fn left_out(job: &Job) -> Vec<String> {
    let Rates { least, least_iops, .. } = &job.rates;
    let has_bound = *least != [0; 3] || *least_iops != [0; 3] || job.latency.most != [Duration::ZERO; 3];
    let said = [
        (has_bound, "rate_min=, rate_iops_min= and max_latency= end no job in the model"),
        (job.depth.offload, "io_submit_mode=offload: the model hands requests over without another thread"),
        (job.steady_state.is_some(), "steadystate=: the model's rate is steady from the start"),
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
                "ioengine=posixaio with data that memory serves, and when a thread hears of those is not known there",
            );
        }
        Engine::Posixaio if job.depth.most > 1 && job.file_names(0).len() > 1 => {
            return because(
                "ioengine=posixaio with iodepth= and several files, and one thread serves all files",
            );
        }
        Engine::Posixaio => {}
        Engine::Pvsync2 if !own.uncached && !own.nowait && !own.hipri => {}
        Engine::IoUring if own.hipri || own.sqthread_poll => {
            return because("hipri or sqthread_poll, and no CPU polls for requests there");
        }
        // Reads that wait for the device go on meanwhile. What memory serves is there at once.
        Engine::IoUring
            if job.direct || job.depth.most <= 1 || job.pre_read || job.directions().count() == 1 => {}
        Engine::IoUring => {
            return because(
                "ioengine=io_uring with iodepth=, buffered reads and writes, and of those it has either alone",
            );
        }
        Engine::Mmap if !job.does(Direction::Write) && !job.direct => {}
        Engine::Mmap => {
            return because("ioengine=mmap with writes or direct=1, and files are mapped to be read there");
        }
        Engine::Cpuio => return because("ioengine=cpuio, and threads do not compete for CPUs there"),
        other => {
            return Some(format!(
                "ioengine={}, and transfers are plain reads and writes there",
                other.name()
            ));
        }
    }
    if own.nowait || own.uncached || own.force_async > 0 || own.priorities != Priorities::default() {
        return because("nowait=, uncached=, force_async= or cmdprio*, and all requests are alike there");
    }
    if job.order.trim.is_some() {
        return because("rw=trim, and blocks that were given back are not known there");
    }
    if job.durability.range.is_some() {
        return because("sync_file_range=, and only whole files are synced there");
    }
    let syncs = job.durability.open != OpenSync::No && job.does(Direction::Write);
    if syncs && job.direct && job.is_queued() && job.depth.most > 1 {
        return because("sync= with several requests under way, and one sync at a time is under way there");
    }
    if job.direct && job.directions().any(|side| !job.blocks[side as usize].least.is_multiple_of(512)) {
        return because("direct=1 with a block that is no multiple of 512 bytes, which devices refuse");
    }
    if job.is_offloaded() {
        return because(
            "io_submit_mode=offload of an engine that knows one request at a time, and no threads make calls for others there",
        );
    }
    if job.replay.log.is_some() {
        return because("read_iolog=, and a log is replayed as jobs are not there");
    }
    if job.placement.flow.0 > 0 || job.files.lock.is_some() {
        return because("flow= or lockfile=, and threads wait for nobody there");
    }
    if !job.latency.target.is_zero() {
        return because("latency_target=, and nothing steers a job there");
    }
    if job.files.unlink_each_loop {
        return because("unlink_each_loop=1, and files are there before jobs begin");
    }
    None
}
