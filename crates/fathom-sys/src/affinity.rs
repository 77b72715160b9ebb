//! Which CPU a thread runs on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Restores the thread's old CPU set when dropped.
#[derive(Debug)]
pub struct Pinned {
    before: CpuSet,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // A failure leaves the thread where it is, which is harmless.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// The CPUs that the calling thread may run on, in ascending order. Source: `sched_getaffinity(2)`.
pub fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return vec![sched_getcpu()] };
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// CPUs that the kernel can run its own threads on. Source: `sysconf(3)`, _SC_NPROCESSORS_ONLN.
pub fn online_cpus() -> usize {
    // SAFETY: sysconf takes a number and returns one.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(count).unwrap_or(1).max(1)
}

/// Binds the calling thread to `cpu` until the result is dropped; `None` where that is not permitted.
pub fn pin_to(cpu: usize) -> Option<Pinned> {
    let before = sched_getaffinity(None).ok()?;
    crate::placement::run_on(&[cpu as u32]).ok()?;
    Some(Pinned { before })
}

/// Binds the calling thread to the CPU it is on; `None` where that is not permitted.
pub fn pin_to_current_cpu() -> Option<Pinned> {
    pin_to(sched_getcpu())
}

/// Lets the calling thread sleep to the nanosecond that it asks for, not to the default 50 us.
/// Source: `prctl(2)`, PR_SET_TIMERSLACK.
pub fn sleep_precisely() {
    // SAFETY: this prctl takes one number and touches no memory. A failure only makes pauses longer.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}
