//! Files of somebody else below a directory, opened for reading and for nothing else.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::{Errno, Result};

/// Opens a regular file below a directory for reading, past the page cache where asked: nothing is made, cut or written, and
/// neither a symbolic link nor `..` leads to it. When it was last read is not noted where the kernel lets us have that.
/// Source: `openat2(2)`, RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS.
///
/// # Errors
/// What `openat2(2)` gives: ENOENT, ELOOP for a link, EXDEV for a way out; EINVAL for what is no regular file.
pub fn open_below(directory: &Path, path: &Path, direct: bool) -> Result<OwnedFd> {
    let directory =
        openat(CWD, directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    // Without O_NONBLOCK the open of a pipe would wait for its writer.
    let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    flags.set(OFlags::DIRECT, direct);
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let open = |flags| openat2(&directory, path, flags, Mode::empty(), inside);
    let file = match open(flags | OFlags::NOATIME) {
        // It is for a file's owner.
        Err(Errno::PERM) => open(flags),
        opened => opened,
    }?;
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file),
        _ => Err(Errno::INVAL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file;
    use std::os::fd::AsFd;

    #[test]
    fn nothing_but_regular_files_below_is_opened_and_nothing_is_written() {
        let place = std::env::temp_dir().join(format!("fathom-below-{}", std::process::id()));
        std::fs::create_dir_all(place.join("in/deep")).unwrap();
        std::fs::write(place.join("in/deep/a"), "data").unwrap();
        std::fs::write(place.join("out"), "data").unwrap();
        std::os::unix::fs::symlink("a", place.join("in/deep/link")).unwrap();
        std::os::unix::fs::symlink("deep", place.join("in/way")).unwrap();
        let open = |path: &str| open_below(&place.join("in"), Path::new(path), false);
        let file = open("deep/a").unwrap();
        assert_eq!(file::pwrite(file.as_fd(), b"x", 0), Err(Errno::BADF));
        let why = |path: &str| open(path).map(drop).unwrap_err();
        assert_eq!((why("deep/link"), why("way/a"), why("../out")), (Errno::LOOP, Errno::LOOP, Errno::XDEV));
        assert_eq!((why("none"), why("deep")), (Errno::NOENT, Errno::INVAL));
        assert_eq!(open_below(Path::new("/dev"), Path::new("null"), false).map(drop), Err(Errno::INVAL));
        std::fs::remove_dir_all(place).unwrap();
    }
}
