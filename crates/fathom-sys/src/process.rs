//! Processes that work for this one: a child that may be left hanging, and one that serves.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};

use crate::{Error, Result};

/// Signals that a supervisor passes on.
const PASSED_ON: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
/// The process that signals are passed on to; zero while there is none.
static SUPERVISED: AtomicI32 = AtomicI32::new(0);

/// How a supervised process ends although one of its calls never returns.
#[derive(Debug)]
pub struct Surrender(Option<std::fs::File>);

/// Goes on in a child process, and lets the parent wait for it: the parent passes signals on, ends as
/// the child ends, and never returns from here.
///
/// A thread that waits in the kernel for a file system may not even heed SIGKILL, and a parent that waits
/// for its process would wait with it. The parent does not: see [`Surrender::give_up`]. The child ends
/// with the parent, whatever ends that. Where no process can be made, this one goes on alone. If a signal
/// kills the child, the parent runs `clean_up` before it ends in the same way.
///
/// Must be called while there is one thread; with more it does nothing.
pub fn supervise(clean_up: fn()) -> Surrender {
    let Ok((read, write)) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC) else {
        return Surrender(None);
    };
    // A signal that comes before the child is known would be lost.
    mask(libc::SIG_BLOCK);
    match fork() {
        Ok(Some(child)) => {
            drop(write);
            SUPERVISED.store(child.as_raw_nonzero().get(), Ordering::SeqCst);
            PASSED_ON
                .into_iter()
                .for_each(|signal| handle(signal, pass_on as *const () as libc::sighandler_t));
            mask(libc::SIG_UNBLOCK);
            end_as(child, read, clean_up)
        }
        Ok(None) => {
            mask(libc::SIG_UNBLOCK);
            Surrender(Some(write.into()))
        }
        Err(_) => {
            mask(libc::SIG_UNBLOCK);
            Surrender(None)
        }
    }
}

/// Gives the calling thread a table of descriptors of its own: what it opens from then on no other thread sees.
/// Says whether the kernel allowed it. Source: `unshare(2)`, CLONE_FILES.
///
/// While threads share a table, each call on a descriptor counts its users up and down (`fdget` of `fs/file.c`).
pub fn own_descriptors() -> bool {
    // SAFETY: the flag touches no memory; descriptors that other threads own stay open in their table.
    unsafe { libc::unshare(libc::CLONE_FILES) == 0 }
}

impl Surrender {
    /// Ends the program with `code`, though this process may stay for as long as its call hangs.
    pub fn give_up(&self, code: u8) -> ! {
        if let Some(mut parent) = self.0.as_ref() {
            let _ = parent.write_all(&[code]);
        }
        // SAFETY: ends the process without running anything of it, which other threads may be in the midst of.
        unsafe { libc::_exit(code.into()) }
    }
}

/// A process that works for this one and ends with it.
#[derive(Debug)]
pub struct Helper(Option<Pid>);

impl Helper {
    /// Runs `work` in a child process, which ends with it, or with this process, whatever ends that.
    ///
    /// # Errors
    /// EBUSY where this process has more than one thread; what `fork(2)` gives.
    pub fn start(work: impl FnOnce() -> u8) -> Result<Self> {
        match fork().map_err(|errno| Error::new("fork", Path::new("/proc/self/exe"), errno))? {
            Some(child) => Ok(Self(Some(child))),
            None => std::process::exit(work().into()),
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        let Some(child) = self.0 else { return true };
        if !matches!(waitpid(Some(child), WaitOptions::NOHANG), Ok(None)) {
            self.0 = None;
        }
        self.0.is_none()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        if !self.has_ended()
            && let Some(child) = self.0
        {
            let _ = kill_process(child, Signal::KILL);
            let _ = waitpid(Some(child), WaitOptions::empty());
        }
    }
}

/// The child's number in the parent, nothing in the child. Source: `fork(2)`, `PR_SET_PDEATHSIG`.
fn fork() -> rustix::io::Result<Option<Pid>> {
    if std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count) != 1 {
        return Err(rustix::io::Errno::BUSY);
    }
    let parent = rustix::process::getpid();
    // SAFETY: there is one thread, so that the child finds every lock and all memory in a usable state.
    match unsafe { libc::fork() } {
        -1 => Err(crate::error::last_errno()),
        0 => {
            let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            if rustix::process::getppid() != Some(parent) {
                // The parent was gone before it could be watched.
                std::process::exit(1);
            }
            Ok(None)
        }
        child => Ok(Pid::from_raw(child)),
    }
}

fn handle(signal: libc::c_int, handler: libc::sighandler_t) {
    // SAFETY: the handler is the default or `pass_on`, which does only what a handler may.
    unsafe { libc::signal(signal, handler) };
}

/// Holds the signals that are passed on back, or lets them through.
fn mask(how: libc::c_int) {
    // SAFETY: the set is initialised by sigemptyset before anything else uses it.
    unsafe {
        let mut signals = std::mem::zeroed();
        libc::sigemptyset(&mut signals);
        PASSED_ON.into_iter().for_each(|signal| {
            libc::sigaddset(&mut signals, signal);
        });
        libc::sigprocmask(how, &signals, std::ptr::null_mut());
    }
}

extern "C" fn pass_on(signal: libc::c_int) {
    let child = SUPERVISED.load(Ordering::SeqCst);
    if child > 0 {
        // SAFETY: kill is among the calls that a handler may make.
        unsafe { libc::kill(child, signal) };
    }
}

/// Waits for the child's end or its surrender, and ends this process in the same way.
fn end_as(child: Pid, surrender: OwnedFd, clean_up: fn()) -> ! {
    let mut code = [0];
    // The standard library asks again after a signal.
    if std::fs::File::from(surrender).read_exact(&mut code).is_ok() {
        std::process::exit(code[0].into());
    }
    let status = loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => break Some(status),
            Err(rustix::io::Errno::INTR) | Ok(None) => {}
            Err(_) => break None,
        }
    };
    if let Some(signal) = status.and_then(WaitStatus::terminating_signal) {
        clean_up();
        handle(signal, libc::SIG_DFL);
        // SAFETY: raising a signal in the one thread there is.
        unsafe { libc::raise(signal) };
    }
    std::process::exit(status.and_then(WaitStatus::exit_status).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_is_not_forked() {
        // The harness runs tests on threads.
        assert_eq!(Helper::start(|| 0).unwrap_err().errno, rustix::io::Errno::BUSY);
    }
}
