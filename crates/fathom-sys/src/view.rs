//! A window of a file mapped for reading, that survives the file's shrinking under it.
//!
//! A page past the end of a mapped file raises SIGBUS, and so does one that the device can't give
//! (`mmap(2)`). The handler here puts zero pages where the file's were and notes the place, so that
//! the reader goes on to the end and gets the error there. Faults anywhere else go to the handler that
//! was there before.

use std::os::fd::BorrowedFd;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering, compiler_fence};

use rustix::io::{Errno, Result};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use self::vector::Vector;
use crate::memory::FileMapping;

/// A part of a file, mapped for reading and unmapped when dropped.
#[derive(Debug)]
pub struct FileView(FileMapping);

/// What a view's reader learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folded {
    /// The XOR of the view's 64-bit words in the machine's byte order, the last one padded with zeros.
    pub word: u64,
    /// The first byte of the view, counted from its start and rounded down to a page, that the file
    /// could not give: it ends before it, or the device failed.
    pub lost_from: Option<usize>,
}

impl FileView {
    /// Maps `length` bytes at `offset`, which must be a multiple of the page size.
    ///
    /// # Errors
    /// What `mmap(2)` gives: ENODEV where the file can't be mapped, EINVAL for a length of zero; what
    /// `sigaction(2)` gives.
    pub fn of(file: BorrowedFd<'_>, offset: u64, length: usize) -> Result<Self> {
        watch()?;
        FileMapping::shared(file, offset, length, false).map(Self)
    }

    /// Reads all of it once and folds it into one word. A view is good for one reading: pages that were
    /// lost stay zero, and nothing would tell the next reader.
    pub fn xor(self) -> Folded {
        let (start, length) = self.0.bytes();
        GUARD.with(|guard| {
            guard.lost.store(NOTHING, Ordering::Relaxed);
            guard.end.store(start as usize + length, Ordering::Relaxed);
            guard.start.store(start as usize, Ordering::Relaxed);
            // The handler runs on this thread: it must see the guard before the first byte is read.
            compiler_fence(Ordering::SeqCst);
            // SAFETY: the range is mapped for reading until `self` is dropped; pages that the file lost
            // are replaced by the handler.
            let word = unsafe { fold(start, length) };
            compiler_fence(Ordering::SeqCst);
            guard.start.store(0, Ordering::Relaxed);
            let lost = guard.lost.load(Ordering::Relaxed);
            Folded { word, lost_from: (lost != NOTHING).then(|| lost - start as usize) }
        })
    }
}

/// Bytes that one turn of the loop folds: enough loads in flight to hide the latency of one.
const STRIDE: usize = 128;

/// Folds `length` bytes from `start` on into one word.
///
/// # Safety
/// The range must be readable and `start` aligned to a [`Vector`]. Others may write to it meanwhile: every
/// byte is loaded once and volatile, and any value will do.
unsafe fn fold(start: *const u8, length: usize) -> u64 {
    let mut lanes = [vector::zero(); STRIDE / size_of::<Vector>()];
    let whole = length / STRIDE * STRIDE;
    for at in (0..whole).step_by(STRIDE) {
        for (lane, sum) in lanes.iter_mut().enumerate() {
            // SAFETY: the caller's promise; `at` and all lanes lie below `length`.
            let loaded = unsafe { ptr::read_volatile(start.add(at).cast::<Vector>().add(lane)) };
            *sum = vector::xor(*sum, loaded);
        }
    }
    let mut last = [0_u8; STRIDE];
    for (slot, at) in last.iter_mut().zip(whole..length) {
        // SAFETY: the caller's promise; `at` is below `length`.
        *slot = unsafe { ptr::read_volatile(start.add(at)) };
    }
    let words = last.as_chunks::<8>().0.iter().map(|bytes| u64::from_ne_bytes(*bytes));
    lanes.into_iter().flat_map(vector::words).chain(words).fold(0, |all, word| all ^ word)
}

/// The vectors that every processor of the architecture has: compilers leave volatile loads as they are, and
/// loads of one word each take half as long again as the memory does.
#[cfg(target_arch = "x86_64")]
mod vector {
    pub(super) use std::arch::x86_64::__m128i as Vector;
    use std::arch::x86_64::{_mm_cvtsi128_si64, _mm_setzero_si128, _mm_unpackhi_epi64, _mm_xor_si128};

    pub(super) fn zero() -> Vector {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_setzero_si128() }
    }

    pub(super) fn xor(a: Vector, b: Vector) -> Vector {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_xor_si128(a, b) }
    }

    pub(super) fn words(vector: Vector) -> [u64; 2] {
        // SAFETY: SSE2 is part of x86-64.
        let halves =
            unsafe { [vector, _mm_unpackhi_epi64(vector, vector)].map(|half| _mm_cvtsi128_si64(half)) };
        halves.map(i64::cast_unsigned)
    }
}

/// Machines without vectors that are known here: words.
#[cfg(not(target_arch = "x86_64"))]
mod vector {
    pub(super) type Vector = u64;

    pub(super) fn zero() -> Vector {
        0
    }

    pub(super) fn xor(a: Vector, b: Vector) -> Vector {
        a ^ b
    }

    pub(super) fn words(vector: Vector) -> [u64; 1] {
        [vector]
    }
}

/// What the handler needs to know of the view that its thread is reading.
struct Guard {
    /// Address of the first byte; zero while nothing is read.
    start: AtomicUsize,
    /// Address behind the last byte.
    end: AtomicUsize,
    /// Address of the first page that was lost.
    lost: AtomicUsize,
}

/// No address.
const NOTHING: usize = usize::MAX;

thread_local! {
    // Initialised at compile time and without a destructor, so that a signal handler may look at it.
    static GUARD: Guard = const {
        Guard { start: AtomicUsize::new(0), end: AtomicUsize::new(0), lost: AtomicUsize::new(NOTHING) }
    };
}

/// The action that was there before, or why it could not be replaced.
static BEFORE: OnceLock<std::result::Result<libc::sigaction, Errno>> = OnceLock::new();

/// Sets the handler, once in the life of the process.
fn watch() -> Result<()> {
    let before = BEFORE.get_or_init(|| {
        // SAFETY: all zeros is a valid sigaction: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = replace_lost_pages;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: as above.
        let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: both structures outlive the call, and the handler does only what signal-safety(7) allows.
        let result = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, &raw mut before) };
        crate::error::done(result.into()).map(|()| before)
    });
    before.as_ref().map(|_| ()).map_err(|&errno| errno)
}

/// SIGBUS inside the view that this thread reads: zero pages from there to its end, so that one fault is
/// enough whatever was cut off. Anything else gets the old action back and faults again.
///
/// It allocates nothing and takes no lock: it reads atomics of its own thread and makes bare system calls.
extern "C" fn replace_lost_pages(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo, which has an address for SIGBUS.
    let address = unsafe { (*info).si_addr() } as usize;
    let replaced = GUARD.with(|guard| {
        let (start, end) = (guard.start.load(Ordering::Relaxed), guard.end.load(Ordering::Relaxed));
        if start == 0 || address < start || address >= end {
            return false;
        }
        let page = address - address % rustix::param::page_size();
        guard.lost.store(page, Ordering::Relaxed);
        // SAFETY: the range is the rest of this thread's own mapping, and no reference into it exists.
        let zeros = unsafe {
            mmap_anonymous(
                ptr::with_exposed_provenance_mut(page),
                end - page,
                ProtFlags::READ,
                MapFlags::PRIVATE | MapFlags::FIXED,
            )
        };
        zeros.is_ok()
    });
    if !replaced {
        // SAFETY: the structures outlive the call; all zeros is the default action.
        unsafe {
            let before = match BEFORE.get() {
                Some(Ok(before)) => *before,
                _ => std::mem::zeroed(),
            };
            libc::sigaction(signal, &raw const before, ptr::null_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file;
    use std::os::fd::AsFd;

    const PAGES: usize = 64;

    /// A file without a name, filled with a pattern in which every byte counts.
    fn filled(bytes: &[u8]) -> std::os::fd::OwnedFd {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fathom-view-{}-{number}", std::process::id()));
        let made = file::create_new(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file::pwrite(made.as_fd(), bytes, 0), Ok(bytes.len()));
        made
    }

    fn pattern(length: usize) -> Vec<u8> {
        (0..length as u64).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
    }

    /// Byte by byte: nothing to get wrong.
    fn naive(bytes: &[u8]) -> u64 {
        let mut word = [0; 8];
        bytes.iter().enumerate().for_each(|(at, byte)| word[at % 8] ^= byte);
        u64::from_ne_bytes(word)
    }

    #[test]
    fn every_length_folds_as_byte_by_byte() {
        for length in (1..300).chain([4095, 4096, 4097, 70_001]) {
            let bytes = pattern(length);
            let view = FileView::of(filled(&bytes).as_fd(), 0, length).unwrap();
            assert_eq!(view.xor(), Folded { word: naive(&bytes), lost_from: None }, "{length}");
        }
    }

    #[test]
    fn a_view_begins_where_it_is_asked_to() {
        let page = rustix::param::page_size();
        let bytes = pattern(3 * page + 5);
        let view = FileView::of(filled(&bytes).as_fd(), 2 * page as u64, page + 5).unwrap();
        assert_eq!(view.xor().word, naive(&bytes[2 * page..]));
    }

    #[test]
    fn a_file_that_shrinks_gives_zeros_and_says_where() {
        let page = rustix::param::page_size();
        let bytes = pattern(PAGES * page);
        let made = filled(&bytes);
        let view = FileView::of(made.as_fd(), 0, PAGES * page).unwrap();
        file::ftruncate(&made, 7 * page as u64).unwrap();
        assert_eq!(view.xor(), Folded { word: naive(&bytes[..7 * page]), lost_from: Some(7 * page) });
    }

    #[test]
    fn every_thread_has_a_view_of_its_own() {
        let page = rustix::param::page_size();
        let bytes = pattern(PAGES * page);
        std::thread::scope(|scope| {
            for kept in 0..8 {
                let bytes = &bytes;
                scope.spawn(move || {
                    let made = filled(bytes);
                    let view = FileView::of(made.as_fd(), 0, PAGES * page).unwrap();
                    file::ftruncate(&made, (kept * page) as u64).unwrap();
                    let expected =
                        Folded { word: naive(&bytes[..kept * page]), lost_from: Some(kept * page) };
                    assert_eq!(view.xor(), expected);
                });
            }
        });
    }
}
