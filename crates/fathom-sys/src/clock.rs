//! The two clocks that can time a system call, behind one interface.
//!
//! A reading is a number of ticks; what a tick is worth is somebody else's to calibrate. `start`
//! and `stop` differ because the processor may run instructions out of order: `stop` must not be
//! read before the timed call has ended. Sources: Intel SDM vol. 2B (RDTSC, RDTSCP), AMD APM vol. 3,
//! Arm ARM D13 (CNTVCT_EL0), `clock_gettime(2)`.

use rustix::time::{ClockId, clock_gettime};

/// A source of ticks. Copied into the timed loop and inlined there: no dynamic dispatch.
pub trait Counter: Copy + Send + Sync {
    /// The name used in reports.
    const NAME: &'static str;
    /// A reading, in ticks, to be taken before the timed call.
    fn start(self) -> u64;
    /// A reading, in ticks, that is not taken before the timed call has completed.
    fn stop(self) -> u64;
}

/// The processor's cycle counter: TSC on x86-64, CNTVCT_EL0 on aarch64.
#[derive(Debug, Clone, Copy)]
pub struct CycleCounter(());

/// CLOCK_MONOTONIC_RAW in nanoseconds: not slewed by NTP, present on every Linux.
#[derive(Debug, Clone, Copy)]
pub struct MonotonicRaw;

impl CycleCounter {
    /// The counter, or the reason why this processor's can't be used.
    ///
    /// # Errors
    /// One sentence: the architecture has no counter, or it may stop or change its rate.
    pub fn detect() -> std::result::Result<Self, String> {
        arch::usable().map(|()| Self(()))
    }
}

impl Counter for CycleCounter {
    const NAME: &'static str = arch::NAME;

    #[inline(always)]
    fn start(self) -> u64 {
        arch::start()
    }

    #[inline(always)]
    fn stop(self) -> u64 {
        arch::stop()
    }
}

impl Counter for MonotonicRaw {
    const NAME: &'static str = "monotonic_raw";

    #[inline(always)]
    fn start(self) -> u64 {
        monotonic_raw_ns()
    }

    #[inline(always)]
    fn stop(self) -> u64 {
        monotonic_raw_ns()
    }
}

/// What one of the kernel's clocks shows, by its number; none where there is no such clock. Source: `clock_gettime(2)`.
pub fn shown_by(clock: u32) -> Option<std::time::Duration> {
    let id = match clock {
        0 => ClockId::Realtime,
        1 => ClockId::Monotonic,
        2 => ClockId::ProcessCPUTime,
        3 => ClockId::ThreadCPUTime,
        4 => ClockId::MonotonicRaw,
        5 => ClockId::RealtimeCoarse,
        6 => ClockId::MonotonicCoarse,
        7 => ClockId::Boottime,
        _ => return None,
    };
    let now = clock_gettime(id);
    let seconds = u64::try_from(now.tv_sec).ok()?;
    Some(std::time::Duration::new(seconds, u32::try_from(now.tv_nsec).ok()?))
}

/// CLOCK_MONOTONIC_RAW in nanoseconds since an unspecified start.
#[inline(always)]
pub fn monotonic_raw_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
mod arch {
    use core::arch::x86_64::{__cpuid, __rdtscp, _rdtsc};

    pub(super) const NAME: &str = "tsc";

    /// CPUID leaf 0x8000_0001 EDX bit 27 is RDTSCP; leaf 0x8000_0007 EDX bit 8 is the invariant
    /// TSC, which neither stops nor changes rate. Hypervisors often hide the second, so the
    /// kernel's own verdict (`constant_tsc nonstop_tsc`) counts as well.
    pub(super) fn usable() -> Result<(), String> {
        let highest = __cpuid(0x8000_0000).eax;
        let rdtscp = highest >= 0x8000_0001 && __cpuid(0x8000_0001).edx & (1 << 27) != 0;
        if !rdtscp {
            return Err("the processor has no RDTSCP instruction".to_owned());
        }
        let invariant = highest >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0;
        let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let kernel_says = flags
            .lines()
            .find(|line| line.starts_with("flags"))
            .is_some_and(|line| line.contains(" constant_tsc") && line.contains(" nonstop_tsc"));
        if invariant || kernel_says {
            Ok(())
        } else {
            Err("the time stamp counter is not invariant: its rate may change or it may stop".to_owned())
        }
    }

    #[inline(always)]
    pub(super) fn start() -> u64 {
        // SAFETY: RDTSC reads a register; `usable` has shown that the instruction exists.
        unsafe { _rdtsc() }
    }

    #[inline(always)]
    pub(super) fn stop() -> u64 {
        let mut processor = 0;
        // SAFETY: RDTSCP reads two registers and writes to a live local; `usable` has shown that it exists.
        unsafe { __rdtscp(&raw mut processor) }
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use core::arch::asm;

    pub(super) const NAME: &str = "cntvct";

    pub(super) fn usable() -> Result<(), String> {
        // The architecture requires the generic timer to be system-wide and of constant rate.
        Ok(())
    }

    #[inline(always)]
    pub(super) fn start() -> u64 {
        let ticks: u64;
        // SAFETY: CNTVCT_EL0 is readable from user space on Linux, and reading has no effect.
        unsafe { asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nostack, preserves_flags)) };
        ticks
    }

    #[inline(always)]
    pub(super) fn stop() -> u64 {
        let ticks: u64;
        // SAFETY: as above; the barrier keeps the reading behind the timed call.
        unsafe { asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack, preserves_flags)) };
        ticks
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod arch {
    pub(super) const NAME: &str = "none";

    pub(super) fn usable() -> Result<(), String> {
        Err("no cycle counter is known for this architecture".to_owned())
    }

    #[inline(always)]
    pub(super) fn start() -> u64 {
        super::monotonic_raw_ns()
    }

    #[inline(always)]
    pub(super) fn stop() -> u64 {
        super::monotonic_raw_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
    fn readings_never_go_back_on_one_cpu() {
        let _pinned = crate::affinity::pin_to_current_cpu();
        let counter = match CycleCounter::detect() {
            Ok(counter) => counter,
            Err(reason) => {
                println!("skipped: readings_never_go_back_on_one_cpu: {reason:?}");
                return;
            }
        };
        let mut last = counter.start();
        for _ in 0..10_000 {
            let now = counter.stop();
            assert!(now >= last);
            last = now;
        }
    }
}
