//! Asynchronous I/O: many requests under way at once, by io_uring or by the calls behind libaio.
//!
//! A [`Queue`] owns everything that the kernel may touch: one buffer per slot, the files, and the ring.
//! A slot is one request. It is idle, or busy from [`Queue::prepare`] until [`Queue::pop`] has given its result;
//! a busy slot's buffer cannot be reached, and dropping the queue first cancels or awaits what is under way.
//!
//! # fio's options on this interface
//! fio's `iodepth` is [`Setup::depth`]. `iodepth_batch_submit` N (default 1; 0 means the depth) is how many
//! requests are prepared before [`Queue::submit`] is called, and fio submits what is left before it waits.
//! `iodepth_batch_complete_min` and `_max` (default 1 and 1) are `min` and `max` of [`Queue::wait`]; `max` is raised
//! to `min`, and `min` is lowered to the number under way. When the queue is full, fio waits again and again until
//! no more than `iodepth_low` (default: the depth) are busy, and only then prepares new requests.
//! A `complete_min` of 0 means that fio asks without sleeping, but where the queue is full it asks until it has one.
//! fio reads the clock once after a submission for all of its requests, and once after a wait for all that it gave:
//! that is why [`Queue::wait`] and [`Queue::pop`] are two functions.
//! Source: `HOWTO.rst`, `td_io_queue` and `td_io_getevents` of `ioengines.c`, `wait_for_completions` of `backend.c`.
//!
//! # Example
//! ```
//! use fathom_sys::{memory::Mapping, queue::{Engine, Operation, Queue, Setup, Treatment, UringOptions}};
//!
//! let file = std::fs::File::open("/proc/self/exe")?;
//! let setup = Setup::new(Engine::IoUring(UringOptions::default()), 2, 4);
//! if let Ok(mut queue) = Queue::new(&setup, Mapping::fresh(8)?, vec![file.into()]) {
//!     queue.prepare(1, Operation::Read, 0, 0, 4, Treatment::default());
//!     queue.submit()?;
//!     assert_eq!(queue.wait(1, 1, None)?, 1);
//!     let completion = queue.pop().unwrap();
//!     assert_eq!((completion.slot, completion.result), (1, Ok(4)));
//!     assert_eq!(queue.buffer(1), b"\x7fELF");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod libaio;
mod posix;
mod refusal;
#[cfg(test)]
mod tests;
mod threads;
mod uring;

use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::io::{Errno, Result};

use crate::memory::Mapping;
pub use refusal::Refusal;

/// The kernel interface that carries the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// `io_submit(2)` and its kin, fio's `libaio`. Buffered reads and writes block in the submission.
    /// What has completed is taken from the ring in memory without a call, as fio does with `userspace_reap`.
    Libaio,
    /// `io_uring(7)`, fio's `io_uring`.
    IoUring(UringOptions),
    /// Threads that call `pread(2)` and `pwrite(2)`, fio's `io_submit_mode=offload`. They know neither flags nor vectors.
    Threads,
    /// `aio_read(3)` and its kin, fio's `posixaio`. They know neither flags nor vectors.
    Posix,
}

/// What fio's `io_uring` engine can be asked for. Source: `io_uring_setup(2)`, `io_uring_register(2)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UringOptions {
    /// Completions are polled for, `hipri`: IORING_SETUP_IOPOLL. Needs O_DIRECT and a device with polled queues.
    pub poll: bool,
    /// A kernel thread takes requests without a call, `sqthread_poll`: IORING_SETUP_SQPOLL. It occupies a CPU.
    pub submission_thread: bool,
    /// The CPU of that thread, `sqthread_poll_cpu`.
    pub thread_cpu: Option<u32>,
    /// Buffers are mapped into the kernel once, `fixedbufs`: IORING_REGISTER_BUFFERS.
    pub fixed_buffers: bool,
    /// Files are looked up once, `registerfiles`: IORING_REGISTER_FILES.
    pub registered_files: bool,
}

/// What a queue is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// What carries the requests.
    pub engine: Engine,
    /// Requests that may be busy at once; slots are numbered from zero below it.
    pub depth: u32,
    /// Bytes of each slot's buffer: the largest block.
    pub slot_bytes: usize,
    /// RWF_ flags of each read and write, as `preadv2(2)` numbers them: [`crate::transfer`] names them.
    pub flags: u32,
    /// Reads and writes go through a vector of one buffer: fio's `nonvectored=0`, `libaio_vectored=1`.
    pub vectored: bool,
}

impl Setup {
    /// A queue of `depth` slots of `slot_bytes` bytes, without flags or vectors.
    pub fn new(engine: Engine, depth: u32, slot_bytes: usize) -> Self {
        Self { engine, depth, slot_bytes, flags: 0, vectored: false }
    }
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Nothing: what a request costs by itself. Linux has none for libaio, nor the C library, where the
    /// result is EINVAL.
    Nop,
    /// Reads into the slot's buffer. Source: `pread(2)`.
    Read,
    /// Writes the slot's buffer. Source: `pwrite(2)`.
    Write,
    /// Writes back data and metadata. It is not ordered after requests that are under way. Source: `fsync(2)`.
    Fsync,
    /// Writes back data and what is needed to find it. Source: `fdatasync(2)`.
    Fdatasync,
}

/// How a single request is treated; the default is like the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Treatment {
    /// Its I/O priority, as `ioprio_set(2)` numbers them; zero for that of the thread. io_uring and libaio alone have it.
    pub priority: u16,
    /// It is not tried at once, but given to a kernel thread: IOSQE_ASYNC of io_uring.
    pub is_forced: bool,
}

/// A request that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The slot, which is idle again.
    pub slot: u32,
    /// Bytes transferred (fewer than asked for at the end of a file), or why it failed.
    pub result: Result<u32>,
}

impl Completion {
    /// From what the kernel gives: bytes, or a negative error number.
    fn new(slot: u32, result: i64) -> Self {
        let failed = || Errno::from_raw_os_error(i32::try_from(-result).unwrap_or(libc::EIO));
        Self { slot, result: u32::try_from(result).map_err(|_| failed()) }
    }
}

/// A request as an engine sees it.
#[derive(Clone, Copy)]
struct Request {
    slot: u32,
    operation: Operation,
    /// The descriptor and its place among the queue's files.
    file: (RawFd, usize),
    offset: u64,
    memory: *mut u8,
    length: u32,
    treatment: Treatment,
}

// One queue per thread, made once: its size does not matter, one more pointer on the way to it would.
#[allow(clippy::large_enum_variant)]
enum Ring {
    Libaio(libaio::Context),
    IoUring(uring::Uring),
    Threads(threads::Pool),
    Posix(posix::Aio),
}

/// Calls a function of whichever ring it is.
macro_rules! on_ring {
    ($queue:expr, $ring:ident => $call:expr) => {
        match &mut $queue.ring {
            Ring::Libaio($ring) => $call,
            Ring::IoUring($ring) => $call,
            Ring::Threads($ring) => $call,
            Ring::Posix($ring) => $call,
        }
    };
}

/// A file of a queue and how many busy requests use it.
struct QueueFile {
    file: OwnedFd,
    users: u32,
}

/// How long dropping a queue waits before it asks again for what is under way to be given up.
const CANCELLED_EVERY: Duration = Duration::from_millis(20);
/// Marks an idle slot where otherwise the number of its file stands.
const IDLE: u32 = u32::MAX;

/// Requests under way on files of its own, with buffers of its own. It stays on the thread that made it.
pub struct Queue {
    ring: Ring,
    /// Unmapped by `drop`, and only when the kernel uses it no longer.
    buffers: ManuallyDrop<Mapping>,
    /// Where the first slot's buffer starts.
    memory: *mut u8,
    slot_bytes: usize,
    files: Vec<QueueFile>,
    /// For each slot the file that its request uses.
    file_of: Box<[u32]>,
    prepared: u32,
    in_flight: u32,
}

impl Queue {
    /// Sets up a queue that owns `buffers` and `files`. Slot N has the N-th `slot_bytes` bytes of `buffers`.
    /// Source: `io_uring_setup(2)`, `io_setup(2)`.
    ///
    /// # Errors
    /// A [`Refusal`], whose text is one line that says what to do: the kernel or a container allows no ring, the depth is
    /// impossible, a limit is reached, or `buffers` has fewer than `depth * slot_bytes` bytes.
    pub fn new(
        setup: &Setup,
        mut buffers: Mapping,
        files: Vec<OwnedFd>,
    ) -> std::result::Result<Self, Refusal> {
        let bytes = buffers.bytes();
        refusal::check(setup, bytes.len())?;
        // The engines and the kernel reach the buffers by this pointer alone; `buffers` is not used again until the end.
        let memory = bytes.as_mut_ptr();
        let ring = match &setup.engine {
            Engine::Libaio => Ring::Libaio(
                libaio::Context::new(setup).map_err(|errno| refusal::of_libaio(errno, setup.depth))?,
            ),
            Engine::Threads => Ring::Threads(
                threads::Pool::new(setup).map_err(|errno| refusal::of_threads(errno, setup.depth))?,
            ),
            Engine::Posix => Ring::Posix(posix::Aio::new(setup)),
            Engine::IoUring(options) => Ring::IoUring(uring::Uring::new(setup, options, memory, &files)?),
        };
        Ok(Self {
            ring,
            buffers: ManuallyDrop::new(buffers),
            memory,
            slot_bytes: setup.slot_bytes,
            files: files.into_iter().map(|file| QueueFile { file, users: 0 }).collect(),
            file_of: vec![IDLE; setup.depth as usize].into(),
            prepared: 0,
            in_flight: 0,
        })
    }

    /// The file with this number, for calls that are no requests.
    ///
    /// # Panics
    /// Where the queue has no such file.
    pub fn file(&self, number: usize) -> BorrowedFd<'_> {
        self.files[number].file.as_fd()
    }

    /// Puts another file in a file's place and gives the old one back.
    ///
    /// # Errors
    /// What `io_uring_register(2)`, IORING_REGISTER_FILES_UPDATE, gives; then the old file stays.
    ///
    /// # Panics
    /// Where the queue has no such file, or a busy request uses it.
    pub fn replace_file(&mut self, number: usize, file: OwnedFd) -> Result<OwnedFd> {
        assert_eq!(self.files[number].users, 0, "file {number} is in use");
        if let Ring::IoUring(ring) = &mut self.ring {
            ring.replace_file(number, file.as_raw_fd())?;
        }
        Ok(std::mem::replace(&mut self.files[number].file, file))
    }

    /// The buffer of an idle slot: what to write, or what was read.
    ///
    /// # Panics
    /// Where the slot is busy or there is none of this number.
    #[inline]
    pub fn buffer(&mut self, slot: u32) -> &mut [u8] {
        assert_eq!(self.file_of[slot as usize], IDLE, "the buffer of slot {slot} is the kernel's");
        // SAFETY: the range lies within `buffers`, as `refusal::check` found; the slot is idle, so the kernel does not
        // use it, and the mutable borrow of the queue keeps it idle and exclusive.
        unsafe {
            std::slice::from_raw_parts_mut(self.memory.add(slot as usize * self.slot_bytes), self.slot_bytes)
        }
    }

    /// Makes an idle slot busy with a request for `length` bytes at `offset`, which the next submission starts.
    /// Makes no system call.
    ///
    /// # Panics
    /// Where the slot is busy, `length` exceeds the slot's buffer, or there is no such slot or file.
    #[inline]
    pub fn prepare(
        &mut self,
        slot: u32,
        operation: Operation,
        file: usize,
        offset: u64,
        length: u32,
        treatment: Treatment,
    ) {
        assert_eq!(self.file_of[slot as usize], IDLE, "slot {slot} is busy");
        assert!(length as usize <= self.slot_bytes, "{length} bytes exceed a slot of {}", self.slot_bytes);
        let entry = &mut self.files[file];
        entry.users += 1;
        self.file_of[slot as usize] = file as u32;
        self.prepared += 1;
        // SAFETY: the slot exists, so its offset lies within `buffers`.
        let memory = unsafe { self.memory.add(slot as usize * self.slot_bytes) };
        let request = Request {
            slot,
            operation,
            file: (entry.file.as_raw_fd(), file),
            offset,
            memory,
            length,
            treatment,
        };
        // SAFETY: the memory and the descriptor belong to the queue, which keeps both until the slot is idle again.
        unsafe { on_ring!(self, ring => ring.prepare(&request)) }
    }

    /// Starts what is prepared and gives how many requests were started. Fewer than prepared means that the kernel lacks
    /// resources now: take results, then submit again. A request that the kernel refuses (EBADF, EINVAL) counts as started
    /// and completes with that error. Source: `io_uring_enter(2)`, `io_submit(2)`.
    ///
    /// # Errors
    /// What makes every submission fail.
    #[inline]
    pub fn submit(&mut self) -> Result<u32> {
        if self.prepared == 0 {
            return Ok(0);
        }
        let started = on_ring!(self, ring => ring.submit())?;
        self.prepared -= started;
        self.in_flight += started;
        Ok(started)
    }

    /// Waits until `min` requests have completed, and gives how many [`Queue::pop`] will give at least, `max` at most.
    /// `min` is lowered to the number under way; zero asks without sleeping. Fewer than `min` means that the timeout or a
    /// signal came first. Source: `io_uring_enter(2)`, IORING_ENTER_GETEVENTS; `io_getevents(2)`.
    ///
    /// # Errors
    /// What makes every wait fail.
    #[inline]
    pub fn wait(&mut self, min: u32, max: u32, timeout: Option<Duration>) -> Result<u32> {
        let min = min.min(self.in_flight);
        let max = max.max(min).min(self.in_flight);
        let ready = on_ring!(self, ring => ring.wait(min, max, timeout))?;
        Ok(ready.min(max))
    }

    /// Takes one result and makes its slot idle. Makes no system call; gives nothing where [`Queue::wait`] has found no more.
    #[inline]
    pub fn pop(&mut self) -> Option<Completion> {
        let completion = on_ring!(self, ring => ring.pop())?;
        let file = std::mem::replace(&mut self.file_of[completion.slot as usize], IDLE);
        self.files[file as usize].users -= 1;
        self.in_flight -= 1;
        Some(completion)
    }

    /// Asks the kernel to give up what is under way; what it gives up completes with ECANCELED, and everything still has to
    /// be waited for. Requests that a device works on can't be given up. Source: `io_uring_register(2)`,
    /// IORING_REGISTER_SYNC_CANCEL, Linux 6.0; `io_cancel(2)`.
    pub fn cancel(&mut self) {
        if self.in_flight > 0 {
            on_ring!(self, ring => ring.cancel());
        }
    }

    /// Waits for everything under way and drops the results.
    fn settle(&mut self) -> Result<()> {
        while self.in_flight > 0 {
            // A request may have been between two states, where it can't be found: ask again now and then.
            self.cancel();
            self.wait(self.in_flight, self.in_flight, Some(CANCELLED_EVERY))?;
            while self.pop().is_some() {}
        }
        Ok(())
    }
}

/// The kernel's form of a time. Source: `timespec(3type)`.
fn timespec(time: Duration) -> libc::timespec {
    libc::timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos().into() }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // What was prepared and not submitted the kernel has not seen. Where waiting fails, memory that the kernel may still
        // write to stays mapped until the process ends.
        if self.settle().is_ok() {
            // SAFETY: nothing is under way, and neither `buffers` nor `memory` is used again.
            unsafe { ManuallyDrop::drop(&mut self.buffers) }
        }
    }
}
