//! Devices: what stands for what.

use super::*;

/// Bytes a second of writing 64 MiB in order and syncing it, and of reading it cold.
fn rates(settings: &[(&str, &str)]) -> [f64; 2] {
    let parameters = silent().with(settings);
    let path = Path::new(&parameters);
    let mut state = State::new(&parameters);
    let file = state.create();
    let call = |kind, at: u64| Call::new(kind, file).at(at << 20, 1 << 20);
    let mut writes: Vec<Call> = (0..64).map(|at| call(CallKind::Write, at)).collect();
    writes.push(call(CallKind::Fsync, 0));
    let mut state = path.run(repeated(writes, 1), state, 1);
    let written = state.now().as_ticks();
    state.evict(file);
    let reads = (0..64).map(|at| call(CallKind::Read, at)).collect();
    let read = path.run(repeated(reads, 1), state, 1).now().as_ticks() - written;
    [written, read].map(|took| f64::from(64 << 20) / took as f64 * 1e9)
}

fn within(share: f64, rate: f64, wanted: f64) -> bool {
    (rate / wanted - 1.0).abs() < share
}

#[test]
fn a_token_bucket_gives_each_direction_what_it_is_sold() {
    let bucket = ("device", "token_bucket");
    let rates_are = [("limit_write_rate", "50M"), ("limit_read_rate", "200M"), ("limit_burst", "0")];
    let [write, read] = rates(&[&[bucket], rates_are.as_slice()].concat());
    assert!(within(0.03, write, 52_428_800.0) && within(0.03, read, 209_715_200.0), "{write} {read}");
    // Requests of 1 MiB: 100 a second, and those of the first tenth of a second at once.
    let [write, _] = rates(&[bucket, ("limit_write_iops", "100")]);
    assert!(within(0.03, write, 104_857_600.0 * 64.0 / 53.0), "{write}");
}

#[test]
fn writing_may_cost_another_price_than_reading() {
    let [write, read] = rates(&[("device_write_byte", "8"), ("readahead", "1M")]);
    assert!(within(0.1, write, 125e6) && read > 5e8, "{write} {read}");
}

#[test]
fn of_writes_that_wait_each_takes_its_turn_and_all_are_noticed_at_once() {
    let took = |apart: u64| {
        let mut parameters = silent();
        parameters.set("device_write_request", "20us").unwrap();
        parameters.set("device_depth", "1").unwrap();
        let (state, file) = machine(&parameters, 1 << 20);
        let write = |at: u64| Call::new(CallKind::Write, file).at(at * apart, 4096);
        let mut calls: Vec<Call> = (0..8).map(write).collect();
        calls.push(Call::new(CallKind::Fsync, file));
        Path::new(&parameters).run(repeated(calls, 1), state, 1).done()[8].took_ns()
    };
    let around = 400 + 12_000 + 90_000 + 8 * 4096 + 300_000;
    assert_eq!([took(4096), took(8192)], [around + 20_000, around + 8 * 20_000]);
}

#[test]
fn a_group_holds_what_its_programs_ask_for_and_not_what_the_journal_writes() {
    // A page and a sync, 500 times: the page, and three blocks of the journal.
    let synced = |limited: &str| {
        let settings = [
            ("device", "token_bucket"),
            ("journal", "ordered"),
            ("limit_write_rate", "4M"),
            ("limited", limited),
        ];
        let settings = [&settings[..], &[("journal_blocks", "0"), ("limit_burst", "0")]].concat();
        let parameters = silent().with(&settings);
        let mut state = State::new(&parameters);
        let file = state.create();
        let pair =
            |at: u64| [Call::new(CallKind::Write, file).at(at << 12, 4096), Call::new(CallKind::Fsync, file)];
        Path::new(&parameters).run(repeated((0..500).flat_map(pair).collect(), 1), state, 1).now().as_ticks()
            as f64
    };
    let [all, files, callers] = ["all", "files", "callers"].map(synced);
    assert!(within(0.01, files, callers), "nothing is written in the background: {files} {callers}");
    assert!((3.9..4.1).contains(&(all / files)), "{all} {files}");
}

#[test]
fn a_server_on_its_callers_cpu_answers_sooner_until_it_leaves() {
    let made = |settings: &str, calls: u64, kind: &dyn Fn(u64) -> CallKind| {
        let mut parameters = silent();
        for setting in settings.split(" ") {
            let (name, value) = setting.split_once("=").unwrap();
            parameters.set(name, value).unwrap();
        }
        let (mut state, file) = machine(&parameters, 1 << 20);
        state.files.of(file).is_direct = true;
        let call = |at: u64| Call::new(kind(at), file).at(at % 256 * 4096, 4096);
        let state = Path::new(&parameters).run(repeated((0..calls).map(call).collect(), 1), state, 1);
        state.done().iter().map(|done| done.took_ns()).collect::<Vec<_>>()
    };
    let each = |settings: &str, calls: u64| made(settings, calls, &|_| CallKind::Read);
    let server = "wake=3us submission=0 device_latency=7us device_byte=0 server_apart=30us";
    let took = each(&format!("{server} server_near=1ms"), 150);
    let sooner = took.iter().filter(|&&took| took < 20_000).count();
    assert!((85..=100).contains(&sooner), "10 us and the call each, for 1 ms: {sooner} {}", took[0]);
    assert!(took[sooner..].iter().all(|&took| took > 40_000), "40 us each after that");
    // A thread that sleeps two fifths of the time never fills its CPU as far as one does that works for 100 ms.
    let sync = |at: u64| if at % 40 == 39 { CallKind::Fdatasync } else { CallKind::Read };
    let server = format!("{server} server_near=100ms device_flush=300us");
    let near = |took: Vec<u64>| took.iter().filter(|&&took| took < 20_000).count();
    let plain = near(each(&server, 20_000));
    assert!((9_000..=10_000).contains(&plain), "{plain}");
    assert_eq!(near(made(&server, 20_000, &sync)), 19_500);
    // Once it has left, a sync does not bring it back.
    let late = |at: u64| if at > 15_000 { sync(at) } else { CallKind::Read };
    assert_eq!(near(made(&server, 20_000, &late)), plain);
}

#[test]
fn blocks_that_were_never_written_take_a_direct_write_longer_once() {
    let mut parameters = silent();
    for (name, value) in [("unwritten_call", "3us"), ("unwritten_byte", "2")] {
        parameters.set(name, value).unwrap();
    }
    let mut state = State::new(&parameters);
    let file = state.create();
    state.lengthen(file, 1 << 20);
    state.files.of(file).is_direct = true;
    let write = |page: u64| Call::new(CallKind::Write, file).at(page * 4096, 4096);
    let calls = [0, 0, 7, 7].map(write).to_vec();
    let state = Path::new(&parameters).run(repeated(calls, 1), state, 1);
    let took: Vec<_> = state.done().iter().map(|done| done.took_ns()).collect();
    assert_eq!([took[0] - took[1], took[2] - took[3]], [3_000 + 2 * 4096; 2]);
}

#[test]
fn on_a_disk_it_is_the_order_of_requests_that_counts() {
    let mut parameters = silent();
    parameters.set("device", "disk_with_seeks").unwrap();
    parameters.set("device_byte", "5").unwrap();
    let (mut state, file) = machine(&parameters, 64 << 20);
    state.evict(file);
    let path = Path::new(&parameters);
    let read = |at: u64| Call::new(CallKind::Read, file).at(at << 12, 4096);
    let in_order = path.run(repeated((0..4096).map(read).collect(), 1), state.clone(), 1);
    let about = path.run(repeated((0..256).map(|at| read(at * 7919 % 16_384)).collect(), 1), state, 1);
    let each = |state: &State, calls: u64| state.now().as_ticks() / calls;
    assert!(each(&in_order, 4096) < 30_000, "5 ns a byte: {}", each(&in_order, 4096));
    assert!((4_000_000..8_000_000).contains(&each(&about, 256)), "half a turn: {}", each(&about, 256));
}
