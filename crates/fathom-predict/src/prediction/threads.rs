//! How the threads of jobs hang together: the CPUs that they find, what each has under way, and whose end others wait for.

use fathom_model::io_path::{Ends, Queueing};
use fathom_program::job::{Direction, Engine, Job, Layout, Pattern};

use crate::model::{Parameters, Queued, Scalar, Works};

/// The machine as jobs that run at the same time find it: with no more CPUs than they may run on, which sleep the less the more
/// requests several threads have under way, and not at all from two for each CPU on; and with a server that has left the CPU of
/// a job that has read its files in before, and of those of which several run.
pub(super) fn as_found(jobs: &[Job], parameters: &Parameters) -> Parameters {
    const OF_REQUESTS: [Scalar; 7] = [
        Scalar::Submission,
        Scalar::DeviceLatency,
        Scalar::DeviceReadRequest,
        Scalar::DeviceWriteLatency,
        Scalar::DeviceWriteRequest,
        Scalar::Wake,
        Scalar::QueuedWake,
    ];
    let mut parameters = parameters.clone();
    let there = parameters[Scalar::Cpus];
    let cpus = match super::refusal::allowed_cpus(jobs).map(|allowed| allowed as f64) {
        Some(allowed) if there > 0.0 => there.min(allowed),
        allowed => allowed.unwrap_or(there),
    };
    parameters.put_value(Scalar::Cpus, cpus);
    if cpus < there {
        // There is a CPU that the jobs may not use.
        parameters.choices.works = Works::Apart;
    }
    let threads: u32 = jobs.iter().map(|job| job.numjobs).sum();
    if threads > 1 && cpus > 0.0 {
        let depth = |job: &Job| queueing(job, &parameters).map_or(1, |queueing| queueing.depth.max(1));
        let under_way: f64 = jobs.iter().map(|job| f64::from(job.numjobs) * f64::from(depth(job))).sum();
        let of_cpu = (under_way / cpus).min(2.0);
        let [one, two] = [Scalar::AwakeShareOfOne, Scalar::AwakeShare].map(|share| parameters[share]);
        let share =
            if of_cpu < 1.0 { 1.0 + of_cpu * (one - 1.0) } else { one + (of_cpu - 1.0) * (two - one) };
        // What a server does takes as long as ever; no CPU has to be woken for it.
        let has_server = parameters[Scalar::ServerApart] > 0.0;
        let shared: &[Scalar] = if has_server { &[Scalar::ServerApart] } else { &OF_REQUESTS };
        for &scalar in shared {
            parameters.put_value(scalar, parameters[scalar] * share);
        }
    }
    if threads > 1 || jobs.iter().any(|job| job.pre_read) {
        parameters.put_value(Scalar::ServerNear, 0.0);
    }
    parameters
}

/// How a job has requests under way; none where it waits for each call. Buffered requests of libaio are done before
/// `io_submit(2)` returns. Of buffered ones of io_uring reads go on where they wait for the device, and cost what buffered calls
/// do besides.
pub(super) fn queueing(job: &Job, parameters: &Parameters) -> Option<Queueing> {
    let goes_on = match job.engine {
        Engine::IoUring | Engine::Libaio if job.direct => {
            parameters.choices.queued == Queued::Together && !extends(job, parameters)
        }
        Engine::IoUring => !job.does(Direction::Write),
        _ => false,
    };
    goes_on.then(|| {
        let depth = job.depth.resolved();
        let call = parameters[Scalar::Call];
        let [submit_ns, reap_ns] = match job.direct {
            // A call that hands over several takes its time once.
            true => [
                call / f64::from(depth.submit) + parameters[Scalar::Submission],
                parameters[Scalar::QueuedCall],
            ],
            false => [call, 0.0],
        };
        Queueing {
            depth: depth.most,
            least: depth.reap_least,
            most: depth.reap_most,
            low: depth.low,
            submit_ns,
            reap_ns,
            // A thread that polls sleeps for no request.
            wake_ns: if job.engine_options.hipri { 0.0 } else { parameters[Scalar::QueuedWake] },
        }
    })
}

/// Whether each write makes its file longer, and the file system then waits for it. Source: `ext4_dio_write_iter`,
/// IOMAP_DIO_FORCE_WAIT.
fn extends(job: &Job, parameters: &Parameters) -> bool {
    let is_short = matches!(job.layout(), Layout::Empty | Layout::Allocated { keeps_size: true });
    let is_ext4 = parameters.choices.journal.is_jbd2();
    is_ext4 && is_short && job.pattern == Pattern::Sequential && job.does(Direction::Write)
}

/// How many transfers each thread of jobs has handed over that are made one after the other, at the moment when it takes the result of
/// the first: of posixaio, by the C library's thread for a file; of what [`queueing`] leaves out, before the call that hands one over
/// returns, or by a worker of the kernel for the file. 1 for jobs that wait for each transfer.
pub(super) fn serial_depths(jobs: &[Job], parameters: &Parameters) -> impl Iterator<Item = usize> {
    let depth = |job: &Job| {
        let is_async = matches!(job.engine, Engine::Libaio | Engine::IoUring | Engine::Posixaio);
        if !is_async || queueing(job, parameters).is_some() {
            return 1;
        }
        let depth = job.depth.resolved();
        // Of results that are taken together the last one has waited for none.
        (depth.most - (depth.reap_most.min(depth.most) - 1) / 2) as usize
    };
    jobs.iter().flat_map(move |job| std::iter::repeat_n(depth(job), job.numjobs as usize))
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
    let ended = |(job, group): &(&Job, u32)| those(&|(_, other)| job.course.ends(*group, *other));
    Ends { awaited: threads.iter().map(awaited).collect(), ended: threads.iter().map(ended).collect() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fathom_program::job::{Depth, Others};

    use super::super::predict;
    use super::super::tests::{QUICK, job, silent};
    use super::*;

    #[test]
    fn a_job_that_waits_for_another_begins_when_that_has_ended_and_finds_its_file_dropped() {
        let model = silent();
        let first =
            Job { filename: Some("one".to_owned()), thinktime: Duration::from_micros(10), ..job("first") };
        let mut second = Job { thinktime: Duration::ZERO, name: "second".to_owned(), ..first.clone() };
        second.course.wait_for = Some("first".to_owned());
        let cold = predict(&[Job { thinktime: Duration::ZERO, ..first.clone() }], &model, QUICK).unwrap();
        let predicted = predict(&[first, second], &model, QUICK).unwrap();
        assert!(predicted.outcomes[0][0].elapsed_ns > 256 * 10_000);
        assert_eq!(predicted.outcomes[1][0].elapsed_ns, cold.outcomes[0][0].elapsed_ns);
    }

    #[test]
    fn writes_that_make_a_file_longer_are_under_way_one_at_a_time_on_ext4() {
        let mut model = silent();
        let mut queued = Job { direct: true, read_percent: 0, engine: Engine::Libaio, ..job("queued") };
        queued.depth.most = 8;
        let mut took = |allocate, journal: &str| {
            model.set(&format!("journal={journal}")).unwrap();
            let job = Job { allocate, ..queued.clone() };
            predict(&[job], &model, QUICK).unwrap().outcomes[0][0].elapsed_ns
        };
        let [allocated, longer] = [true, false].map(|allocate| took(allocate, "ordered"));
        assert!(longer > 4 * allocated, "{longer} ns, and {allocated} where its space is allocated");
        assert_eq!(took(false, "price"), allocated);
    }

    #[test]
    fn the_first_job_to_end_ends_those_of_its_group_or_all() {
        let model = silent();
        let short = Job { pre_read: true, filename: Some("one".to_owned()), ..job("short") };
        let mut endless = Job {
            name: "endless".to_owned(),
            time_based: true,
            runtime: Duration::from_secs(3_600),
            thinktime: Duration::from_secs(60),
            ..short.clone()
        };
        let mut waits = Job { name: "waits".to_owned(), ..job("waits") };
        waits.course.wait_for = Some("endless".to_owned());
        let mut queued = Job { direct: true, name: "queued".to_owned(), ..endless.clone() };
        (queued.thinktime, queued.filename) = (Duration::ZERO, None);
        (queued.engine, queued.depth.most) = (Engine::Libaio, 8);
        endless.course.new_group = true;
        waits.course.new_group = true;
        let mut jobs = [short, queued, endless, waits];
        for (which, [of_endless, of_waiting]) in [(Others::Running, [1, 0]), (Others::Group, [60, 256])] {
            jobs.iter_mut().for_each(|job| (job.course.exitall, job.course.exit_what) = (true, which));
            let predicted = predict(&jobs, &model, QUICK).unwrap();
            let of = |job: usize| predicted.outcomes[job][0].transfers[0].latency.count();
            assert_eq!([of(0), of(2), of(3)], [256, of_endless, of_waiting]);
            let [short, queued, endless] = [0, 1, 2].map(|job| predicted.outcomes[job][0].elapsed_ns);
            assert!(queued >= short && queued < short + 10_000_000, "{queued} {short}");
            assert_eq!(endless == queued || endless == short, which == Others::Running, "{endless} {queued}");
        }
        let after = Job { stonewall: true, ..job("after") };
        jobs.iter_mut().for_each(|job| job.course.exit_what = Others::All);
        let error = predict(&[&jobs[..], &[after]].concat(), &model, QUICK).unwrap_err();
        assert!(error.contains("exit_what=all"), "{error}");
    }

    #[test]
    fn buffered_reads_of_io_uring_wait_for_the_device_together_and_are_copied_one_after_the_other() {
        let model = silent();
        let predicted = |pre_read: bool, most: u32| {
            let depth = Depth { most, ..Depth::default() };
            let engine = Engine::IoUring;
            let one = Job { engine, depth, pre_read, pattern: Pattern::Random, ..job("one") };
            predict(&[one], &model, QUICK).unwrap().outcomes[0][0].elapsed_ns as f64
        };
        let [one, eight] = [1, 8].map(|depth| predicted(false, depth));
        assert!((6.0..8.0).contains(&(one / eight)), "{one} {eight}");
        let [one, eight] = [1, 8].map(|depth| predicted(true, depth));
        assert!((0.95..1.05).contains(&(one / eight)), "{one} {eight}");
    }

    #[test]
    fn a_full_queue_is_full_all_the_time_unless_results_are_taken_in_batches() {
        let mut model = silent();
        // The thread is busy all the time: results wait for it.
        model.parameters.put_value(Scalar::Submission, 20_000.0);
        model.parameters.put_value(Scalar::QueuedCall, 5_000.0);
        let busy = |depth: Depth| {
            let one =
                Job { engine: Engine::Libaio, depth, direct: true, pattern: Pattern::Random, ..job("one") };
            let predicted = predict(&[one], &model, QUICK).unwrap();
            let (outcome, latency) =
                (&predicted.outcomes[0][0], &predicted.outcomes[0][0].transfers[0].latency);
            // Little's law.
            latency.mean() * latency.count() as f64 / outcome.elapsed_ns as f64
        };
        let depth = Depth { most: 16, ..Depth::default() };
        let one_by_one = busy(depth);
        // Filling it and emptying it takes its time as well.
        assert!((14.5..16.0).contains(&one_by_one), "{one_by_one}");
        let batches = busy(Depth { reap_most: 16, ..depth });
        assert!(batches < one_by_one - 2.0, "{batches} {one_by_one}");
    }

    #[test]
    fn buffered_transfers_of_libaio_are_made_one_after_the_other_and_wait_until_the_queue_is_full() {
        let model = silent();
        let mean = |engine, depth: Depth| {
            let one = Job { engine, depth, pre_read: true, ..job("one") };
            predict(&[one], &model, QUICK).unwrap().outcomes[0][0].transfers[0].latency.mean()
        };
        let depth = |most, reap_most| Depth { most, reap_most, ..Depth::default() };
        let alone = mean(Engine::Libaio, depth(1, 0));
        for (most, reap_most, times) in [(16, 0, 16.0), (16, 16, 9.0)] {
            let deep = mean(Engine::Libaio, depth(most, reap_most)) / alone;
            assert!((0.85..1.15).contains(&(deep / times)), "{deep} {times}");
        }
        assert_eq!(mean(Engine::Psync, depth(16, 0)), mean(Engine::Psync, depth(1, 0)));
    }

    #[test]
    fn a_device_that_works_on_a_cpu_takes_it_from_threads_that_need_all() {
        let mut model = silent();
        for (scalar, value) in [
            (Scalar::Cpus, 2.0),
            (Scalar::Submission, 3_000.0),
            (Scalar::DeviceReadRequest, 2_000.0),
            (Scalar::DeviceByte, 0.0),
        ] {
            model.parameters.put_value(scalar, value);
        }
        let mut took = |works, numjobs, cpus: &[u32]| {
            model.parameters.choices.works = works;
            let depth = Depth { most: 16, ..Depth::default() };
            let deep = Job { engine: Engine::Libaio, depth, direct: true, numjobs, ..job("deep") };
            let mut deep = Job { pattern: Pattern::Random, ..deep };
            deep.placement.cpus = cpus.to_vec();
            predict(&[deep], &model, QUICK).unwrap().outcomes[0][0].elapsed_ns as f64
        };
        let mut longer =
            |numjobs, cpus: &[u32]| took(Works::OnCpu, numjobs, cpus) / took(Works::Apart, numjobs, cpus);
        assert_eq!([longer(1, &[]), longer(1, &[0])], [1.0; 2], "a CPU is free");
        let two = longer(2, &[]);
        assert!((1.1..1.5).contains(&two), "{two}");
    }

    #[test]
    fn with_more_requests_for_each_cpu_fewer_have_to_wake_one() {
        let wakes = |apart: f64, numjobs: u32| {
            let mut parameters = silent().parameters;
            for (scalar, value) in [
                (Scalar::Cpus, 4.0),
                (Scalar::Wake, 1_000.0),
                (Scalar::ServerApart, apart),
                (Scalar::AwakeShareOfOne, 0.5),
                (Scalar::AwakeShare, 0.2),
            ] {
                parameters.put_value(scalar, value);
            }
            let found = as_found(&[Job { numjobs, ..job("some") }], &parameters);
            [found[Scalar::Wake], found[Scalar::ServerApart]].map(f64::round)
        };
        let of = [1, 2, 4, 6, 8, 16];
        assert_eq!(of.map(|jobs| wakes(0.0, jobs)[0]), [1000.0, 750.0, 500.0, 350.0, 200.0, 200.0]);
        // What a server does takes as long as ever.
        assert_eq!(of.map(|jobs| wakes(1e4, jobs)[0]), [1000.0; 6]);
        assert_eq!(of.map(|jobs| wakes(1e4, jobs)[1]), [1e4, 7500.0, 5000.0, 3500.0, 2000.0, 2000.0]);
    }

    #[test]
    fn jobs_after_a_stonewall_find_the_cpus_that_they_would_find_alone() {
        let mut model = silent();
        for (scalar, value) in
            [(Scalar::Cpus, 2.0), (Scalar::AwakeShare, 0.5), (Scalar::Wake, 20_000.0), (Scalar::Crowded, 0.2)]
        {
            model.parameters.put_value(scalar, value);
        }
        let of = |name: &str, numjobs, cpus: &[u32]| {
            let mut one =
                Job { direct: true, pattern: Pattern::Random, numjobs, stonewall: true, ..job(name) };
            one.placement.cpus = cpus.to_vec();
            one
        };
        let jobs = [of("one", 1, &[]), of("four", 4, &[]), of("pinned", 2, &[0]), of("two", 2, &[])];
        let took = |jobs: &[Job]| -> Vec<f64> {
            let predicted = predict(jobs, &model, QUICK).unwrap();
            predicted.outcomes.iter().map(|threads| threads[0].elapsed_ns as f64).collect()
        };
        let alone = jobs.iter().flat_map(|one| took(std::slice::from_ref(one)));
        for (job, (after, alone)) in jobs.iter().zip(took(&jobs).into_iter().zip(alone)) {
            assert!((after / alone - 1.0).abs() < 0.02, "{}: {after} ns, and {alone} alone", job.name);
        }
    }

    #[test]
    fn direct_requests_of_a_server_that_does_one_at_a_time_do_not_overlap() {
        let mut model = silent();
        let mut predicted = |queued, most| {
            model.parameters.choices.queued = queued;
            let depth = Depth { most, ..Depth::default() };
            let one =
                Job { engine: Engine::Libaio, depth, direct: true, pattern: Pattern::Random, ..job("one") };
            predict(&[one], &model, QUICK).unwrap().outcomes[0][0].elapsed_ns as f64
        };
        let gain = |queued, predicted: &mut dyn FnMut(Queued, u32) -> f64| {
            predicted(queued, 1) / predicted(queued, 8)
        };
        assert!(gain(Queued::Together, &mut predicted) > 4.0);
        assert!((0.9..1.1).contains(&gain(Queued::InTurn, &mut predicted)));
    }

    #[test]
    fn without_a_journal_a_sync_waits_for_a_commit_if_its_file_was_written_to() {
        let mut model = silent();
        let settings = ["journal=price", "device_flush=10us", "journal_commit=1ms"];
        settings.into_iter().for_each(|setting| model.set(setting).unwrap());
        let took = |read_percent| {
            let one = Job { read_percent, fsync: 1, direct: true, ..job("one") };
            let outcome = &predict(&[one], &model, QUICK).unwrap().outcomes[0][0];
            outcome.syncs.sum() as f64 * outcome.ns_per_tick / outcome.syncs.count() as f64
        };
        let [always, seldom] = [0, 90].map(took);
        assert!((1_010_000.0..1_015_000.0).contains(&always), "{always}");
        assert!(
            (50_000.0..200_000.0).contains(&seldom),
            "a tenth of them, and fewer where writes follow: {seldom}"
        );
    }

    #[test]
    fn a_server_that_does_one_thing_at_a_time_serves_no_other_thread_during_a_sync() {
        let mut model = silent();
        let settings = ["journal=price", "device_flush=1ms", "write_through=4K"];
        settings.into_iter().for_each(|setting| model.set(setting).unwrap());
        let mut longer = |queued| {
            model.parameters.choices.queued = queued;
            let one = Job { read_percent: 0, fsync: 1, ..job("one") };
            let took = |numjobs| {
                let jobs = [Job { numjobs, ..one.clone() }];
                predict(&jobs, &model, QUICK).unwrap().outcomes[0][0].elapsed_ns as f64
            };
            took(3) / took(1)
        };
        let [apart, in_turn] = [Queued::Together, Queued::InTurn].map(&mut longer);
        assert!(apart < 1.2 && (2.5..3.1).contains(&in_turn), "{apart} {in_turn}");
    }

    #[test]
    fn transfers_of_posixaio_are_made_by_one_thread_and_wait_for_those_before_them() {
        let mut model = silent();
        model.parameters.put_value(Scalar::PosixAioCall, 5_000.0);
        model.parameters.put_value(Scalar::Wake, 2_000.0);
        let predicted = |engine, most| {
            let depth = Depth { most, ..Depth::default() };
            let one = Job { engine, depth, direct: true, ..job("one") };
            let predicted = predict(&[one], &model, QUICK).unwrap();
            let outcome = &predicted.outcomes[0][0];
            (outcome.elapsed_ns, outcome.transfers[0].latency.mean(), predicted.forecasts[0].class.clone())
        };
        let (plain, _, _) = predicted(Engine::Psync, 1);
        let (one, short, _) = predicted(Engine::Posixaio, 1);
        let (eight, long, class) = predicted(Engine::Posixaio, 8);
        // A thread that has handed over its only one sleeps as well.
        assert_eq!([one - plain, eight - plain].map(|more| more / 256), [7_000, 5_000]);
        assert!((7.5..8.5).contains(&(long / short)), "{short} {long}");
        assert_eq!(class, "posixaio_direct_sequential_read");
    }
}
