//! Every experiment by timing alone, on machines whose truth is planted.
//!
//! Three questions of each: is it right where the truth is there to be found, does its stated
//! interval hold the truth, and is it silent where there is nothing but noise.
//!
//! The regime in which an answer is owed: noise with a spread of 5 to 30 % (blocks above 8 KiB, of
//! which few fit into a sweep: to 15 %), 1 % of outliers of 50 times the median and a drift of 20 %;
//! first writes at least a quarter dearer than others, and faults as well; handing a window to the
//! device at least ten times a cached read, and a device that takes at least as long as that to
//! answer, and at most a millisecond. Run with `--nocapture` for the figures.

use std::ops::Range;
use std::time::Duration;

use fathom::experiment::{Effort, REGISTRY, by_name};
use fathom::finding::{Finding, Kind, Status, Value};
use fathom::machine::Machine;
use fathom::machine::scripted::{Costs, Noise, Pure, ReadAhead, Script, Scripted};
use fathom::survey::{self, Plan};
use fathom::workload::{Op, Pass, Region, ScratchFile, Workload};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SIGMAS: [f64; 3] = [0.05, 0.15, 0.3];

/// The finding of one parameter on a machine of its own.
fn ask(script: Script, parameter: &str) -> Finding {
    let plan = Plan {
        experiments: vec![by_name(parameter).unwrap()],
        evidence: vec![Kind::Timing],
        effort: Effort::Full,
        seed: script.seed,
        max_time: Duration::from_secs(60),
        intrusive: false,
    };
    survey::ask(&mut Scripted::new(script), &plan, &mut |_, _| ()).unwrap().remove(0).finding
}

/// Answers to a question whose truth is known.
#[derive(Default)]
struct Score {
    right: u32,
    silent: u32,
    /// What was said instead, and where.
    wrong: Vec<String>,
    /// Why nothing was said.
    reasons: Vec<String>,
    covered: u32,
}

impl Score {
    fn count(&mut self, case: &str, finding: &Finding, truth: &Value) {
        match &finding.value {
            Some(value) if value == truth => self.right += 1,
            Some(value) => self.wrong.push(format!("{case}: {value:?} for {truth:?}")),
            None => {
                self.silent += 1;
                self.reasons.push(format!("{case}: {}", finding.caveats.join("; ")));
            }
        }
        if let (Some([low, high]), Some(truth)) = (finding.interval, truth.as_number()) {
            self.covered += u32::from((low..=high).contains(&truth));
        }
    }

    fn trials(&self) -> u32 {
        self.right + self.silent + self.wrong.len() as u32
    }

    fn assert_never_wrong(&self, name: &str) {
        let Self { right, silent, wrong, .. } = self;
        show(&format!("{name}: {right} right, {silent} silent, {} wrong of {}", wrong.len(), self.trials()));
        self.reasons.iter().for_each(|reason| show(&format!("  silent: {reason}")));
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }

    /// Never wrong, and answered in 95 % of the trials.
    fn assert_right(&self, name: &str) {
        self.assert_never_wrong(name);
        assert!(100 * self.right >= 95 * self.trials(), "{name} is too often silent");
    }

    /// Of the answers, as many intervals hold the truth as the level says, or more.
    fn assert_covers(&self, name: &str) {
        let answered = self.trials() - self.silent;
        show(&format!("{name}: intervals hold the truth in {} of {answered} answers", self.covered));
        assert!(self.covered * 100 >= answered * 95, "{name}");
    }
}

/// The figures behind the assertions, for `cargo test -- --nocapture`.
#[allow(clippy::print_stdout)]
fn show(figure: &str) {
    println!("{figure}");
}

/// What appends cost on file systems of SIGNALS, in ns, without what depends on the block size.
fn appends() -> [(&'static str, Costs); 3] {
    let costs = |call, first_in_block, first_in_page, second_in_page| Costs {
        call,
        first_in_block,
        first_in_page,
        second_in_page,
        ..Costs::default()
    };
    [
        ("like ext4", costs(450.0, 305.0, 1_000.0, 250.0)),
        ("like xfs", costs(870.0, 240.0, 630.0, 0.0)),
        ("like ext2", costs(820.0, 1_570.0, 1_180.0, 0.0)),
    ]
}

#[test]
fn block_sizes_are_found_whatever_the_page() {
    let mut score = Score::default();
    for (name, costs) in appends() {
        for page in [4096, 16_384, 65_536] {
            for block in [512, 1024, 2048, 4096, 8192, 16_384, 65_536] {
                for (seed, sigma) in SIGMAS.into_iter().enumerate() {
                    let script =
                        Script { page, block, costs, noise: Noise::usual(sigma), ..Script::new(seed as u64) };
                    let case = format!("{name}, page {page}, block {block}, spread {sigma}");
                    score.count(&case, &ask(script, "block_size"), &Value::Whole(block));
                }
            }
        }
    }
    score.assert_right("block_size");
}

#[test]
fn a_block_that_costs_little_is_not_taken_for_the_page() {
    let mut score = Score::default();
    for share in [0.01, 0.02, 0.04, 0.06, 0.1] {
        for (name, costs) in appends() {
            for block in [512, 1024, 2048] {
                for (seed, sigma) in SIGMAS.into_iter().enumerate() {
                    let costs = Costs { first_in_block: share * costs.call, second_in_page: 0.0, ..costs };
                    let script =
                        Script { block, costs, noise: Noise::usual(sigma), ..Script::new(seed as u64) };
                    let case = format!("{name}, {share} of an append, block {block}, spread {sigma}");
                    score.count(&case, &ask(script, "block_size"), &Value::Whole(block));
                }
            }
        }
    }
    score.assert_never_wrong("weak blocks");
}

#[test]
fn where_a_larger_unit_stands_above_the_page_the_block_is_not_guessed() {
    let mut score = Score::default();
    for seed in 0..20 {
        let script = Script { cluster: 16_384, noise: Noise::usual(0.05), ..Script::new(seed) };
        let finding = ask(script.clone(), "block_size");
        assert_eq!(finding.status, Status::Inconclusive, "{finding:?}");
        assert!(
            finding.caveats.iter().any(|caveat| caveat.contains("either may be the block")),
            "{finding:?}"
        );
        // Below the page there is no doubt: pages are no smaller.
        let small = ask(Script { block: 1024, ..script }, "block_size");
        score.count("1 KiB in clusters", &small, &Value::Whole(1024));
    }
    score.assert_right("blocks in clusters");
}

#[test]
fn a_drift_within_the_sequence_is_no_comb_and_hides_none() {
    let mut score = Score::default();
    for seed in 0..20 {
        let noise = Noise { drift_within: 0.2, ..Noise::usual(0.15) };
        let script = Script { block: 1024, noise, ..Script::new(seed) };
        score.count("drift within", &ask(script.clone(), "block_size"), &Value::Whole(1024));
        score.count("drift within", &ask(script, "page_size"), &Value::Whole(4096));
    }
    score.assert_right("with a drift within each round");
}

#[test]
fn page_sizes_are_found() {
    let mut score = Score::default();
    for page in [4096, 16_384, 65_536] {
        for buffer_fault in [250.0, 500.0, 1_000.0] {
            for (seed, sigma) in SIGMAS.into_iter().enumerate() {
                let costs = Costs { buffer_fault, ..Costs::default() };
                let script = Script { page, costs, noise: Noise::usual(sigma), ..Script::new(seed as u64) };
                let case = format!("page {page}, fault {buffer_fault} ns, spread {sigma}");
                score.count(&case, &ask(script, "page_size"), &Value::Whole(page));
            }
        }
    }
    score.assert_right("page_size");
}

#[test]
fn pointers_are_found() {
    let (mut direct, mut per_block, mut scheme) = (Score::default(), Score::default(), Score::default());
    for (name, costs) in appends() {
        for block in [1024, 2048, 4096] {
            for seed in 0..12 {
                let noise = Noise::usual(SIGMAS[seed as usize % SIGMAS.len()]);
                // At least as much as the rest of a write that begins a block and a page.
                let pointer_block = costs.call + costs.first_in_block + costs.first_in_page;
                let costs = Costs { pointer_block, ..costs };
                let script = Script { block, costs, noise, direct_pointers: Some(12), ..Script::new(seed) };
                let case = format!("{name}, block {block}, seed {seed}");
                direct.count(&case, &ask(script.clone(), "direct_pointers"), &Value::Whole(12));
                let pointers = ask(script.clone(), "pointers_per_indirect");
                per_block.count(&case, &pointers, &Value::Whole(block / 4));
                let word = Value::Word("indirect".to_owned());
                scheme.count(&case, &ask(script, "allocation_scheme"), &word);
            }
        }
    }
    direct.assert_right("direct_pointers");
    direct.assert_covers("direct_pointers");
    per_block.assert_right("pointers_per_indirect");
    scheme.assert_right("allocation_scheme");
}

#[test]
fn files_without_blocks_of_pointers_show_none() {
    for (_, costs) in appends() {
        for block in [512, 1024, 4096, 65_536] {
            for seed in 0..10 {
                let noise = Noise::usual(SIGMAS[seed as usize % SIGMAS.len()]);
                let script = Script { block, costs, noise, ..Script::new(seed) };
                for parameter in ["direct_pointers", "pointers_per_indirect", "allocation_scheme"] {
                    assert_eq!(ask(script.clone(), parameter).status, Status::Inconclusive, "{parameter}");
                }
            }
        }
    }
}

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
        .pass(Pass::untimed(0, &[Op::Open, Op::Evict]))
        .pass(Pass::timed(0, &[Op::Pread], all).gap(10_000_000_000));
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
fn block_size_covers_over_1000_seeds() {
    covers_over_seeds("block_size", |script| {
        let block = 512 << (script.seed % 6);
        let sigma = if block > 8192 { script.noise.sigma.min(0.15) } else { script.noise.sigma };
        (Script { block, noise: Noise::usual(sigma), ..script }, block)
    });
}

#[test]
fn page_size_covers_over_1000_seeds() {
    covers_over_seeds("page_size", |script| {
        let page = 4096 << (script.seed % 3 * 2);
        (Script { page, ..script }, page)
    });
}

fn covers_over_seeds(parameter: &str, plant: impl Fn(Script) -> (Script, u64)) {
    let mut score = Score::default();
    for seed in 0..1000 {
        let sigma = SIGMAS[seed as usize % SIGMAS.len()];
        let (script, truth) = plant(Script { noise: Noise::usual(sigma), ..Script::new(seed) });
        score.count(&format!("seed {seed}"), &ask(script, parameter), &Value::Whole(truth));
    }
    score.assert_right(&format!("{parameter} over 1000 seeds"));
    score.assert_covers(&format!("{parameter} over 1000 seeds"));
}

const NOISES: [Pure; 10] = [
    Pure::Lognormal { sigma: 0.05 },
    Pure::Lognormal { sigma: 0.3 },
    Pure::Lognormal { sigma: 1.5 },
    Pure::HeavyTails { exponent: 2.0 },
    Pure::HeavyTails { exponent: 1.0 },
    Pure::Wandering { sigma: 0.3, correlation: 0.9 },
    Pure::Wandering { sigma: 1.0, correlation: 0.99 },
    Pure::Wandering { sigma: 2.0, correlation: 0.999 },
    Pure::Spikes { share: 0.01, factor: 50.0 },
    Pure::Spikes { share: 0.2, factor: 50.0 },
];

/// On noise of every kind, `trials` in all, at least 99 % must be inconclusive.
fn is_silent_on_noise(parameter: &str, trials: u64) {
    let mut spoken = Vec::new();
    for seed in 0..trials {
        let pure = NOISES[seed as usize % NOISES.len()];
        let finding = ask(Script::noise_only(pure, seed), parameter);
        if finding.status != Status::Inconclusive {
            spoken.push(format!("{pure:?}, seed {seed}: {} {:?}", finding.status, finding.value));
        }
    }
    show(&format!("{parameter} on noise alone: {} of {trials} inconclusive", trials - spoken.len() as u64));
    assert!(100 * spoken.len() as u64 <= trials, "{parameter}: {spoken:#?}");
}

#[test]
fn block_size_is_silent_on_noise() {
    is_silent_on_noise("block_size", 400);
}

#[test]
fn page_size_is_silent_on_noise() {
    is_silent_on_noise("page_size", 200);
}

#[test]
fn direct_pointers_is_silent_on_noise() {
    is_silent_on_noise("direct_pointers", 400);
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

#[test]
#[ignore = "two minutes of work; the tests above are its beginning"]
fn every_experiment_is_silent_on_1000_noises() {
    for experiment in REGISTRY {
        is_silent_on_noise(experiment.about().parameter, 1000);
    }
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
