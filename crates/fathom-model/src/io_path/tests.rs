use fathom_program::program::{numbered, repeated};

use super::*;
use crate::page_cache::FileId;
use crate::parameters::Scalar;

fn silent() -> Parameters {
    let mut parameters = Parameters::assumed();
    parameters.put_value(Scalar::Noise, 0.0);
    parameters
}

fn reads(file: FileId, bytes: u64, count: u64) -> Vec<Call> {
    (0..count).map(|at| Call::new(CallKind::Read, file).at(at * bytes, bytes)).collect()
}

fn machine(parameters: &Parameters, size: u64) -> (State, FileId) {
    let mut state = State::new(parameters);
    let file = state.create();
    state.fill(file, size);
    (state, file)
}

#[test]
fn a_cached_read_costs_a_call_and_a_copy() {
    let parameters = silent();
    let (state, file) = machine(&parameters, 1 << 20);
    let after = Path::new(&parameters).run(repeated(reads(file, 4096, 256), 1), state, 1);
    assert!(after.done().iter().all(|done| done.took_ns() == 400 + 410), "{:?}", after.done()[0]);
    assert_eq!(after.done().len(), 256);
}

#[test]
fn a_cold_read_waits_for_its_window_and_the_next_finds_it_there() {
    let parameters = silent();
    let (mut state, file) = machine(&parameters, 1 << 20);
    state.evict(file);
    let after = Path::new(&parameters).run(repeated(reads(file, 4096, 4), 1), state, 1);
    let took: Vec<u64> = after.done().iter().map(Done::took_ns).collect();
    // Call, submission, latency, 16 KiB at a ns a byte, copy.
    assert_eq!(took[0], 400 + 12_000 + 80_000 + 16_384 + 410);
    // The second touches the mark, and pays for handing in the next window.
    assert_eq!(took[1..], [400 + 410 + 12_000, 810, 810]);
}

#[test]
fn reading_in_order_is_bound_by_the_device_and_reading_ahead_hides_its_latency() {
    let parameters = silent();
    let rate = |window: &str, kib: u64| {
        let mut parameters = parameters.clone();
        parameters.set("readahead", window).unwrap();
        let (mut state, file) = machine(&parameters, 16 << 20);
        state.evict(file);
        let reads = reads(file, kib << 10, (16 << 10) / kib);
        let after = Path::new(&parameters).run(repeated(reads, 1), state, 1);
        f64::from(16 << 20) / after.now().as_ticks() as f64
    };
    let (with, without) = (rate("512K", 64), rate("0", 4));
    assert!(with > 0.95 && with <= 1.0, "the device moves a byte per ns: {with}");
    assert!(without < 0.05, "each page waits for the device: {without}");
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_device_another() {
    let parameters = Parameters::assumed();
    let mut other = parameters.clone();
    other.set("device", "plain_queue").unwrap();
    let (mut state, file) = machine(&parameters, 4 << 20);
    state.evict(file);
    let path = Path::new(&parameters);
    let run = |path: &Path, seed| {
        let after = path.run(repeated(reads(file, 16_384, 256), 1), state.clone(), seed);
        after.done().iter().map(Done::took_ns).sum::<u64>()
    };
    assert_eq!(run(&path, 1), run(&path, 1));
    assert_ne!(run(&path, 1), run(&path, 2));
    assert_ne!(run(&path, 1), run(&Path::new(&other), 1));
}

#[test]
fn a_sync_waits_for_every_dirty_page_and_leaves_none() {
    let parameters = silent();
    let mut state = State::new(&parameters);
    let file = state.create();
    let mut calls: Vec<Call> = (0..8).map(|at| Call::new(CallKind::Write, file).at(at << 20, 4096)).collect();
    calls.push(Call::new(CallKind::Fsync, file));
    calls.push(Call::new(CallKind::Fsync, file));
    let after = Path::new(&parameters).run(repeated(calls, 1), state, 1);
    assert_eq!(after.cache().dirty_pages(), 0);
    let took: Vec<u64> = after.done().iter().map(Done::took_ns).collect();
    assert_eq!(took[0], 400 + 410 + 1_300 + 300);
    assert_eq!(took[8], 400 + 12_000 + 90_000 + 8 * 4096 + 300_000);
    assert_eq!(took[9], 400 + 100_000, "nothing is left to commit");
}

#[test]
fn two_readers_of_one_cold_page_wait_for_the_same_request() {
    let parameters = silent();
    let (mut state, file) = machine(&parameters, 1 << 20);
    state.evict(file);
    let read = move |_, number| (number == 0).then(|| (0, Call::new(CallKind::Read, file).at(0, 4096)));
    let after = Path::new(&parameters).run(numbered(2, read), state, 1);
    assert_eq!(after.done().len(), 2);
    assert!(after.done().iter().all(|done| done.took_ns() > 100_000));
}

#[test]
fn o_direct_leaves_nothing_in_the_cache() {
    let parameters = silent();
    let (mut state, file) = machine(&parameters, 1 << 20);
    state.evict(file);
    let mut calls = vec![Call::new(CallKind::OpenDirect, file)];
    calls.extend(reads(file, 4096, 4));
    let after = Path::new(&parameters).run(repeated(calls, 1), state, 1);
    assert_eq!(after.cache().pages(), 0);
    assert_eq!(after.done()[3].took_ns(), 400 + 12_000 + 80_000 + 4096);
}

#[test]
fn what_is_cached_can_be_looked_at_on_the_way() {
    let parameters = silent();
    let (mut state, file) = machine(&parameters, 1 << 20);
    state.evict(file);
    let look = |offset| Call::new(CallKind::Look, file).at(offset, 8192);
    let calls = vec![look(0), reads(file, 4096, 1)[0], look(0), look(1 << 19)];
    let after = Path::new(&parameters).run(repeated(calls, 1), state, 1);
    let cached: Vec<_> = after.done().iter().map(|done| done.cached).collect();
    assert_eq!(cached, [Some([0, 2]), None, Some([2, 2]), Some([0, 2])]);
}

#[test]
fn pages_on_their_way_survive_an_eviction_as_on_linux() {
    let mut parameters = silent();
    parameters.set("readahead", "32K").unwrap();
    let (mut state, file) = machine(&parameters, 1 << 20);
    state.evict(file);
    let call = |kind, offset| Call::new(kind, file).at(offset, 4096);
    // The second read touches the mark, and the window that follows is locked while it is read.
    let calls = vec![
        call(CallKind::Read, 0),
        call(CallKind::Read, 4096),
        call(CallKind::Evict, 0),
        call(CallKind::Look, 8192),
    ];
    let after = Path::new(&parameters).run(repeated(calls, 1), state, 1);
    assert_eq!(after.done()[3].cached, Some([1, 1]));
}

#[test]
fn what_comes_round_is_what_is_visited_of_a_file() {
    let mut parameters = silent();
    parameters.set("near_cache", "1M").unwrap();
    parameters.set("far_4k", "1us").unwrap();
    let took = |visited: u64| {
        let (mut state, file) = machine(&parameters, 64 << 20);
        state.visit(file, visited);
        let after = Path::new(&parameters).run(repeated(reads(file, 4096, 16), 1), state, 1);
        [7, 8].map(|read| after.done()[read].took_ns() - 410)
    };
    // Untouched data are far. From the second round on they are near, if a round is small.
    assert_eq!([took(32 << 10), took(0), took(1 << 40)], [[1400, 400], [1400; 2], [1400; 2]]);
}

#[test]
fn what_nobody_asks_for_is_not_drawn() {
    let layers = ["application", "system call", "read", "write", "journal", "flusher", "device"];
    assert_eq!(Path::new(&Parameters::assumed()).modules(), layers);
    let is_drawn = |name: &str, value: &str, layer: &str| {
        let mut parameters = silent();
        parameters.set(name, value).unwrap();
        let path = Path::new(&parameters);
        path.modules().iter().any(|module| module == layer)
            && path.picture(View::Module(layer), &parameters, Some(40)).is_some()
    };
    assert!(is_drawn("stdio_buffer", "4096", "stdio"));
    assert!(is_drawn("scheduler", "mq-deadline", "scheduler") && is_drawn("wbt_lat", "75ms", "scheduler"));
    assert!(is_drawn("allocation", "delayed", "allocation"));
}

mod allocation;
mod devices;
mod journal;
mod scheduler;
mod stdio;
mod writing;
