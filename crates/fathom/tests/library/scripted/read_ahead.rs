//! What is read ahead.

use std::ops::Range;

use fathom::finding::{Status, Value};
use fathom::machine::Machine;
use fathom::workload::{CallKind, Pass, Region, ScratchFile, Workload};
use fathom_scripted::{Costs, Noise, ReadAhead, Script, Scripted};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{SIGMAS, Score, ask, is_silent_on_noise};

const WINDOWS_KIB: [u64; 14] = [0, 8, 16, 32, 48, 64, 100, 128, 192, 256, 512, 1024, 4096, 8192];

/// Devices: what handing over a window costs and how long the answer takes, in ns.
const DEVICES: [(f64, f64); 4] =
    [(12_000.0, 80_000.0), (12_000.0, 30_000.0), (15_000.0, 15_000.0), (20_000.0, 1_000_000.0)];
/// So slow that a small window can't be read at its pace within a minute, often enough.
const SLOW_DEVICE: (f64, f64) = (20_000.0, 8_000_000.0);

/// A machine with a window, a device and noise.
fn reader(window_kib: u64, (submission, device_latency): (f64, f64), sigma: f64, seed: u64) -> Script {
    let costs = Costs { submission, device_latency, ..Costs::default() };
    let mut script = Script { costs, noise: Noise::usual(sigma), ..Script::new(seed) };
    script.read_ahead.window = window_kib << 10;
    script
}

/// One experiment over windows, devices and noise.
fn score_readers(
    parameter: &str,
    devices: &[(f64, f64)],
    seeds: u64,
    truth: impl Fn(&Script) -> Option<Value>,
) -> Score {
    let mut score = Score::default();
    for window in WINDOWS_KIB {
        for &device in devices {
            let Some(truth) = truth(&reader(window, device, 0.0, 0)) else { continue };
            for seed in 0..seeds {
                let sigma = SIGMAS[seed as usize % SIGMAS.len()];
                let case = format!("window {window} KiB, device {device:?}, spread {sigma}, seed {seed}");
                score.count(&case, &ask(reader(window, device, sigma, seed), parameter), &truth);
            }
        }
    }
    score
}

#[test]
fn windows_are_found() {
    let truth = |script: &Script| Some(Value::Whole(script.read_ahead.window));
    let score = score_readers("readahead_window", &DEVICES, 3, truth);
    score.assert_right("readahead_window");
    score.assert_covers("readahead_window");
    let slow = score_readers("readahead_window", &[SLOW_DEVICE], 1, truth);
    slow.assert_never_wrong("readahead_window on a slow device");
}

#[test]
fn what_the_first_read_brings_in_is_found() {
    let score = score_readers("readahead_first", &DEVICES, 20, |script| Some(first_of(script)));
    score.assert_right("readahead_first");
    score.assert_covers("readahead_first");
}

#[test]
fn what_a_random_read_brings_in_is_found() {
    let score = score_readers("readahead_random", &DEVICES, 20, |_| Some(Value::Whole(4096)));
    score.assert_right("readahead_random");
    score.assert_covers("readahead_random");
}

#[test]
fn ramps_are_found() {
    let score = score_readers("readahead_ramp", &DEVICES, 3, ramp_of);
    score.assert_right("readahead_ramp");
    let slow = score_readers("readahead_ramp", &[SLOW_DEVICE], 1, ramp_of);
    slow.assert_never_wrong("readahead_ramp on a slow device");
}

/// What the first read of a file brings in.
fn first_of(script: &Script) -> Value {
    Value::Whole(windows_of(script).first().copied().unwrap_or(4096))
}

/// The windows from the first to the first of the steady size, where anything is read ahead.
fn ramp_of(script: &Script) -> Option<Value> {
    let windows = windows_of(script);
    let steady = windows.iter().position(|&window| window == script.read_ahead.window)?;
    Some(Value::List(windows[..=steady].to_vec()))
}

/// The windows that a machine opens for a sequential reader, in bytes, as its own clean latencies
/// show when each read is given all the time in the world.
fn windows_of(script: &Script) -> Vec<u64> {
    let bytes = (6 * script.read_ahead.window).max(1 << 20);
    let script = Script { noise: Noise::none(), ..script.clone() };
    let all = Region { offset: 0, size: 4096, step: 4096, count: bytes / 4096 };
    let workload = Workload::new(vec![ScratchFile::filled("a", bytes)])
        .pass(Pass::untimed(0, &[CallKind::Open, CallKind::Evict]))
        .pass(Pass::timed(0, &[CallKind::Pread], all).gap(10_000_000_000));
    let submission = script.costs.submission * 2.0;
    let latencies = Scripted::new(script).run(&workload).unwrap().matrix(1, 0);
    let sets_off: Vec<u64> = (0..all.count).filter(|&at| latencies[at as usize] > submission).collect();
    // Read 1 touches the mark of the first window, which ends where the next read sets one off.
    let starts = match sets_off[..] {
        [0, 1, 2, ..] if sets_off[2] == 2 && sets_off.get(3) == Some(&3) => return Vec::new(),
        [0, 1, ..] => [&[0], &sets_off[2..]].concat(),
        _ => sets_off,
    };
    starts.windows(2).map(|pair| (pair[1] - pair[0]) * 4096).collect()
}

#[test]
fn the_planted_ramps_are_those_measured_on_linux() {
    let windows = |kib| {
        let seen = windows_of(&reader(kib, DEVICES[0], 0.0, 0));
        seen.iter().map(|bytes| bytes >> 10).collect::<Vec<_>>()
    };
    assert_eq!(windows(128)[..9], [16, 32, 16, 32, 32, 64, 64, 128, 128]);
    assert_eq!(windows(100)[..6], [8, 16, 32, 64, 100, 100]);
    assert_eq!(windows(1024)[..11], [16, 64, 112, 64, 128, 128, 256, 256, 512, 512, 1024]);
}

#[test]
fn older_file_systems_without_large_folios_ramp_by_doubling() {
    let mut score = Score::default();
    for seed in 0..6 {
        let mut script = reader(128, DEVICES[0], 0.15, seed);
        script.read_ahead = ReadAhead { large_folios: false, ..script.read_ahead };
        let ramp = [16_u64, 32, 64, 128].map(|kib| kib << 10).to_vec();
        score.count("small folios", &ask(script, "readahead_ramp"), &Value::List(ramp));
    }
    score.assert_right("readahead_ramp without large folios");
}

#[test]
fn nothing_is_read_ahead_where_pages_can_not_be_dropped() {
    for parameter in ["readahead_window", "readahead_first", "readahead_random", "readahead_ramp"] {
        let script = Script { evictable: false, noise: Noise::usual(0.15), ..Script::new(1) };
        assert_eq!(ask(script, parameter).status, Status::NotApplicable, "{parameter}");
    }
    let script = Script { evictable: false, noise: Noise::usual(0.15), ..Script::new(1) };
    assert_eq!(ask(script.clone(), "page_size").value, Some(Value::Whole(4096)));
    assert_eq!(ask(script, "block_size").value, Some(Value::Whole(4096)));
}

#[test]
fn readahead_window_is_silent_on_noise() {
    is_silent_on_noise("readahead_window", 400);
}

#[test]
fn readahead_first_is_silent_on_noise() {
    is_silent_on_noise("readahead_first", 1000);
}

#[test]
fn readahead_random_is_silent_on_noise() {
    is_silent_on_noise("readahead_random", 1000);
}

#[test]
fn readahead_ramp_is_silent_on_noise() {
    is_silent_on_noise("readahead_ramp", 200);
}

/// A machine for the read-ahead questions with everything drawn at random, and what it is.
fn drawn(seed: u64) -> (Script, String) {
    let mut generator = Pcg64Mcg::seed_from_u64(seed);
    let mut between = |low: f64, high: f64| low * (high / low).powf(generator.random::<f64>());
    let submission = between(8e3, 5e4);
    let latency = between(submission, 1e7);
    let (device_byte, sigma) = (between(0.1, 20.0), between(0.05, 0.3));
    let window = WINDOWS_KIB[(seed % 12) as usize];
    let mut script = reader(window, (submission, latency), sigma, seed);
    script.costs.device_byte = device_byte;
    script.read_ahead.large_folios = !seed.is_multiple_of(3);
    let case = format!(
        "window {window} KiB, submission {submission:.0} ns, device {latency:.0} ns and {device_byte:.1} ns/B, spread {sigma:.2}, seed {seed}"
    );
    (script, case)
}

/// Slow devices among them need more time for small windows than there is: silence is no fault here.
fn machines_drawn_at_random(seeds: Range<u64>) {
    let mut scores = [(); 4].map(|()| Score::default());
    for seed in seeds {
        let (script, case) = drawn(seed);
        let questions = [
            ("readahead_window", Some(Value::Whole(script.read_ahead.window))),
            ("readahead_first", Some(first_of(&script))),
            ("readahead_random", Some(Value::Whole(4096))),
            ("readahead_ramp", ramp_of(&script)),
        ];
        for ((parameter, truth), score) in questions.into_iter().zip(&mut scores) {
            let Some(truth) = truth else { continue };
            score.count(&format!("{parameter}, {case}"), &ask(script.clone(), parameter), &truth);
        }
    }
    for (score, name) in scores.iter().zip(["window", "first", "random", "ramp"]) {
        score.assert_never_wrong(&format!("{name} of machines drawn at random"));
        assert!(4 * score.right >= 3 * score.trials(), "{name} is too often silent");
    }
}

#[test]
fn no_machine_drawn_at_random_is_taken_for_another() {
    machines_drawn_at_random(0..120);
}

#[test]
#[ignore = "a minute of work; the test above is its beginning"]
fn no_machine_of_1200_drawn_at_random_is_taken_for_another() {
    machines_drawn_at_random(0..1200);
}
