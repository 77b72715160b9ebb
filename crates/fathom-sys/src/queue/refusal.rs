//! Why no queue could be set up, in one line that says what to do.

use std::fmt;

use rustix::io::Errno;

use super::{Engine, Setup, UringOptions};
use crate::facts::number;

/// `IORING_MAX_ENTRIES` of `io_uring/io_uring.h`.
const MOST_ENTRIES: u32 = 32768;
/// `IORING_MAX_REG_BUFFERS` of `io_uring/rsrc.c`.
const MOST_BUFFERS: u32 = 16384;
const UNLIMITED: &str = "or run outside of the container, or use ioengine=libaio or psync";

/// A queue that the kernel, a container or the setup itself forbids. Its text is one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kernel's reason, where the kernel was asked.
    pub errno: Option<Errno>,
    what: String,
    remedy: String,
}

impl Refusal {
    fn new(errno: impl Into<Option<Errno>>, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { errno: errno.into(), what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if let Some(errno) = self.errno {
            write!(f, ": {}", crate::plain(&errno.into()))?;
        }
        write!(f, "; {}", self.remedy)
    }
}

impl std::error::Error for Refusal {}

/// Finds what no kernel would accept.
pub(super) fn check(setup: &Setup, buffer_bytes: usize) -> Result<(), Refusal> {
    let depth = setup.depth;
    if depth == 0 {
        return Err(Refusal::new(None, "a queue of depth 0 holds no request", "set iodepth to 1 or more"));
    }
    if let Engine::IoUring(options) = &setup.engine {
        let (most, what) = match options.fixed_buffers {
            true => (MOST_BUFFERS, "an io_uring with fixed buffers"),
            false => (MOST_ENTRIES, "an io_uring"),
        };
        if depth > most {
            let what = format!("{what} holds at most {most} requests, not {depth}");
            return Err(Refusal::new(None, what, format!("set iodepth to {most} or less")));
        }
    }
    match setup.slot_bytes.checked_mul(depth as usize) {
        Some(needed) if needed <= buffer_bytes => Ok(()),
        _ => {
            let what =
                format!("{depth} buffers of {} bytes do not fit into {buffer_bytes} bytes", setup.slot_bytes);
            Err(Refusal::new(None, what, "map depth times block size"))
        }
    }
}

/// Threads that could not be had.
pub(super) fn of_threads(errno: Errno, depth: u32) -> Refusal {
    Refusal::new(errno, format!("no {depth} threads can be started"), "lower iodepth, or raise 'ulimit -u'")
}

/// An error of `io_uring_setup(2)`.
pub(super) fn of_uring(errno: Errno, depth: u32, options: &UringOptions) -> Refusal {
    of_uring_where(errno, depth, options, number("/proc/sys/kernel/io_uring_disabled"))
}

fn of_uring_where(errno: Errno, depth: u32, options: &UringOptions, disabled: Option<u64>) -> Refusal {
    let remedy = match (errno, disabled) {
        (Errno::NOSYS, _) => {
            "io_uring needs Linux 5.11 and a container that allows it: use ioengine=libaio or psync"
                .to_owned()
        }
        (Errno::PERM, Some(2)) => {
            "the sysctl kernel.io_uring_disabled is 2: set it to 0, or use ioengine=libaio or psync"
                .to_owned()
        }
        (Errno::PERM, Some(1)) => "the sysctl kernel.io_uring_disabled is 1: run as root or in the group \
             kernel.io_uring_group, or use ioengine=libaio or psync"
            .to_owned(),
        (Errno::PERM | Errno::ACCESS, _) => {
            format!("a seccomp policy forbids io_uring, as Docker's does: allow it, {UNLIMITED}")
        }
        (Errno::NOMEM, _) => "raise the limit of locked memory (ulimit -l) or lower iodepth".to_owned(),
        (Errno::MFILE | Errno::NFILE, _) => "raise the limit of open files (ulimit -n)".to_owned(),
        (Errno::INVAL, _) if options.thread_cpu.is_some() => {
            "sqthread_poll_cpu must be a CPU that the process may use".to_owned()
        }
        _ => "use ioengine=libaio or psync".to_owned(),
    };
    Refusal::new(errno, format!("an io_uring of {depth} entries was refused"), remedy)
}

/// An error of `io_uring_register(2)`, IORING_REGISTER_BUFFERS.
pub(super) fn of_buffers(errno: Errno) -> Refusal {
    let remedy = match errno {
        Errno::NOMEM => "raise the limit of locked memory (ulimit -l) or leave fixedbufs out",
        _ => "leave fixedbufs out",
    };
    Refusal::new(errno, "io_uring refused to register the buffers", remedy)
}

/// An error of `io_setup(2)`.
pub(super) fn of_libaio(errno: Errno, depth: u32) -> Refusal {
    let remedy = match errno {
        Errno::AGAIN => {
            let [used, most] = ["/proc/sys/fs/aio-nr", "/proc/sys/fs/aio-max-nr"]
                .map(|path| number(path).map_or_else(|| "an unknown number".to_owned(), |n| n.to_string()));
            format!("{used} of {most} requests are set up: raise the sysctl fs.aio-max-nr or lower iodepth")
        }
        Errno::NOSYS => "this kernel or container has no io_setup: use ioengine=io_uring or psync".to_owned(),
        Errno::PERM | Errno::ACCESS => {
            "a seccomp policy forbids io_setup: allow it, or use ioengine=psync".to_owned()
        }
        Errno::INVAL | Errno::NOMEM => "lower iodepth".to_owned(),
        _ => "use ioengine=io_uring or psync".to_owned(),
    };
    Refusal::new(errno, format!("a libaio context for {depth} requests was refused"), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_ends_in_what_to_do() {
        let line = |errno, disabled| of_uring_where(errno, 8, &UringOptions::default(), disabled).to_string();
        assert_eq!(
            line(Errno::PERM, Some(2)),
            "an io_uring of 8 entries was refused: Operation not permitted; \
             the sysctl kernel.io_uring_disabled is 2: set it to 0, or use ioengine=libaio or psync"
        );
        assert!(line(Errno::PERM, Some(1)).contains("kernel.io_uring_group"));
        assert!(line(Errno::PERM, Some(0)).contains("seccomp"));
        assert!(line(Errno::PERM, None).contains("seccomp"));
        assert!(line(Errno::NOSYS, None).ends_with("use ioengine=libaio or psync"));
        assert!(line(Errno::NOMEM, Some(0)).contains("ulimit -l"));
        assert!(of_buffers(Errno::NOMEM).to_string().contains("ulimit -l"));
        assert!(of_libaio(Errno::AGAIN, 9).to_string().contains("fs.aio-max-nr"));
        assert!(of_libaio(Errno::NOSYS, 9).to_string().contains("ioengine=io_uring"));
    }
}
