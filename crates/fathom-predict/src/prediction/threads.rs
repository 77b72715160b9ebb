//! How the threads of jobs hang together: what each has under way, and whose end others wait for.

use fathom_model::io_path::{Ends, Queueing};
use fathom_program::job::{Direction, Engine, Job, Others};

use crate::model::{Parameters, Scalar};

/// How a job has requests under way; none where it waits for each call. Buffered requests of libaio are done before
/// `io_submit(2)` returns. Of buffered ones of io_uring reads go on where they wait for the device, and cost what buffered calls
/// do besides.
pub(super) fn queueing(job: &Job, parameters: &Parameters) -> Option<Queueing> {
    let is_ring = job.engine == Engine::IoUring && !job.does(Direction::Write);
    let goes_on = job.direct && matches!(job.engine, Engine::IoUring | Engine::Libaio) || is_ring;
    goes_on.then(|| {
        let depth = job.depth.most.max(1);
        // A call that hands over several takes its time once.
        let batch = if job.depth.submit == 0 { depth } else { job.depth.submit.min(depth) };
        let call = parameters[Scalar::Call];
        let [submit_ns, reap_ns] = match job.direct {
            true => [
                call / f64::from(batch.max(1)) + parameters[Scalar::Submission],
                parameters[Scalar::QueuedCall],
            ],
            false => [call, 0.0],
        };
        Queueing {
            depth,
            least: job.depth.reap_least.min(depth),
            low: if job.depth.low == 0 { depth } else { job.depth.low.min(depth) },
            submit_ns,
            reap_ns,
            wake_ns: parameters[Scalar::Wake],
        }
    })
}

/// Which threads of jobs begin and end when others have ended, as `fathom_run::load` has it.
pub(super) fn ends(jobs: &[Job]) -> Ends {
    let mut group = 0;
    let mut threads: Vec<(&Job, u32)> = Vec::new();
    for job in jobs {
        group += u32::from(job.course.new_group);
        threads.extend((0..job.numjobs).map(|_| (job, group)));
    }
    let those = |is_meant: &dyn Fn(&(&Job, u32)) -> bool| -> Vec<usize> {
        threads.iter().enumerate().filter(|(_, one)| is_meant(one)).map(|(number, _)| number).collect()
    };
    let awaited = |(job, _): &(&Job, u32)| match &job.course.wait_for {
        Some(name) => those(&|(other, _)| other.name == *name),
        None => Vec::new(),
    };
    let ended = |(job, group): &(&Job, u32)| match (job.course.exitall, job.course.exit_what) {
        (false, _) => Vec::new(),
        (true, Others::Group) => those(&|(_, other)| other == group),
        (true, Others::Running | Others::All) => those(&|_| true),
    };
    Ends { awaited: threads.iter().map(awaited).collect(), ended: threads.iter().map(ended).collect() }
}
