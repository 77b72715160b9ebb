use super::*;
use crate::model::{Journal, Runner};
use std::time::Duration;

use fathom_program::job::{Blocks, Depth, Engine, Trim};

/// The model as it is.
pub(super) const QUICK: Settings = Settings { draws: 0, seed: 1 };

pub(super) fn silent() -> Model {
    let mut model = Model::assumed();
    model.set("noise=0").unwrap();
    model
}

pub(super) fn job(name: &str) -> Job {
    Job { size: Some(1 << 20), ..Job::named(name) }
}

#[test]
fn a_cached_job_costs_calls_and_copies_and_what_is_between() {
    let mut model = silent();
    model.set("caller=30ns").unwrap();
    let predicted = predict(&[Job { pre_read: true, ..job("cached") }], &model, Settings::default()).unwrap();
    let one = &predicted.outcomes[0][0];
    assert_eq!(one.cached_before, Some(Cached { cached: 256, pages: 256 }));
    assert_eq!(one.transfers[0].latency.mean(), 810.0);
    assert_eq!(one.elapsed_ns, 256 * 840);
    let side = &predicted.forecasts[0].sides[0];
    assert_eq!(side.bytes_per_second.value, 4096.0 / 840.0 * 1e9);
    assert_eq!(side.bytes_per_second.low, side.bytes_per_second.value, "nothing is uncertain");
    assert!(predicted.forecasts[0].caveats[0].contains("cached_sequential_read"));
}

#[test]
fn a_sync_of_data_alone_waits_for_no_journal_where_they_had_their_place() {
    let mut model = silent();
    model.parameters.choices.journal = Journal::Ordered;
    let over = Job { pre_read: true, read_percent: 1, filesize: Some(1 << 20), ..job("over") };
    let syncs = |fsync, fdatasync| {
        let one = Job { fsync, fdatasync, ..over.clone() };
        let predicted = predict(&[one], &model, QUICK).unwrap();
        let syncs = &predicted.outcomes[0][0].syncs;
        (syncs.count(), syncs.sum())
    };
    let [(all, by_all), (data, by_data)] = [syncs(4, 0), syncs(0, 4)];
    assert!(all == data && all > 10, "{all} {data}");
    assert!(by_data < by_all, "{by_data} {by_all}");
    assert_eq!(syncs(4, 4), (all, by_all), "where both are due, it is fsync");
}

#[test]
fn time_ends_a_job_and_pauses_make_it_longer() {
    let model = silent();
    let timed = Job {
        time_based: true,
        pre_read: true,
        runtime: std::time::Duration::from_millis(3),
        ..job("timed")
    };
    let predicted = predict(&[timed], &model, QUICK).unwrap();
    assert!((3_000_000..3_001_000).contains(&predicted.outcomes[0][0].elapsed_ns));
    let pauses = Job { pre_read: true, thinktime: std::time::Duration::from_micros(10), ..job("pauses") };
    let predicted = predict(&[pauses], &model, QUICK).unwrap();
    assert_eq!(predicted.outcomes[0][0].elapsed_ns, 256 * 10_810);
}

#[test]
fn what_the_model_has_no_part_for_is_refused_by_name() {
    let model = Model::assumed();
    let with = |change: fn(&mut Job)| {
        let mut job = job("a");
        change(&mut job);
        job
    };
    for (job, word) in [
        (Job { engine: Engine::Mmap, read_percent: 0, ..job("a") }, "ioengine=mmap"),
        (
            Job { engine: Engine::Mmap, read_percent: 0, pattern: Pattern::Random, direct: true, ..job("a") },
            "direct=1",
        ),
        (Job { engine: Engine::Falloc, allocate: false, read_percent: 0, ..job("a") }, "fallocate=none"),
        (
            Job {
                engine: Engine::IoUring,
                depth: Depth { most: 8, ..Depth::default() },
                read_percent: 50,
                ..job("a")
            },
            "io_uring",
        ),
        (with(|job| job.latency.target = Duration::from_millis(1)), "latency_target="),
        (
            with(|job| {
                (job.engine, job.depth.most, job.files.count) = (Engine::Posixaio, 8, 2);
            }),
            "ioengine=posixaio with iodepth=",
        ),
        (
            with(|job| (job.engine, job.pre_read) = (Engine::Posixaio, true)),
            "ioengine=posixaio with cached data",
        ),
        (with(|job| job.files.unlink_each_loop = true), "unlink_each_loop="),
        (
            with(|job| {
                (job.engine, job.read_percent, job.files.create_on_open) = (Engine::Libaio, 50, true);
            }),
            "create_on_open=",
        ),
        (with(|job| (job.numjobs, job.files.lock) = (2, Some("exclusive".to_owned()))), "lockfile="),
        (with(|job| (job.numjobs, job.placement.flow.0) = (2, 1)), "flow="),
        (with(|job| (job.engine, job.engine_options.uncached) = (Engine::Pvsync2, true)), "uncached="),
    ] {
        let error = predict(&[job], &model, Settings::default()).unwrap_err();
        assert!(error.contains(word) && error.starts_with('['), "{error}");
    }
}

#[test]
fn transfers_of_engine_null_take_the_program_s_own_time_alone() {
    let mut model = silent();
    model.parameters.put_value(Scalar::NullCall, 100.0);
    let predicted = predict(&[Job { engine: Engine::Null, ..job("null") }], &model, QUICK).unwrap();
    assert_eq!(predicted.outcomes[0][0].elapsed_ns, 256 * 100);
    model.parameters.put_value(Scalar::NullAsyncCall, 150.0);
    let deep = Job { engine: Engine::Null, depth: Depth { most: 8, ..Depth::default() }, ..job("null") };
    let predicted = predict(&[deep], &model, QUICK).unwrap();
    assert_eq!(predicted.outcomes[0][0].elapsed_ns, 256 * 150);
}

#[test]
fn mapped_files_are_read_without_calls_and_each_fault_brings_its_pages() {
    let mut model = silent();
    model.parameters.put_value(Scalar::PageFault, 3_200.0);
    let predicted = |job: Job| predict(&[job], &model, QUICK).unwrap().outcomes[0][0].elapsed_ns;
    let cached = Job { pre_read: true, ..job("cached") };
    let mapped = Job { engine: Engine::Mmap, ..cached.clone() };
    // A call takes 400 ns, and one fault maps 16 pages.
    assert_eq!(predicted(cached) - predicted(mapped), 256 * 400 - 16 * 3_200);
    let cold = Job { pattern: Pattern::Random, blocks: [Blocks::fixed(64 << 10); 2], ..job("cold") };
    let mapped = Job { engine: Engine::Mmap, ..cold.clone() };
    let times = predicted(mapped) as f64 / predicted(cold) as f64;
    // Each page waits for the device by itself.
    assert!((9.0..16.0).contains(&times), "{times}");
}

#[test]
fn writes_of_mapped_files_make_a_fault_for_each_folio_that_their_thread_may_not_write_yet() {
    let mut model = silent();
    model.parameters.choices.runner = Runner::Fio;
    let mut predicted = |kernel: &str, fault: f64, job: &Job| {
        model.set(&format!("kernel={kernel}")).unwrap();
        model.parameters.put_value(Scalar::WriteFault, fault);
        let one = predict(std::slice::from_ref(job), &model, QUICK).unwrap().outcomes[0][0].clone();
        (one.elapsed_ns, one.transfers[1].bytes)
    };
    let mapped = Job { engine: Engine::Mmap, pre_read: true, read_percent: 0, ..job("mapped") };
    let mut faults = |kernel: &str, job: &Job| {
        let [without, with] = [0.0, 1_000.0].map(|fault| predicted(kernel, fault, job));
        assert_eq!(without.1, with.1);
        (with.0 - without.0) / 1_000
    };
    // The file is one folio, which a fault maps wholly since 6.18; before it did so with one page.
    assert_eq!([faults("6.18", &mapped), faults("6.12", &mapped)], [1, 256]);
    // fio maps it anew for the second pass.
    let mut passes = Job { invalidate: false, ..mapped.clone() };
    passes.course.loops = 2;
    assert_eq!([faults("6.18", &passes), faults("6.12", &passes)], [2, 512]);
    let cold = |engine, read_percent| Job { engine, read_percent, pattern: Pattern::Random, ..job("cold") };
    let [reads, writes] = [100, 0].map(|reads| predicted("6.18", 1_000.0, &cold(Engine::Mmap, reads)).0);
    // Each page is read by itself and becomes dirty then, which is one fault: a read's takes 2 us.
    assert_eq!(reads - writes, 256 * 1_000);
}

#[test]
fn transfers_that_change_no_more_than_blocks_take_their_price() {
    let mut model = silent();
    model.parameters.put_value(Scalar::AllocateCall, 5_000.0);
    model.parameters.put_value(Scalar::TruncateCall, 2_000.0);
    model.parameters.put_value(Scalar::NullCall, 100.0);
    let predicted = |engine, trim: Option<Trim>| {
        let mut job = Job { engine, read_percent: 0, ..job("blocks") };
        job.order.trim = trim.map(|trim| (trim, job.blocks[0]));
        let predicted = predict(&[job], &model, QUICK).unwrap();
        let one = &predicted.outcomes[0][0];
        (one.elapsed_ns, one.transfers[1].latency.count(), one.syncs.count())
    };
    assert_eq!(predicted(Engine::Falloc, None), (256 * 5_000, 256, 0));
    assert_eq!(predicted(Engine::Ftruncate, None), (256 * 2_000, 256, 0));
    assert_eq!(predicted(Engine::Null, Some(Trim::BeforeWrite)), (2 * 256 * 100, 256, 0));
}

/// What threads do at once that share a file of 1 MiB: bytes per second of all.
fn shared(model: &Model, job: Job, numjobs: u32) -> f64 {
    let job = Job { filename: Some("one".to_owned()), numjobs, ..job };
    let predicted = predict(&[job], model, QUICK).unwrap();
    predicted.forecasts[0].sides[0].bytes_per_second.value
}

#[test]
fn readers_of_a_file_help_each_other_and_its_writers_take_turns() {
    let model = silent();
    let cached = Job { pre_read: true, ..job("cached") };
    let [one, four] = [1, 4].map(|threads| shared(&model, cached.clone(), threads));
    assert!((four / one - 4.0).abs() < 0.01, "{one} {four}");
    // The first reader of a window waits for the device, and so do the others; none reads it again.
    let cold = Job { blocks: [Blocks::fixed(64 << 10); 2], ..job("cold") };
    let [one, four] = [1, 4].map(|threads| shared(&model, cold.clone(), threads));
    assert!(four > 3.0 * one && four < 4.5 * one, "{one} {four}");
    let over = Job { read_percent: 0, pre_read: true, ..job("over") };
    let [one, four] = [1, 4].map(|threads| shared(&model, over.clone(), threads));
    // 400 of 810 ns come before the lock.
    assert!((1.9..2.4).contains(&(four / one)), "the inode has one lock: {one} {four}");
    let apart = Job { numjobs: 4, ..over };
    let predicted = predict(&[apart], &model, QUICK).unwrap();
    assert!(predicted.forecasts[0].sides[0].bytes_per_second.value > 3.5 * one);
}

#[test]
fn a_write_to_a_file_opened_for_synchronous_writes_includes_its_sync() {
    let model = silent();
    let write = Job { read_percent: 0, size: Some(64 << 10), ..Job::named("write") };
    let predicted = |job: &Job| predict(std::slice::from_ref(job), &model, QUICK).unwrap();
    let mut opened = write.clone();
    opened.durability.open = OpenSync::Dsync;
    let [opened, called] = [opened, Job { fdatasync: 1, ..write.clone() }].map(|job| predicted(&job));
    let elapsed = |predicted: &Prediction| predicted.outcomes[0][0].elapsed_ns as f64;
    // fio's last sync is not made.
    let ratio = elapsed(&opened) / elapsed(&called);
    assert!((ratio * 15.0 / 16.0 - 1.0).abs() < 0.02, "{ratio}");
    let mean = |predicted: &Prediction| predicted.outcomes[0][0].transfers[1].latency.mean();
    assert!(mean(&opened) > 50.0 * mean(&called), "its writes take as long as write and sync");
    assert_eq!(opened.outcomes[0][0].transfers[1].bytes, 64 << 10);
    let mut direct = Job { direct: true, engine: Engine::Libaio, ..write };
    direct.durability.open = OpenSync::Sync;
    assert!(elapsed(&predicted(&direct)) > 16.0 * 90_000.0);
}

#[test]
fn checksums_take_time_and_what_was_written_is_read_again() {
    let model = silent();
    let plain = Job { read_percent: 0, end_fsync: true, ..job("plain") };
    let verify = |method: &str| {
        let verify = Some(fathom_program::job::Verify { method: method.to_owned(), ..Default::default() });
        let predicted = predict(&[Job { verify, ..plain.clone() }], &model, QUICK).unwrap();
        assert!(predicted.forecasts[0].caveats.iter().any(|caveat| caveat.contains("checksums")));
        let one = &predicted.outcomes[0][0];
        assert_eq!(one.transfers.each_ref().map(|side| side.bytes), [1 << 20; 2]);
        let [read, written] = [Direction::Read, Direction::Write].map(|side| one.ran_ns(side));
        assert!(read + written == one.elapsed_ns && read > 0 && written > 0, "{read} {written}");
        one.elapsed_ns as f64
    };
    let slower = verify("md5") - verify("crc32c");
    // 0.3 ns by crc32c and eight times that; what is read again comes from the device meanwhile.
    let once = slower / (7.0 * 0.3 * f64::from(1 << 20));
    assert!((1.0..2.05).contains(&once), "{once}");
}

#[test]
fn threads_that_share_a_core_slow_each_other_down() {
    let mut model = silent();
    ["cpus=2", "crowded=0.5"].iter().for_each(|one| model.set(one).unwrap());
    let rate = |numjobs, model: &Model| {
        let predicted = predict(&[Job { pre_read: true, numjobs, ..job("cached") }], model, QUICK);
        predicted.unwrap().forecasts[0].sides[0].bytes_per_second.value
    };
    let [one, two, four] = [1, 2, 4].map(|threads| rate(threads, &model));
    assert!((two / one * 1.5 / 2.0 - 1.0).abs() < 0.03, "{one} {two}");
    assert!((four / two - 1.0).abs() < 0.1, "{two} {four}");
    // Those that wait for the device leave the CPU to others.
    let cold = |numjobs, model: &Model| {
        let job = Job { direct: true, numjobs, ..job("cold") };
        let predicted = predict(&[job], model, QUICK).unwrap();
        predicted.forecasts[0].sides[0].bytes_per_second.value
    };
    let crowded = cold(2, &model);
    model.set("crowded=0").unwrap();
    assert!((crowded / cold(2, &model)) > 0.97);
}

#[test]
fn threads_on_one_cpu_take_turns() {
    let model = silent();
    let mut cached = Job { pre_read: true, numjobs: 4, ..job("cached") };
    let rate = |job: &Job| {
        let predicted = predict(std::slice::from_ref(job), &model, QUICK).unwrap();
        predicted.forecasts[0].sides[0].bytes_per_second.value
    };
    let free = rate(&cached);
    cached.placement.cpus = vec![1, 3];
    assert!((free / rate(&cached) - 2.0).abs() < 0.1);
}

#[test]
fn a_search_for_a_steady_rate_ends_once_it_was_steady_for_a_window() {
    use fathom_program::job::SteadyState;
    let steady = SteadyState {
        bandwidth: false,
        slope: false,
        limit: 5.0,
        percent: true,
        duration: Duration::from_millis(20),
        ramp: Duration::from_millis(10),
    };
    let job =
        Job { steady_state: Some(steady), time_based: true, runtime: Duration::from_secs(9), ..job("x") };
    let predicted = predict(&[job], &silent(), QUICK).unwrap();
    assert!((30_000_000..31_000_000).contains(&predicted.outcomes[0][0].elapsed_ns));
}

#[test]
fn a_class_knows_what_the_model_holds() {
    let mut model = silent();
    let write = Job { read_percent: 0, size: Some(64 << 20), ..Job::named("write") };
    let read = Job { pre_read: true, ..job("read") };
    let of = |job: &Job, model: &Model| class(job, &model.parameters);
    assert_eq!(
        [of(&write, &model), of(&read, &model)],
        ["sequential_write", "cached_sequential_read"].map(str::to_owned)
    );
    model.set("dirty_bytes=32M").unwrap();
    model.set("cache=512K").unwrap();
    assert_eq!(
        [of(&write, &model), of(&read, &model)],
        ["throttled_sequential_write", "past_cache_sequential_read"].map(str::to_owned)
    );
}

/// A job of the queue: reads past the cache, so many of them under way.
fn queued(most: u32) -> Job {
    Job {
        engine: Engine::Libaio,
        direct: true,
        pattern: Pattern::Random,
        depth: Depth { most, ..Depth::default() },
        ..job("queued")
    }
}

fn per_second(jobs: &[Job], model: &Model) -> f64 {
    let predicted = predict(jobs, model, QUICK).unwrap();
    predicted
        .outcomes
        .iter()
        .flatten()
        .map(|one| one.iops(Direction::Read) + one.iops(Direction::Write))
        .sum()
}

#[test]
fn requests_under_way_wait_side_by_side_until_the_device_or_the_cpu_is_full() {
    let mut model = silent();
    for set in
        ["device_latency=100us", "submission=1us", "queued_call=1us", "device_byte=0", "device_depth=64"]
    {
        model.set(set).unwrap();
    }
    let alone = per_second(&[queued(1)], &model);
    let sync = Job { engine: Engine::Psync, ..queued(1) };
    assert!((alone / per_second(&[sync], &model) - 1.0).abs() < 0.03, "one request is a call");
    let four = per_second(&[queued(4)], &model);
    assert!((3.8..4.05).contains(&(four / alone)), "{four} against {alone}");
    // The device's own work for each request.
    model.set("device_read_request=10us").unwrap();
    let most = 1e5;
    for jobs in [vec![queued(64)], vec![Job { numjobs: 2, ..queued(32) }]] {
        let rate = per_second(&jobs, &model);
        assert!((0.9 * most..1.01 * most).contains(&rate), "{rate}");
    }
    // And the caller's: two callers do twice as much, if each has a CPU.
    model.set("device_read_request=0").unwrap();
    model.set("queued_call=20us").unwrap();
    let one = per_second(&[queued(64)], &model);
    let two = Job { numjobs: 2, ..queued(64) };
    let both = per_second(std::slice::from_ref(&two), &model);
    assert!((1.9..2.05).contains(&(both / one)), "{both} against {one}");
    model.set("cpus=1").unwrap();
    let shared = per_second(&[two], &model);
    assert!((0.9..1.05).contains(&(shared / one)), "{shared} against {one}");
}

#[test]
fn who_is_answered_once_for_all_waits_for_all() {
    let mut model = silent();
    for set in
        ["device_latency=40us", "submission=0", "queued_call=0", "device_byte=0", "device_read_request=10us"]
    {
        model.set(set).unwrap();
    }
    let each = |answers: &str, depth: u32| {
        let mut model = model.clone();
        model.set(&format!("answers={answers}")).unwrap();
        1e6 / per_second(&[queued(depth)], &model)
    };
    assert!((each("each", 16) / 10.0 - 1.0).abs() < 0.1, "latency and service overlap");
    let alone = each("each", 1);
    for depth in [1, 2, 4, 8, 16, 32] {
        let (took, wanted) = (each("together", depth), 10.0 + (alone - 10.0) / f64::from(depth));
        assert!((took / wanted - 1.0).abs() < 0.07, "{depth} under way: {took} us each instead of {wanted}");
    }
}

#[test]
fn a_file_may_end_before_a_direct_read_and_a_direct_write_lengthens_it() {
    let odd =
        Job { size: Some((1 << 20) + 512), blocks: [Blocks::fixed(4096); 2], direct: true, ..job("odd") };
    let predicted = predict(std::slice::from_ref(&odd), &silent(), QUICK).unwrap();
    assert_eq!(predicted.outcomes[0][0].calls(), 256);
    let new = Job { read_percent: 0, allocate: false, ..odd };
    let predicted = predict(&[new], &silent(), QUICK).unwrap();
    assert_eq!(predicted.outcomes[0][0].transfers[Direction::Write as usize].latency.count(), 256);
}

#[test]
fn what_comes_before_a_ramp_or_a_delay_ends_does_not_count() {
    let ms = std::time::Duration::from_millis;
    let timed = Job { pre_read: true, time_based: true, runtime: ms(3), ..job("timed") };
    let mut late = Job { ramp_time: ms(2), ..timed.clone() };
    late.course.start_delay.0 = ms(5);
    for late in [late.clone(), Job { engine: Engine::Libaio, direct: true, pre_read: false, ..late }] {
        let plain = Job { ramp_time: ms(0), course: timed.course.clone(), ..late.clone() };
        let of = |job: Job| predict(&[job], &silent(), QUICK).unwrap().outcomes[0][0].clone();
        let [late, plain] = [late, plain].map(of);
        let [calls, plain_calls] = [&late, &plain].map(|one| one.calls() as f64);
        assert!((0.98..1.02).contains(&(calls / plain_calls)), "{calls} against {plain_calls}");
        assert!((late.elapsed_ns as f64 / plain.elapsed_ns as f64 - 1.0).abs() < 0.05);
    }
}

/// A run that is ended early goes on as it was at last, and not as it began.
#[test]
fn how_a_run_begins_counts_once() {
    let mut parameters = silent().parameters;
    for set in
        [("server_near", "2e8"), ("server_apart", "2e5"), ("device_latency", "5e4"), ("write_through", "1e6")]
    {
        parameters.set(set.0, set.1).unwrap();
    }
    let calls = |seconds| {
        let job = Job {
            direct: true,
            pattern: Pattern::Random,
            size: Some(64 << 20),
            time_based: true,
            runtime: Duration::from_secs(seconds),
            ..Job::named("direct")
        };
        simulate(&[job], &parameters, 1).unwrap()[0][0].calls() as f64
    };
    let [one, hundred] = [1, 100].map(calls);
    let each = (hundred - one) / 99.0;
    // A fifth of the first second is five times as fast, but for its bytes.
    assert!((1.5..1.9).contains(&(one / each)), "{one} in the first second, {each} in each of the others");
}

#[test]
fn what_fio_does_itself_is_part_of_what_it_prints() {
    let mut model = Model::assumed();
    assert_eq!(model.runner(), Runner::Fathom);
    ["fio_call=300ns", "fio_async_call=700ns", "caller=20ns"].iter().for_each(|set| model.set(set).unwrap());
    assert_eq!(model.runner(), Runner::Fio);
    let per_call = |by: Runner, engine: Engine| {
        let mut model = model.clone();
        model.parameters.choices.runner = by;
        let job = Job { pre_read: true, engine, size: Some(4 << 20), ..Job::named("cached") };
        let outcomes = simulate(&[job], &model.parameters, 1).unwrap();
        outcomes[0][0].elapsed_ns as f64 / outcomes[0][0].calls() as f64
    };
    let more = |engine| per_call(Runner::Fio, engine) - per_call(Runner::Fathom, engine);
    assert!((more(Engine::Psync) - 280.0).abs() < 5.0, "{}", more(Engine::Psync));
    assert!((more(Engine::Libaio) - 980.0).abs() < 5.0, "{}", more(Engine::Libaio));
}
