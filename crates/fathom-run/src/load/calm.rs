//! Whether a CPU works for this program alone.
//!
//! Two CPUs are often threads of one core, and while the other one computes, a cached call takes 1.2 to 1.6 times as long. In a
//! virtual machine the other one may belong to a guest that the kernel here does not know. A loop of loads from the first cache
//! shows it: the two threads share what the loop needs, so that it takes up to twice as long.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What the loop reads, in lines of 64 bytes: half of a usual first cache.
const LINES: usize = 256;
const PASSES: usize = 64;
/// The loop runs this often and the fastest counts, so that an interrupt in one does not.
const LOOPS: usize = 3;
/// If the loop takes this many times as long as the fastest so far, another program works on the core. Alone the loop varies
/// by a twentieth; alongside work of any kind it takes 1.4 times as long and more.
const DISTURBED: f64 = 1.2;
/// How long the core must be free of other work before a run, and after it: others come and go within a ms as well.
const BEFORE: Duration = Duration::from_millis(2);
const AFTER: Duration = Duration::from_micros(500);
/// How long all runs together are put off at most until then, and what part of what is left of it one run may take: where
/// others are hardly ever still, the first runs do not use up what is there for all.
const IN_ALL: Duration = Duration::from_secs(5);
const PART: u32 = 100;

/// When the threads of a run begin, once all are ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// After a rest of 100 ms, as in fio 3.33 (`run_threads` of `backend.c`). Where a thread and those that serve it (a loop
    /// device's worker, a FUSE daemon) run depends on how busy they were just before.
    Rested,
    /// When no other work runs on the same core, or after this time at the latest.
    Calm(Duration),
}

/// What is known of the CPU's own speed, and of the last run.
#[derive(Debug)]
pub(super) struct Calm {
    /// The shortest time of the loop so far, in ns.
    fastest: AtomicU64,
    /// How long the next run may be put off.
    patience: Duration,
    /// How long all that come may be, in ns.
    left: AtomicU64,
    was_disturbed: AtomicBool,
}

impl Calm {
    fn new() -> Self {
        Self {
            fastest: AtomicU64::new(u64::MAX),
            patience: Duration::ZERO,
            left: AtomicU64::new(IN_ALL.as_nanos() as u64),
            was_disturbed: AtomicBool::new(false),
        }
    }

    /// Learns how fast the CPU is alone, if it is left alone for a moment of a twentieth of a second.
    pub(super) fn learn() -> Self {
        let calm = Self::new();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(50) {
            calm.is_alone();
        }
        calm
    }

    /// The same for runs that may be put off for so long.
    pub(super) fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Before a run, on the thread that makes it: waits until no other program works on the core, but not for long.
    pub(super) fn await_it(&self) {
        let left = Duration::from_nanos(self.left.load(Ordering::Relaxed));
        let patience = self.patience.min(left / PART);
        let begun = Instant::now();
        while !self.is_alone_for(BEFORE) && begun.elapsed() < patience {}
        let waited = begun.elapsed().saturating_sub(BEFORE).as_nanos() as u64;
        let less = |left: u64| Some(left.saturating_sub(waited));
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Before the threads of a run begin.
    pub(super) fn begin(&self) {
        self.was_disturbed.store(false, Ordering::Relaxed);
    }

    /// After a run, on the thread that made it.
    pub(super) fn end(&self) {
        if !self.is_alone_for(AFTER) {
            self.was_disturbed.store(true, Ordering::Relaxed);
        }
    }

    /// Whether somebody worked alongside one of the last run's threads when it ended.
    pub(super) fn was_disturbed(&self) -> bool {
        self.was_disturbed.load(Ordering::Relaxed)
    }

    /// Whether no other program works on the core from now on for this time.
    fn is_alone_for(&self, time: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if !self.is_alone() {
                return false;
            }
        }
        true
    }

    /// Whether the loop is about as fast as it ever was.
    fn is_alone(&self) -> bool {
        let took = (0..LOOPS).map(|_| pass()).min().unwrap_or(0);
        let fastest = self.fastest.fetch_min(took, Ordering::Relaxed).min(took);
        took as f64 <= fastest as f64 * DISTURBED
    }
}

/// How long the loop takes, in ns.
fn pass() -> u64 {
    #[repr(align(64))]
    struct Line([u64; 8]);
    let lines = [const { Line([1; 8]) }; LINES];
    let lines = black_box(&lines);
    let begun = Instant::now();
    let mut sum = 0_u64;
    for _ in 0..PASSES {
        for line in lines {
            sum = sum.wrapping_add(black_box(line.0[0]));
        }
    }
    black_box(sum);
    begun.elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_slower_than_ever_is_disturbed_and_nobody_waits_for_ever() {
        let calm = Calm::new().with_patience(Duration::from_secs(9));
        assert!(calm.is_alone(), "the first is the fastest");
        calm.begin();
        assert!(!calm.was_disturbed());
        // As if it had once taken no time.
        calm.fastest.store(1, Ordering::Relaxed);
        calm.left.store(2_000_000_000, Ordering::Relaxed);
        let begun = Instant::now();
        calm.await_it();
        assert!(begun.elapsed() >= Duration::from_millis(20), "its part of what is left");
        let left = calm.left.load(Ordering::Relaxed);
        assert!(left <= 2_000_000_000 - 18_000_000, "{left}");
        calm.end();
        assert!(calm.was_disturbed());
        calm.begin();
        assert!(!calm.was_disturbed());
    }
}
