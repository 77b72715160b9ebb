//! The C library's asynchronous I/O, which threads of its own carry out: fio's `posixaio`. Source: `aio(7)`.
//!
//! glibc makes the requests on one descriptor one after another, whatever the depth.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rustix::io::{Errno, Result};

use super::{Completion, Operation, Request, Setup, timespec};
use crate::error::done;

/// One control block per slot.
pub(super) struct Aio {
    blocks: Box<[libc::aiocb]>,
    operations: Box<[Operation]>,
    /// Slots to be submitted, in order, and how many of them are.
    prepared: Vec<u32>,
    under_way: Vec<u32>,
    ready: VecDeque<Completion>,
    /// The blocks under way, as `aio_suspend(3)` wants them.
    waited_for: Vec<*const libc::aiocb>,
}

impl Aio {
    pub(super) fn new(setup: &Setup) -> Self {
        let depth = setup.depth as usize;
        // SAFETY: all zeros are a valid control block, whose pointers are null.
        let empty: libc::aiocb = unsafe { std::mem::zeroed() };
        Self {
            blocks: vec![empty; depth].into(),
            operations: vec![Operation::Nop; depth].into(),
            prepared: Vec::with_capacity(depth),
            under_way: Vec::with_capacity(depth),
            ready: VecDeque::with_capacity(depth),
            waited_for: Vec::with_capacity(depth),
        }
    }

    /// # Safety
    /// Memory and file of the request must stay until its completion was popped, and its slot must be idle.
    pub(super) unsafe fn prepare(&mut self, request: &Request) {
        let block = &mut self.blocks[request.slot as usize];
        block.aio_fildes = request.file.0;
        block.aio_buf = request.memory.cast();
        block.aio_nbytes = request.length as usize;
        block.aio_offset = request.offset as i64;
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        self.operations[request.slot as usize] = request.operation;
        self.prepared.push(request.slot);
    }

    /// Source: `aio_read(3)`, `aio_write(3)`, `aio_fsync(3)`.
    pub(super) fn submit(&mut self) -> Result<u32> {
        let mut started = 0;
        for &slot in &self.prepared {
            let block = self.blocks[slot as usize..].as_mut_ptr();
            let result = match self.operations[slot as usize] {
                Operation::Nop => Err(Errno::INVAL),
                // SAFETY: the block is in a box that is neither moved nor written to until the request has completed, as
                // are memory and file by the contract of `prepare`.
                Operation::Read => done(unsafe { libc::aio_read(block) }.into()),
                // SAFETY: as for reads.
                Operation::Write => done(unsafe { libc::aio_write(block) }.into()),
                // SAFETY: as for reads.
                Operation::Fsync => done(unsafe { libc::aio_fsync(libc::O_SYNC, block) }.into()),
                // SAFETY: as for reads.
                Operation::Fdatasync => done(unsafe { libc::aio_fsync(libc::O_DSYNC, block) }.into()),
            };
            match result {
                Ok(()) => self.under_way.push(slot),
                Err(Errno::AGAIN) => break,
                Err(errno) => self.ready.push_back(Completion { slot, result: Err(errno) }),
            }
            started += 1;
        }
        self.prepared.drain(..started);
        Ok(started as u32)
    }

    /// Source: `aio_suspend(3)`.
    pub(super) fn wait(&mut self, min: u32, max: u32, timeout: Option<Duration>) -> Result<u32> {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            self.take(max as usize);
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if self.ready.len() >= min as usize || left.is_some_and(|left| left.is_zero()) {
                return Ok(self.ready.len() as u32);
            }
            self.waited_for.clear();
            let blocks = self.under_way.iter().map(|&slot| std::ptr::from_ref(&self.blocks[slot as usize]));
            self.waited_for.extend(blocks);
            let limit = left.map(timespec);
            let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            let count = self.waited_for.len() as libc::c_int;
            // SAFETY: as many pointers to live blocks as are said, and a live timeout.
            match done(unsafe { libc::aio_suspend(self.waited_for.as_ptr(), count, limit) }.into()) {
                // Another signal, or the time is over: the next round tells.
                Ok(()) | Err(Errno::AGAIN) => {}
                Err(Errno::INTR) => return Ok(self.ready.len() as u32),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Takes what has completed, until `max` results are ready. Source: `aio_error(3)`, `aio_return(3)`.
    fn take(&mut self, max: usize) {
        let (blocks, ready) = (&mut self.blocks, &mut self.ready);
        self.under_way.retain(|&slot| {
            let block = &raw mut blocks[slot as usize];
            // SAFETY: the block was submitted, and its result was not taken yet.
            let error = if ready.len() < max { unsafe { libc::aio_error(block) } } else { libc::EINPROGRESS };
            if error == libc::EINPROGRESS {
                return true;
            }
            // SAFETY: it has completed, and this takes its result once.
            let moved = unsafe { libc::aio_return(block) };
            let result = if error == 0 { Ok(moved as u32) } else { Err(Errno::from_raw_os_error(error)) };
            ready.push_back(Completion { slot, result });
            false
        });
    }

    pub(super) fn pop(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    /// Gives up what no thread has begun. Source: `aio_cancel(3)`.
    pub(super) fn cancel(&mut self) {
        for &slot in &self.under_way {
            let block = &raw mut self.blocks[slot as usize];
            // SAFETY: the block was submitted, and its result was not taken yet.
            unsafe { libc::aio_cancel((*block).aio_fildes, block) };
        }
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        // The library's threads write to the blocks of requests that could not be waited for.
        if !self.under_way.is_empty() {
            std::mem::forget(std::mem::take(&mut self.blocks));
        }
    }
}
