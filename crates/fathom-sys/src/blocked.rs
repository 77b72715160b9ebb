//! What the threads of this process are waiting for, as `/proc` shows it.
//!
//! A call that hangs can't tell; another thread can look. It costs the one that is looked at nothing.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A system call on a file that has not returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The thread.
    pub thread: i32,
    /// The call's name: `pread`.
    pub operation: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The file offset in bytes, where the call has one.
    pub offset: Option<u64>,
}

/// Where a call's file and offset stand among its arguments.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// A descriptor, and the descriptor's own position.
    AtPosition,
    /// A descriptor, and an offset as the fourth argument.
    AtOffset,
    /// A descriptor.
    Descriptor,
    /// A directory's descriptor, and a path.
    Relative,
    /// A path.
    Path,
}

const CALLS: &[(libc::c_long, &str, Shape)] = &[
    (libc::SYS_read, "read", Shape::AtPosition),
    (libc::SYS_write, "write", Shape::AtPosition),
    (libc::SYS_pread64, "pread", Shape::AtOffset),
    (libc::SYS_pwrite64, "pwrite", Shape::AtOffset),
    (libc::SYS_preadv2, "preadv2", Shape::AtOffset),
    (libc::SYS_pwritev2, "pwritev2", Shape::AtOffset),
    (libc::SYS_fsync, "fsync", Shape::Descriptor),
    (libc::SYS_fdatasync, "fdatasync", Shape::Descriptor),
    (libc::SYS_syncfs, "syncfs", Shape::Descriptor),
    (libc::SYS_close, "close", Shape::Descriptor),
    (libc::SYS_lseek, "lseek", Shape::Descriptor),
    (libc::SYS_ftruncate, "ftruncate", Shape::Descriptor),
    (libc::SYS_fallocate, "fallocate", Shape::Descriptor),
    (libc::SYS_fadvise64, "evict", Shape::Descriptor),
    (libc::SYS_fstat, "stat", Shape::Descriptor),
    (libc::SYS_getdents64, "list", Shape::Descriptor),
    (libc::SYS_flock, "lock", Shape::Descriptor),
    (libc::SYS_openat, "open", Shape::Relative),
    (libc::SYS_unlinkat, "remove", Shape::Relative),
    (libc::SYS_mkdirat, "make", Shape::Relative),
    (libc::SYS_statx, "stat", Shape::Relative),
    (libc::SYS_newfstatat, "stat", Shape::Relative),
    (libc::SYS_statfs, "statfs", Shape::Path),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, "open", Shape::Path),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, "remove", Shape::Path),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rmdir, "remove", Shape::Path),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, "make", Shape::Path),
];

/// The threads of this process that wait in a call on a file at this moment.
///
/// Empty where the kernel does not tell. Source: `proc_pid_syscall(5)`.
pub fn calls() -> Vec<Blocked> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    threads.flatten().filter_map(|entry| call_of(entry.file_name().to_str()?.parse().ok()?)).collect()
}

fn call_of(thread: i32) -> Option<Blocked> {
    // A thread that runs says "running"; one that waits says its call's number and arguments.
    let text = fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).ok()?;
    let mut words = text.split_whitespace();
    let number: libc::c_long = words.next()?.parse().ok()?;
    let arguments: Vec<u64> =
        words.map_while(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()).collect();
    let (_, operation, shape) = CALLS.iter().find(|(other, ..)| *other == number)?;
    let &[first, second, _, fourth, ..] = arguments.as_slice() else { return None };
    let (path, offset) = match shape {
        Shape::AtPosition => (opened(first)?, position(first)),
        Shape::AtOffset => (opened(first)?, Some(fourth)),
        Shape::Descriptor => (opened(first)?, None),
        Shape::Relative => (relative(first, &text_at(second)?)?, None),
        Shape::Path => (text_at(first)?, None),
    };
    let own = ["/proc", "/sys", "/dev/null", "/dev/tty", "/dev/pts"];
    let is_file = path.is_absolute() && !own.iter().any(|other| path.starts_with(other));
    is_file.then_some(Blocked { thread, operation, path, offset })
}

/// Where a descriptor leads; a pipe or a socket leads nowhere.
fn opened(descriptor: u64) -> Option<PathBuf> {
    let path = fs::read_link(format!("/proc/self/fd/{}", descriptor as i32)).ok()?;
    path.is_absolute().then_some(path)
}

fn position(descriptor: u64) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", descriptor as i32)).ok()?;
    text.lines().find_map(|line| line.strip_prefix("pos:")?.trim().parse().ok())
}

fn relative(directory: u64, path: &Path) -> Option<PathBuf> {
    if path.is_absolute() {
        return Some(path.to_owned());
    }
    let base = match directory as i32 {
        libc::AT_FDCWD => std::env::current_dir().ok()?,
        descriptor => opened(descriptor as u64)?,
    };
    Some(base.join(path))
}

/// The path that stands in this process's memory at `address`.
fn text_at(address: u64) -> Option<PathBuf> {
    let memory = fs::File::open("/proc/self/mem").ok()?;
    let mut bytes = Vec::new();
    let mut chunk = [0; 64];
    while bytes.len() < libc::PATH_MAX as usize {
        let read = memory.read_at(&mut chunk, address + bytes.len() as u64).ok()?;
        if let Some(end) = chunk[..read].iter().position(|&byte| byte == 0) {
            bytes.extend_from_slice(&chunk[..end]);
            return Some(OsString::from_vec(bytes).into());
        }
        if read == 0 {
            return None;
        }
        bytes.extend_from_slice(&chunk[..read]);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_to_open_a_pipe_is_seen_with_its_path() {
        let path = std::env::temp_dir().join(format!("fathom-blocked-{}", std::process::id()));
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let reader = path.clone();
        let thread = std::thread::spawn(move || fs::File::open(reader));
        let started = std::time::Instant::now();
        let seen = loop {
            let seen = calls().into_iter().find(|call| call.path == path);
            if seen.is_some() || started.elapsed().as_secs() > 5 {
                break seen;
            }
            std::thread::yield_now();
        };
        let _writer = fs::OpenOptions::new().write(true).open(&path).unwrap();
        thread.join().unwrap().unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(seen.map(|call| (call.operation, call.offset)), Some(("open", None)));
    }

    #[test]
    fn paths_stand_where_the_arguments_say() {
        let text = c"/somewhere/else";
        assert_eq!(text_at(text.as_ptr() as u64), Some(PathBuf::from("/somewhere/else")));
        assert_eq!(
            relative(libc::AT_FDCWD as u64, Path::new("a")),
            Some(std::env::current_dir().unwrap().join("a"))
        );
    }
}
