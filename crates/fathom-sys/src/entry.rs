//! What programs do with the entries of a directory: each is what a C program calls, inlined into its caller.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, RawDir, StatxFlags};
use rustix::io::{Errno, Result};

/// A directory to name entries by. Opening it asks nothing of the file system's server. Source: `open(2)`, O_PATH.
pub fn directory(path: &Path) -> Result<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Makes a file that must not be there, for its owner alone. Source: `openat(2)`, O_CREAT and O_EXCL.
#[inline(always)]
pub fn create(directory: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR)
}

/// Opens a file for reading and writing. Source: `openat(2)`.
#[inline(always)]
pub fn open(directory: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd> {
    rustix::fs::openat(directory, name, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())
}

/// Asks for an entry's attributes. Source: `newfstatat(2)`.
#[inline(always)]
pub fn stat(directory: BorrowedFd<'_>, name: &CStr) -> Result<()> {
    rustix::fs::statat(directory, name, AtFlags::empty()).map(drop)
}

/// Looks a name up, and asks nothing of what it stands for; whether it is there does not matter. Source: `statx(2)`,
/// AT_STATX_DONT_SYNC.
///
/// # Errors
/// What `statx(2)` gives but ENOENT.
#[inline(always)]
pub fn look_up(directory: BorrowedFd<'_>, name: &CStr) -> Result<()> {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::SYMLINK_NOFOLLOW;
    match rustix::fs::statx(directory, name, flags, StatxFlags::TYPE) {
        Err(Errno::NOENT) => Ok(()),
        found => found.map(drop),
    }
}

/// Takes a name away. Source: `unlinkat(2)`.
#[inline(always)]
pub fn unlink(directory: BorrowedFd<'_>, name: &CStr) -> Result<()> {
    rustix::fs::unlinkat(directory, name, AtFlags::empty())
}

/// Gives an entry another name in the same directory. Source: `renameat(2)`.
#[inline(always)]
pub fn rename(directory: BorrowedFd<'_>, from: &CStr, to: &CStr) -> Result<()> {
    rustix::fs::renameat(directory, from, directory, to)
}

/// Opens a directory, reads all its names into `buffer`, and closes it; how many there are, with the directory itself
/// and its parent. Source: `openat(2)`, `getdents64(2)`, `close(2)`.
///
/// # Errors
/// What these give.
#[inline(always)]
pub fn list(directory: BorrowedFd<'_>, buffer: &mut [MaybeUninit<u8>]) -> Result<usize> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::openat(directory, c".", flags, Mode::empty())?;
    let mut names = 0;
    let mut entries = RawDir::new(open.as_fd(), buffer);
    while let Some(entry) = entries.next() {
        entry?;
        names += 1;
    }
    crate::file::close(open)?;
    Ok(names)
}

/// Asks the file system's server for the attributes of an open file, whatever is remembered of them. Source: `statx(2)`,
/// AT_STATX_FORCE_SYNC.
#[inline(always)]
pub fn stat_anew(file: BorrowedFd<'_>) -> Result<()> {
    let flags = AtFlags::STATX_FORCE_SYNC | AtFlags::EMPTY_PATH;
    rustix::fs::statx(file, c"", flags, StatxFlags::BASIC_STATS).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_made_found_renamed_and_removed() {
        let path = std::env::temp_dir().join(format!("fathom-entry-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let root = directory(&path).unwrap();
        let root = root.as_fd();
        let mut buffer = vec![MaybeUninit::uninit(); 4096];
        let file = create(root, c"a").unwrap();
        assert_eq!(create(root, c"a").unwrap_err(), Errno::EXIST);
        stat_anew(file.as_fd()).unwrap();
        assert_eq!(list(root, &mut buffer), Ok(3));
        rename(root, c"a", c"b").unwrap();
        assert_eq!((stat(root, c"a"), stat(root, c"b")), (Err(Errno::NOENT), Ok(())));
        look_up(root, c"a").and_then(|()| look_up(root, c"b")).unwrap();
        open(root, c"b").map(drop).and_then(|()| unlink(root, c"b")).unwrap();
        assert_eq!(list(root, &mut buffer), Ok(2));
        std::fs::remove_dir(&path).unwrap();
    }
}
