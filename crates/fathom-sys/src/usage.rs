//! What a thread has used: processor time, faults, context switches.

use std::time::Duration;

/// The calling thread's use of the machine since it began. Source: `getrusage(2)`, RUSAGE_THREAD.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time in the program.
    pub user: Duration,
    /// Processor time in the kernel.
    pub system: Duration,
    /// Page faults that needed a device.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
    /// Context switches because the thread waited for something.
    pub sleeps: u64,
    /// Context switches because another thread took its CPU.
    pub preemptions: u64,
}

impl Usage {
    /// The usage of the calling thread up to now; all zero where the kernel does not say.
    pub fn of_this_thread() -> Self {
        let mut raw = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is to a structure of the kernel's layout that outlives the call.
        let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, raw.as_mut_ptr()) };
        if result != 0 {
            return Self::default();
        }
        // SAFETY: the structure was zeroed, which is a valid value of it, and then filled.
        let raw = unsafe { raw.assume_init() };
        let time = |value: libc::timeval| Duration::new(value.tv_sec as u64, value.tv_usec as u32 * 1000);
        Self {
            user: time(raw.ru_utime),
            system: time(raw.ru_stime),
            major_faults: raw.ru_majflt as u64,
            minor_faults: raw.ru_minflt as u64,
            sleeps: raw.ru_nvcsw as u64,
            preemptions: raw.ru_nivcsw as u64,
        }
    }

    /// What was used between an earlier reading and this one.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            sleeps: self.sleeps.saturating_sub(earlier.sleeps),
            preemptions: self.preemptions.saturating_sub(earlier.preemptions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_is_seen_to() {
        let before = Usage::of_this_thread();
        let start = std::time::Instant::now();
        while start.elapsed() < Duration::from_millis(30) {
            std::hint::black_box(crate::facts::parent_process());
        }
        let used = Usage::of_this_thread().since(before);
        assert!(used.user + used.system > Duration::ZERO, "{used:?}");
    }
}
