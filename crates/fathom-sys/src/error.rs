//! One error for every call: it carries the operation, the path and, where there is one, the offset.

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of a system call made for a path.
pub type Result<T> = std::result::Result<T, Error>;

/// A system call that failed: which, on what, where and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What was attempted, as a verb: `read`, `statfs`, `mount`.
    pub operation: &'static str,
    /// The file, directory or device it was attempted on.
    pub path: PathBuf,
    /// The file offset in bytes, where the operation has one.
    pub offset: Option<u64>,
    /// The reason that the kernel gave.
    pub errno: rustix::io::Errno,
    /// What to do about it, where that is known.
    pub remedy: Option<&'static str>,
}

impl Error {
    /// An error without an offset.
    pub fn new(operation: &'static str, path: &Path, errno: rustix::io::Errno) -> Self {
        Self { operation, path: path.to_owned(), offset: None, errno, remedy: None }
    }

    /// The same error, with what to do about it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: &'static str) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// The same error, at a file offset in bytes.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Converts an error of the standard library; one without a number becomes EIO.
    pub fn from_io(operation: &'static str, path: &Path, error: &std::io::Error) -> Self {
        let errno = rustix::io::Errno::from_io_error(error).unwrap_or(rustix::io::Errno::IO);
        Self::new(operation, path, errno)
    }

    /// Whether the caller lacks a privilege (EACCES or EPERM).
    pub fn is_permission(&self) -> bool {
        matches!(self.errno, rustix::io::Errno::ACCESS | rustix::io::Errno::PERM)
    }

    /// Whether the file system is full or a quota is used up (ENOSPC or EDQUOT).
    pub fn is_full(&self) -> bool {
        matches!(self.errno, rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT)
    }

    /// Whether the file system is mounted read-only (EROFS).
    pub fn is_read_only(&self) -> bool {
        self.errno == rustix::io::Errno::ROFS
    }
}

/// The words of an error of the standard library, without its number, which says no more.
pub fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = plain(&std::io::Error::from(self.errno));
        write!(f, "{} {}", self.operation, self.path.display())?;
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset}")?;
        }
        write!(f, ": {reason}")?;
        self.remedy.map_or(Ok(()), |remedy| write!(f, ": {remedy}"))
    }
}

impl std::error::Error for Error {}

/// Whether a call that rustix does not wrap was done: zero, or else what the C library left in `errno`.
pub(crate) fn done(result: libc::c_long) -> rustix::io::Result<()> {
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

/// What the C library left in `errno` after a call that rustix does not wrap.
pub(crate) fn last_errno() -> rustix::io::Errno {
    rustix::io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(rustix::io::Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_operation_path_offset_and_reason() {
        let error = Error::new("write", Path::new("/mnt/a"), rustix::io::Errno::NOSPC).at(4096);
        assert_eq!(error.to_string(), "write /mnt/a at byte 4096: No space left on device");
        assert!(error.clone().with_remedy("free some").to_string().ends_with("on device: free some"));
        assert!(error.is_full());
    }
}
