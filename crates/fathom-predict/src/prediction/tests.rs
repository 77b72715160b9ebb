use super::*;
use crate::model::{Journal, Origin, Residual, Tail};
use fathom_program::job::{Blocks, Engine};

fn silent() -> Model {
    let mut model = Model::assumed();
    model.set("noise=0").unwrap();
    model
}

fn job(name: &str) -> Job {
    Job { size: Some(1 << 20), ..Job::named(name) }
}

#[test]
fn a_cached_job_costs_calls_and_copies_and_what_is_between() {
    let mut model = silent();
    model.set("caller=30ns").unwrap();
    let told = predict(&[Job { pre_read: true, ..job("cached") }], &model, Settings::default()).unwrap();
    let one = &told.outcomes[0][0];
    assert_eq!(one.cached_before, Some(Cached { cached: 256, pages: 256 }));
    assert_eq!(one.transfers[0].latency.mean(), 810.0);
    assert_eq!(one.elapsed_ns, 256 * 840);
    let side = &told.forecasts[0].sides[0];
    assert_eq!(side.bytes_per_second.value, 4096.0 / 840.0 * 1e9);
    assert_eq!(side.bytes_per_second.low, side.bytes_per_second.value, "nothing is uncertain");
    assert!(told.forecasts[0].caveats[0].contains("cached_sequential_read"));
}

#[test]
fn intervals_carry_those_of_the_parameters_and_the_model_s_own_error() {
    let mut model = silent();
    let call = Parameter { value: 400.0, interval: Some([320.0, 480.0]), origin: Origin::Measured };
    model.parameters.put(Scalar::Call, call);
    let jobs = [Job { pre_read: true, ..job("cached") }];
    let rate = |model: &Model| {
        predict(&jobs, model, Settings { draws: 60, seed: 3 }).unwrap().forecasts[0].sides[0].bytes_per_second
    };
    let narrow = rate(&model);
    // A deviation of the call is 40.8 of 810 ns.
    let reach = (narrow.high / narrow.value).ln();
    assert!((reach - 1.645 * 40.8 / 810.0).abs() < 0.03, "{reach}");
    let tail = |share, factor| Tail { share, factor, added_ns: 0.0, spread: 0.2 };
    let latencies = vec![tail(0.5, 1.0), tail(0.99, 1.5)];
    let residual = Residual { jobs: 4, mean_error: 0.1, spread: 0.12, latencies };
    model.residuals.insert("cached_sequential_read".to_owned(), residual);
    let seen = rate(&model);
    // Student's t of four freedoms.
    assert!(((seen.high / seen.value).ln() - 2.132 * 0.12).abs() < 1e-3, "{seen:?}");
    let told = predict(&jobs, &model, Settings::default()).unwrap();
    let latency = &told.forecasts[0].sides[0].latency;
    assert!((latency.p99_ns.value / latency.median_ns.value - 1.5).abs() < 0.02, "{latency:?}");
    assert!(latency.p999_ns.value >= latency.p99_ns.value);
}

#[test]
fn the_longest_of_a_few_calls_is_none_of_a_hundred() {
    let tail = |share, factor, added_ns| Tail { share, factor, added_ns, spread: 0.1 };
    let latencies =
        vec![tail(0.5, 1.0, 0.0), tail(0.9, 1.2, 10.0), tail(0.99, 2.0, 110.0), tail(0.999, 4.0, 210.0)];
    let residual = Residual { latencies, ..Residual::default() };
    let told = |share, calls| residual.latency(share, calls, 1000.0).value;
    // Among very many calls each level is its own.
    let many = [0.5, 0.9, 0.99, 0.999].map(|share| told(share, 100_000_000));
    for (told, wanted) in many.into_iter().zip([1000.0, 1210.0, 2110.0, 4210.0]) {
        assert!((told / wanted - 1.0).abs() < 1e-4, "{many:?}");
    }
    // Of three the longest lies at 0.8: log(0.5 / 0.2) / log(5) of the way from 0.5 to 0.9.
    let way = 2.5_f64.ln() / 5.0_f64.ln();
    let longest = 1000.0 * (way * 1.2_f64.ln()).exp() + way * 10.0;
    assert!([0.9, 0.99, 0.999].iter().all(|&share| (told(share, 3) - longest).abs() < 1e-6));
    // Of 24 it lies between the two levels around it, of 1,000 nearly at its own.
    assert!(told(0.99, 24) > 1210.0 && told(0.99, 24) < 2110.0);
    assert!((told(0.99, 1_000) / 2110.0 - 1.0).abs() < 0.02);
    assert_eq!([told(0.99, 1), told(0.5, 2), told(0.99, 0)].map(f64::round), [1000.0, 1000.0, 2110.0]);
}

#[test]
fn the_interval_of_a_job_that_ends_as_a_slice_does_reaches_into_the_next() {
    let mut model = silent();
    ["device=token_bucket", "limit_slice=100ms", "limit_read_rate=10M", "submission=0", "device_latency=1us"]
        .iter()
        .for_each(|typed| model.set(typed).unwrap());
    let residual = Residual { jobs: 40, spread: 0.001, ..Default::default() };
    model.residuals.insert("cold_sequential_read".to_owned(), residual);
    let rate = |kib: u64| {
        let cold = Job { blocks: [Blocks::fixed(16 << 10); 2], size: Some(kib << 10), ..job("cold") };
        predict(&[cold], &model, Settings::default()).unwrap().forecasts[0].sides[0].bytes_per_second
    };
    let wide = |rate: Estimate| (rate.high / rate.low).ln();
    // Slices of one MiB: a job of 4.9 MiB waits for four of them, with a little more or less for the same; one of 5 MiB
    // may wait for five.
    let [within, at_its_end] = [4_500, 5_120].map(rate).map(wide);
    assert!(within < 0.06 && at_its_end > 0.15, "{within} {at_its_end}");
}

#[test]
fn a_sync_of_data_alone_waits_for_no_journal_where_they_had_their_place() {
    let mut model = silent();
    model.parameters.choices.journal = Journal::Ordered;
    let over = Job { pre_read: true, read_percent: 1, filesize: Some(1 << 20), ..job("over") };
    let syncs = |fsync, fdatasync| {
        let one = Job { fsync, fdatasync, ..over.clone() };
        let told = predict(&[one], &model, Settings { draws: 0, seed: 1 }).unwrap();
        let syncs = &told.outcomes[0][0].syncs;
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
    let told = predict(&[timed], &model, Settings { draws: 0, seed: 1 }).unwrap();
    assert!((3_000_000..3_001_000).contains(&told.outcomes[0][0].elapsed_ns));
    let pauses = Job { pre_read: true, thinktime: std::time::Duration::from_micros(10), ..job("pauses") };
    let told = predict(&[pauses], &model, Settings { draws: 0, seed: 1 }).unwrap();
    assert_eq!(told.outcomes[0][0].elapsed_ns, 256 * 10_810);
}

#[test]
fn what_the_model_has_no_part_for_is_refused_by_name() {
    let model = Model::assumed();
    let shared = Job { filename: Some("one".to_owned()), numjobs: 2, ..job("shared") };
    let with = |change: fn(&mut Job)| {
        let mut job = job("a");
        change(&mut job);
        job
    };
    for (job, word) in [
        (Job { engine: Engine::Mmap, ..job("a") }, "ioengine=mmap"),
        (Job { direct: true, read_percent: 50, ..job("a") }, "direct=1"),
        (Job { rate: [1, 0], ..job("a") }, "rate="),
        (Job { ramp_time: std::time::Duration::from_secs(1), ..job("a") }, "ramp_time="),
        (with(|job| job.rates.iops[0] = 9), "rate_iops="),
        (with(|job| job.course.start_delay.0 = std::time::Duration::from_secs(1)), "startdelay="),
        (with(|job| job.files.create_only = true), "create_only="),
        (with(|job| (job.files.overwrite, job.read_percent) = (true, 0)), "overwrite="),
        (shared, "'one'"),
    ] {
        let error = predict(&[job], &model, Settings::default()).unwrap_err();
        assert!(error.contains(word) && error.starts_with('['), "{error}");
    }
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
