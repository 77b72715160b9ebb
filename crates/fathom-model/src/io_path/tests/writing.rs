//! Writes: folios, limits of dirty data, and who brings them to the device.

use super::*;

fn writes(file: FileId, bytes: u64, count: u64) -> Vec<Call> {
    (0..count).map(|at| Call::new(CallKind::Write, file).at(at * bytes, bytes)).collect()
}

fn pause() -> Call {
    Call::new(CallKind::Pause, FileId(0))
}

/// A wait of so many ns, and a call, each time.
fn spaced(calls: Vec<(u64, Call)>) -> Program<impl Thread + Send + 'static> {
    numbered(1, move |_, number| calls.get(number as usize).copied())
}

fn limited() -> Parameters {
    silent().with(&[("dirty_bytes", "200M"), ("dirty_background_bytes", "64M"), ("device_byte", "10")])
}

#[test]
fn a_folio_is_as_large_as_the_write_that_makes_it_and_as_aligned() {
    let parameters = silent();
    let mut state = State::new(&parameters);
    let file = state.create();
    let write = |offset, bytes| Call::new(CallKind::Write, file).at(offset, bytes);
    let calls = vec![write(0, 65_536), write(65_536, 24_576), write(90_112, 100), write(94_208, 1 << 20)];
    let after = Path::new(&parameters).run(repeated(calls, 1), state, 1);
    let sizes: Vec<u64> = [0, 15, 16, 20, 21, 22, 23, 24, 32, 64, 128, 256]
        .into_iter()
        .map(|index| after.cache().folio(file, index).unwrap().pages)
        .collect();
    assert_eq!(sizes, [16, 16, 4, 2, 2, 1, 1, 8, 32, 64, 128, 16]);
    assert_eq!(after.done()[0].took_ns(), 400 + 6_554 + 1_300 + 15 * 150 + 16 * 300);
}

#[test]
fn writers_pause_from_the_mean_of_both_thresholds_on_and_then_go_at_the_pace_of_the_device() {
    let parameters = limited();
    let mut state = State::new(&parameters);
    let file = state.create();
    state.fill(file, 1 << 30);
    let after = Path::new(&parameters).run(repeated(writes(file, 1 << 20, 1024), 1), state, 1);
    let took: Vec<u64> = after.done().iter().map(Done::took_ns).collect();
    let first = took.iter().position(|&took| took > 2_000_000).unwrap();
    // 132 MiB, and what the device took meanwhile.
    assert!((130..140).contains(&first), "{first}");
    let pace = took[512..].iter().sum::<u64>() as f64 / 512.0;
    assert!((0.9..1.1).contains(&(pace / 10_485_760.0)), "{pace} ns for a MiB");
    let [dirty, writeback] = after.dirty_and_writeback();
    assert!(dirty <= 64 << 8 && writeback == 0, "the flusher leaves what is below the threshold: {dirty}");
}

#[test]
fn a_timer_brings_old_data_to_the_device_and_leaves_young_ones() {
    let parameters = silent();
    let after = |seconds: u64| {
        let mut state = State::new(&parameters);
        let file = state.create();
        let calls = vec![(0, writes(file, 1 << 20, 1)[0]), (seconds * 1_000_000_000, pause())];
        Path::new(&parameters).run(spaced(calls), state, 1).dirty_and_writeback()[0]
    };
    // Looked at each 5 s, and 30 s old a bit after the look of that time.
    assert_eq!((after(29), after(36)), (256, 0));
}

#[test]
fn the_flusher_writes_what_is_dirty_where_memory_is_short_of_anything_else() {
    let mut parameters = silent();
    parameters.set("cache", "16M").unwrap();
    let after = |cold: u64| {
        let mut state = State::new(&parameters);
        let [read, written] = [state.create(), state.create()];
        state.fill(read, 64 << 20);
        let mut calls = writes(written, 1 << 16, 8 << 4);
        calls.extend(reads(read, 1 << 16, cold << 4));
        let after = Path::new(&parameters).run(repeated(calls, 1), state, 1);
        after.dirty_and_writeback()[0]
    };
    // Eight MiB of it are dirty, and as long as others can go, they go.
    assert_eq!([after(0), after(4)], [2048, 2048]);
    assert_eq!(after(64), 0, "those of the reader are young or gone");
}

#[test]
fn a_jump_over_what_is_there_costs_more_where_it_is_clean() {
    let took = |over: &str| -> Vec<u64> {
        let mut parameters = silent();
        parameters.set("jumped_over", over).unwrap();
        let (state, file) = machine(&parameters, 1 << 20);
        // Two pages that were clean, the first of them again, the one after it, and a new one.
        let calls = [7, 90, 7, 8, 300].map(|page| Call::new(CallKind::Write, file).at(page * 4096, 4096));
        let after = Path::new(&parameters).run(repeated(calls.to_vec(), 1), state, 1);
        after.done().iter().map(Done::took_ns).collect()
    };
    let more: Vec<u64> = took("5000").iter().zip(took("0")).map(|(with, without)| with - without).collect();
    assert_eq!(more, [5_000, 5_000, 0, 0, 0]);
}

#[test]
fn a_writer_of_more_than_memory_holds_has_the_flusher_write_before_any_threshold() {
    let mut parameters = silent();
    parameters.set("cache", "16M").unwrap();
    let mut state = State::new(&parameters);
    let file = state.create();
    let after = Path::new(&parameters).run(repeated(writes(file, 1 << 16, 64 << 4), 1), state, 1);
    let [dirty, writeback] = after.dirty_and_writeback();
    assert!(dirty < 8_192 && writeback == 0, "{dirty} and {writeback} of 16,384 pages");
}

#[test]
fn what_is_dirty_ages_from_run_to_run() {
    let parameters = silent();
    let mut state = State::new(&parameters);
    let file = state.create();
    let path = Path::new(&parameters);
    let mut state = path.run(repeated(writes(file, 4096, 1), 1), state, 1);
    for _ in 0..40 {
        assert!(state.now().as_ticks() < 36_000_000_000 || state.dirty_and_writeback()[0] == 0);
        state = path.run(spaced(vec![(1_000_000_000, pause())]), state, 1);
    }
    assert_eq!(state.dirty_and_writeback(), [0, 0]);
}

#[test]
fn a_sync_takes_time_for_each_folio_and_each_page_that_it_writes() {
    let sync_ns = |bytes: u64, costs: &[(&str, &str)]| {
        let parameters = silent().with(costs);
        let mut state = State::new(&parameters);
        let file = state.create();
        let mut calls = writes(file, bytes, (1 << 20) / bytes);
        calls.push(Call::new(CallKind::Fsync, file));
        let after = Path::new(&parameters).run(repeated(calls, 1), state, 1);
        after.done().last().unwrap().took_ns()
    };
    let costly = [("written_folio", "1000"), ("written_page", "100")];
    for (bytes, folios) in [(4_096, 256), (65_536, 16)] {
        let longer = sync_ns(bytes, &costly) - sync_ns(bytes, &[]);
        assert_eq!(longer, folios * 1_000 + 256 * 100, "written by {bytes}");
    }
}

#[test]
fn a_sync_waits_for_what_the_flusher_has_sent_off_too() {
    let mut parameters = limited();
    parameters.set("journal_commit", "0").unwrap();
    parameters.set("device_flush", "0").unwrap();
    let mut state = State::new(&parameters);
    let file = state.create();
    let mut calls = writes(file, 1 << 20, 100);
    calls.push(Call::new(CallKind::Fsync, file));
    let after = Path::new(&parameters).run(repeated(calls, 1), state, 1);
    let all = after.done()[100].span[1].as_ticks();
    assert_eq!(after.dirty_and_writeback(), [0, 0]);
    assert!((1.0..1.1).contains(&(all as f64 / (100 << 20) as f64 / 10.0)), "{all}");
}

#[test]
fn an_eviction_takes_what_the_device_takes_and_only_pages_that_are_dirty_are_written() {
    let parameters = silent();
    let mut state = State::new(&parameters);
    let file = state.create();
    state.fill(file, 4 << 20);
    // A page of a large folio: the folio is dirty, and the page is written.
    let mut calls = vec![Call::new(CallKind::Write, file).at(8192, 4096)];
    calls.push(Call::new(CallKind::Evict, file));
    let after = Path::new(&parameters).run(repeated(calls, 1), state, 1);
    assert_eq!(after.cache().pages(), 0);
    assert_eq!(after.done()[1].took_ns(), 12_000 + 90_000 + 4096);
}

/// `count` jobs that write a file each.
/// What it took on Linux 6.18 to write with `dd` to ext4 on a loop device over memory that a group throttled:
/// the runs whose pauses `tests/balance_agreement.rs` looks at.
#[test]
fn throttled_runs_take_what_they_took() {
    let took = |[rate, background, limit]: [&str; 3], blocks: &[u64], each: u64| {
        let mut parameters = silent();
        for (name, value) in [
            ("device", "token_bucket"),
            ("limit_write_rate", rate),
            ("dirty_background_bytes", background),
            ("dirty_bytes", limit),
            ("device_byte", "0.1"),
            // What the first events of both runs show.
            ("write_bandwidth", "55M"),
        ] {
            parameters.set(name, value).unwrap();
        }
        let mut state = State::new(&parameters);
        let files: Vec<_> = blocks.iter().map(|&bytes| (state.create(), bytes)).collect();
        let program = numbered(files.len() as u32, move |job, number| {
            let (file, bytes) = files[job as usize];
            let offset = number * bytes;
            (offset < each).then(|| (0, Call::new(CallKind::Write, file).at(offset, bytes)))
        });
        let after = Path::new(&parameters).run(program, state, 1);
        after.done().iter().map(|done| done.span[1].as_ticks()).max().unwrap() as f64 / 1e9
    };
    let one = took(["100M", "64M", "200M"], &[1 << 20], 700 << 20);
    let two = took(["30M", "20M", "60M"], &[64 << 10, 1 << 20], 150 << 20);
    for (simulated, real) in [(one, 5.82), (two, 8.58)] {
        assert!((simulated / real - 1.0_f64).abs() < 0.1, "{simulated} s, not {real} s");
    }
}

#[test]
fn a_write_through_waits_for_each_of_its_requests_and_leaves_clean_pages_in_the_cache() {
    let set =
        [("write_through", "16K"), ("device_write_latency", "10us"), ("submission", "0"), ("wake", "1us")];
    let parameters = silent().with(&set).with(&[("device_byte", "0"), ("new_block", "0")]);
    let took = |offset: u64, bytes: u64| {
        let mut state = State::new(&parameters);
        let file = state.create();
        let write = Call::new(CallKind::Write, file).at(offset, bytes);
        let after = Path::new(&parameters).run(repeated(vec![write], 1), state, 1);
        assert_eq!(after.dirty_and_writeback(), [0, 0]);
        let [cached, pages] = after.cached(file, offset, bytes);
        assert_eq!(cached, pages);
        (after.done()[0].took_ns() / 11_000, after.done()[0].took_ns())
    };
    assert_eq!([0, 1, 4096, 16_384].map(|bytes| took(0, bytes).0), [0, 1, 1, 1]);
    assert_eq!([16_385, 65_536].map(|bytes| took(0, bytes).0), [2, 5], "the copies take time as well");
    // A request has whole pages of the file.
    assert!(took(100, 16_384).1 > took(0, 16_384).1 + 10_000);
}

#[test]
fn a_sync_after_writes_through_takes_the_time_of_what_the_server_has_to_write() {
    let parameters = silent().with(&[("write_through", "64K"), ("synced_byte", "2")]);
    let took = |bytes: u64| {
        let mut state = State::new(&parameters);
        let file = state.create();
        let calls = [Call::new(CallKind::Write, file).at(0, bytes), Call::new(CallKind::Fsync, file)];
        let syncs = [calls[0], calls[1], calls[1]];
        let after = Path::new(&parameters).run(repeated(syncs.to_vec(), 1), state, 1);
        [1, 2].map(|at: usize| after.done()[at].took_ns())
    };
    let [first, again] = took(1 << 20);
    assert_eq!(first - again, (2 << 20) + 200_000, "the second has nothing left, and no commit");
    assert_eq!(took(1 << 20)[0] - took(1 << 19)[0], 1 << 20);
}

#[test]
fn an_open_drops_what_is_cached_where_the_file_system_does_so() {
    for (opening, left) in [("keeps", 256), ("drops", 0)] {
        let parameters = silent().with(&[("opening", opening)]);
        let mut state = State::new(&parameters);
        let file = state.create();
        state.fill(file, 1 << 20);
        let open = Call::new(CallKind::Open, file);
        let after = Path::new(&parameters).run(repeated(vec![open], 1), state, 1);
        assert_eq!(after.cached(file, 0, 1 << 20), [left, 256]);
    }
}
