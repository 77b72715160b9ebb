//! Lines of the CPU's caches.

#[cfg(target_arch = "x86_64")]
mod arch {
    use core::arch::asm;
    use core::arch::x86_64::{__cpuid, __cpuid_count, _mm_clflush, _mm_mfence};

    const LINE: usize = 64;

    /// Source: Intel's manual of the instruction set. CLFLUSH waits for the one before, CLFLUSHOPT (CPUID leaf 7 EBX
    /// bit 23) does not, which makes it ten times as fast.
    pub(super) unsafe fn flush(start: *const u8, length: usize) -> bool {
        let is_unordered = __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ebx & (1 << 23) != 0;
        for at in (0..length).step_by(LINE) {
            // SAFETY: the address is mapped, as the caller promises, and no byte is changed.
            unsafe {
                let line = start.add(at);
                if is_unordered {
                    asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags));
                } else {
                    _mm_clflush(line);
                }
            }
        }
        // SAFETY: a fence has no operands; SSE2 is part of x86-64.
        unsafe { _mm_mfence() };
        true
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use core::arch::asm;

    /// Source: Arm's architecture manual; Linux lets programs use DC CIVAC and read CTR_EL0.
    pub(super) unsafe fn flush(start: *const u8, length: usize) -> bool {
        let types: u64;
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, ctr_el0", out(reg) types, options(nomem, nostack, preserves_flags)) };
        // DminLine is the logarithm of the number of words of four bytes.
        let line = 4_usize << ((types >> 16) & 0xF);
        for at in (0..length).step_by(line) {
            // SAFETY: the address is mapped, as the caller promises, and no byte is changed.
            unsafe { asm!("dc civac, {}", in(reg) start.add(at), options(nostack, preserves_flags)) };
        }
        // SAFETY: a barrier has no operands.
        unsafe { asm!("dsb sy", options(nostack, preserves_flags)) };
        true
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod arch {
    pub(super) unsafe fn flush(_: *const u8, _: usize) -> bool {
        false
    }
}

/// Has all caches of all CPUs give up the lines of a range; gives whether the processor can.
///
/// # Safety
/// The range must be mapped, and readable.
pub(super) unsafe fn flush(start: *const u8, length: usize) -> bool {
    // SAFETY: as the caller promises.
    unsafe { arch::flush(start, length) }
}
