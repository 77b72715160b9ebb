//! The caller's library: what its buffer saves and costs.

use super::*;

fn buffered(bytes: &str) -> Parameters {
    let mut parameters = silent();
    parameters.set("stdio_buffer", bytes).unwrap();
    parameters
}

const CALL: u64 = 15;

fn call(kind: CallKind, file: FileId, offset: u64, bytes: u64) -> Call {
    Call::new(kind, file).at(offset, bytes)
}

#[test]
fn small_reads_share_a_system_call_and_large_ones_go_past_the_buffer() {
    let parameters = buffered("4096");
    let (state, file) = machine(&parameters, 1 << 20);
    let mut calls = reads(file, 1024, 5);
    calls.push(call(CallKind::Read, file, 5120, 8192));
    let after = Path::new(&parameters).run(repeated(calls, 1), state, 1);
    let took: Vec<u64> = after.done().iter().map(Done::took_ns).collect();
    let (small, filling) = (CALL + 102, 400 + 410);
    assert_eq!(took[..5], [small + filling, small, small, small, small + filling]);
    // 3 KiB of the buffer, a block straight from the kernel, and 1 KiB of the buffer's next.
    assert_eq!(took[5], CALL + 410 + 2 * filling);
    assert_eq!(took.len(), 6, "what the application asked for");
}

#[test]
fn what_is_written_reaches_the_kernel_once_the_buffer_is_full_or_flushed() {
    let parameters = buffered("4096");
    let mut state = State::new(&parameters);
    let file = state.create();
    let path = Path::new(&parameters);
    let writes = |from: u64, to: u64| {
        let one = |at| call(CallKind::Write, file, at * 1000, 1000);
        repeated((from..to).map(one).collect(), 1)
    };
    let state = path.run(writes(0, 4), state, 1);
    assert_eq!((state.size(file), state.dirty_and_writeback()), (0, [0, 0]), "all is in the buffer");
    let state = path.run(writes(4, 5), state, 1);
    assert_eq!(state.size(file), 4096, "and stays there between two runs");
    let state = path.run(repeated(vec![call(CallKind::Fsync, file, 0, 0)], 1), state, 1);
    assert_eq!((state.size(file), state.dirty_and_writeback()), (5000, [0, 0]));
}

#[test]
fn a_buffer_is_worth_more_than_it_costs_where_calls_are_small() {
    let rate = |buffer: &str, bytes: u64| {
        let parameters = buffered(buffer);
        let (state, file) = machine(&parameters, 1 << 20);
        let after = Path::new(&parameters).run(repeated(reads(file, bytes, (1 << 20) / bytes), 1), state, 1);
        f64::from(1 << 20) / after.now().as_ticks() as f64
    };
    assert!(rate("4096", 64) > 5.0 * rate("0", 64));
    assert!(rate("4096", 65_536) < rate("0", 65_536));
}

#[test]
fn jobs_have_their_turns_at_a_library_of_their_own() {
    let parameters = buffered("4096");
    let (mut state, file) = machine(&parameters, 1 << 20);
    state.evict(file);
    let read = move |_, number| (number < 100).then(|| (0, call(CallKind::Read, file, number * 100, 100)));
    let after = Path::new(&parameters).run(numbered(3, read), state, 1);
    assert_eq!(after.done().len(), 300);
}
