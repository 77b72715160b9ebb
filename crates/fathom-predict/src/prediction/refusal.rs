//! What the model can't express: named, and refused.

use std::collections::HashMap;

use fathom_program::job::{Direction, Engine, Job, LatencyTarget, OpenSync, Priorities};

/// Checks jobs that run at the same time.
///
/// # Errors
/// One sentence with the job's name and the option that the model has no part for.
pub fn check(jobs: &[Job]) -> Result<(), String> {
    let mut files: HashMap<String, bool> = HashMap::new();
    for job in jobs {
        let named = |reason: String| format!("[{}]: {reason}", job.name);
        job.check().map_err(named)?;
        if let Some(reason) = refusal(job) {
            return Err(named(format!("{reason}: the model can't predict that")));
        }
        // Past the cache nobody reads ahead, and readers do not meet.
        let mut is_shared = |name: &String| {
            files.insert(name.clone(), job.direct).is_some_and(|direct| !(direct && job.direct))
        };
        let mut names = (0..job.numjobs).flat_map(|thread| job.file_names(thread));
        if let Some(name) = names.find(|name| is_shared(name)) {
            let name = name.split_once('.').map_or(name.as_str(), |(_, name)| name);
            return Err(named(format!(
                "several threads at once share the file '{name}', and the model has one reader per file that is not direct=1"
            )));
        }
    }
    Ok(())
}

fn refusal(job: &Job) -> Option<String> {
    let because = |what: &str| Some(what.to_owned());
    let own = &job.engine_options;
    match job.engine {
        Engine::Psync | Engine::Sync | Engine::Pvsync | Engine::Vsync | Engine::Libaio => {}
        Engine::Pvsync2 if !own.uncached && !own.nowait && !own.hipri => {}
        Engine::IoUring if own.hipri || own.sqthread_poll => {
            return because("hipri or sqthread_poll, and no CPU polls for requests there");
        }
        // What has to wait for the device goes on meanwhile, and what memory serves is there at once.
        Engine::IoUring
            if job.direct || job.depth.most <= 1 || job.pre_read || !job.does(Direction::Read) => {}
        Engine::IoUring => {
            return because(
                "ioengine=io_uring with buffered reads and iodepth=, and they wait in turn there",
            );
        }
        Engine::Mmap => return because("ioengine=mmap, and there are no mappings"),
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
    if job.verify.is_some() {
        return because("verify=, and no time passes for checksums there");
    }
    if job.durability.open != OpenSync::No || job.durability.range.is_some() {
        return because("sync= or sync_file_range=, and only whole files are synced there");
    }
    if job.direct && job.directions().any(|side| !job.blocks[side as usize].least.is_multiple_of(512)) {
        return because("direct=1 with a block that is no multiple of 512 bytes, which devices refuse");
    }
    if job.course.wait_for.is_some() {
        return because("wait_for=, and all jobs begin at once there");
    }
    if job.depth.offload && job.depth.most > 1 {
        return because("io_submit_mode=offload, and no threads submit for others there");
    }
    if job.replay.log.is_some() {
        return because("read_iolog=, and a log is replayed as jobs are not there");
    }
    if job.placement.flow.0 > 0 || job.files.lock.is_some() {
        return because("flow= or lockfile=, and threads wait for nobody there");
    }
    if job.course.exitall {
        return because("exitall, and each job ends by itself there");
    }
    if job.rates.least != [0; 3] || job.rates.least_iops != [0; 3] || job.latency != LatencyTarget::default()
    {
        return because(
            "rate_min=, rate_iops_min=, max_latency= or latency_target=, and nothing steers a job there",
        );
    }
    if job.steady_state.is_some() {
        return because("steadystate=, and a rate is steady there from the start");
    }
    let cpus = &job.placement.cpus;
    if !cpus.is_empty() && (cpus.len() as u64) < u64::from(job.numjobs) {
        return because(
            "cpus_allowed= of fewer CPUs than the job has threads, and threads do not compete for them",
        );
    }
    if job.files.create_only {
        return because("create_only=1, and nothing is left to predict");
    }
    if job.files.create_on_open || job.files.unlink_each_loop {
        return because("create_on_open=1 or unlink_each_loop=1, and files are there before jobs begin");
    }
    None
}
