//! The queue before the device: order, merging, and how many writes may be under way.

use super::*;

fn with(settings: &[(&str, &str)]) -> Parameters {
    silent().with(settings)
}

fn call(kind: CallKind, file: FileId, page: u64) -> Call {
    Call::new(kind, file).at(page * 4096, 4096)
}

/// A job that writes 2000 pages of a file and syncs them, and one that reads 50 pages of another meanwhile.
fn both(files: [FileId; 2]) -> Program<impl Thread + Send + 'static> {
    numbered(2, move |job, number| {
        let page = 2 * number;
        match job {
            0 if number < 2000 => Some((0, call(CallKind::Write, files[0], page))),
            0 if number == 2000 => Some((0, call(CallKind::Fsync, files[0], 0))),
            // The reader begins once the sync has.
            1 if number < 50 => {
                let wait = if number == 0 { 20_000_000 } else { 0 };
                Some((wait, call(CallKind::Read, files[1], page)))
            }
            _ => None,
        }
    })
}

/// How long the slowest read and all reads took during a sync, in ns.
fn reads_during_a_sync(settings: &[(&str, &str)]) -> [u64; 2] {
    let parameters =
        with(&[&[("readahead", "0"), ("device_depth", "1"), ("device", "plain_queue")], settings].concat());
    let mut state = State::new(&parameters);
    let files = [state.create(), state.create()];
    files.iter().for_each(|&file| state.fill(file, 16 << 20));
    state.evict(files[1]);
    let after = Path::new(&parameters).run(both(files), state, 1);
    assert_eq!(after.done().len(), 2051);
    assert_eq!(after.dirty_and_writeback(), [0, 0]);
    let reads = after.done().iter().filter(|done| done.job == 1).map(Done::took_ns);
    [reads.max().unwrap(), after.now().as_ticks()]
}

#[test]
fn reads_need_not_wait_for_all_the_writes_that_came_before() {
    let [plain, all] = reads_during_a_sync(&[]);
    let [slowest, with] = reads_during_a_sync(&[("scheduler", "mq-deadline")]);
    assert!(plain > 100_000_000, "one queue: {plain}");
    // At most a batch of writes, and the read.
    assert!(slowest < 18 * 100_000, "{slowest}");
    assert!(with < all + 1_000_000, "no time is lost: {with} {all}");
}

#[test]
fn what_touches_goes_as_one_up_to_the_largest_request() {
    let writes = |settings: &[(&str, &str)]| {
        let parameters = with(
            &[&[("device_write_request", "90us"), ("journal_commit", "0"), ("device_flush", "0")], settings]
                .concat(),
        );
        let mut state = State::new(&parameters);
        let file = state.create();
        // Four jobs write every fourth page each, and have it written out.
        let calls = numbered(4, move |job, number| {
            let write = call(CallKind::Write, file, 4 * (number / 2) + u64::from(job));
            let range = Call { kind: CallKind::SyncRange, ..write };
            (number < 64).then(|| (0, [write, range][number as usize % 2]))
        });
        let after = Path::new(&parameters).run(calls, state, 1);
        assert_eq!(after.dirty_and_writeback(), [0, 0]);
        after.now().as_ticks()
    };
    let (apart, merged) = (writes(&[]), writes(&[("scheduler", "mq-deadline")]));
    assert!(merged < apart, "{merged} {apart}");
}

#[test]
fn a_scheduler_with_nothing_to_decide_costs_nothing() {
    let took = |settings: &[(&str, &str)]| {
        let parameters = with(settings);
        let (mut state, file) = machine(&parameters, 4 << 20);
        state.evict(file);
        let after = Path::new(&parameters).run(repeated(reads(file, 65_536, 64), 1), state, 1);
        after.done().iter().map(Done::took_ns).collect::<Vec<u64>>()
    };
    assert_eq!(took(&[]), took(&[("scheduler", "mq-deadline"), ("wbt_lat", "75ms")]));
}

#[test]
fn the_device_gets_no_more_at_once_than_the_queue_holds() {
    let took = |most: &str| {
        let parameters = with(&[("scheduler", "mq-deadline"), ("nr_requests", most), ("device_byte", "0.1")]);
        let mut state = State::new(&parameters);
        let file = state.create();
        state.fill(file, 8 << 20);
        let mut calls: Vec<Call> = (0..1000).map(|at| call(CallKind::Write, file, 2 * at)).collect();
        calls.push(call(CallKind::Fsync, file, 0));
        let after = Path::new(&parameters).run(repeated(calls, 1), state, 1);
        after.done()[1000].took_ns()
    };
    let (one, four, many) = (took("1"), took("4"), took("256"));
    assert!(one > 1000 * 102_000 && one < 1010 * 103_000, "one after the other: {one}");
    assert!(four > one / 5 && four < one / 3, "{four}");
    assert!(many < one / 25, "as many as the device takes: {many}");
}

#[test]
fn the_throttle_lets_slow_reads_through_and_everything_is_written_in_the_end() {
    // Each write takes the device 2 ms, 16 at a time and side by side.
    let slow = [("device", "queue_and_bus"), ("device_depth", "64"), ("device_write_byte", "500")];
    let read_by = |wbt: &str| {
        let [slowest, all] =
            reads_during_a_sync(&[slow.as_slice(), &[("wbt_lat", wbt), ("nr_requests", "256")]].concat());
        (slowest, all)
    };
    let (free, held) = (read_by("0"), read_by("2ms"));
    assert!(held.0 * 2 < free.0, "{held:?} {free:?}");
    assert!(held.1 > free.1 - free.1 / 10, "writes are not faster for it: {held:?} {free:?}");
}
