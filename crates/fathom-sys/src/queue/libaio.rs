//! The kernel's older asynchronous I/O by its system calls, without the C library `libaio`. Source: `io_submit(2)`.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::io::{Errno, Result};

use super::{Completion, Operation, Request, Setup, timespec};

/// Commands of `uapi/linux/aio_abi.h`.
const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;
const NOOP: u16 = 6;
const PREADV: u16 = 7;
const PWRITEV: u16 = 8;
/// `IOCB_FLAG_IOPRIO`: the block's priority holds.
const HAS_PRIORITY: u32 = 2;
/// `AIO_RING_MAGIC` of `fs/aio.c`: the ring in memory has the layout of [`RingHeader`].
const RING_MAGIC: u32 = 0xA10A_10A1;

/// Struct `iocb` of `uapi/linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ControlBlock {
    data: u64,
    #[cfg(target_endian = "big")]
    flags: u32,
    key: u32,
    #[cfg(target_endian = "little")]
    flags: u32,
    command: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    block_flags: u32,
    event_descriptor: u32,
}

/// Struct `io_event` of `uapi/linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

/// Struct `aio_ring` of `fs/aio.c`, which the kernel maps at the address that names the context. `size` events follow.
#[repr(C)]
struct RingHeader {
    id: u32,
    size: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    length: u32,
}

/// A context with one control block per slot.
pub(super) struct Context {
    /// The context's name, and the address of its ring.
    id: usize,
    /// Whether the ring has the layout that this file knows.
    knows_ring: bool,
    flags: u32,
    blocks: Box<[ControlBlock]>,
    /// One vector per slot, where reads and writes are vectored.
    vectors: Box<[libc::iovec]>,
    /// Blocks to be submitted, in order.
    prepared: Vec<*mut ControlBlock>,
    /// Results that were taken from the kernel, and how many of them were popped.
    events: Vec<Event>,
    popped: usize,
}

impl Context {
    /// Source: `io_setup(2)`.
    pub(super) fn new(setup: &Setup) -> Result<Self> {
        let depth = setup.depth as usize;
        let mut id = 0_usize;
        // SAFETY: the kernel writes one word, which is live and zero as it must be.
        call(unsafe { libc::syscall(libc::SYS_io_setup, setup.depth, &raw mut id) })?;
        let vector = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let mut context = Self {
            id,
            knows_ring: false,
            flags: setup.flags,
            blocks: vec![ControlBlock::default(); depth].into(),
            vectors: vec![vector; if setup.vectored { depth } else { 0 }].into(),
            prepared: Vec::with_capacity(depth),
            events: Vec::with_capacity(depth),
            popped: 0,
        };
        context.knows_ring = context.header().magic == RING_MAGIC
            && context.header().length as usize == size_of::<RingHeader>();
        Ok(context)
    }

    fn header(&self) -> &RingHeader {
        // SAFETY: the kernel maps the header of the ring, readable and page-aligned, at the context's address until the
        // context is destroyed, which `drop` does. It changes the two counters alone, which are atomics here.
        unsafe { &*std::ptr::with_exposed_provenance(self.id) }
    }

    /// # Safety
    /// Memory and file of the request must stay until its completion was popped, and its slot must be idle.
    #[inline]
    pub(super) unsafe fn prepare(&mut self, request: &Request) {
        let slot = request.slot as usize;
        let mut block =
            ControlBlock { data: request.slot.into(), file: request.file.0 as u32, ..Default::default() };
        block.command = match request.operation {
            Operation::Nop => NOOP,
            Operation::Fsync => FSYNC,
            Operation::Fdatasync => FDSYNC,
            Operation::Read if self.vectors.is_empty() => PREAD,
            Operation::Write if self.vectors.is_empty() => PWRITE,
            Operation::Read => PREADV,
            Operation::Write => PWRITEV,
        };
        if matches!(request.operation, Operation::Read | Operation::Write) {
            block.flags = self.flags;
            if request.treatment.priority != 0 {
                (block.priority, block.block_flags) =
                    (request.treatment.priority.cast_signed(), HAS_PRIORITY);
            }
            block.offset = request.offset as i64;
            (block.buffer, block.bytes) = (request.memory.expose_provenance() as u64, request.length.into());
            if let Some(vector) = self.vectors.get_mut(slot) {
                *vector = libc::iovec { iov_base: request.memory.cast(), iov_len: request.length as usize };
                (block.buffer, block.bytes) = (std::ptr::from_mut(vector).expose_provenance() as u64, 1);
            }
        }
        self.blocks[slot] = block;
        // The blocks are never moved, so that the pointer stays good until the submission.
        let block = self.blocks.as_mut_ptr().wrapping_add(slot);
        self.prepared.push(block);
    }

    /// Source: `io_submit(2)`.
    #[inline]
    pub(super) fn submit(&mut self) -> Result<u32> {
        let mut started = 0;
        let failed = loop {
            let left = &mut self.prepared[started..];
            if left.is_empty() {
                break None;
            }
            // SAFETY: the pointers lead to blocks of this context, which the kernel copies during the call. Their memory
            // stays by the contract of `prepare`.
            let result =
                call(unsafe { libc::syscall(libc::SYS_io_submit, self.id, left.len(), left.as_mut_ptr()) });
            match result {
                Ok(0) | Err(Errno::AGAIN | Errno::NOMEM | Errno::INTR) => break None,
                Ok(taken) => started += taken as usize,
                // The kernel speaks of the first one, and has started none.
                Err(errno @ (Errno::BADF | Errno::INVAL | Errno::OPNOTSUPP | Errno::OVERFLOW)) => {
                    self.refuse(started, errno);
                    started += 1;
                }
                Err(errno) => break Some(errno),
            }
        };
        self.prepared.drain(..started);
        match failed {
            Some(errno) if started == 0 => Err(errno),
            _ => Ok(started as u32),
        }
    }

    /// Makes an error of the submission the result of the request that caused it.
    #[cold]
    fn refuse(&mut self, place: usize, errno: Errno) {
        let distance = self.prepared[place].addr() - self.blocks.as_ptr().addr();
        let data = (distance / size_of::<ControlBlock>()) as u64;
        self.events.push(Event { data, result: -i64::from(errno.raw_os_error()), ..Event::default() });
    }

    /// Source: `io_getevents(2)`.
    #[inline]
    pub(super) fn wait(&mut self, min: u32, max: u32, timeout: Option<Duration>) -> Result<u32> {
        self.events.drain(..self.popped);
        self.popped = 0;
        self.take_from_ring(max as usize);
        let ready = self.events.len() as u32;
        if ready < min || (ready == 0 && !self.knows_ring) {
            self.take_by_call(min - ready, max - ready, timeout)?;
        }
        Ok(self.events.len() as u32)
    }

    /// Takes what has completed without a call, until `max` results are ready. The kernel looks at the head that is stored
    /// here when it runs out of places. Source: `user_refill_reqs_available` and `aio_read_events_ring` of `fs/aio.c`.
    #[inline]
    fn take_from_ring(&mut self, max: usize) {
        if !self.knows_ring {
            return;
        }
        let header = std::ptr::from_ref(self.header());
        // SAFETY: the header lies in memory of the kernel's, not in `self`, and stays until `drop`.
        let header = unsafe { &*header };
        let first = std::ptr::with_exposed_provenance::<Event>(self.id + size_of::<RingHeader>());
        let (mut head, tail) = (header.head.load(Ordering::Relaxed), header.tail.load(Ordering::Acquire));
        while head != tail && self.events.len() < max {
            // SAFETY: the kernel keeps both counters below `size`, has filled what lies before its tail, and does not write
            // there again until the head moves on. No other code takes results of this context.
            self.events.push(unsafe { *first.add(head as usize) });
            head += 1;
            if head == header.size {
                head = 0;
            }
        }
        header.head.store(head, Ordering::Release);
    }

    fn take_by_call(&mut self, min: u32, max: u32, timeout: Option<Duration>) -> Result<()> {
        let place = self.events.spare_capacity_mut();
        let max = max.min(place.len() as u32);
        let timeout = timeout.map(timespec);
        let limit = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the kernel writes at most `max` events into room for as many, and reads a live timeout.
        let taken = call(unsafe {
            libc::syscall(libc::SYS_io_getevents, self.id, min.min(max), max, place.as_mut_ptr(), limit)
        });
        let taken = match taken {
            Err(Errno::INTR) => 0,
            taken => taken?,
        };
        // SAFETY: the kernel has filled as many as it says.
        unsafe { self.events.set_len(self.events.len() + taken as usize) };
        Ok(())
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Completion> {
        let event = self.events.get(self.popped)?;
        self.popped += 1;
        Some(Completion::new(event.data as u32, event.result))
    }

    /// Source: `io_cancel(2)`. The kernel can give up what waits for nothing but a poll: it refuses the rest.
    pub(super) fn cancel(&mut self) {
        for block in &mut self.blocks {
            let mut event = Event::default();
            // SAFETY: the kernel looks for the block's address among what is under way, and writes a live event at most.
            unsafe { libc::syscall(libc::SYS_io_cancel, self.id, std::ptr::from_mut(block), &raw mut event) };
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Cancels what it can and waits for the rest. Source: `io_destroy(2)`.
        // SAFETY: nothing uses the context or its ring afterwards.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }
}

fn call(result: libc::c_long) -> Result<u32> {
    u32::try_from(result).map_err(|_| crate::error::last_errno())
}
