//! A ring of io_uring: two arrays shared with the kernel. Source: `io_uring(7)`.
//!
//! Written on the structures of rustix, which this crate has anyway. The crate `io-uring` was measured in turns with it:
//! no-operations and cached reads at depths 1, 32 and 128 cost the same within what a busy machine lets one see. Its
//! interface leaves to the caller what must be proven here, that memory and files outlive the request.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

use rustix::io::{Errno, Result};
use rustix::io_uring::{
    IORING_OFF_SQ_RING, IORING_OFF_SQES, IoringAsyncCancelFlags, IoringEnterFlags, IoringFeatureFlags,
    IoringFsyncFlags, IoringOp, IoringRegisterOp, IoringSetupFlags, IoringSqFlags, IoringSqeFlags,
    ReadWriteFlags, io_uring_cqe, io_uring_getevents_arg, io_uring_params, io_uring_ptr, io_uring_register,
    io_uring_rsrc_update, io_uring_setup, io_uring_sqe, io_uring_sync_cancel_reg, iovec,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::Timespec;

use super::refusal::{self, Refusal};
use super::{Completion, Operation, Request, Setup, UringOptions};

/// How often the completion queue is looked at before a wait for the submission thread sleeps.
const SPINS: u32 = 2000;
/// Milliseconds without a request after which the submission thread sleeps; fio takes the kernel's default.
const THREAD_IDLE: u32 = 1000;

/// Memory shared with the kernel.
struct Area {
    start: *mut u8,
    length: usize,
}

impl Area {
    fn of(ring: &OwnedFd, length: usize, offset: u64) -> Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice aliases no Rust object.
        let start = unsafe { mmap(std::ptr::null_mut(), length, protection, flags, ring, offset)? };
        Ok(Self { start: start.cast(), length })
    }

    /// The `T` that the kernel says lies `offset` bytes into the area.
    fn at<T>(&self, offset: u32) -> *mut T {
        // SAFETY: the kernel gives offsets of aligned objects within the area, whose length follows from them.
        unsafe { self.start.add(offset as usize).cast() }
    }

    /// A counter that the kernel shares.
    ///
    /// # Safety
    /// The area must outlive the reference.
    unsafe fn counter<'a>(&self, offset: u32) -> &'a AtomicU32 {
        // SAFETY: the kernel gives the offset of an aligned 32-bit word, which both sides use as an atomic.
        unsafe { AtomicU32::from_ptr(self.at(offset)) }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `of`; who holds pointers into it owns the area and ends with it.
        let _ = unsafe { munmap(self.start.cast(), self.length) };
    }
}

/// The rings, with one submission entry per slot.
pub(super) struct Uring {
    ring: OwnedFd,
    /// What `io_uring_enter` is called with: the descriptor, or its number among the thread's registered rings.
    entrance: RawFd,
    entrance_flags: IoringEnterFlags,
    options: UringOptions,
    flags: ReadWriteFlags,
    /// One vector per slot, where reads and writes are vectored.
    vectors: Box<[iovec]>,
    entries: *mut io_uring_sqe,
    /// Numbers of the entries in the order of submission.
    order: *mut u32,
    order_mask: u32,
    /// The submission tail as of the last `prepare`; the kernel sees it at the next submission.
    prepared_tail: u32,
    submission_head: &'static AtomicU32,
    submission_tail: &'static AtomicU32,
    submission_flags: &'static AtomicU32,
    unsubmitted: u32,
    completions: *const io_uring_cqe,
    completion_mask: u32,
    completion_head: &'static AtomicU32,
    completion_tail: &'static AtomicU32,
    // Last, because what points into them must not be used after them.
    _rings: Area,
    _entries: Area,
}

impl Uring {
    pub(super) fn new(
        setup: &Setup,
        options: &UringOptions,
        memory: *mut u8,
        files: &[OwnedFd],
    ) -> std::result::Result<Self, Refusal> {
        let refused = |errno| refusal::of_uring(errno, setup.depth, options);
        let (ring, params) = create(setup.depth, options).map_err(refused)?;
        let needed = IoringFeatureFlags::SINGLE_MMAP | IoringFeatureFlags::EXT_ARG;
        if !params.features.contains(needed) {
            return Err(refused(Errno::NOSYS));
        }
        let mut uring = Self::mapped(ring, &params, setup, options).map_err(refused)?;
        if options.fixed_buffers {
            let buffers = vectors(setup, memory);
            uring.register(IoringRegisterOp::RegisterBuffers, &buffers).map_err(refusal::of_buffers)?;
        }
        if options.registered_files && !files.is_empty() {
            let numbers: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
            uring.register(IoringRegisterOp::RegisterFiles, &numbers).map_err(refused)?;
        }
        uring.register_ring();
        Ok(uring)
    }

    fn mapped(
        ring: OwnedFd,
        params: &io_uring_params,
        setup: &Setup,
        options: &UringOptions,
    ) -> Result<Self> {
        let (submission, completion) = (&params.sq_off, &params.cq_off);
        let order_end = submission.array as usize + params.sq_entries as usize * size_of::<u32>();
        let cqes_end = completion.cqes as usize + params.cq_entries as usize * size_of::<io_uring_cqe>();
        let rings = Area::of(&ring, order_end.max(cqes_end), IORING_OFF_SQ_RING)?;
        let entries =
            Area::of(&ring, params.sq_entries as usize * size_of::<io_uring_sqe>(), IORING_OFF_SQES)?;
        // SAFETY: `rings` is kept in the same value, and dropped after everything that uses these references.
        let counter = |offset| unsafe { rings.counter(offset) };
        Ok(Self {
            entrance: ring.as_raw_fd(),
            entrance_flags: IoringEnterFlags::empty(),
            options: *options,
            flags: ReadWriteFlags::from_bits_retain(setup.flags),
            // Addresses and lengths are filled in by each request.
            vectors: if setup.vectored { vectors(setup, std::ptr::null_mut()) } else { Box::default() },
            entries: entries.start.cast(),
            order: rings.at(submission.array),
            order_mask: params.sq_entries - 1,
            prepared_tail: 0,
            submission_head: counter(submission.head),
            submission_tail: counter(submission.tail),
            submission_flags: counter(submission.flags),
            unsubmitted: 0,
            completions: rings.at(completion.cqes),
            completion_mask: params.cq_entries - 1,
            completion_head: counter(completion.head),
            completion_tail: counter(completion.tail),
            _rings: rings,
            _entries: entries,
            ring,
        })
    }

    /// Registers an array of what `operation` wants.
    fn register<T>(&self, operation: IoringRegisterOp, what: &[T]) -> Result<()> {
        let source = if what.is_empty() { std::ptr::null() } else { what.as_ptr().cast() };
        // SAFETY: the kernel reads the array during the call. Registered buffers stay mapped as long as the ring is used.
        unsafe { io_uring_register(&self.ring, operation, source, what.len() as u32) }.map(drop)
    }

    /// Has the kernel look the ring itself up by a number of the thread, which is cheaper. Linux 5.18; others do without.
    fn register_ring(&mut self) {
        let number = std::ptr::without_provenance_mut(self.ring.as_raw_fd() as usize);
        let mut update = update(u32::MAX, number);
        let target = (&raw mut update).cast();
        // SAFETY: the kernel reads and writes one structure, which is live and was handed over as mutable.
        if unsafe { io_uring_register(&self.ring, IoringRegisterOp::RegisterRingFds, target, 1) } == Ok(1) {
            self.entrance = update.offset as RawFd;
            self.entrance_flags = IoringEnterFlags::REGISTERED_RING;
        }
    }

    pub(super) fn replace_file(&mut self, number: usize, file: RawFd) -> Result<()> {
        if !self.options.registered_files {
            return Ok(());
        }
        let update = update(number as u32, (&raw const file).cast_mut().cast());
        let source = (&raw const update).cast();
        // SAFETY: the kernel reads the structure and the one descriptor that it points to, both live.
        unsafe { io_uring_register(&self.ring, IoringRegisterOp::RegisterFilesUpdate, source, 1) }.map(drop)
    }

    /// # Safety
    /// Memory and file of the request must stay until its completion was popped, and its slot must be idle.
    #[inline]
    pub(super) unsafe fn prepare(&mut self, request: &Request) {
        let mut entry = io_uring_sqe { fd: request.file.0, ..Default::default() };
        if self.options.registered_files {
            entry.fd = request.file.1 as RawFd;
            entry.flags = IoringSqeFlags::FIXED_FILE;
        }
        if request.treatment.is_forced {
            entry.flags |= IoringSqeFlags::ASYNC;
        }
        entry.user_data.u64_ = request.slot.into();
        match request.operation {
            Operation::Nop => entry.opcode = IoringOp::Nop,
            Operation::Fsync => entry.opcode = IoringOp::Fsync,
            Operation::Fdatasync => {
                entry.opcode = IoringOp::Fsync;
                entry.op_flags.fsync_flags = IoringFsyncFlags::DATASYNC;
            }
            Operation::Read => {
                self.transfer(&mut entry, request, [IoringOp::Read, IoringOp::ReadFixed, IoringOp::Readv])
            }
            Operation::Write => {
                self.transfer(&mut entry, request, [IoringOp::Write, IoringOp::WriteFixed, IoringOp::Writev])
            }
        }
        // SAFETY: there is an entry for each slot and a place in the order for each entry. The kernel reads neither: the
        // slot was idle, and the tail that would show them is not stored yet.
        unsafe {
            self.entries.add(request.slot as usize).write(entry);
            self.order.add((self.prepared_tail & self.order_mask) as usize).write(request.slot);
        }
        self.prepared_tail = self.prepared_tail.wrapping_add(1);
        self.unsubmitted += 1;
    }

    /// Fills in a read or a write: plain, from a registered buffer, or through a vector.
    #[inline]
    fn transfer(
        &mut self,
        entry: &mut io_uring_sqe,
        request: &Request,
        [plain, fixed, vectored]: [IoringOp; 3],
    ) {
        entry.off_or_addr2.off = request.offset;
        entry.op_flags.rw_flags = self.flags;
        entry.ioprio.ioprio = request.treatment.priority;
        entry.addr_or_splice_off_in.addr = io_uring_ptr::new(request.memory.cast());
        entry.len.len = request.length;
        entry.opcode = plain;
        if self.options.fixed_buffers {
            entry.opcode = fixed;
            entry.buf.buf_index = request.slot as u16;
        } else if let Some(vector) = self.vectors.get_mut(request.slot as usize) {
            *vector = iovec { iov_base: request.memory.cast(), iov_len: request.length as usize };
            entry.opcode = vectored;
            entry.addr_or_splice_off_in.addr = io_uring_ptr::new(std::ptr::from_mut(vector).cast());
            entry.len.len = 1;
        }
    }

    #[inline]
    pub(super) fn submit(&mut self) -> Result<u32> {
        self.submission_tail.store(self.prepared_tail, Ordering::Release);
        if self.options.submission_thread {
            // The thread says that it sleeps, then looks for entries; so entries are shown, then the flag is read.
            fence(Ordering::SeqCst);
            if self.submission_flags.load(Ordering::Relaxed) & IoringSqFlags::NEED_WAKEUP.bits() != 0 {
                self.enter(self.unsubmitted, 0, IoringEnterFlags::SQ_WAKEUP, None)?;
            }
            return Ok(std::mem::take(&mut self.unsubmitted));
        }
        let before = self.unsubmitted;
        while self.unsubmitted > 0 {
            match self.enter(self.unsubmitted, 0, IoringEnterFlags::empty(), None) {
                // An entry that is refused ends a submission early and counts as taken; its error is a completion.
                Ok(taken) if taken > 0 => self.unsubmitted -= taken,
                Ok(_) | Err(Errno::AGAIN | Errno::BUSY | Errno::INTR) => break,
                Err(_) if self.unsubmitted < before => break,
                Err(errno) => return Err(errno),
            }
        }
        Ok(before - self.unsubmitted)
    }

    fn ready(&self) -> u32 {
        let tail = self.completion_tail.load(Ordering::Acquire);
        tail.wrapping_sub(self.completion_head.load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn wait(&mut self, min: u32, _max: u32, timeout: Option<Duration>) -> Result<u32> {
        let ready = self.ready();
        if ready > 0 && ready >= min { Ok(ready) } else { self.wait_by_call(min, timeout) }
    }

    fn wait_by_call(&mut self, min: u32, timeout: Option<Duration>) -> Result<u32> {
        if self.options.submission_thread {
            // The kernel's thread completes requests without a call. Spinning here costs a CPU, as this option implies.
            for _ in 0..SPINS {
                if self.ready() >= min {
                    return Ok(self.ready());
                }
                std::hint::spin_loop();
            }
        }
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match self.enter(0, min, IoringEnterFlags::GETEVENTS, left) {
                Err(Errno::TIME | Errno::INTR) => return Ok(self.ready()),
                Ok(_) | Err(Errno::AGAIN | Errno::BUSY) => {}
                Err(errno) => return Err(errno),
            }
            // Where completions are polled for, the kernel comes back with the first and knows no timeout.
            if self.ready() >= min || left == Some(Duration::ZERO) {
                return Ok(self.ready());
            }
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Completion> {
        let head = self.completion_head.load(Ordering::Relaxed);
        if head == self.completion_tail.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: the mask keeps the index within the array, and the kernel has filled what lies before its tail; it does
        // not write there again until the head moves on.
        let (slot, result) = unsafe {
            let completion = &*self.completions.add((head & self.completion_mask) as usize);
            (completion.user_data.u64_ as u32, completion.res)
        };
        self.completion_head.store(head.wrapping_add(1), Ordering::Release);
        Some(Completion::new(slot, result.into()))
    }

    pub(super) fn cancel(&mut self) {
        // What the submission thread has not taken yet the kernel would not find.
        while self.options.submission_thread
            && self.submission_head.load(Ordering::Acquire) != self.submission_tail.load(Ordering::Relaxed)
        {
            std::thread::yield_now();
        }
        // Of any file, without waiting for what can't be given up.
        let mut request = io_uring_sync_cancel_reg::default();
        request.fd = -1;
        request.flags = IoringAsyncCancelFlags::ALL | IoringAsyncCancelFlags::ANY;
        // A kernel before 6.0 refuses, and one that finds nothing to cancel says so: either way everything is waited for.
        let _ = self.register(IoringRegisterOp::RegisterSyncCancel, std::slice::from_ref(&request));
    }

    /// Source: `io_uring_enter(2)`.
    fn enter(
        &self,
        submit: u32,
        min: u32,
        flags: IoringEnterFlags,
        timeout: Option<Duration>,
    ) -> Result<u32> {
        let mut flags = flags | self.entrance_flags;
        let timeout = timeout
            .map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
        let mut argument = io_uring_getevents_arg::default();
        let mut passed = (std::ptr::null(), 0);
        if let Some(timeout) = &timeout {
            argument.ts = io_uring_ptr::new(std::ptr::from_ref(timeout).cast_mut().cast());
            flags |= IoringEnterFlags::EXT_ARG;
            passed = (&raw const argument, size_of_val(&argument));
        }
        // SAFETY: the argument and what it points to live until the call returns. What the kernel does with memory follows
        // from entries, whose memory stays by the contract of `prepare`.
        let result = unsafe {
            let (call, flags) = (libc::SYS_io_uring_enter, flags.bits());
            libc::syscall(call, self.entrance, submit, min, flags, passed.0, passed.1)
        };
        u32::try_from(result).map_err(|_| crate::error::last_errno())
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if self.options.registered_files {
            // The kernel takes a ring apart later, and would hold files of a file system that is to be unmounted until then.
            let _ = self.register::<RawFd>(IoringRegisterOp::UnregisterFiles, &[]);
        }
        if self.entrance_flags.contains(IoringEnterFlags::REGISTERED_RING) {
            // Otherwise the thread would hold the ring until it ends.
            let update = update(self.entrance as u32, std::ptr::null_mut());
            let _ = self.register(IoringRegisterOp::UnregisterRingFds, std::slice::from_ref(&update));
        }
    }
}

/// Makes a ring, with what the kernel has to make it cheaper: completions that wait until the thread asks (Linux 6.1), or
/// that do not interrupt it (Linux 5.19).
fn create(depth: u32, options: &UringOptions) -> Result<(OwnedFd, io_uring_params)> {
    let mut flags = IoringSetupFlags::empty();
    flags.set(IoringSetupFlags::IOPOLL, options.poll);
    flags.set(IoringSetupFlags::SQPOLL, options.submission_thread);
    flags.set(IoringSetupFlags::SQ_AFF, options.submission_thread && options.thread_cpu.is_some());
    let deferred = IoringSetupFlags::SINGLE_ISSUER | IoringSetupFlags::DEFER_TASKRUN;
    let cheaper: &[_] = match options.submission_thread {
        true => &[IoringSetupFlags::empty()],
        false => &[deferred, IoringSetupFlags::COOP_TASKRUN, IoringSetupFlags::empty()],
    };
    let mut result = Err(Errno::INVAL);
    for cheaper in cheaper {
        let mut params = io_uring_params::default();
        params.flags = flags | *cheaper;
        if options.submission_thread {
            params.sq_thread_idle = THREAD_IDLE;
            params.sq_thread_cpu = options.thread_cpu.unwrap_or(0);
        }
        // SAFETY: the structure is live, and no flag has the kernel use memory or descriptors that it points to.
        result = unsafe { io_uring_setup(depth, &mut params) }.map(|ring| (ring, params));
        if !matches!(result, Err(Errno::INVAL)) {
            break;
        }
    }
    result
}

/// A change of what is registered under a number.
fn update(number: u32, data: *mut std::ffi::c_void) -> io_uring_rsrc_update {
    let mut update = io_uring_rsrc_update::default();
    (update.offset, update.data) = (number, io_uring_ptr::new(data));
    update
}

/// One vector per slot over the slots' buffers.
fn vectors(setup: &Setup, memory: *mut u8) -> Box<[iovec]> {
    let of = |slot: u32| iovec {
        iov_base: memory.wrapping_add(slot as usize * setup.slot_bytes).cast(),
        iov_len: setup.slot_bytes,
    };
    (0..setup.depth).map(of).collect()
}

const _: () = assert!(size_of::<io_uring_cqe>() == 16 && size_of::<io_uring_sqe>() == 64);
