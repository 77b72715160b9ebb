//! The instrument's own certificate: which clock, why, how fine, how costly, how straight.
//!
//! The papers looked at a line and called it straight; paper D refused a clock coarser than 1 ms.
//! Here the clock is chosen by evidence, calibrated against CLOCK_MONOTONIC_RAW over four decades of
//! interval, and refused if it can't resolve a single system call.

use fathom_stats::linear::{Line, least_squares};
use fathom_stats::quantile;
use fathom_sys::affinity::{allowed_cpus, pin_to, pin_to_current_cpu};
use fathom_sys::clock::{Counter, CycleCounter, MonotonicRaw, monotonic_raw_ns};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use fathom_program::units::WithinPpm;

/// The clock that times system calls.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// The processor's cycle counter.
    Cycles(CycleCounter),
    /// CLOCK_MONOTONIC_RAW.
    Monotonic(MonotonicRaw),
}

/// What is known of the clock. Part of every report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Certificate {
    /// The clock's name: `tsc`, `cntvct` or `monotonic_raw`.
    pub clock: String,
    /// The smallest step between two readings that differ, in ns.
    pub resolution_ns: f64,
    /// What two readings with nothing between them differ by, in ns: the median.
    pub overhead_ns: f64,
    /// The largest deviation from a straight line against wall time, in parts per million of the span.
    pub linearity_ppm: f64,
    /// Ticks per second: the slope of that line.
    pub ticks_per_second: f64,
    /// The 95 % interval of the slope.
    pub ticks_per_second_interval: [f64; 2],
    /// The shortest and the longest interval compared with wall time, in ns.
    pub intervals_ns: [f64; 2],
    /// How long an empty system call takes, in ns: the shortest time that the clock must be able to measure.
    pub system_call_ns: f64,
    /// Why this clock was taken, one sentence each.
    pub evidence: Vec<String>,
}

/// A clock with its certificate.
#[derive(Debug, Clone)]
pub struct Instrument {
    /// The clock.
    pub clock: Clock,
    /// What is known of it.
    pub certificate: Certificate,
}

impl Certificate {
    /// The clock of a simulated machine: it shows simulated time, and reading it takes none.
    pub fn simulated() -> Self {
        Self {
            clock: "simulated".to_owned(),
            resolution_ns: 1.0,
            overhead_ns: 0.0,
            linearity_ppm: 0.0,
            ticks_per_second: 1e9,
            ticks_per_second_interval: [1e9, 1e9],
            intervals_ns: [1.0, 1e12],
            system_call_ns: 1.0,
            evidence: vec!["the machine is only a model, and its time is counted, not measured".to_owned()],
        }
    }
}

/// How far the counter may deviate from wall time before the plain clock is preferred.
const WORST_LINEARITY_PPM: f64 = 1000.0;

impl Instrument {
    /// Chooses and calibrates a clock; takes about a third of a second.
    ///
    /// # Errors
    /// One sentence where no clock can see a system call.
    pub fn calibrate() -> Result<Self, String> {
        let _pinned = pin_to_current_cpu();
        let mut reasons = Vec::new();
        match cycles(&mut reasons) {
            Ok((counter, mut certificate)) => {
                certificate.evidence = reasons;
                check_resolution(&certificate)?;
                Ok(Self { clock: Clock::Cycles(counter), certificate })
            }
            Err(reason) => {
                reasons.push(reason);
                let mut certificate = certify(MonotonicRaw)?;
                certificate.evidence = reasons;
                check_resolution(&certificate)?;
                Ok(Self { clock: Clock::Monotonic(MonotonicRaw), certificate })
            }
        }
    }
}

fn cycles(reasons: &mut Vec<String>) -> Result<(CycleCounter, Certificate), String> {
    let counter = CycleCounter::detect()?;
    reasons.push(format!("{} is invariant: it neither stops nor changes its rate", CycleCounter::NAME));
    let cpus = allowed_cpus();
    reasons.push(match compared(counter, &cpus)? {
        0 => "it is read on one CPU alone".to_owned(),
        readings => format!(
            "it is synchronised: it never went back between {} CPUs, which read it alternately {readings} times",
            cpus.len().min(MOST_CPUS)
        ),
    });
    let certificate = certify(counter)?;
    if certificate.linearity_ppm > WORST_LINEARITY_PPM {
        return Err(format!(
            "{} deviates by {:.0} ppm from wall time",
            CycleCounter::NAME,
            certificate.linearity_ppm
        ));
    }
    reasons.push(format!(
        "it is linear against CLOCK_MONOTONIC_RAW within {}",
        WithinPpm(certificate.linearity_ppm)
    ));
    Ok((counter, certificate))
}

/// Refuses a clock that can't tell one system call from none.
fn check_resolution(certificate: &Certificate) -> Result<(), String> {
    if certificate.resolution_ns <= certificate.system_call_ns {
        return Ok(());
    }
    Err(format!(
        "the clock {} moves in steps of {}, and a system call takes {}: nothing can be measured with it",
        certificate.clock,
        fathom_program::units::Nanos(certificate.resolution_ns),
        fathom_program::units::Nanos(certificate.system_call_ns)
    ))
}

/// Calibrates any counter against CLOCK_MONOTONIC_RAW.
fn certify<C: Counter>(counter: C) -> Result<Certificate, String> {
    let (wall, ticks) = paired_readings(counter);
    let line = least_squares(&wall, &ticks, 0.95).ok_or("too few readings to calibrate the clock")?;
    let Line { slope, max_residual, .. } = line;
    if slope.value <= 0.0 {
        return Err("the clock does not advance".to_owned());
    }
    let span = wall.last().unwrap_or(&0.0) - wall.first().unwrap_or(&0.0);
    let (resolution, overhead) = steps(counter);
    Ok(Certificate {
        clock: C::NAME.to_owned(),
        resolution_ns: resolution / slope.value,
        overhead_ns: overhead / slope.value,
        linearity_ppm: max_residual / slope.value / span * 1e6,
        ticks_per_second: slope.value * 1e9,
        ticks_per_second_interval: [slope.interval.low * 1e9, slope.interval.high * 1e9],
        intervals_ns: [SHORTEST_NS, span],
        system_call_ns: empty_call_ns(),
        evidence: Vec::new(),
    })
}

const SHORTEST_NS: f64 = 10_000.0;
const LONGEST_NS: f64 = 200_000_000.0;
const POINTS: u32 = 44;

/// Wall time in ns and ticks, both from zero, at points spread evenly over the decades.
fn paired_readings<C: Counter>(counter: C) -> (Vec<f64>, Vec<f64>) {
    let (first_wall, first_ticks) = bracketed(counter);
    let mut wall = vec![0.0];
    let mut ticks = vec![0.0];
    for point in 0..=POINTS {
        let decades = (LONGEST_NS / SHORTEST_NS).powf(f64::from(point) / f64::from(POINTS));
        let target = first_wall + SHORTEST_NS * decades;
        while (monotonic_raw_ns() as f64) < target {
            std::hint::spin_loop();
        }
        let (at_wall, at_ticks) = bracketed(counter);
        wall.push(at_wall - first_wall);
        ticks.push(at_ticks - first_ticks);
    }
    (wall, ticks)
}

/// One pair of readings, the tightest of several brackets: counter, wall, counter.
fn bracketed<C: Counter>(counter: C) -> (f64, f64) {
    let pair = (0..9)
        .map(|_| {
            let before = counter.stop();
            let wall = monotonic_raw_ns();
            let after = counter.stop();
            (after.saturating_sub(before), wall, before)
        })
        .min_by_key(|&(width, ..)| width);
    let (width, wall, before) = pair.unwrap_or_default();
    (wall as f64, before as f64 + width as f64 / 2.0)
}

/// The smallest step that readings in a row commonly make, and the median of what two readings
/// around nothing show, in ticks.
fn steps<C: Counter>(counter: C) -> (f64, f64) {
    let mut seen = Vec::with_capacity(20_000);
    let mut last = counter.start();
    // A coarse clock needs many readings before it moves; stop once it has moved often enough.
    for _ in 0..20_000_000_u32 {
        let now = counter.start();
        if now > last {
            seen.push((now - last) as f64);
            if seen.len() == seen.capacity() {
                break;
            }
        }
        last = now;
    }
    // A hypervisor that scales the counter rounds: single odd steps are no resolution.
    let smallest = quantile::quantile(&seen, 0.25).unwrap_or(f64::INFINITY);
    let empty = |_| {
        let before = counter.start();
        counter.stop().saturating_sub(before) as f64
    };
    let empty: Vec<f64> = (0..10_001).map(empty).collect();
    (smallest, quantile::median(&empty).unwrap_or(0.0))
}

/// What `getppid(2)` takes in ns, by the wall over many calls: independent of the clock's resolution.
fn empty_call_ns() -> f64 {
    const CALLS: u32 = 20_000;
    let mut fastest = f64::INFINITY;
    for _ in 0..5 {
        let before = monotonic_raw_ns();
        for _ in 0..CALLS {
            fathom_sys::facts::parent_process();
        }
        fastest = fastest.min((monotonic_raw_ns() - before) as f64 / f64::from(CALLS));
    }
    fastest
}

const MOST_CPUS: usize = 16;

/// How often two CPUs read the counter by turns, if they come to it soon enough, and how often at least.
const TURNS: usize = 20_000;
const FEWEST_TURNS: usize = 100;

/// Compares a counter between CPUs; gives how many readings were compared, none where there is one CPU.
///
/// # Errors
/// One sentence where it went back, or could not be compared.
fn compared<C: Counter>(counter: C, cpus: &[usize]) -> Result<usize, String> {
    let Some((&first, others)) = cpus.split_first() else { return Ok(0) };
    let mut readings = 0;
    for &other in others.iter().take(MOST_CPUS - 1) {
        let Compared { turns, backwards } = compare(counter, [first, other]);
        if backwards > 0 {
            return Err(format!("{} goes back by {backwards} ticks between CPUs", C::NAME));
        }
        if turns < FEWEST_TURNS {
            return Err(format!("{} could not be compared between CPUs {first} and {other}", C::NAME));
        }
        readings += turns;
    }
    Ok(readings)
}

/// What two CPUs saw of a counter.
struct Compared {
    /// How many readings they made.
    turns: usize,
    /// The largest step back, in ticks.
    backwards: u64,
}

/// Reads a counter on two CPUs by turns.
///
/// Each reading must be at least the one before, which the other CPU made. The turn is handed over, not
/// fought for: on a busy machine one thread could else be done before the other has begun, and nothing
/// would have been compared. Source: `check_tsc_warp` of `arch/x86/kernel/tsc_sync.c`, whose CPUs
/// contend for a lock, and can, as nothing else runs on them.
fn compare<C: Counter>(counter: C, cpus: [usize; 2]) -> Compared {
    const LONGEST_NS: u64 = 100_000_000;
    let began = monotonic_raw_ns();
    let (turn, last, backwards) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let read = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for (index, cpu) in cpus.into_iter().enumerate() {
            let (turn, last, backwards, read) = (&turn, &last, &backwards, &read);
            scope.spawn(move || {
                let pinned = pin_to(cpu);
                for mine in (index..TURNS).step_by(cpus.len()) {
                    if wait_for(turn, mine) > mine {
                        return;
                    }
                    let now = counter.stop();
                    let before = last.swap(now, Ordering::Relaxed);
                    backwards.fetch_max(before.saturating_sub(now), Ordering::Relaxed);
                    read.store(mine + 1, Ordering::Relaxed);
                    let late = monotonic_raw_ns().saturating_sub(began) > LONGEST_NS;
                    let is_over = pinned.is_none() || late && mine >= FEWEST_TURNS;
                    turn.store(if is_over { TURNS } else { mine + 1 }, Ordering::Release);
                }
            });
        }
    });
    Compared { turns: read.into_inner(), backwards: backwards.into_inner() }
}

/// Waits until at least this many turns were taken; returns how many there were.
fn wait_for(turn: &AtomicUsize, mine: usize) -> usize {
    // A thread that answers at once does so within a microsecond; another has to be given the CPU.
    const SPINS: u32 = 1000;
    loop {
        for _ in 0..SPINS {
            let taken = turn.load(Ordering::Acquire);
            if taken >= mine {
                return taken;
            }
            std::hint::spin_loop();
        }
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that advances in steps, as some virtual machines' do.
    #[derive(Debug, Clone, Copy)]
    struct Coarse {
        step_ns: u64,
    }

    impl Counter for Coarse {
        const NAME: &'static str = "coarse";
        fn start(self) -> u64 {
            monotonic_raw_ns() / self.step_ns * self.step_ns
        }
        fn stop(self) -> u64 {
            self.start()
        }
    }

    #[test]
    fn the_chosen_clock_sees_a_system_call() {
        let instrument = Instrument::calibrate().unwrap();
        let certificate = instrument.certificate;
        assert!(certificate.resolution_ns > 0.0 && certificate.resolution_ns < certificate.system_call_ns);
        assert!(certificate.linearity_ppm < WORST_LINEARITY_PPM);
        assert!(
            certificate.intervals_ns[1] / certificate.intervals_ns[0] >= 1000.0,
            "three decades at least"
        );
        let [low, high] = certificate.ticks_per_second_interval;
        assert!(low <= certificate.ticks_per_second && certificate.ticks_per_second <= high);
    }

    #[test]
    fn a_clock_of_one_millisecond_is_refused_with_the_reason() {
        let certificate = certify(Coarse { step_ns: 1_000_000 }).unwrap();
        assert!((certificate.resolution_ns - 1e6).abs() < 1e5, "{}", certificate.resolution_ns);
        let reason = check_resolution(&certificate).unwrap_err();
        // The step is measured, so it may print as 998 us.
        assert!(reason.starts_with("the clock coarse moves in steps of "), "{reason}");
    }

    #[test]
    fn a_counter_that_differs_between_cpus_is_found_out() {
        #[derive(Debug, Clone, Copy)]
        struct Skewed;
        impl Counter for Skewed {
            const NAME: &'static str = "skewed";
            fn start(self) -> u64 {
                // Ten seconds: on a busy machine it takes a while to get to the next CPU.
                let skew = if allowed_cpus() == [0] { 10_000_000_000 } else { 0 };
                monotonic_raw_ns() + skew
            }
            fn stop(self) -> u64 {
                self.start()
            }
        }
        let cpus = allowed_cpus();
        if cpus.len() >= 2 && cpus[0] == 0 {
            assert!(compared(Skewed, &cpus).unwrap_err().starts_with("skewed goes back by "));
        }
        let readings = compared(MonotonicRaw, &cpus).unwrap();
        assert_eq!(readings >= FEWEST_TURNS, cpus.len() > 1, "{readings}");
    }
}
