//! Where the calling thread runs, how urgently, and where its memory comes from.

use rustix::io::{Errno, Result};
use rustix::process::nice;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::error::done;

/// Lets the calling thread run on these CPUs alone. Source: `sched_setaffinity(2)`.
///
/// # Errors
/// EINVAL where the machine has none of them.
pub fn run_on(cpus: &[u32]) -> Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().map(|&cpu| cpu as usize).filter(|&cpu| cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
    sched_setaffinity(None, &set)
}

/// Adds to the niceness of the calling thread. Source: `setpriority(2)`.
///
/// # Errors
/// EACCES where a thread without privileges asks for less niceness.
pub fn add_niceness(more: i32) -> Result<()> {
    nice(more).map(|_| ())
}

/// Gives the calling thread's transfers a class (1 real time, 2 best effort, 3 idle) and a priority (0 to 7, 0 first).
/// Source: `ioprio_set(2)`.
///
/// # Errors
/// EPERM where a thread without privileges asks for real time.
pub fn prioritise(class: u8, priority: u8) -> Result<()> {
    const PROCESS: libc::c_long = 1;
    let value = libc::c_long::from(class) << 13 | libc::c_long::from(priority);
    // SAFETY: the call takes three numbers and touches no memory; zero is the calling thread.
    done(unsafe { libc::syscall(libc::SYS_ioprio_set, PROCESS, 0_i64, value) })
}

/// Which memory the calling thread gets from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// The machine's own policy.
    Default,
    /// That of the node that it runs on.
    Local,
    /// This node's as long as there is some.
    Prefer(u32),
    /// That of these nodes and no other.
    Bind(Vec<u32>),
    /// A page of each of these nodes in turn.
    Interleave(Vec<u32>),
}

/// Sets the policy for the calling thread. Source: `set_mempolicy(2)`.
///
/// # Errors
/// EINVAL where the machine has no such node, ENOSYS where the kernel knows of none.
pub fn take_memory(policy: &MemoryPolicy) -> Result<()> {
    let (mode, nodes) = match policy {
        MemoryPolicy::Default => (libc::MPOL_DEFAULT, &[][..]),
        MemoryPolicy::Local => (libc::MPOL_LOCAL, &[][..]),
        MemoryPolicy::Prefer(node) => (libc::MPOL_PREFERRED, std::slice::from_ref(node)),
        MemoryPolicy::Bind(nodes) => (libc::MPOL_BIND, &nodes[..]),
        MemoryPolicy::Interleave(nodes) => (libc::MPOL_INTERLEAVE, &nodes[..]),
    };
    // As many nodes as a kernel can be built for.
    let mut mask = [0_u64; 16];
    for &node in nodes {
        *mask.get_mut(node as usize / 64).ok_or(Errno::INVAL)? |= 1 << (node % 64);
    }
    let bits = if nodes.is_empty() { 0 } else { mask.len() * 64 };
    let mask = if nodes.is_empty() { std::ptr::null() } else { mask.as_ptr() };
    // SAFETY: the mask is null or as many bits as are said, and outlives the call.
    done(unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::c_long::from(mode), mask, bits) })
}

/// The CPUs of a NUMA node, as the kernel lists them: `0-3,8`. Source: `/sys/devices/system/node`.
///
/// # Errors
/// ENOENT where the machine has no such node.
pub fn cpus_of_node(node: u32) -> Result<String> {
    let path = format!("/sys/devices/system/node/node{node}/cpulist");
    std::fs::read_to_string(path).map_err(|_| Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::allowed_cpus;

    #[test]
    fn a_thread_is_where_it_is_put() {
        std::thread::spawn(|| {
            let first = allowed_cpus()[0] as u32;
            run_on(&[first]).unwrap();
            assert_eq!(allowed_cpus(), [first as usize]);
            assert_eq!(run_on(&[]), Err(Errno::INVAL));
            add_niceness(3).unwrap();
            assert!(rustix::process::getpriority_process(None).unwrap() >= 3);
            prioritise(2, 7).unwrap();
            assert!(prioritise(7, 0).is_err());
        })
        .join()
        .unwrap();
    }

    #[test]
    #[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
    fn memory_comes_from_nodes_that_are_there() {
        std::thread::spawn(|| {
            match take_memory(&MemoryPolicy::Default) {
                Ok(()) => {
                    assert_eq!(take_memory(&MemoryPolicy::Bind(vec![1000])), Err(Errno::INVAL));
                    take_memory(&MemoryPolicy::Local).unwrap();
                }
                // A container may forbid the call, and a kernel may lack it.
                Err(errno) => {
                    assert!(matches!(errno, Errno::PERM | Errno::NOSYS), "{errno}");
                    println!("skipped: memory_comes_from_nodes_that_are_there: set_mempolicy: {errno}");
                }
            }
        })
        .join()
        .unwrap();
        assert_eq!(cpus_of_node(4000), Err(Errno::NOENT));
    }
}
