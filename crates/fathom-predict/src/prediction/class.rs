//! Classes of jobs: what the model's errors are told apart by.

use fathom_model::file_read::PAGE;
use fathom_model::io_path::thresholds;

use crate::model::{Opening, Parameters, Runner, Scalar, Syncs};
use fathom_program::job::{Depth, Direction, Durability, Engine, Job, OpenSync, Pattern};

/// The class of a job on a model: `cached_sequential_read`, `random_write_sync` and the like; `throttled` where the job writes so
/// much that it has to wait for the device, `past_cache` where its file does not stay in memory.
pub fn class(job: &Job, parameters: &Parameters) -> String {
    let job = &as_mounted(job.clone(), parameters);
    if matches!(job.engine, Engine::Null | Engine::Falloc | Engine::Ftruncate) {
        return Engine::Null.name().to_owned();
    }
    let order = match job.pattern {
        Pattern::Sequential => "sequential",
        Pattern::Random => "random",
    };
    let hands_over = job.engine.is_asynchronous() && job.engine != Engine::Posixaio;
    let is_queued = hands_over && job.depth.most > 1;
    let jumps_in_ring = is_queued && job.engine == Engine::IoUring && job.pattern == Pattern::Random;
    let cache = match (job.direct, finds_cached(job, parameters)) {
        (true, _) if is_queued => "queued",
        (true, _) => "direct",
        (false, true) => "cached",
        (false, false) if jumps_in_ring => "cold_queued",
        (false, false) => "cold",
    };
    let cached = parameters[Scalar::Cache] as u64;
    let file = job.region().map_or(0, |region| region.file);
    let cache = if cached > 0 && file > cached { "past_cache" } else { cache };
    let moved = job.transfer().ok().flatten().unwrap_or(0) / 100 * u64::from(100 - job.read_percent.min(100));
    let is_throttled = job.does(Direction::Write) && moved / PAGE > thresholds(parameters).freerun();
    let Durability { open, on_close, .. } = job.durability;
    let syncs = job.fsync > 0 || job.fdatasync > 0 || job.end_fsync || on_close || open != OpenSync::No;
    let tail = match (job.verify.is_some() && job.does(Direction::Write), syncs) {
        (true, _) => "_verified",
        (false, true) => "_sync",
        (false, false) => "",
    };
    let by = match job.engine {
        Engine::Mmap => "mmap_",
        Engine::Posixaio => "posixaio_",
        // On a loop device fio's take a third less than those of calls that wait.
        _ if hands_over && job.direct && !is_queued => "aio_",
        _ => "",
    };
    let class = match job.read_percent {
        100 => format!("{cache}_{order}_read"),
        0 if is_throttled => format!("throttled_{order}_write{tail}"),
        0 if job.direct => format!("{cache}_{order}_write{tail}"),
        0 => format!("{order}_write{tail}"),
        _ => format!("{cache}_{order}_mixed{tail}"),
    };
    format!("{by}{class}")
}

/// Whether a job finds in the cache what was there before it, or what `pre_read` reads. Where an open drops that, fio's job finds
/// nothing, and Fathom's what it has read in after the open.
pub(crate) fn finds_cached(job: &Job, parameters: &Parameters) -> bool {
    let choices = parameters.choices;
    match choices.opening {
        Opening::Keeps => job.pre_read || !job.invalidate,
        Opening::Drops => job.pre_read && choices.runner == Runner::Fathom,
        Opening::Bypasses => false,
    }
}

/// A job as the mount has it. Where transfers bypass the cache, one without `direct=1` waits for each of them, whatever its engine: the
/// kernel has them done before the call returns (`fuse_direct_read_iter`, without `IOCB_DIRECT`). A mount with `sync` has each write
/// do what `O_DSYNC` does (`iocb_is_dsync`).
fn as_mounted(mut job: Job, parameters: &Parameters) -> Job {
    let choices = parameters.choices;
    if choices.opening == Opening::Bypasses && !job.direct {
        job = Job { direct: true, pre_read: false, depth: Depth::default(), ..job };
    }
    // There is one sync at a time in the model.
    let overlap = job.direct && job.depth.most > 1;
    if choices.syncs == Syncs::Always && job.durability.open == OpenSync::No && !overlap {
        job.durability.open = OpenSync::Dsync;
    }
    job
}

/// A job as its runner has it where an open drops what is cached of a file: fio opens its files again for each pass, but where
/// time ends it.
pub(super) fn as_opened(job: Job, parameters: &Parameters) -> Job {
    let job = as_mounted(job, parameters);
    match (parameters.choices.opening, parameters.choices.runner) {
        (Opening::Drops, Runner::Fio) => {
            Job { pre_read: false, invalidate: job.drops_caches() || !job.time_based, ..job }
        }
        _ => job,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::predict;
    use super::super::tests::{QUICK, job, silent};
    use super::*;
    use crate::model::Model;

    #[test]
    fn a_mount_decides_whether_jobs_use_the_cache_and_sync_each_write() {
        let mut model = silent();
        model.set("opening=bypasses").unwrap();
        let took = |model: &Model, job: Job| {
            let one = predict(std::slice::from_ref(&job), model, QUICK).unwrap().outcomes[0][0].clone();
            (one.elapsed_ns, class(&job, &model.parameters))
        };
        let direct = took(&silent(), Job { direct: true, ..job("read") });
        assert_eq!(direct.1, "direct_sequential_read");
        let kept = Job { pre_read: true, invalidate: false, ..job("read") };
        let deep = Depth { most: 8, ..Depth::default() };
        let queued = Job { engine: Engine::Libaio, depth: deep, ..job("read") };
        assert_eq!(took(&model, kept.clone()), direct);
        let (waited, class) = took(&model, queued);
        assert!(class == "aio_direct_sequential_read" && waited >= direct.0, "{class} {waited}");
        assert!(took(&silent(), kept).0 < direct.0 / 10);

        let mut model = silent();
        model.set("syncs=always").unwrap();
        let [plain, mut asks] = [0, 1].map(|_| Job { read_percent: 0, ..job("write") });
        asks.durability.open = OpenSync::Dsync;
        assert_eq!(took(&model, plain.clone()), took(&silent(), asks));
        assert!(took(&model, plain.clone()).0 > 10 * took(&silent(), plain).0);
    }

    #[test]
    fn where_an_open_drops_the_cache_fio_finds_nothing_of_what_was_read_in_and_fathom_does() {
        let predicted = |opening: &str, by: Runner, change: &dyn Fn(&mut Job)| {
            let mut model = silent();
            model.set(&format!("opening={opening}")).unwrap();
            model.parameters.choices.runner = by;
            let mut job = Job { pre_read: true, invalidate: false, ..job("read") };
            change(&mut job);
            let one = predict(std::slice::from_ref(&job), &model, QUICK).unwrap().outcomes[0][0].clone();
            (one.cached_before.unwrap().cached, one.elapsed_ns / one.calls(), class(&job, &model.parameters))
        };
        let plain = |_: &mut Job| ();
        let kept = predicted("keeps", Runner::Fio, &plain);
        assert_eq!((kept.0, kept.2.as_str()), (256, "cached_sequential_read"));
        assert_eq!(predicted("drops", Runner::Fathom, &plain), kept);
        let (cached, took, class) = predicted("drops", Runner::Fio, &plain);
        assert_eq!((cached, class.as_str()), (0, "cold_sequential_read"));
        assert!(took > 2 * kept.1, "{took} {}", kept.1);
        // Each loop opens the file again, but not each pass of a job that time ends.
        let loops = predicted("drops", Runner::Fio, &|job| job.course.loops = 4).1;
        let timed = |job: &mut Job| (job.time_based, job.runtime) = (true, Duration::from_secs(1));
        let timed = predicted("drops", Runner::Fio, &timed).1;
        assert!(loops.abs_diff(took) < took / 20 && timed < kept.1 + kept.1 / 20, "{loops} {timed}");
    }
}
