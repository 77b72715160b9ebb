//! One system call many times in a row, with nothing in between: the loop on which its cost is measured.
//!
//! The loop is written in machine instructions, because both what stands around the call and where it lies
//! decide its cost. Behind a function the return costs again what a cheap call does, where the return
//! predictor does not survive the kernel. And the same nine instructions, moved through memory in steps of a
//! few bytes, have two costs on an AMD EPYC (Zen 4): 108 or 144 ns for `lseek`, 250 or 340 ns for `fstat`, 465 or 697 ns for
//! `write`. The call is cheaper where the loop begins 8 bytes behind the start of a cache line.

use std::ffi::c_long;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::{Errno, Result};

/// Reads a byte from the file position, `times` times; gives the bytes that were read. Source: `read(2)`.
pub fn read(file: BorrowedFd<'_>, times: u64) -> Result<u64> {
    let mut byte = 0_u8;
    // SAFETY: the kernel writes one byte at most, into a live local.
    unsafe { repeat(libc::SYS_read, [number(file), &raw mut byte as usize, 1, 0], [0, 0], times) }
}

/// Reads the bytes from `start` on one by one; gives the bytes that were read. Source: `pread(2)`.
pub fn pread(file: BorrowedFd<'_>, start: u64, times: u64) -> Result<u64> {
    let mut byte = 0_u8;
    let arguments = [number(file), &raw mut byte as usize, 1, start as usize];
    // SAFETY: the kernel writes one byte at most, into a live local.
    unsafe { repeat(libc::SYS_pread64, arguments, [0, 1], times) }
}

/// Writes a byte at the file position, `times` times; gives the bytes that were written. Source: `write(2)`.
pub fn write(file: BorrowedFd<'_>, times: u64) -> Result<u64> {
    let byte = b'A';
    // SAFETY: the kernel reads one byte, of a live local.
    unsafe { repeat(libc::SYS_write, [number(file), &raw const byte as usize, 1, 0], [0, 0], times) }
}

/// Sets the file position to each byte from `start` on. Source: `lseek(2)`, SEEK_SET.
pub fn lseek(file: BorrowedFd<'_>, start: u64, times: u64) -> Result<()> {
    let arguments = [number(file), start as usize, libc::SEEK_SET as usize, 0];
    // SAFETY: the call touches no memory of the program.
    unsafe { repeat(libc::SYS_lseek, arguments, [1, 0], times) }.map(drop)
}

/// Asks for the file's status. Source: `fstat(2)`.
pub fn fstat(file: BorrowedFd<'_>, times: u64) -> Result<()> {
    let mut about = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the kernel fills one such structure: on 64-bit machines the C library's is the kernel's own.
    unsafe { repeat(libc::SYS_fstat, [number(file), about.as_mut_ptr() as usize, 0, 0], [0, 0], times) }
        .map(drop)
}

/// Asks for the parent's number. Source: `getppid(2)`, which can't fail.
pub fn getppid(times: u64) {
    // SAFETY: the call touches no memory of the program.
    let _ = unsafe { repeat(libc::SYS_getppid, [0; 4], [0, 0], times) };
}

fn number(file: BorrowedFd<'_>) -> usize {
    file.as_raw_fd() as usize
}

/// Makes the call of that number `times` times and gives the sum of what it returned. After each call
/// `steps` are added to its second and fourth arguments.
///
/// # Safety
/// The arguments must be what each of the calls asks for, and memory that they read or write must be valid.
unsafe fn repeat(number: c_long, arguments: [usize; 4], steps: [usize; 2], times: u64) -> Result<u64> {
    if times == 0 {
        return Ok(0);
    }
    // SAFETY: the caller vouches for the calls.
    let (last, sum) = unsafe { enter(number, arguments, steps, times) };
    // Source: syscalls(2): an error is returned with its sign turned.
    if last < 0 { Err(Errno::from_raw_os_error(-last as i32)) } else { Ok(sum) }
}

/// What the last call returned and the sum of all; ends with the first that fails. Source: `syscall(2)`, the
/// table of registers.
#[inline(never)]
unsafe fn enter(
    number: c_long,
    [a, b, c, d]: [usize; 4],
    [b_step, d_step]: [usize; 2],
    times: u64,
) -> (isize, u64) {
    let last: isize;
    let mut sum = 0_u64;
    // SAFETY: the caller vouches for the calls. The kernel changes rax, rcx and r11 and no other register, and
    // nothing is said of memory, so that the compiler assumes any of it to be read and written.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            ".p2align 6",
            ".skip 8, 0x90",
            "2:",
            "mov eax, r8d",
            "syscall",
            "test rax, rax",
            "js 3f",
            "add {sum}, rax",
            "add rsi, {b_step}",
            "add r10, {d_step}",
            "dec r9",
            "jne 2b",
            "3:",
            sum = inout(reg) sum,
            b_step = in(reg) b_step,
            d_step = in(reg) d_step,
            in("r8") number,
            inout("r9") times => _,
            in("rdi") a,
            inout("rsi") b => _,
            in("rdx") c,
            inout("r10") d => _,
            out("rax") last,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    // SAFETY: the caller vouches for the calls. The kernel changes x0 and no other register, and nothing is
    // said of memory, so that the compiler assumes any of it to be read and written.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            ".p2align 6",
            "2:",
            "mov x0, {a}",
            "svc 0",
            "tbnz x0, 63, 3f",
            "add {sum}, {sum}, x0",
            "add x1, x1, {b_step}",
            "add x3, x3, {d_step}",
            "subs {times}, {times}, 1",
            "b.ne 2b",
            "3:",
            sum = inout(reg) sum,
            a = in(reg) a,
            b_step = in(reg) b_step,
            d_step = in(reg) d_step,
            times = inout(reg) times => _,
            in("x8") number,
            out("x0") last,
            inout("x1") b => _,
            in("x2") c,
            inout("x3") d => _,
            options(nostack),
        );
    }
    (last, sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Seek;
    use std::os::fd::AsFd;

    #[test]
    fn every_call_is_made_as_often_as_asked_and_an_error_ends_it() {
        let path = std::env::temp_dir().join(format!("fathom-repeat-{}", std::process::id()));
        let owned = crate::file::create_new(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut copy = std::fs::File::from(owned.try_clone().unwrap());
        let file = owned.as_fd();
        assert_eq!((write(file, 100), copy.stream_position().unwrap()), (Ok(100), 100));
        assert_eq!(lseek(file, 40, 20).map(|()| copy.stream_position().unwrap()), Ok(59));
        // 41 bytes are left; what lies behind the end is read as nothing.
        assert_eq!((read(file, 10), read(file, 100)), (Ok(10), Ok(31)));
        assert_eq!((pread(file, 90, 20), pread(file, 0, 0)), (Ok(10), Ok(0)));
        assert_eq!(fstat(file, 3), Ok(()));
        getppid(3);
        let only_written = std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap();
        assert_eq!(read(only_written.as_fd(), 5), Err(Errno::BADF));
    }
}
