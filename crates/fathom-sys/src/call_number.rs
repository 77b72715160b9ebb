//! The numbers of system calls on files, which differ between architectures.

/// Name and number of every call that opens, moves, syncs, changes, removes or renames files, or copies and closes
/// descriptors.
pub const FILE_CALLS: &[(&str, i64)] = &[
    ("read", libc::SYS_read),
    ("write", libc::SYS_write),
    ("pread64", libc::SYS_pread64),
    ("pwrite64", libc::SYS_pwrite64),
    ("readv", libc::SYS_readv),
    ("writev", libc::SYS_writev),
    ("preadv", libc::SYS_preadv),
    ("pwritev", libc::SYS_pwritev),
    ("preadv2", libc::SYS_preadv2),
    ("pwritev2", libc::SYS_pwritev2),
    ("lseek", libc::SYS_lseek),
    ("fsync", libc::SYS_fsync),
    ("fdatasync", libc::SYS_fdatasync),
    ("sync_file_range", libc::SYS_sync_file_range),
    ("ftruncate", libc::SYS_ftruncate),
    ("truncate", libc::SYS_truncate),
    ("fallocate", libc::SYS_fallocate),
    ("mmap", libc::SYS_mmap),
    ("close", libc::SYS_close),
    ("close_range", libc::SYS_close_range),
    ("dup", libc::SYS_dup),
    #[cfg(target_arch = "x86_64")]
    ("dup2", libc::SYS_dup2),
    ("dup3", libc::SYS_dup3),
    ("fcntl", libc::SYS_fcntl),
    #[cfg(target_arch = "x86_64")]
    ("open", libc::SYS_open),
    #[cfg(target_arch = "x86_64")]
    ("creat", libc::SYS_creat),
    ("openat", libc::SYS_openat),
    ("openat2", libc::SYS_openat2),
    #[cfg(target_arch = "x86_64")]
    ("unlink", libc::SYS_unlink),
    ("unlinkat", libc::SYS_unlinkat),
    #[cfg(target_arch = "x86_64")]
    ("rename", libc::SYS_rename),
    ("renameat", libc::SYS_renameat),
    ("renameat2", libc::SYS_renameat2),
    ("execve", libc::SYS_execve),
    ("execveat", libc::SYS_execveat),
];
