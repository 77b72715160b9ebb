//! How fast the net is: 8 GiB of cached reads of 4 KiB, and a cold file in order.
#![allow(clippy::print_stdout, missing_docs, reason = "a benchmark prints")]

use std::time::Instant;

use fathom_model::io_path::{Call, CallKind, Path, State};
use fathom_model::page_cache::FileId;
use fathom_model::parameters::Parameters;
use fathom_program::program::{Program, Thread, numbered, repeated};

/// The whole file, in order, over and over.
fn in_order(file: FileId, size: u64, bytes: u64, calls: u64) -> Program<impl Thread + Send + 'static> {
    numbered(1, move |_, number| {
        (number < calls).then(|| (0, Call::new(CallKind::Read, file).at(number * bytes % size, bytes)))
    })
}

fn main() {
    let parameters = Parameters::assumed();
    let path = Path::new(&parameters);
    let mut state = State::new(&parameters);
    let file = state.create();
    state.fill(file, 8 << 30);
    state.evict(file);
    let fill = in_order(file, 8 << 30, 1 << 20, 8 << 10);
    let started = Instant::now();
    let mut state = path.run(fill, state, 1);
    println!("8 GiB brought in by reads of 1 MiB: {:.2} s", started.elapsed().as_secs_f64());

    state.forget_done();
    let calls = 8 << 18;
    let started = Instant::now();
    let after = path.run(in_order(file, 8 << 30, 4096, calls), state, 1);
    let took = started.elapsed();
    assert_eq!(after.done().len() as u64, calls);
    println!(
        "8 GiB cached in reads of 4 KiB: {:.2} s, {:.0} ns per read",
        took.as_secs_f64(),
        took.as_nanos() as f64 / calls as f64
    );

    let mut state = State::new(&parameters);
    let file = state.create();
    state.fill(file, 512 << 20);
    // It takes 10 ms: once says little.
    let mut times = Vec::new();
    let mut simulated = 0.0;
    for _ in 0..9 {
        state.evict(file);
        let before = state.now();
        let started = Instant::now();
        state = path.run(in_order(file, 512 << 20, 1 << 16, 8 << 10), state, 1);
        times.push(started.elapsed().as_secs_f64());
        simulated = (state.now() - before).as_ticks() as f64 / 1e9;
    }
    times.sort_by(f64::total_cmp);
    let took = times[4];
    println!(
        "512 MiB cold in reads of 64 KiB: {took:.4} s for {simulated:.3} s, {:.0} x (median of 9)",
        simulated / took
    );
    let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", peak.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("memory unknown"));

    let calls: Vec<Call> = (0..64).map(|_| Call::new(CallKind::Seek, file)).collect();
    let started = Instant::now();
    let after = path.run(repeated(calls, 10_000), state, 1);
    println!("a call without data: {:.0} ns", started.elapsed().as_nanos() as f64 / 640_000.0);
    assert!(after.done().len() > 640_000);
}
