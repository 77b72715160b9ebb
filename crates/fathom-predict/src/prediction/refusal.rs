//! What the model can't express: named, and refused.

use std::collections::HashSet;

use crate::model::Model;
use fathom_program::job::{Direction, Engine, Job};

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
    if !job.course.start_delay.0.is_zero() {
        return because("startdelay=, and all jobs begin at once there");
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
