//! What the model can't express: named, and refused.

use std::collections::HashSet;

use crate::model::Model;
use fathom_program::job::{Direction, Engine, Job, LatencyTarget, OpenSync};

/// Checks jobs that run at the same time.
///
/// # Errors
/// One sentence with the job's name and the option that the model has no part for.
pub fn check(jobs: &[Job], model: &Model) -> Result<(), String> {
    let mut files = HashSet::new();
    for job in jobs {
        let named = |reason: String| format!("[{}]: {reason}", job.name);
        job.check().map_err(named)?;
        if let Some(reason) = refusal(job) {
            return Err(named(format!("{reason}: the model can't predict that")));
        }
        if let Some(name) = (0..job.numjobs)
            .flat_map(|thread| job.file_names(thread))
            .find(|name| !files.insert(name.clone()))
        {
            let name = name.split_once('.').map_or(name.as_str(), |(_, name)| name);
            return Err(named(format!(
                "several threads at once share the file '{name}', and the model has one reader per file"
            )));
        }
    }
    let threads: u32 = jobs.iter().map(|job| job.numjobs).sum();
    match model.cpus() {
        Some(cpus) if threads > cpus => Err(format!(
            "numjobs: {threads} threads at once on {cpus} CPUs, and the model's threads do not compete for them"
        )),
        _ => Ok(()),
    }
}

fn refusal(job: &Job) -> Option<String> {
    let because = |what: &str| Some(what.to_owned());
    if job.engine.is_asynchronous() {
        return Some(format!("ioengine={}, and calls are made one after the other there", job.engine.name()));
    }
    if job.engine == Engine::Mmap {
        return because("ioengine=mmap, and there are no mappings");
    }
    if !matches!(job.engine, Engine::Psync | Engine::Sync | Engine::Pvsync | Engine::Vsync) {
        return Some(format!(
            "ioengine={}, and transfers are plain reads and writes there",
            job.engine.name()
        ));
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
    if job.direct && job.does(Direction::Write) {
        return because("direct=1 with writes, and writes go through the cache alone");
    }
    if job.direct && !job.blocks[Direction::Read as usize].least.is_multiple_of(512) {
        return because("direct=1 with a block that is no multiple of 512 bytes, which devices refuse");
    }
    if !job.ramp_time.is_zero() {
        return because("ramp_time=, and everything counts there");
    }
    if job.is_paced() {
        return because("rate= or rate_iops=, and jobs run as fast as they can there");
    }
    if !(job.course.start_delay.0.is_zero() && job.course.start_delay.1.is_zero()) {
        return because("startdelay=, and all jobs begin at once there");
    }
    if job.course.wait_for.is_some() {
        return because("wait_for=, and all jobs begin at once there");
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
    if !job.thinking.spin.is_zero() && !job.thinktime.is_zero() {
        return because("thinktime_spin=, and a waiting thread is idle there");
    }
    if job.placement.numa != [None, None] || job.placement.priority.is_some() {
        return because(
            "numa_cpu_nodes=, numa_mem_policy=, prio= or prioclass=, and there are neither nodes nor priorities",
        );
    }
    let cpus = &job.placement.cpus;
    if !cpus.is_empty() && (cpus.len() as u64) < u64::from(job.numjobs) {
        return because(
            "cpus_allowed= of fewer CPUs than the job has threads, and threads do not compete for them",
        );
    }
    if job.buffers.memory.is_some() || job.buffers.life.is_some() {
        return because("iomem= in huge pages or write_hint=, and no memory or device knows of them there");
    }
    if job.files.create_only {
        return because("create_only=1, and nothing is left to predict");
    }
    if job.files.create_on_open || job.files.unlink_each_loop {
        return because("create_on_open=1 or unlink_each_loop=1, and files are there before jobs begin");
    }
    if job.files.overwrite && !job.does(Direction::Read) || job.files.fallocate.is_some() {
        return because(
            "overwrite=1, fallocate=keep or fallocate=truncate, and files that are only written are empty there",
        );
    }
    None
}
