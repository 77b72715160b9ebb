//! `lockfile`: threads of jobs lock a file for each of their calls.

use std::sync::{Condvar, Mutex, PoisonError};

use fathom_program::call::{Call, Direction, FileId};
use fathom_sys::clock::Counter;
use fathom_sys::file::Errno;

use crate::executor::{Engine, Window};
use crate::fault::Fault;

/// A lock for each file of jobs that run at the same time. No file of the system is locked, as in fio.
#[derive(Debug)]
pub(super) struct Locks(Vec<Lock>);

#[derive(Debug, Default)]
struct Lock {
    /// Who holds it: so many readers, or all of them and a writer.
    holders: Mutex<u32>,
    freed: Condvar,
}

const WRITER: u32 = u32::MAX;

impl Locks {
    pub(super) fn new(files: usize) -> Self {
        Self((0..files).map(|_| Lock::default()).collect())
    }

    fn take(&self, file: FileId, is_shared: bool) {
        let lock = &self.0[file.0 as usize];
        let mut holders = lock.holders.lock().unwrap_or_else(PoisonError::into_inner);
        while *holders == WRITER || *holders > 0 && !is_shared {
            holders = lock.freed.wait(holders).unwrap_or_else(PoisonError::into_inner);
        }
        *holders = if is_shared { *holders + 1 } else { WRITER };
    }

    fn give(&self, file: FileId) {
        let lock = &self.0[file.0 as usize];
        let mut holders = lock.holders.lock().unwrap_or_else(PoisonError::into_inner);
        *holders = if *holders == WRITER { 0 } else { holders.saturating_sub(1) };
        drop(holders);
        lock.freed.notify_all();
    }
}

/// An engine that holds the lock of a call's file while the call is made. The wait for the lock is not timed.
pub(super) struct Locked<'a, E> {
    pub(super) engine: E,
    pub(super) locks: &'a Locks,
    /// `lockfile=readwrite`: several may read at once.
    pub(super) shares: bool,
}

impl<E: Engine> Engine for Locked<'_, E> {
    fn prepare(&mut self, call: &Call) {
        self.engine.prepare(call);
        let reads = call.kind.direction() == Some(Direction::Read);
        self.locks.take(call.file, self.shares && reads);
    }

    fn make<C: Counter>(&mut self, clock: C, call: &Call) -> (Window, Result<usize, Errno>) {
        let made = self.engine.make(clock, call);
        self.locks.give(call.file);
        made
    }

    fn check(&mut self, call: &Call, moved: usize) -> Result<u64, Fault> {
        self.engine.check(call, moved)
    }

    fn failure(&self, call: Call, errno: Errno) -> Fault {
        self.engine.failure(call, errno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_and_a_writer_is_alone() {
        let locks = Locks::new(2);
        let file = FileId(1);
        locks.take(file, true);
        locks.take(file, true);
        let in_use = std::sync::atomic::AtomicBool::new(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                locks.take(file, false);
                assert!(!in_use.load(std::sync::atomic::Ordering::SeqCst));
                locks.give(file);
            });
            std::thread::sleep(std::time::Duration::from_millis(20));
            locks.give(file);
            in_use.store(false, std::sync::atomic::Ordering::SeqCst);
            locks.give(file);
        });
        locks.take(file, false);
    }
}
