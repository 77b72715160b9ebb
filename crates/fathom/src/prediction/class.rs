//! Classes of jobs: what the model's errors are told apart by.

use crate::job::{Job, Pattern};

/// The class of a job: `cached_sequential_read`, `random_write_sync` and the like.
pub fn class(job: &Job) -> String {
    let order = match job.pattern {
        Pattern::Sequential => "sequential",
        Pattern::Random => "random",
    };
    let cache = match (job.direct, job.pre_read || !job.invalidate) {
        (true, _) => "direct",
        (false, true) => "cached",
        (false, false) => "cold",
    };
    let syncs = job.fsync > 0 || job.fdatasync > 0 || job.end_fsync;
    let tail = if syncs { "_sync" } else { "" };
    match job.read_percent {
        100 => format!("{cache}_{order}_read"),
        0 if job.direct => format!("direct_{order}_write{tail}"),
        0 => format!("{order}_write{tail}"),
        _ => format!("{cache}_{order}_mixed{tail}"),
    }
}
